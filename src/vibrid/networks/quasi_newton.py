"""L-BFGS with a preconditioner: what to train with when every digit counts (64-bit numbers, the whole batch).

Written as a step for `networks.train`, so that it has progress, Ctrl-C and checkpoints, and many problems can run side
by side under `vmap`.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

_ENOUGH = 1e-4  # share of the promised fall that a step must bring (Armijo)
_SHORTER = 0.35
_TRIALS = 8


class Memory(NamedTuple):
    """A point, its value and slope, and the last steps and changes of slope, newest last."""

    x: jax.Array
    value: jax.Array
    slope: jax.Array
    steps: jax.Array  # (kept, n)
    changes: jax.Array  # (kept, n)
    weights: jax.Array  # (kept,) 1/(step·change), 0 where there is none


class QuasiNewton(eqx.Module):
    """Limited-memory BFGS (Nocedal 1980; Nocedal & Wright, Algorithm 7.4) from an inverse Hessian that is given.

    Override `objective` and, where one is known, `precondition`; equal steps are compiled once. `kept` is how many
    steps are remembered.
    """

    kept: int = eqx.field(static=True, default=10)

    def objective(self, x, data):
        """What is to fall, at a vector x."""
        raise NotImplementedError

    def precondition(self, slope, data):
        """P⁻¹ times a slope, P near the Hessian."""
        return slope

    def recorded(self, x, value, data):
        """What is kept of every step."""
        return value

    def start(self, x, data) -> Memory:
        value, slope = jax.value_and_grad(self.objective)(x, data)
        none = jnp.zeros((self.kept, x.size), x.dtype)
        return Memory(x, value, slope, none, none, jnp.zeros(self.kept, x.dtype))

    def __call__(self, memory: Memory, key, data):
        """One step along the quasi-Newton direction, shortened until the value falls."""
        direction = -self._inverse(memory, data)
        promised = jnp.vdot(memory.slope, direction)

        def falls(t):
            value = self.objective(memory.x + t * direction, data)
            return value, jnp.isfinite(value) & (value <= memory.value + _ENOUGH * t * promised)

        def shorter(trial):
            t, _, _, count = trial
            t = _SHORTER * t
            return (t, *falls(t), count + 1)

        first = jnp.ones((), memory.x.dtype)
        trial = (first, *falls(first), jnp.zeros((), int))
        t, _, good, _ = jax.lax.while_loop(lambda c: ~c[2] & (c[3] < _TRIALS), shorter, trial)
        good = good & (promised < 0)
        step = jnp.where(good, t, 0.0) * direction
        x = memory.x + step
        value, slope = jax.value_and_grad(self.objective)(x, data)
        change = slope - memory.slope
        product = jnp.vdot(step, change)
        sound = good & (product > 1e-12 * jnp.linalg.norm(step) * jnp.linalg.norm(change))
        weight = jnp.where(sound, 1.0 / jnp.where(sound, product, 1.0), 0.0)
        steps, changes, weights = (
            jnp.concatenate([old[1:], new[None]])
            for old, new in (
                (memory.steps, jnp.where(sound, step, 0.0)),
                (memory.changes, jnp.where(sound, change, 0.0)),
                (memory.weights, weight),
            )
        )
        weights = jnp.where(good, weights, 0.0)  # a direction that led nowhere: begin again from the preconditioner
        return Memory(x, value, slope, steps, changes, weights), self.recorded(x, value, data)

    def _inverse(self, memory: Memory, data):
        """The inverse Hessian times the slope: two loops over what is remembered."""

        def backward(q, own):
            s, y, w = own
            a = w * jnp.vdot(s, q)
            return q - a * y, a

        stack = (memory.steps, memory.changes, memory.weights)
        q, parts = jax.lax.scan(backward, memory.slope, stack, reverse=True)
        r = self.precondition(q, data)

        def forward(r, own):
            (s, y, w), a = own
            return r + (a - w * jnp.vdot(y, r)) * s, None

        return jax.lax.scan(forward, r, (stack, parts))[0]
