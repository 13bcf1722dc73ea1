"""The two systems of Liu & Meidani, with corrected equations, their ground motions, and their data.

Corrected, with drift d_i = x_i − x_{i−1} and w_i = ḋ_i (Eqs 18 and 20 as printed are unstable, or difference z twice):

    m ẍ_i = −F_i + F_{i+1} − m ẍ_g,     F_i = k_i d_i (or k_i z_i) + c_i w_i + [i = 1] k_nl d_1³
    ċ_i = (Γ/RT0) w_i²  with Γ/RT0 = 10 known and c_i(0) unknown
    ż_i = w_i − β |w_i| |z_i|^{n−1} z_i − γ w_i |z_i|ⁿ

Stiffness of the cubic case as in its Table 1 (35, 30, 25 N/m); the ratios in the text are k_1/k_i. The printed first
period of 1.19 s is 1/ω_1; the true one is 7.475 s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.identification import Unknown, make_problem
from vibrid.identification.experiment import Experiment
from vibrid.identification.identifiability import identifiability
from vibrid.identification.unknowns import compile_unknowns
from vibrid.laws import BoucWen, Cubic, FloorThermostat, Linear, Thermostat
from vibrid.records import Channel, Record, asce7_target, read_record, scale_to_target, synthetic_motion
from vibrid.simulation import Initial, Response, RungeKutta4, simulate, simulate_reference
from vibrid.structures import Sensors, ShearBuilding

RATE = 10.0  # Γ/RT0
PRINTED_PERIOD, TRUE_PERIOD = 1.19, 7.475  # s
DURATION = 40.0  # s
KOBE = "groundmotion/RSN1106_KOBE_KJM000.AT2"
TARGET_SHORT, TARGET_ONE_SECOND = 2.0, 1.2  # g, near a fault; the paper does not state its target spectrum


@dataclass(frozen=True, eq=False)
class System:
    """A building, its unknowns, and a first guess; `table` counts the unknowns of the paper's tables."""

    name: str
    building: ShearBuilding
    guess: ShearBuilding
    unknown: tuple
    table: int
    labels: tuple[str, ...]
    names: tuple[str, ...]  # of all unknowns, those of the tables first
    truth: np.ndarray  # their true values

    @property
    def sensors(self) -> Sensors:
        floors = range(self.building.floors)
        return Sensors(displacement=floors, velocity=floors, acceleration=floors)

    def error(self, estimate) -> np.ndarray:
        """Relative errors in per cent of the unknowns of the table."""
        return 100.0 * np.abs(np.asarray(estimate)[: self.table] / self.truth[: self.table] - 1.0)

    def mean_error(self, estimate) -> float:
        return float(np.mean(self.error(estimate)))


def _thermostats(initial, velocity: str):
    law = {"drift": Thermostat, "floor": FloorThermostat}[velocity]
    return [law(initial=c, rate=RATE) for c in initial]


def cubic(floors: int = 10, velocity: str = "drift", known_damping: bool = False) -> System:
    """Table 1: a cubic spring in the first storey; k of each storey and k_nl, the damping at the start unknown too.

    Arguments
        floors: other heights keep the paper's shares of stiff and soft storeys (Fig. 4).
        velocity: input of the thermostats: that of the dashpot's drift, or the floor's velocity as printed.
        known_damping: c(0) known, as in the paper.
    """
    share = np.arange(floors) / floors
    stiffness = np.select([share < 0.3, share < 0.6], [35.0, 30.0], 25.0)
    damping = np.select([share < 0.4, share < 0.7], [1.5, 1.875], 2.25)
    building = ShearBuilding(
        masses=[1.0] * floors,
        storeys=[Cubic(stiffness[0], 150.0), *(Linear(k) for k in stiffness[1:])],
        damping=_thermostats(damping, velocity),
    )
    unknown = ["storeys[*].stiffness", "storeys[0].cubic"]
    guess = {"storeys[*].stiffness": 25.0, "storeys[0].cubic": 100.0}
    labels = [f"k{i + 1}" for i in range(floors)] + ["k_nl"]
    return _system("cubic", building, unknown, guess, labels, known_damping)


def bouc_wen(velocity: str = "drift", known_damping: bool = False) -> System:
    """Table 4: three Bouc–Wen storeys; k of each and one β, γ, n for all, the damping at the start unknown too."""
    building = ShearBuilding(
        masses=[1.0] * 3,
        storeys=[BoucWen(stiffness=k, beta=2.0, gamma=2.0, exponent=1.0) for k in (50.0, 45.0, 45.0)],
        damping=_thermostats((1.5, 1.5, 1.2), velocity),
    )
    shared = [Unknown(f"storeys[*].{name}", tied=True) for name in ("beta", "gamma", "exponent")]
    guess = {"storeys[*].stiffness": 40.0, "storeys[*].beta": 1.5, "storeys[*].gamma": 1.5, "storeys[*].exponent": 1.2}
    labels = ["k1", "k2", "k3", "β", "γ", "n"]
    return _system("bouc-wen", building, ["storeys[*].stiffness", *shared], guess, labels, known_damping)


def _system(name, building, unknown, guess, labels, known_damping) -> System:
    table = len(labels)
    if not known_damping:
        unknown, guess = [*unknown, "damping[*].initial"], guess | {"damping[*].initial": 1.0}
        labels = labels + [f"c{i + 1}(0)" for i in range(building.floors)]
    experiment = Experiment(building, (), (Initial.rest(building.floors),))
    unknowns = compile_unknowns(experiment, unknown)
    return System(
        name,
        building,
        building.replace(guess),
        tuple(unknown),
        table,
        tuple(labels),
        unknowns.names,
        np.asarray(unknowns.start),
    )


SYSTEMS = {"cubic": cubic, "bouc-wen": bouc_wen}


# -- motions -----------------------------------------------------------------------------------------------------------


def target():
    """The target spectrum: ASCE 7 with S_DS = 2.0 g, S_D1 = 1.2 g, T_L = 8 s (ours: the paper states none)."""
    return asce7_target(TARGET_SHORT, TARGET_ONE_SECOND, periods=np.geomspace(0.05, 12.0, 300))


def scaled(record: Record, period: float = PRINTED_PERIOD) -> Record:
    """A motion scaled to the target over 0.2 to 1.5 of a period."""
    return scale_to_target(record, target(), (0.2 * period, 1.5 * period), limit=(1e-3, 1e3)).records[0]


def at_rate(record: Record, rate: float, duration: float = DURATION) -> Record:
    """`duration` seconds of a motion, straight lines between its own samples, at another sampling rate."""
    time = np.arange(round(duration * rate) + 1) / rate
    values = np.interp(time, record.time - record.time[0], record.data[:, 0], right=0.0)
    return Record(values, [Channel("ground", "ground_acceleration")], step=1.0 / rate, name=record.name)


def kobe(run, period: float = PRINTED_PERIOD) -> Record:
    """Forty seconds of the real Kobe record (KJMA, 0°), scaled over 0.2 to 1.5 of the period."""
    return scaled(read_record(run.real(KOBE)).cut(0.0, DURATION), period)


def synthetic(key: int = 0) -> Record:
    """The synthetic motion: 40 s, linear between samples at 50 Hz, largest acceleration 8.2 m/s²."""
    return synthetic_motion(key=key, duration=DURATION + 0.02, rate=50.0, pga=8.2)


# -- data --------------------------------------------------------------------------------------------------------------


def respond(
    building: ShearBuilding, motion: Record, rate: float = 100.0, forces: float = 0.0, key: int = 0
) -> Response:
    """The response of a building, from an error-controlled integrator that no method uses.

    Arguments
        forces: rms of unmodelled white forces on every floor, as a share of the rms of m ẍ_g; straight lines between
            independent values at the sampling rate. With them, Runge–Kutta steps ten times finer than any method's.
        key: seed of these forces.
    """
    ground = at_rate(motion, rate)
    if not forces:
        return simulate_reference(building, ground)
    size = forces * np.asarray(building.masses) * np.sqrt(np.mean(ground.data**2))
    pushed = size * np.random.default_rng([key, 7]).standard_normal((len(ground), building.floors))
    channels = [Channel(f"load_{i}", "load", "N", str(i)) for i in range(building.floors)]
    both = Record(
        np.concatenate([ground.data, pushed], axis=1), [*ground.channels, *channels], step=ground.step, name=ground.name
    )
    return simulate(building, both, integrator=RungeKutta4(), substeps=10)


def measured(system: System, response: Response, noise: float, key: int = 0) -> Record:
    """x, ẋ, ẍ of all floors with noise over the standard deviation of each, and the ground motion alone."""
    record = response.measure(system.sensors, noise, key)
    return record.select([name for name in record.names if not name.startswith("load_")])


def bound(system: System, response: Response, noise: float) -> np.ndarray:
    """Cramér–Rao bound of the relative error in per cent at the true values and noise: one for each unknown."""
    problem = make_problem(system.building, measured(system, response, 0.0), system.unknown)
    limits = identifiability(problem, problem.start, noise * problem.signal_size())
    return 100.0 * limits.relative_bound
