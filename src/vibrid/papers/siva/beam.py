"""The beam of the paper, its impacts, and the results that tables, figures and studies share."""

from __future__ import annotations

import numpy as np

from vibrid.identification import SIVA, Identification, identify
from vibrid.laws import Polynomial
from vibrid.papers.paper import Paper, Run
from vibrid.records import Channel, Record
from vibrid.simulation import Response, RungeKutta4, simulate
from vibrid.structures import Attachment, Beam, Modal, PointMass, Sensors, reduce

PAPER = Paper(
    "siva",
    "C. López, J. E. Herzlieb, K. J. Moore, System identification via validation and adaptation for model updating "
    "applied to a nonlinear cantilever beam (2025).",
)

DENSITY = 7694.0
"""kg/m³. The printed 7800 leaves every frequency of Table 2 0.65 % low; this density brings them within 0.03 %."""

EXACT = np.array([1.1e4, 0.0, 1e8, 0.0, 0.0])  # N/m, N/m², …
RATIOS = (0.0069, 0.0052, 0.0014, 0.0017, 0.0044, 0.0038, 0.0042)  # beyond mode 7 the last one
TRANSLATIONS = tuple(f"{i}.lateral" for i in range(1, 16))
SENSORS = Sensors(displacement=TRANSLATIONS, velocity=TRANSLATIONS, acceleration=TRANSLATIONS)
TIP = 14  # among the sensors
RATE = 2000.0
PULSE = 0.00635  # s
EPOCHS = 400  # of our schedule; the paper trains 1000 at a constant rate
NAMES = ("k1", "k2", "k3", "k4", "k5")
UNKNOWN = ("full.attachments[0].law.coefficients",)


def beam(coefficients=EXACT, density: float = DENSITY, at: str = "tip", **changes) -> Beam:
    """15 elements, a lumped mass and a polynomial spring at the tip; `changes` replace arguments of `Beam`."""
    width, thickness = 0.0381, 0.0064
    arguments = {
        "modulus": 180e9,
        "area": width * thickness,
        "inertia": width * thickness**3 / 12,
        "density": density,
        "masses": [PointMass(0.0522, at="tip")],
        "damping": Modal(RATIOS),
        "attachments": [Attachment(Polynomial(coefficients), at=at)],
        "axial": False,
    }
    return Beam(np.linspace(0, 1.524, 16), **(arguments | changes))


def impact(kilonewton: float, seconds: float = 4.0) -> Record:
    """A half-sine pulse at the tip, sampled at 2 kHz and linear between samples."""
    time = np.arange(0, seconds + 0.5 / RATE, 1 / RATE)
    force = np.where(time < PULSE, 1e3 * kilonewton * np.sin(np.pi * time / PULSE), 0.0)
    return Record(force, [Channel("hammer", "load", location="tip")], step=1 / RATE, name=f"{kilonewton:g} kN")


def strike(structure, kilonewton: float, seconds: float = 4.0) -> Response:
    """The response to an impact. Runge–Kutta in steps of 1/128 ms: 64 and 128 substeps agree to 5e-8 at the tip."""
    return simulate(structure, impact(kilonewton, seconds), integrator=RungeKutta4(), substeps=64)


def tip(response: Response) -> np.ndarray:
    """Displacement of the tip in m."""
    return response.displacement @ response.structure.row("tip")


def truth(run: Run, kilonewton: float) -> Response:
    """Response of the exact full beam."""
    return strike(beam(), kilonewton)


def truth_of_reduced(run: Run, kilonewton: float) -> Response:
    """Response of Guyan's reduction of the exact beam."""
    return strike(reduce(beam(), TRANSLATIONS), kilonewton)


def guess(method: str = "guyan", **changes):
    """The model to be updated: the beam reduced to its translations, with an unknown spring."""
    return reduce(beam(np.zeros(5), **changes), TRANSLATIONS, method)


def data(run: Run, kind: str, kilonewton: float, noise: float = 0.0, key: int = 0) -> Record:
    """Readings of all translations; kind "full": from the full beam, "reduced": from Guyan's reduction of it."""
    return run.once(truth if kind == "full" else truth_of_reduced, kilonewton).measure(SENSORS, noise, key)


def records(run: Run, kind: str, noise: float = 0.0, key: int = 0) -> list[Record]:
    """Training at 2 kN, validation at 1 and 3 kN."""
    return [data(run, kind, kn, noise, 3 * key + i) for i, kn in enumerate((2.0, 1.0, 3.0))]


def update(
    run: Run, kind: str, method, *, noise=0.0, key=0, structure=None, unknown=UNKNOWN, seed=0, seconds=4.0, checks="all"
) -> Identification:
    """Identify the spring by any method, from so many seconds of every record."""
    cut = round(seconds * RATE) + 1
    return identify(
        guess() if structure is None else structure,
        [r.replace(data=r.data[:cut]) for r in records(run, kind, noise, key)],
        unknown,
        method,
        integrator=RungeKutta4(),
        substeps=4,
        checks=checks,
        key=seed,
        progress=run.progress,
    )


def ten_seeds(run: Run, kind: str) -> Identification:
    """SIVA with ten seeds side by side."""
    return update(run, kind, SIVA(epochs=60 if run.quick else EPOCHS, seeds=2 if run.quick else 10))


def one_seed(run: Run, kind: str) -> Identification:
    """SIVA with one seed and the paper's 1000 epochs."""
    return update(run, kind, SIVA(epochs=60 if run.quick else 1000))


def percent(values) -> np.ndarray:
    """Errors of k1 and k3 in %."""
    values = np.asarray(values)
    return 100 * (values[..., [0, 2]] / EXACT[[0, 2]] - 1)


def mean_square(run: Run, coefficients) -> float:
    """Table 3's MSE: tip displacement of the full beam with these coefficients against the exact one, mm²."""
    error = tip(strike(beam(coefficients), 2.0)) - tip(run.once(truth, 2.0))
    return float(np.mean((1e3 * error) ** 2))
