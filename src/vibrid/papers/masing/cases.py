"""The motions, systems and constants of the paper, and noisy data of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from scipy import stats

from vibrid.core.errors import InputError
from vibrid.identification import OnlineMasing, OnlineRecall, Unknown, make_problem
from vibrid.identification.online.runs import run_many, run_record
from vibrid.laws import Masing, RayleighYield
from vibrid.papers.masing.as_published import MasingAsPublished
from vibrid.papers.masing.sliders import quantiles, sliders
from vibrid.records import Channel, Record, read_record, synthetic_motion
from vibrid.structures import Device

RATE = 50.0  # Hz
CAPACITY = 24  # turning points
UNKNOWN = (
    Unknown("law.ductility", scale=1.0, bounds=(1.0, None), name="β"),
    Unknown("law.stiffness", scale=1.0, name="k"),
    Unknown("law.distribution.mean", scale=1.0, name="α"),
    Unknown("law.damping", scale=0.1, name="c"),
)
DAMPING_UNIT = 10.0
"""The last entry of the paper's θ = [β, k, α, c*] is c* = 10 c."""


@dataclass(frozen=True, eq=False)
class PaperTest:
    """One of the paper's two tests: motion, true values, first guess, and the constants of its descent."""

    name: str
    peak: float  # largest displacement, as PEER lists it: 17.7 cm for Kobe, 9.3 mm for San Fernando
    truth: tuple[float, ...]
    guess: tuple[float, ...]
    largest_step: float
    smallest_step: float
    displacement_cut: tuple[float, float]
    velocity_cut: tuple[float, float]
    force_cut: tuple[float, float]
    synthetic: dict  # a synthetic motion with the record's PGV/PGD and PGA/PGV

    def method(self, objective: int, as_published: bool = False, **changes) -> OnlineMasing:
        """The paper's method with its constants for this motion; window and stride are not printed."""
        method = (MasingAsPublished if as_published else OnlineMasing)(
            window=150,
            stride=3,
            objective=objective,
            largest_step=self.largest_step,
            smallest_step=self.smallest_step,
            displacement_cut=self.displacement_cut,
            velocity_cut=self.velocity_cut,
            force_cut=self.force_cut,
        )
        return dataclasses.replace(method, **changes)


KOBE = PaperTest(
    name="Kobe",
    peak=17.7,
    truth=(2, 4, 4, 1),
    guess=(3, 3, 6, 2),
    largest_step=0.25,
    smallest_step=0.025,
    displacement_cut=(2, 2.5),
    velocity_cut=(8, 12),
    force_cut=(1.5, 2.5),
    synthetic=dict(key=0, frequency=2.0, corner=0.4, significant_duration=24.0),
)
SAN_FERNANDO = PaperTest(
    name="San Fernando",
    peak=9.3,
    truth=(4, 4, 3, 1),
    guess=(3, 4.5, 2, 1.5),
    largest_step=0.05,
    smallest_step=0.01,
    displacement_cut=(1, 1.2),
    velocity_cut=(4, 5),
    force_cut=(0.6, 0.8),
    synthetic=dict(key=1, frequency=8.0, corner=0.5, significant_duration=12.7),
)


def constants(system: PaperTest) -> str:
    """The constants of the descent; all are the paper's but window and stride."""
    s = system
    return (
        f"{s.name}: δθ_max {s.largest_step}, δθ_min {s.smallest_step}, x_l, x_h {s.displacement_cut}, "
        f"v_l, v_h {s.velocity_cut}, f_l, f_h {s.force_cut}"
    )


def motion(run, system: PaperTest, real: bool) -> tuple[np.ndarray, np.ndarray]:
    """Displacement and velocity (nt,) at 50 Hz, scaled to the system's peak displacement."""
    if not real:
        ground = synthetic_motion(duration=40.0, middle=9.0, frequency_slope=0.0, bandwidth=0.2, **system.synthetic)
    elif system.name == KOBE.name:
        ground = read_record(run.real("groundmotion/RSN1106_KOBE_KJM000.AT2")).cut(0.0, 40.0)
    else:
        ground = read_record(run.real("groundmotion/RSN72_SFERN_LakeHughes4_wxw115.acc"), step=0.01).cut(0.0, 36.8)
    ground = ground.resample(RATE).taper(share=0.05).filter(low=0.1)
    velocity = ground.integrate("frequency", lowest=0.1)
    x, v = velocity.integrate("frequency", lowest=0.1).data[:, 0], velocity.data[:, 0]
    factor = system.peak / np.abs(x).max()
    return factor * x, factor * v


def rayleigh(mean: float):
    return stats.rayleigh(scale=mean * np.sqrt(2.0 / np.pi))


def force_of(strengths, ductility: float, stiffness: float, damping: float, x, v) -> np.ndarray:
    """True force: 20000 sliders followed one by one, and the dashpot; not the law that is identified."""
    return sliders(quantiles(strengths, 20000), ductility, stiffness, x) + damping * v


def true_force(run, system: PaperTest, real: bool, ductility: float | None = None) -> np.ndarray:
    beta, k, alpha, c = system.truth
    x, v = run.once(motion, system, real)
    return force_of(rayleigh(alpha), beta if ductility is None else ductility, k, c / 10.0, x, v)


def noisy(x, v, f, noise: float, seed: int, below: float | None = None) -> np.ndarray:
    """(nt, 3): x, v and f with noise whose standard deviation is `noise` times the rms of each.

    The noise is white, or has frequencies `below` so many Hz alone.
    """
    rng = np.random.default_rng(seed)
    columns = []
    for signal in (x, v, f):
        disturbance = rng.standard_normal(len(signal))
        if below is not None:
            spectrum = np.fft.rfft(disturbance)
            spectrum[np.fft.rfftfreq(len(signal), 1.0 / RATE) > below] = 0.0
            disturbance = np.fft.irfft(spectrum, len(signal))
            disturbance = disturbance / disturbance.std()
        columns.append(signal + noise * np.sqrt(np.mean(signal**2)) * disturbance)
    return np.stack(columns, axis=1)


def as_record(columns: np.ndarray) -> Record:
    channels = [
        Channel("displacement", "imposed_displacement"),
        Channel("velocity", "imposed_velocity"),
        Channel("force", "element_force", location="device"),
    ]
    return Record(columns, channels, step=1.0 / RATE, name="noisy test")


def device(theta, ductility: float | None = None) -> Device:
    """The paper's θ = [β, k, α, c*] as a device."""
    beta, k, alpha, c = theta
    beta = beta if ductility is None else ductility
    return Device(Masing(float(k), RayleighYield(float(alpha)), float(beta), c / 10.0, CAPACITY))


def data_of(
    run, system: PaperTest, noise: float, seeds: int, real: bool, ductility: float | None = None, below=None
) -> np.ndarray:
    """(seeds, nt, 3)"""
    x, v = run.once(motion, system, real)
    f = run.once(true_force, system, real, ductility)
    return np.stack([noisy(x, v, f, noise, seed, below) for seed in range(seeds)])


def identify_many(method, guess: Device, data: np.ndarray, unknown=UNKNOWN):
    """Every noise seed through a method: estimates (seeds, p) in the paper's units, states, and paths."""
    problem = make_problem(guess, as_record(data[0]), unknown)
    scale = np.append(np.ones(len(unknown) - 1), DAMPING_UNIT)
    if isinstance(method, OnlineMasing):
        keys = jnp.arange(len(data))
        state, (path, band) = run_many(method, problem, keys, jnp.asarray(data[:, :, 2:]), jnp.asarray(data[:, :, :2]))
        return np.asarray(path[:, -1]) * scale, state, (np.asarray(path) * scale, np.asarray(band) * scale)
    if not isinstance(method, OnlineRecall):
        raise InputError(f"{type(method).__name__} does not run online.")
    ends, sure, paths = [], [], []
    for seed, columns in enumerate(data):
        problem = make_problem(guess, as_record(columns), unknown)
        state, (path, _) = run_record(method, problem, method.init(problem, seed), 0)
        ends.append(np.asarray(path[-1]) * scale)
        sure.append(not np.any(np.asarray(method.flags(state))))
        paths.append(np.asarray(path) * scale)
    return np.array(ends), np.array(sure), (np.array(paths), None)


def errors(estimates: np.ndarray, truth) -> np.ndarray:
    """‖θ̂ − θ‖/‖θ‖ of every row: the paper's last column."""
    truth = np.asarray(truth, dtype=float)[-estimates.shape[1] :]
    return np.linalg.norm(estimates - truth, axis=1) / np.linalg.norm(truth)
