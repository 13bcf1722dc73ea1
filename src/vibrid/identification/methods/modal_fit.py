"""ModalFit: unknowns of a structure from measured frequencies and shapes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError, Refusal
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import CONTRADICTED, contradicted, covariance_of, settings_of, versions
from vibrid.identification.identifiability import describe_information
from vibrid.identification.levenberg import Descent, descend
from vibrid.identification.method import METHODS, SETTINGS, Method
from vibrid.identification.methods.trajectory import first_guesses
from vibrid.identification.modal_problem import ModalProblem, residuals_and_slopes
from vibrid.identification.modal_result import ModalIdentification
from vibrid.identification.other_answers import OtherAnswer

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.problem import Problem

_ALIKE = 4.6  # ln of the likelihood ratio (1 to 100) up to which another minimum is another answer
_ELSEWHERE = 3.0  # standard deviations between two minima


@METHODS.register("modal-fit")
class ModalFit(Method):
    """Fit the unknowns of a structure to measured modes: frequencies and shapes, each with its uncertainty.

    Measured and computed modes are paired anew at every step, by shape and frequency, so that crossings are followed.
    Shapes are compared at the measured places, with a free scale; inside modes of equal frequency the nearest shape of
    their space counts. Derivatives go through the eigenproblem and are exact. Data are modes, such as those of `ssi`:
    `identify(structure, modes, unknown)`; or records of ambient vibration, whose modes are those of `ssi`.

    Arguments
        starts: number of first guesses; the first is that of the structure, the others are spread around it. Other
            minima that explain the modes as well are told.
        spread: how far the other guesses lie, as a factor: 0.5 means ± 50 % (a standard deviation of ln θ).
        frequency_error: share of each frequency by which a right model may miss it (soil, temperature, non-structural
            parts), added to the standard deviations of the modes.
        shape_error: the same of shapes of unit length, at every place.
        highest: Hz, of interest, where the data are records; as for `ssi`.
        iterations: largest number of Levenberg–Marquardt steps in one descent.
        tolerance: relative decrease of the misfit below which a descent ends.
    """

    starts: int = eqx.field(static=True, default=5)
    spread: float = eqx.field(static=True, default=0.4)
    frequency_error: float = eqx.field(static=True, default=0.0)
    shape_error: float = eqx.field(static=True, default=0.0)
    highest: float | None = eqx.field(static=True, default=None)
    iterations: int = eqx.field(static=True, default=60)
    tolerance: float = eqx.field(static=True, default=1e-9)

    abilities: ClassVar[frozenset[str]] = frozenset({"priors"})
    independent_of: ClassVar[frozenset[str]] = frozenset(SETTINGS)
    from_modes: ClassVar[bool] = True

    def __check_init__(self) -> None:
        if self.starts < 1 or min(self.frequency_error, self.shape_error) < 0:
            raise InputError("ModalFit needs at least one start, and errors of frequencies and shapes of 0 or more.")

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> ModalIdentification:
        started = time.perf_counter()
        if not isinstance(problem, ModalProblem):
            raise Refusal("ModalFit solves a problem of measured modes: identify(structure, ssi(record), unknown).")
        problem = problem.boxed()
        assert isinstance(problem, ModalProblem)
        starts = first_guesses(problem, self.starts, self.spread, key)
        progress.stage("fitting modes (compiling)", self.iterations)
        descent = descend(
            problem,
            starts,
            None,
            evaluate=problem.normal_equations,
            iterations=self.iterations,
            tolerance=self.tolerance,
            progress=progress,
        )
        return self._concluded(problem, descent, key, started)

    def _concluded(self, problem: ModalProblem, descent: Descent, key: int, started: float) -> ModalIdentification:
        u, best = problem.unknowns, descent.best
        free = descent.free[best]
        if not np.isfinite(descent.cost[best]):
            raise InputError("The modes of the structure cannot be computed at the first guess: is its mass positive?")
        r, slopes = (
            np.asarray(part)
            for part in residuals_and_slopes(problem, jnp.asarray(free), jnp.asarray(problem.pairs_at(free)))
        )
        priors = len(np.asarray(u.prior_residual(jnp.asarray(free))))
        data = slopes[: len(r) - priors]
        slope, value = (np.asarray(part) for part in (u.slope(jnp.asarray(free)), u.to_physical(jnp.asarray(free))))
        limits = describe_information(u, data.T @ data, slope, value)
        covariance = covariance_of(descent.normal[best], descent.side[best] != 0)
        others = _other_answers(problem, descent, free, covariance)
        size = problem.shapes.shape[0] + 1
        known = int(np.any(np.asarray(problem.whitening) != 0, axis=2).sum())
        return ModalIdentification(
            method=type(self).__name__,
            settings=settings_of(self),
            problem=problem,
            free=free,
            free_covariance=covariance,
            noise=np.full(len(problem.sensors), np.nan),
            predictions=[],
            fits=[],
            limits=limits,
            history={
                "cost": np.array([cost for _, cost in descent.history]),
                "estimate": np.array([np.asarray(u.to_physical(jnp.asarray(phi))) for phi, _ in descent.history]),
            },
            convergence=descent.certificate(u.names),
            warnings=_warnings(problem, free, value, limits, others),
            seed=key,
            seconds=time.perf_counter() - started,
            cut_short=descent.cut_short,
            versions=versions(),
            other_answers=others,
            misfit=np.sum(r[: len(r) - priors].reshape(-1, size) ** 2, axis=1),
            independent_residuals=known - len(u) + int(np.isfinite(np.asarray(u.prior_mean)).sum()),
        )


def _other_answers(problem: ModalProblem, descent: Descent, free, covariance) -> tuple[OtherAnswer, ...]:
    """Ends of other starts that are far away and explain the modes as well, each once, the most likely first."""
    u, found, kept = problem.unknowns, [], [free]
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    for b in np.argsort(descent.cost):
        own, behind = descent.free[b], float(descent.cost[b] - descent.cost[descent.best])
        if not descent.converged[b] or not behind <= _ALIKE:
            continue
        if any(np.max(np.abs(own - other) / deviation) < _ELSEWHERE for other in kept):
            continue
        kept.append(own)
        slope = np.asarray(u.slope(jnp.asarray(own)))
        there = np.sqrt(np.diag(covariance_of(descent.normal[b], descent.side[b] != 0))) * np.abs(slope)
        found.append(OtherAnswer(np.asarray(u.to_physical(jnp.asarray(own))), there, -behind))
    return tuple(found)


def _warnings(problem: ModalProblem, free, value, limits, others) -> tuple[str, ...]:
    u, notes = problem.unknowns, []
    sides = u.at_bound(free)
    for i in np.flatnonzero(sides):
        bound = float(u.low[i] if sides[i] < 0 else u.high[i])
        notes.append(f"'{u.names[i]}' is at its bound {bound:g}: widen the bounds, or treat its estimate as uncertain.")
    away = np.asarray(u.prior_residual(jnp.asarray(free)))
    for i in np.flatnonzero(np.abs(away) > CONTRADICTED):
        stated = f"{float(u.prior_mean[i]):.4g} ± {float(u.prior_deviation[i]):.2g}"
        notes.append(contradicted(f"'{u.names[i]}'", stated, f"{value[i]:.4g}", away[i]))
    weak = [name for name, ok in zip(u.names, limits.identifiable, strict=True) if not ok]
    if weak:
        notes.append(f"Not identifiable from these modes: {', '.join(weak)}.")
    notes += [f"The modes cannot separate: {words}." for words in limits.inseparable[:3]]
    for other in others:
        named = ", ".join(f"{n} {v:.4g}" for n, v in zip(u.names, other.estimate, strict=True))
        notes.append(f"Another answer explains the modes as well: {named}.")
    return tuple(notes)
