"""Levenberg–Marquardt for many starts at once: every start has its own damping, all are evaluated together."""

from __future__ import annotations

from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.progress import SILENT, Progress


@dataclass
class Descent:
    """Where each start ended: free vectors (starts, p), costs ½‖r‖², Gauss–Newton matrices, and how it went."""

    free: np.ndarray
    cost: np.ndarray
    gradient: np.ndarray
    normal: np.ndarray
    iterations: int
    converged: np.ndarray
    history: list[tuple[np.ndarray, float]] = field(default_factory=list)  # (φ, cost) of the best start
    cut_short: bool = False

    @property
    def best(self) -> int:
        return int(np.nanargmin(self.cost))


@eqx.filter_jit
def gauss_newton(problem, free, deviations, batch_size=8):
    """Cost, gradient and Gauss–Newton matrix at each of (starts, p) free vectors."""

    def one(phi):
        tangent_free = jax.jacfwd(lambda q: (problem.residuals(q, deviations),) * 2, has_aux=True)
        jacobian, r = tangent_free(phi)
        return 0.5 * jnp.vdot(r, r), jacobian.T @ r, jacobian.T @ jacobian

    if free.shape[0] == 1:
        return jax.tree.map(lambda a: a[None], one(free[0]))
    return jax.lax.map(one, free, batch_size=min(batch_size, free.shape[0]))


def descend(
    problem,
    starts: np.ndarray,
    deviations: np.ndarray,
    *,
    active: np.ndarray | None = None,
    iterations: int = 60,
    tolerance: float = 1e-9,
    progress: Progress = SILENT,
    evaluate=None,
) -> Descent:
    """Minimise ½‖residuals‖² from every row of `starts`.

    A start is done when its quadratic model promises to lower the cost by less than `tolerance` of it, or when damping
    has grown past use. Ctrl-C keeps the best so far.

    Arguments
        active: which unknowns may move; all by default.
        evaluate: free (starts, p) → cost, gradient, normal matrix; the problem's own by default.
    """
    evaluate = evaluate or (lambda free: gauss_newton(problem, jnp.asarray(free), jnp.asarray(deviations)))
    free = np.array(starts, dtype=float)
    count, p = free.shape
    active = np.ones(p, bool) if active is None else active
    cost, gradient, normal = (np.array(a) for a in evaluate(free))
    damping = np.full(count, 1e-3)
    done = ~np.isfinite(cost)
    made = Descent(free, cost, gradient, normal, 0, np.zeros(count, bool))
    if done.all():
        return made
    made.history.append((free[made.best].copy(), float(cost[made.best])))
    try:
        for it in range(1, iterations + 1):
            step = np.zeros_like(free)
            for b in np.flatnonzero(~done):
                step[b, active] = _step(normal[b][np.ix_(active, active)], gradient[b][active], damping[b])
                gain = -(gradient[b] @ step[b] + 0.5 * step[b] @ normal[b] @ step[b])
                if gain <= tolerance * cost[b] + 1e-28:  # nothing left to win
                    done[b] = made.converged[b] = True
            if done.all():
                break
            trial = np.where(done[:, None], free, free + step)
            t_cost, t_gradient, t_normal = (np.array(a) for a in evaluate(trial))
            better = ~done & (t_cost < cost)
            worse = ~done & ~better
            damping[better] = np.maximum(damping[better] / 9.0, 1e-12)
            damping[worse] *= 8.0
            done |= worse & (damping > 1e10)
            free[better], cost[better] = trial[better], t_cost[better]
            gradient[better], normal[better] = t_gradient[better], t_normal[better]
            made.iterations = it
            made.history.append((free[made.best].copy(), float(cost[made.best])))
            progress.update(it, f"misfit {2 * cost[made.best]:.4g}")
    except KeyboardInterrupt:
        made.cut_short = True
    return made


def _step(normal: np.ndarray, gradient: np.ndarray, damping: float, longest: float = 1.5) -> np.ndarray:
    """The damped Gauss–Newton step, no component longer than `longest` (the free space is logarithmic)."""
    scale = np.sqrt(np.maximum(np.diag(normal), 1e-30 * max(np.max(np.diag(normal)), 1e-300)))
    scaled = normal / np.outer(scale, scale) + damping * np.eye(len(scale))
    try:
        step = -np.linalg.solve(scaled, gradient / scale) / scale
    except np.linalg.LinAlgError:
        step = -gradient / scale**2
    size = np.max(np.abs(step))
    return step * (longest / size) if size > longest else step
