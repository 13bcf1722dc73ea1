"""What an engineer asks of a result beside its parameters: periods, damping ratios, drifts and base shear, with ± 2σ.

They follow from the estimate; their uncertainty from that of the parameters, to first order. Drifts and base shear are
the largest values under the excitation of the first record. The uncertainty does not cover a wrong model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import native
from vibrid.core.attached import attach
from vibrid.core.device import on_processor
from vibrid.core.digits import with_uncertainty
from vibrid.core.numbers import as_array
from vibrid.identification.experiment import Experiment
from vibrid.identification.result import Identification
from vibrid.structures.base import Structure
from vibrid.structures.device import ImposedTest
from vibrid.structures.modes import modes
from vibrid.structures.sensors import Sensors
from vibrid.structures.shear import ShearBuilding

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem

MOST_MODES = 5
MOST_FREEDOMS = 300
"""Degrees of freedom up to which modes are computed for every unknown."""

_STEP = 1e-4  # of φ


@dataclass(frozen=True)
class Quantity:
    """A number that follows from the estimate, with its standard deviation; NaN where a result has none."""

    name: str
    value: float
    deviation: float
    unit: str

    def __str__(self) -> str:
        value, band = with_uncertainty(self.value, 2.0 * self.deviation)
        return " ".join(filter(None, [f"{self.name}: {value}", f"± {band}" if band else "", self.unit]))


def quantities(fit: Identification) -> list[Quantity]:
    """Periods and damping ratios of the lowest modes about rest; for a shear building the largest drift of every storey
    and the largest base shear under the excitation of the first record."""
    problem = fit.problem
    structure = problem.experiment.structure
    if isinstance(structure, ImposedTest):
        return []
    covariance = _covariance(fit)
    made: list[Quantity] = []
    with on_processor():
        if structure.model(problem.data[0].loads if problem.data else ()).size <= MOST_FREEDOMS:
            made += _propagated(fit.free, covariance, lambda phi: _of_modes(_experiment(problem, phi).structure))
        if isinstance(structure, ShearBuilding) and problem.data:  # a fit to modes has no records
            made += _propagated(fit.free, covariance, _Peaks(problem, fit.free))
    return made


def _experiment(problem: Problem, free: np.ndarray) -> Experiment:
    return problem.unknowns.apply(problem.experiment, as_array(free))


def _covariance(fit: Identification) -> np.ndarray | None:
    if fit.free_covariance is not None:
        return np.asarray(fit.free_covariance)
    if fit.samples is None:
        return None
    free = np.stack([fit.problem.unknowns.to_free(row) for row in np.asarray(fit.samples)])
    return np.atleast_2d(np.cov(free.T))


def _propagated(free: np.ndarray, covariance: np.ndarray | None, make) -> list[Quantity]:
    """Quantities (name, value, unit) of φ with their standard deviations, by central differences."""
    here = make(free)
    deviations = np.full(len(here), np.nan)
    if covariance is not None:
        columns = []
        for i in range(len(free)):
            step = _STEP * np.eye(len(free))[i]
            above, below = (np.array([value for _, value, _ in make(free + sign * step)]) for sign in (1.0, -1.0))
            columns.append((above - below) / (2.0 * _STEP))
        slope = np.stack(columns, axis=1)
        deviations = np.sqrt(np.maximum(np.einsum("qi,ij,qj->q", slope, covariance, slope), 0.0))
    return [Quantity(name, float(v), float(d), u) for (name, v, u), d in zip(here, deviations, strict=True)]


def _of_modes(structure: Structure) -> list[tuple[str, float, str]]:
    found = modes(structure, min(MOST_MODES, structure.model().size))
    moving = [i for i, frequency in enumerate(found.frequencies) if frequency > 0.0]
    periods = [(f"period of mode {i + 1}", found.periods[i], "s") for i in moving]
    return periods + [(f"damping ratio of mode {i + 1}", 100.0 * found.ratios[i], "%") for i in moving]


class _Peaks:
    """Drifts of a shear building and its base shear at the instants at which they are largest at the estimate."""

    def __init__(self, problem: Problem, free: np.ndarray):
        self.problem = problem
        self.instants = np.argmax(np.abs(np.asarray(_histories(self.problem, as_array(free)))), axis=0)

    def __call__(self, free: np.ndarray) -> list[tuple[str, float, str]]:
        histories = np.asarray(_histories(self.problem, as_array(free)))
        found = np.abs(histories[self.instants, np.arange(len(self.instants))])
        drifts = [(f"largest drift of storey {i + 1}", value, "m") for i, value in enumerate(found[:-1])]
        return [*drifts, ("largest base shear", found[-1], "N")]


@native.jit
def _histories(problem: Problem, free: jax.Array):
    """(nt, storeys + 1): drifts of a shear building, and its base shear from the inertia of its floors."""
    masses = cast("ShearBuilding", problem.unknowns.apply(problem.experiment, free).structure).masses
    n = masses.shape[0]
    y = problem.read_by(free, Sensors(drift=list(range(n)), absolute_acceleration=list(range(n))))
    return jnp.concatenate([y[:, :n], (y[:, n:] @ masses)[:, None]], axis=1)


attach(Identification, quantities=quantities)
