"""Static equilibrium of a model: Newton's method, loads in steps or a displacement imposed."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Balance(NamedTuple):
    """A static state: displacements, states of the laws, load factor, and the largest force left unbalanced in N."""

    x: jax.Array
    s: tuple[Any, ...]
    factor: jax.Array
    unbalanced: jax.Array


def settle(at, size: int, steps: int = 10, iterations: int = 8) -> Balance:
    """Equilibrium under a load that grows from zero to its full value in equal steps, by Newton's method.

    `at(factor)` gives the model and the load vector (N) at a share of the load. States are committed at every step.
    """
    start = jnp.zeros(size)

    def step(carry, factor):
        x0, s = carry
        model, load = at(factor)

        def correct(guess, _):
            x, end = guess
            slope, forces = _slope(model, s, x0, x, end)
            x = x + jnp.linalg.solve(slope, load - forces)
            return (x, _advance(model, s, x0, x)), None

        (x, end), _ = jax.lax.scan(correct, (x0, s), length=iterations)
        return (x, end), _largest(load - model.forces(x, start, end))

    (x, s), left = jax.lax.scan(step, (start, at(0.0)[0].start()), jnp.arange(1, steps + 1) / steps)
    return Balance(x, s, jnp.ones(()), left[-1])


def impose(model, pattern, row, now: Balance, target, iterations: int) -> Balance:
    """Equilibrium under `factor × pattern` (N) with the displacement `row @ x` at a target; `now` is committed.

    The factor and the displacements are found together: `K dx = r + df pattern`, `row dx = the remaining displacement`.
    """

    def correct(guess, _):
        x, end, factor = guess
        slope, forces = _slope(model, now.s, now.x, x, end)
        both = jnp.linalg.solve(slope, jnp.stack([factor * pattern - forces, pattern], axis=1))
        more = (target - row @ x - row @ both[:, 0]) / (row @ both[:, 1])
        x = x + both[:, 0] + more * both[:, 1]
        return (x, _advance(model, now.s, now.x, x), factor + more), None

    (x, s, factor), _ = jax.lax.scan(correct, (now.x, now.s, now.factor), length=iterations)
    return Balance(x, s, factor, _largest(factor * pattern - model.forces(x, jnp.zeros_like(x), s)))


def _advance(model, s, x0, x):
    rest = jnp.zeros_like(x)
    return model.advance(s, (x0, rest), (x, rest), 1.0)


def _slope(model, s, x0, x, end):
    """Tangent stiffness and forces at displacements x, reached from x0; `end` are the states there."""
    rest = jnp.zeros_like(x)
    return model.tangent(s, (x0, rest), (x, rest), 1.0, 0.0, 1.0, end), model.forces(x, rest, end)


def _largest(values):
    return jnp.max(jnp.abs(values))
