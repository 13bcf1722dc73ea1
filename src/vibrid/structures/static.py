"""Static equilibrium of a model: Newton's method, loads in steps or a displacement imposed."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Balance(NamedTuple):
    """A static state: displacements, states of the laws, load factor, and the largest force left unbalanced in N."""

    x: jax.Array
    s: tuple
    factor: jax.Array
    unbalanced: jax.Array


def _advance(model, s, x0, x):
    rest = jnp.zeros_like(x)
    after = model.advance(s, (x0, rest), (x, rest), 1.0)
    return after, model.forces(x, rest, after)


def settle(at, size: int, steps: int = 10, iterations: int = 10) -> Balance:
    """Equilibrium under a load that grows from nothing to all of it in equal steps.

    `at(factor)` gives the model and the load vector (N) at a share of the load. States are committed at every step.
    """
    model, _ = at(0.0)
    rest = jnp.zeros(size)

    def step(carry, factor):
        x0, s = carry
        model, load = at(factor)

        def correct(x, _):
            _, forces = _advance(model, s, x0, x)
            slope = model.tangent(s, (x0, rest), (x, rest), 1.0, 0.0, 1.0)
            return x + jnp.linalg.solve(slope, load - forces), None

        x, _ = jax.lax.scan(correct, x0, length=iterations)
        after, forces = _advance(model, s, x0, x)
        return (x, after), jnp.max(jnp.abs(load - forces))

    (x, s), left = jax.lax.scan(step, (rest, model.start()), jnp.arange(1, steps + 1) / steps)
    return Balance(x, s, jnp.ones(()), left[-1])


def impose(model, pattern, row, start: Balance, target, iterations: int) -> Balance:
    """Equilibrium under `factor × pattern` (N) with the displacement `row @ x` at a target; `start` is committed.

    The factor and the displacements are found together: `K dx = r + df pattern`, `row dx = what is missing`.
    """
    rest = jnp.zeros_like(start.x)

    def correct(guess, _):
        x, factor = guess
        _, forces = _advance(model, start.s, start.x, x)
        slope = model.tangent(start.s, (start.x, rest), (x, rest), 1.0, 0.0, 1.0)
        both = jnp.linalg.solve(slope, jnp.stack([factor * pattern - forces, pattern], axis=1))
        more = (target - row @ x - row @ both[:, 0]) / (row @ both[:, 1])
        return (x + both[:, 0] + more * both[:, 1], factor + more), None

    (x, factor), _ = jax.lax.scan(correct, (start.x, start.factor), length=iterations)
    s, forces = _advance(model, start.s, start.x, x)
    return Balance(x, s, factor, jnp.max(jnp.abs(factor * pattern - forces)))
