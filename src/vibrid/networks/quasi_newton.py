"""L-BFGS with a preconditioner: for training to full precision (64-bit numbers, the whole batch).

Written as a step for `networks.train`, so that it has progress, Ctrl-C and checkpoints, and many problems can run
together under `vmap`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

_ENOUGH = 1e-4  # share of the predicted decrease that a step must reach (Armijo)
_SHORTER = 0.35
_TRIALS = 8


class DescentMemory(NamedTuple):
    """A point and its value, the gradient at the start of the last step, and the last steps and changes of gradient."""

    x: jax.Array
    value: jax.Array
    step: jax.Array  # the last one; zero where no step was accepted
    slope: jax.Array  # at its start
    steps: jax.Array  # (kept, n), newest last
    changes: jax.Array  # (kept, n)
    weights: jax.Array  # (kept,) 1/(step·change), 0 where there is none


class QuasiNewton(eqx.Module):
    """Limited-memory BFGS (Nocedal 1980; Nocedal & Wright, Algorithm 7.4) from an inverse Hessian that is given.

    Override `objective` and, where one is known, `precondition`; equal steps are compiled once. `kept` is how many
    steps are stored.
    """

    kept: int = eqx.field(static=True, default=10)

    def objective(self, x: jax.Array, data: Any) -> jax.Array:
        """The objective at a vector x."""
        raise NotImplementedError

    def precondition(self, slope: jax.Array, data: Any) -> jax.Array:
        """P⁻¹ times a gradient, P near the Hessian."""
        return slope

    def recorded(self, x: jax.Array, value: jax.Array, data: Any) -> Any:
        """The record of every step."""
        return value

    def start(self, x: jax.Array) -> DescentMemory:
        zero, none = jnp.zeros_like(x), jnp.zeros((self.kept, x.size), x.dtype)
        return DescentMemory(x, jnp.full((), jnp.inf, x.dtype), zero, zero, none, none, jnp.zeros(self.kept, x.dtype))

    def __call__(self, memory: DescentMemory, key: jax.Array, data: Any) -> tuple[DescentMemory, Any]:
        """One step in the quasi-Newton direction, shortened until the value falls."""
        value, slope = jax.value_and_grad(self.objective)(memory.x, data)
        change = slope - memory.slope
        product = jnp.vdot(memory.step, change)
        sound = product > 1e-12 * jnp.linalg.norm(memory.step) * jnp.linalg.norm(change)
        weight = jnp.where(sound, 1.0 / jnp.where(sound, product, 1.0), 0.0)
        led_on = jnp.any(memory.step != 0)  # else restart from the preconditioner
        steps, changes = (
            jnp.concatenate([old[1:], jnp.where(sound, new, 0.0)[None]])
            for old, new in ((memory.steps, memory.step), (memory.changes, change))
        )
        weights = jnp.where(led_on, jnp.concatenate([memory.weights[1:], weight[None]]), 0.0)
        direction = -self._inverse(slope, (steps, changes, weights), data)
        promised = jnp.vdot(slope, direction)

        def shorter(trial):
            t, _, _, count = trial
            t = _SHORTER * t
            there = self.objective(memory.x + t * direction, data)
            good = jnp.isfinite(there) & (there <= value + _ENOUGH * t * promised)
            return t, there, good, count + 1

        begin = (jnp.full_like(value, 1.0 / _SHORTER), value, jnp.zeros((), bool), jnp.zeros((), int))
        t, there, good, _ = jax.lax.while_loop(lambda c: ~c[2] & (c[3] < _TRIALS), shorter, begin)
        good = good & (promised < 0)
        step = jnp.where(good, t, 0.0) * direction
        value = jnp.where(good, there, value)
        x = memory.x + step
        return DescentMemory(x, value, step, slope, steps, changes, weights), self.recorded(x, value, data)

    def _inverse(self, slope, stack, data):
        """The inverse Hessian times the gradient: two loops over the stored steps."""

        def backward(q, own):
            s, y, w = own
            a = w * jnp.vdot(s, q)
            return q - a * y, a

        q, parts = jax.lax.scan(backward, slope, stack, reverse=True)
        r = self.precondition(q, data)

        def forward(r, own):
            (s, y, w), a = own
            return r + (a - w * jnp.vdot(y, r)) * s, None

        return jax.lax.scan(forward, r, (stack, parts))[0]
