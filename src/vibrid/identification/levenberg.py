"""Levenberg–Marquardt between bounds, from many starts at once: every start has its own damping, and all are evaluated
together.

A step minimises the damped quadratic model inside the box of the unknowns (`box.py`), so every step respects the
bounds. Convergence is not tested on the step that was taken, but on the decrease that the undamped model could still
reach inside the box. That is the norm of the **projected gradient** in the metric of the Gauss–Newton matrix, relative
to the
norm of the residuals: the share of the residuals that the unknowns which may move could still explain (without bounds,
the cosine of the angle between the residuals and the column space of the Jacobian). It has no unit and no scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import native
from vibrid.core.arguments import Array
from vibrid.core.interrupts import listening
from vibrid.core.numbers import as_array
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.box import Box, bounded_step, promise
from vibrid.identification.cheaper import cheaper
from vibrid.identification.fit_in_modes import readings_and_slopes_in_modes

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem

_EXACT = 1e-22  # a cost that falls to this share of its first value is zero except for rounding
_UNDAMPED = 1e-12
_BLOCK = 1 << 15  # numbers of a Jacobian that are weighted at once: they stay near the processor


@dataclass
class Descent:
    """The end of each start: free vectors (starts, p), costs ½‖r‖², Gauss–Newton matrices, and convergence.

    `projected` is the norm of the projected gradient relative to the residuals; a start has converged when it is not
    above `tolerance`. `side` is −1 and 1 where an unknown is at its lower or upper bound.
    """

    free: np.ndarray
    cost: np.ndarray
    gradient: np.ndarray
    normal: np.ndarray
    iterations: int
    converged: np.ndarray
    projected: np.ndarray
    side: np.ndarray
    tolerance: float
    history: list[tuple[np.ndarray, float]] = field(default_factory=list)  # (φ, cost) of the best start
    cut_short: bool = False

    @property
    def best(self) -> int:
        return int(np.argmin(np.where(np.isfinite(self.cost), self.cost, np.inf)))

    def certificate(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Convergence of the best start, for a result's `convergence`."""
        b = self.best
        return {
            "converged": bool(self.converged[b]),
            "projected_gradient": float(self.projected[b]),
            "gradient_tolerance": self.tolerance,
            "at_bound": [name for name, side in zip(names, self.side[b], strict=False) if side],
        }


def _readings(problem: Problem, free: Array) -> tuple[jax.Array, ...]:
    return tuple(problem.predict(free, i) for i in range(len(problem.data)))


_readings_and_slopes = native.jacobian(_readings)


def readings_and_slopes(problem: Problem, free: Array):
    """Predicted readings (nt, ny) of every record at φ, and their derivatives (nt, ny, p)."""
    if problem.modes is not None:
        return readings_and_slopes_in_modes(problem, free)
    return _readings_and_slopes(cheaper(problem), free)


def gauss_newton(problem: Problem, free: Array, deviations: Array, batch_size: int = 8):
    """Cost, gradient and Gauss–Newton matrix at each of (starts, p) free vectors."""
    free, deviations = np.asarray(free), np.asarray(deviations)  # known: rows of JAX's arrays are compiled programs
    if free.shape[0] > 1 and problem.modes is not None:
        each = [linearised(problem, own).normal_equations(deviations) for own in free]
        return tuple(np.stack(part) for part in zip(*each, strict=True))
    if free.shape[0] > 1:
        return _many(cheaper(problem), as_array(free), as_array(deviations), batch_size)
    return tuple(np.asarray(part)[None] for part in linearised(problem, free[0]).normal_equations(deviations))


def linearised(problem: Problem, free: Array) -> LinearReadings:
    """The readings as a linear function of φ around a point."""
    readings, slopes = readings_and_slopes(problem, as_array(free))
    return LinearReadings(
        problem, np.asarray(free, float), *([np.asarray(a) for a in part] for part in (readings, slopes))
    )


def prior_at(problem: Problem, free: Array) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of the priors at φ, and their derivatives."""
    unknowns, p = problem.unknowns, len(free)
    if not np.isfinite(np.asarray(unknowns.prior_mean)).any():
        return np.zeros(p), np.zeros((p, p))
    free = as_array(free)
    return np.asarray(unknowns.prior_residual(free)), np.asarray(unknowns.prior_slope(free))


@dataclass(frozen=True)
class LinearReadings:
    """Predicted readings (nt, ny) of every record around φ, and their derivatives (nt, ny, p)."""

    problem: Problem
    free: np.ndarray
    predictions: list[np.ndarray]
    slopes: list[np.ndarray]

    @cached_property
    def residuals(self) -> list[np.ndarray]:
        """Measured − predicted; zero where a sample is missing."""
        pairs = zip(self.problem.data, self.predictions, strict=True)
        return [(np.asarray(d.readings) - y) * np.asarray(d.present) for d, y in pairs]

    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of the priors, and their derivatives."""
        return self._prior

    @cached_property
    def _prior(self) -> tuple[np.ndarray, np.ndarray]:
        return prior_at(self.problem, self.free)

    def normal_equations(self, deviations: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cost ½‖r‖², gradient and Gauss–Newton matrix for independent noise of the given size."""
        misfit, slope = self.prior()
        cost, gradient, normal = 0.5 * misfit @ misfit, slope.T @ misfit, slope.T @ slope
        weight = 1.0 / np.asarray(deviations)
        with np.errstate(all="ignore"):  # a simulation may diverge: `descend` then tries a shorter step
            for data, residual, slopes in zip(self.problem.data, self.residuals, self.slopes, strict=True):
                r, weights = (residual * weight).reshape(-1), (np.asarray(data.present) * weight).reshape(-1, 1)
                slopes, cost = slopes.reshape(r.size, -1), cost + 0.5 * r @ r
                rows = max(_BLOCK // max(slopes.shape[1], 1), 64)
                for begin in range(0, r.size, rows):
                    part = slice(begin, begin + rows)
                    j = slopes[part] * weights[part]
                    gradient, normal = gradient - j.T @ r[part], normal + j.T @ j
        return np.asarray(cost), gradient, normal


@eqx.filter_jit
def _many(problem: Problem, free: Array, deviations: Array, batch_size: int):
    def at(phi):
        tangent_free = jax.jacfwd(lambda q: (problem.residuals(q, deviations),) * 2, has_aux=True)
        jacobian, r = tangent_free(phi)
        return 0.5 * jnp.vdot(r, r), jacobian.T @ r, jacobian.T @ jacobian

    return jax.lax.map(at, free, batch_size=min(batch_size, free.shape[0]))


def descend(
    problem: Problem,
    starts: np.ndarray,
    deviations: np.ndarray | None,
    *,
    active: np.ndarray | None = None,
    box: Box | None = None,
    iterations: int = 60,
    tolerance: float = 1e-9,
    progress: Progress = SILENT,
    evaluate: Callable[..., Any] | None = None,
) -> Descent:
    """Minimise ½‖residuals‖² from every row of `starts`, inside a box.

    A start has converged when the quadratic model predicts a decrease of the cost by less than `tolerance` of it for
    any step inside the box; the projected gradient is then below √tolerance. A start is given up when its damping is
    too large. Ctrl-C keeps the best so far.

    Arguments
        deviations: (sensors,) noise of the readings; None where `evaluate` is given.
        active: which unknowns may move; all by default.
        box: bounds and longest steps; those of the problem's unknowns by default.
        evaluate: free (starts, p) → cost, gradient, normal matrix; that of the problem by default.
    """
    evaluate = _sound(evaluate or (lambda free: gauss_newton(problem, free, np.asarray(deviations))))
    box = problem.unknowns.box() if box is None else box
    free = box.clip(np.array(starts, dtype=float))
    count, p = free.shape
    active = np.ones(p, bool) if active is None else active
    cost, gradient, normal = evaluate(free)
    damping, reach = np.full(count, 1e-3), np.tile(box.longest, (count, 1))
    rounding = _EXACT * cost + (0.0 if deviations is None else problem.rounding(deviations))
    done = ~np.isfinite(cost)
    nothing, root = np.zeros(count, bool), float(np.sqrt(tolerance))
    descent = Descent(free, cost, gradient, normal, 0, nothing, np.full(count, np.nan), box.side(free), root)
    if done.all():
        return descent
    descent.history.append((free[descent.best].copy(), float(cost[descent.best])))
    try:
        with listening():
            for it in range(1, iterations + 1):
                step, gain = np.zeros_like(free), np.zeros(count)
                for b in map(int, np.flatnonzero(~done)):
                    step[b] = bounded_step(
                        normal[b], gradient[b], damping[b], *box.room(free[b], np.where(active, reach[b], 0.0))
                    )
                    gain[b] = promise(normal[b], gradient[b], step[b])
                    enough = tolerance * cost[b] + rounding[b]
                    done[b] = gain[b] <= enough and _decrease_left(descent, b, box, active) <= enough
                if done.all():
                    break
                trial = np.where(done[:, None], free, box.clip(free + step))
                t_cost, t_gradient, t_normal = evaluate(trial)
                better = ~done & (t_cost < cost)
                worse = ~done & ~better
                kept = np.zeros(count)  # share of the predicted decrease
                kept[better] = (cost[better] - t_cost[better]) / np.maximum(gain[better], 1e-300)
                damping[better] = np.maximum(damping * np.where(kept > 0.25, 1.0 / 9.0, 2.0), 1e-12)[better]
                reach[(np.abs(step) >= 0.999 * reach) & (kept > 0.5)[:, None]] *= 2.0
                reach = np.minimum(reach, np.maximum(box.trust, box.longest))
                reach[worse] = np.minimum(reach[worse], box.longest)
                damping[worse] *= 8.0
                done |= worse & (damping > 1e10)
                free[better], cost[better] = trial[better], t_cost[better]
                gradient[better], normal[better] = t_gradient[better], t_normal[better]
                descent.iterations = it
                descent.history.append((free[descent.best].copy(), float(cost[descent.best])))
                progress.update(it, f"misfit {2 * cost[descent.best]:.4g}")
    except KeyboardInterrupt:
        descent.cut_short = True
    descent.side = box.side(free)
    for b in map(int, np.flatnonzero(np.isfinite(cost))):
        left = _decrease_left(descent, b, box, active)
        descent.projected[b] = np.sqrt(left / cost[b]) if cost[b] > 0 else 0.0
        descent.converged[b] = left <= tolerance * cost[b] + rounding[b]
    return descent


def _sound(evaluate):
    """The same evaluation with an infinite cost where it, its gradient or its matrix is not finite."""

    def evaluated(free):
        cost, gradient, normal = (np.array(part) for part in evaluate(free))
        sound = np.isfinite(cost) & np.isfinite(gradient).all(axis=1) & np.isfinite(normal).all(axis=(1, 2))
        return np.where(sound, cost, np.inf), gradient, normal

    return evaluated


def _decrease_left(descent: Descent, b: int, box: Box, active: np.ndarray) -> float:
    """The decrease of the cost of a start that its undamped model predicts inside the box."""
    step = bounded_step(
        descent.normal[b], descent.gradient[b], _UNDAMPED, *box.room(descent.free[b], np.where(active, box.trust, 0.0))
    )
    return max(promise(descent.normal[b], descent.gradient[b], step), 0.0)
