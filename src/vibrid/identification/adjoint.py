"""Descents with many unknowns: gradients by the adjoint of the simulation, whose cost does not grow with their number.

    ∇ ½‖r(φ)‖² = Jᵀ r

is found by one run backwards through the time loop, which takes as long as a few simulations. The state is kept at √nt
samples only and the stretches between them are simulated again (checkpoints), so memory grows with the square root of a
record. The Gauss–Newton matrix, which takes a tangent for every unknown, is computed where a fit begins and again after
as many gradients as take about that long; between, it follows the gradients by secant updates (BFGS), which keep it
positive definite:

    N ← N − (N s sᵀ N)/(sᵀ N s) + (y yᵀ)/(yᵀ s),      s = φ₁ − φ₀,  y = ∇₁ − ∇₀

Gradient, cost and so the minimum are those of the problem; the matrix decides about the path to it alone. Uncertainty
is computed with the whole Jacobian at the end.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.errors import Refusal
from vibrid.identification.levenberg import LinearReadings, linearised

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem

_MANY = 100  # unknowns from which on a descent by gradients is the quicker one, also with the steps it takes more
_LEAST, _SHARE = 5, 10  # gradients between two Jacobians: a tenth of the unknowns


def uses_adjoint(problem: Problem, wanted: bool | None) -> bool:
    """Whether gradients are to come from the adjoint; None wants it for many unknowns, where there is one."""
    if wanted:
        refuse_without_adjoint(problem)
        return True
    if wanted is None:
        return len(problem.unknowns) >= _MANY and problem.modes is None and not _why_not(problem)
    return False


def refuse_without_adjoint(problem: Problem) -> None:
    """Refuse a simulation that cannot be run backwards."""
    reason = _why_not(problem)
    if reason:
        raise Refusal(f"This simulation cannot be run backwards ({reason}); leave out adjoint=.")


def _why_not(problem: Problem) -> str:
    """Why a simulation has no adjoint, in the words of the tracer; empty where it has one."""
    free = jnp.asarray(problem.start)
    try:
        eqx.filter_eval_shape(_cost_and_gradient, problem, free, jnp.ones(len(problem.sensors)))
    except (ValueError, TypeError, NotImplementedError) as problem_found:
        return str(problem_found).splitlines()[0]
    return ""


def cost_and_gradient(problem: Problem, free: Array, deviations: Array) -> tuple[float, np.ndarray]:
    """½‖residuals‖² and its gradient, by the adjoint."""
    cost, gradient = _compiled(problem, jnp.asarray(free), jnp.asarray(deviations))
    return float(cost), np.asarray(gradient)


def _cost_and_gradient(problem: Problem, free, deviations):
    backwards = dataclasses.replace(problem, backwards=True)

    def cost(free):
        r = backwards.residuals(free, deviations)
        return 0.5 * jnp.vdot(r, r)

    return jax.value_and_grad(cost)(free)


_compiled = eqx.filter_jit(_cost_and_gradient)


class AdjointDescent:
    """Evaluations for `descend`: the matrix of one point, carried on by the gradients. One start after the other."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.readings: LinearReadings | None = None

    def evaluation(self, deviations: np.ndarray):
        """free (starts, p) → cost, gradient and matrix, for noise of the given size; begins with the known matrix."""
        every = max(_LEAST, len(self.problem.unknowns) // _SHARE)
        matrices: dict[int, np.ndarray] = {}
        since: dict[int, int] = {}
        before: dict[int, tuple[np.ndarray, np.ndarray, float]] = {}

        def evaluate(free):
            answers = []
            for b, here in enumerate(np.asarray(free, float)):
                if b not in matrices:
                    if self.readings is None:
                        self.readings = linearised(self.problem, here)
                    matrices[b] = self.readings.normal_equations(deviations)[2]
                since[b] = since.get(b, 0) + 1
                if since[b] > every:
                    readings = linearised(self.problem, here)
                    again, gradient, matrix = readings.normal_equations(deviations)
                    cost, since[b] = float(again), 0
                    if np.isfinite(matrix).all():  # not where the simulation diverges
                        self.readings, matrices[b] = readings, matrix
                elif b in before and np.array_equal(before[b][0], here):
                    cost, gradient = before[b][2], before[b][1]
                else:
                    cost, gradient = cost_and_gradient(self.problem, here, deviations)
                if b in before and since[b] and np.isfinite(cost) and np.isfinite(gradient).all():
                    matrices[b] = secant(matrices[b], here - before[b][0], gradient - before[b][1])
                if b not in before or cost < before[b][2]:
                    before[b] = here.copy(), gradient, cost
                answers.append((cost, gradient, matrices[b]))
            return tuple(np.stack(part) for part in zip(*answers, strict=True))

        return evaluate


def secant(matrix: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The BFGS update of a positive definite matrix, damped (Powell 1978) so that it stays so."""
    moved = matrix @ step
    curvature = float(step @ moved)
    if not curvature > 0.0:
        return matrix
    along = float(step @ change)
    share = 1.0 if along >= 0.2 * curvature else 0.8 * curvature / (curvature - along)
    change = share * change + (1.0 - share) * moved
    return matrix - np.outer(moved, moved) / curvature + np.outer(change, change) / float(step @ change)
