"""TrajectoryFit: the output-error method; maximum likelihood where the model is right and the noise white."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import as_entries
from vibrid.core.errors import InputError, Refusal
from vibrid.core.interrupts import finishing
from vibrid.core.numbers import as_array
from vibrid.core.progress import SILENT
from vibrid.identification.adjoint import AdjointDescent, refuse_without_adjoint
from vibrid.identification.conclude import (
    conclude,
    covariance_of,
    predictions_at,
    residual_deviations,
    settings_of,
    unlikelihood,
)
from vibrid.identification.diagnostics import verdict
from vibrid.identification.levenberg import Descent, descend, gauss_newton
from vibrid.identification.method import METHODS, NEEDS, Method
from vibrid.identification.problem import Problem
from vibrid.identification.result import Identification
from vibrid.identification.shooting import shoot
from vibrid.identification.weak.equations import flat_start

if TYPE_CHECKING:
    from vibrid.core.progress import Progress

_SEGMENTS = 8
_SHORTEST = 10  # samples of a segment
_FAR = 3.0  # times the first guess, or a third of it
_POOR = 0.3  # residual over signal
_MOST_STATES = 8  # states per unknown: with more, the initial states of segments cost too much


def _stage(value) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else as_entries(value, "names of unknowns")


@METHODS.register("trajectory")
class TrajectoryFit(Method):
    """Levenberg–Marquardt through the simulator: the output-error (maximum-likelihood) estimate for white noise.

    Where the noise of a sensor is not stated, it is estimated from the residuals and the fit is repeated with the new
    weights. Bounds and signs are part of the unknowns.

    Arguments
        starts: number of first guesses; the first is that of the experiment, the others are spread around it.
        spread: how far the other guesses lie, as a factor: 0.5 means ± 50 % (a standard deviation of ln θ).
        segments: 1 is single shooting; more cuts each record into as many segments whose initial states are estimated
            too (multiple shooting), which tolerates poor guesses and long records, then ends with single shooting. None
            starts with 1 and also tries 8 where the result seems wrong: residuals are not noise, and an unknown
            moved from its first guess by a factor of three, or a residual is 30 % of its signal. The more likely
            result is kept.
        stages: groups of unknowns fitted one after the other before all are fitted together: names, or paths with
            `[*]` for any index. A path may end early: "storeys" is everything in the storeys.
        iterations: largest number of Levenberg–Marquardt steps in one descent.
        rounds: largest number of times that the noise is estimated again.
        tolerance: relative decrease of the misfit below which a descent ends; the projected gradient, relative to the
            residuals, is then below its square root.
        adjoint: whether gradients come from the adjoint of the simulation, whose cost does not grow with the number of
            unknowns; the Jacobian is then computed seldom (where it begins, after many gradients, and for the
            uncertainty) instead of at every step. It takes more steps, and may not converge where the Jacobian does;
            the result says so. Multiple shooting does not use it.
    """

    starts: int = eqx.field(static=True, default=1)
    spread: float = eqx.field(static=True, default=0.4)
    segments: int | None = eqx.field(static=True, default=None)
    stages: tuple[tuple[str, ...], ...] = eqx.field(
        static=True, default=(), converter=lambda v: tuple(_stage(s) for s in as_entries(v, "stages"))
    )
    iterations: int = eqx.field(static=True, default=60)
    rounds: int = eqx.field(static=True, default=4)
    tolerance: float = eqx.field(static=True, default=1e-9)
    adjoint: bool = eqx.field(static=True, default=False)

    abilities: ClassVar[frozenset[str]] = frozenset(NEEDS) - {"unknown loads"}

    def __check_init__(self) -> None:
        if self.starts < 1 or (self.segments is not None and self.segments < 1):
            raise InputError("TrajectoryFit needs at least one start and one segment.")

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        started = time.perf_counter()
        problem = problem.boxed()
        fit = self._shot(problem, self.segments or 1, key, progress, started)
        if self.segments is not None or problem.modes is not None or fit.cut_short or not astray(fit):
            return fit
        try:
            again = self._shot(problem, _SEGMENTS, key, progress, started)
        except KeyboardInterrupt:
            return fit.replace(cut_short=True)
        if unlikelihood(again) >= unlikelihood(fit):
            return fit.replace(seconds=again.seconds, cut_short=again.cut_short)
        note = "Single shooting from this first guess ended at a larger misfit; this result is from multiple shooting."
        return again.replace(warnings=(*again.warnings, note))

    @finishing()
    def _shot(self, problem: Problem, segments: int, key: int, progress, started: float) -> Identification:
        given = problem.given_deviations()
        known = np.isfinite(given)
        noise = np.where(known, given, problem.signal_size())
        starts = first_guesses(problem, self.starts, self.spread, key)
        movable = ~np.isin(np.arange(len(problem.unknowns)), list(problem.unknowns.noise()))
        iterations, cut_short = self.iterations, False
        if self.adjoint:
            refuse_without_adjoint(problem)
        backwards = AdjointDescent(problem) if self.adjoint else None
        if segments > 1:
            progress.stage("multiple shooting (compiling)", iterations)
            for i, start in enumerate(starts):
                if not cut_short:
                    moved, cut_short = shoot(problem, start, noise, segments, iterations, progress)
                    follows = np.isfinite(descend(problem, moved[None], noise, iterations=0).cost[0])
                    starts[i] = moved if follows else start  # unless the whole record cannot be simulated there
            iterations = 0 if cut_short else iterations
        for stage in self.stages:
            progress.stage(f"fitting {', '.join(stage)}", iterations)
            active = problem.unknowns.named(stage) & movable
            part = descend(
                problem, starts, noise, active=active, iterations=iterations, progress=progress,
                evaluate=backwards and backwards.evaluation(noise),
            )  # fmt: skip
            starts, cut_short = part.free, cut_short or part.cut_short
            iterations = 0 if cut_short else iterations
        progress.stage("fitting (compiling)", iterations)
        loose = self.tolerance if known.all() else 1e-4
        descent = descend(
            problem, starts, noise, active=movable, iterations=iterations, tolerance=loose, progress=progress,
            evaluate=backwards and backwards.evaluation(noise),
        )  # fmt: skip
        history, first, best, weights = list(descent.history), descent, descent.free[descent.best], noise
        for again in range(0 if known.all() else self.rounds):
            if cut_short or descent.cut_short or not np.isfinite(descent.cost[descent.best]):
                break
            weights = noise
            left = residual_deviations(problem, predictions_at(problem, best))
            updated = np.where(known, given, left)
            negligible = np.max(updated / problem.signal_size()) < 1e-4  # weights hardly matter for such a fit
            settled = negligible or np.max(np.abs(np.log(updated / noise))) < 0.02
            noise = updated
            if settled:
                break
            progress.stage(f"fitting with estimated noise, round {again + 1}", iterations)
            descent = self._finish(problem, best, noise, movable, iterations, progress, backwards)
            best = descent.free[descent.best]
            history += descent.history
        if descent is first and loose > self.tolerance and not (cut_short or descent.cut_short):
            descent = self._finish(problem, best, weights, movable, iterations, progress, backwards)
            best = descent.free[descent.best]
            history += descent.history
        _, _, normal = gauss_newton(problem, best[None], noise)
        if not np.isfinite(normal).all():
            raise Refusal(
                "The prediction or its derivative is not finite at the best values that were found: the simulation "
                "overflows there. Give another first guess, narrower bounds, more substeps or another law."
            )
        covariance = covariance_of(np.asarray(normal)[0], descent.side[descent.best] != 0)
        best, covariance = _with_noise(problem, best, covariance, noise)
        return conclude(
            problem,
            self,
            best,
            started=started,
            covariance=covariance,
            noise=noise,
            warnings=second_minimum(problem, first),
            history={
                "cost": np.array([c for _, c in history]),
                "estimate": np.array([np.asarray(problem.unknowns.to_physical(jnp.asarray(f))) for f, _ in history]),
            },
            convergence=descent.certificate(problem.unknowns.names)
            | {"iterations": len(history), "segments": segments}
            | ({"gradients": "adjoint"} if backwards else {}),
            seed=key,
            cut_short=cut_short or descent.cut_short,
        )

    def _finish(self, problem: Problem, free, noise, movable, iterations: int, progress, backwards) -> Descent:
        return descend(
            problem,
            free[None],
            noise,
            active=movable,
            iterations=iterations,
            tolerance=self.tolerance,
            progress=progress,
            evaluate=backwards and backwards.evaluation(noise),
        )


def went_astray(fit: Identification) -> bool:
    """Whether a descent seems to have ended in a wrong minimum."""
    if verdict(fit.fits)[0]:
        return False
    start = np.asarray(fit.problem.unknowns.start)
    ratio = np.abs(fit.estimate[start != 0] / start[start != 0])
    far = bool(np.any((ratio > _FAR) | (ratio < 1.0 / _FAR)))
    return far or any(f.relative > _POOR for f in fit.fits)


def astray(fit: Identification) -> bool:
    """Whether a descent seems to have ended in a wrong minimum, and multiple shooting can be tried."""
    problem = fit.problem
    if not went_astray(fit):
        return False
    model = problem.experiment.structure.model(problem.data[0].loads)
    states = 2 * model.size + flat_start(model).size
    short = min(d.samples for d in problem.data) < _SHORTEST * _SEGMENTS
    return not (problem.delays or short or states > _MOST_STATES * len(problem.unknowns))


def first_guesses(problem: Problem, count: int, spread: float, key: int) -> np.ndarray:
    """(count, p): the first guess of the problem, and others spread around it, or between the bounds of an unknown."""
    rng = np.random.default_rng(key)
    u, first = problem.unknowns, problem.start
    between = np.isfinite(np.asarray(u.low)) & np.isfinite(np.asarray(u.high))
    low, high = np.where(between, u.low, 0.0), np.where(between, u.high, 1.0)
    share = np.clip((np.asarray(u.start) - low) / (high - low), 0.05, 0.95)
    guesses = [first]
    for draw in rng.standard_normal((count - 1, len(first))):
        odds = share / (1.0 - share) * np.exp(1.5 * draw)
        inside = u.to_free(np.where(between, low + (high - low) * odds / (1.0 + odds), u.start))
        guesses.append(np.where(between, inside, u.box().clip(first + spread * draw)))
    return np.stack(guesses)


def _with_noise(problem: Problem, free: np.ndarray, covariance: np.ndarray, noise: np.ndarray):
    """Set unknowns that are the noise of sensors to its estimate: ln σ has the deviation 1/√(2n) from n samples."""
    theta = np.array(problem.unknowns.to_physical(as_array(free)))
    counts = problem.counts()
    asked = problem.unknowns.noise()
    for i, sensors in asked.items():
        chosen = list(sensors)
        theta[i] = np.sqrt(np.average(noise[chosen] ** 2, weights=counts[chosen]))
    free = problem.unknowns.to_free(theta) if asked else free
    slope = np.asarray(problem.unknowns.slope(as_array(free)))
    for i, sensors in asked.items():
        covariance[i, :] = covariance[:, i] = 0.0
        covariance[i, i] = (theta[i] / slope[i]) ** 2 / (2.0 * counts[list(sensors)].sum())
    return free, covariance


def second_minimum(problem: Problem, descent: Descent) -> tuple[str, ...]:
    """A message where another start reached a minimum elsewhere with nearly the same misfit."""
    lowest, here = descent.cost[descent.best], descent.free[descent.best]
    scatter = 2.0 * lowest / max(problem.counts().sum(), 1.0) + 1e-300
    for b in np.argsort(descent.cost):
        if b == descent.best or not descent.converged[b] or not descent.cost[b] <= 1.1 * lowest:
            continue
        apart = descent.free[b] - here
        distance = np.sqrt(max(apart @ descent.normal[descent.best] @ apart, 0.0) / scatter / len(apart))
        if np.max(np.abs(apart)) > 0.05 and distance > 5:
            values = np.asarray(problem.unknowns.to_physical(jnp.asarray(descent.free[b])))
            named = ", ".join(f"{n} = {v:.4g}" for n, v in list(zip(problem.unknowns.names, values, strict=True))[:4])
            return (f"A second minimum fits nearly as well ({named}, …): the data do not decide between them.",)
    return ()


def refuse_method_in_modes(problem: Problem, method: Method) -> None:
    """Refuse a fit in modes by anything but single shooting with the whole Jacobian."""
    if problem.modes is None:
        return
    if not isinstance(method, TrajectoryFit) or method.adjoint or (method.segments or 1) > 1:
        raise Refusal("A fit in modes is one of TrajectoryFit() with one segment, without adjoint=; leave out modes=.")


def polished(method: Method, fit: Identification, problem: Problem, key, progress, started: float):
    """A trajectory fit that starts at the estimate of another method, as the result of that method."""
    nearer = dataclasses.replace(problem.unknowns, start=jnp.asarray(fit.estimate))
    last = TrajectoryFit(segments=1).solve(dataclasses.replace(problem, unknowns=nearer), key, progress)
    return last.replace(
        method=type(method).__name__,
        settings=settings_of(method),
        warnings=tuple(dict.fromkeys((*fit.warnings, *last.warnings))),
        convergence=last.convergence | fit.convergence,
        seconds=time.perf_counter() - started,
    )
