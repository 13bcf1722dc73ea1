"""Descents of black boxes within a budget: Adam in blocks, and Levenberg–Marquardt. Both keep the parameters with the
smallest error on the samples that choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from vibrid.papers.public.black_box.series import Budget, TrainedBox

_BLOCK = 25


def by_adam(
    loss: Callable[[jax.Array], jax.Array], validation: Callable[[jax.Array], float], start: jax.Array,
    budget: Budget, rate: float,
) -> TrainedBox:  # fmt: skip
    """Adam with the whole batch; gradients are cut at the size 1."""
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))

    @jax.jit
    def block(vector: jax.Array, memory: Any) -> tuple[jax.Array, Any]:
        def one(carry, _):
            vector, memory = carry
            change, memory = optimiser.update(jax.grad(loss)(vector), memory, vector)
            return (vector + change, memory), None

        return jax.lax.scan(one, (vector, memory), None, length=_BLOCK)[0]

    memory = optimiser.init(start)
    compiled = block.lower(start, memory).compile()
    vector, best, least = start, start, validation(start)
    budget = budget.begin()
    while budget.spend(_BLOCK):
        vector, memory = compiled(vector, memory)
        error = validation(vector)
        if error < least:
            best, least = vector, error
        if not np.all(np.isfinite(vector)):
            break
    return TrainedBox(np.asarray(best), least, budget.spent, budget.used)


def by_levenberg(
    left: Callable[[jax.Array], jax.Array], validation: Callable[[jax.Array], float], start: jax.Array, budget: Budget
) -> TrainedBox:
    """Levenberg–Marquardt on a vector of errors; a step that does not lower their sum of squares is made shorter."""
    errors = jax.jit(left).lower(start).compile()
    slopes = jax.jit(jax.jacfwd(left)).lower(start).compile()
    vector, damping = start, 1e-2
    now = _squares(errors(vector))
    best, least = vector, validation(vector)
    budget = budget.begin()
    while budget.spend():
        jacobian, off = np.asarray(slopes(vector)), np.asarray(errors(vector))
        normal, slope = jacobian.T @ jacobian, jacobian.T @ off
        if not np.all(np.isfinite(normal)):
            break
        scale = np.diag(normal) + 1e-9 * np.trace(normal) / len(slope)
        lower, trial, then = False, vector, now
        while not lower and damping < 1e12:
            trial = vector - jnp.asarray(np.linalg.solve(normal + damping * np.diag(scale), slope))
            then = _squares(errors(trial))
            lower = then < now
            damping = max(0.2 * damping, 1e-12) if lower else 5.0 * damping
        if not lower:
            break
        small = now - then < 1e-9 * now
        vector, now = trial, then
        error = validation(vector)
        if error < least:
            best, least = vector, error
        if small:
            break
    return TrainedBox(np.asarray(best), least, budget.spent, budget.used)


def _squares(off) -> float:
    total = float(jnp.sum(jnp.square(off)))
    return total if np.isfinite(total) else np.inf
