"""The features of the device's motion that a network is given.

Beside displacement and velocity: the position of the displacement inside play operators of several widths,

    p_r ← min(max(p_r, x − r), x + r),        (x − p_r)/r in −1 … 1

A play operator has exactly the memory of a device with backlash and dry friction; it needs no training, and at rest it
does not change. A network with these features needs little memory of its own, which prevents drift in a closed loop.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

_SPEEDS = (0.008, 0.04, 0.15, 0.6)
"""Shares of the largest velocity at which a bounded function of velocity bends."""


class MotionFeatures(eqx.Module):
    """Displacement and velocity over their sizes, and positions inside play operators.

    Arguments
        displacement: size of a large displacement, m.
        velocity: size of a large velocity, m/s.
        widths: r of the play operators, m; none for the published network, which uses displacement alone.
        sees_velocity: whether the velocity is among the features.
        middle: m, displacement that counts as zero (a min–max scaling has its minimum there).
    """

    displacement: float = eqx.field(static=True)
    velocity: float = eqx.field(static=True)
    widths: tuple[float, ...] = eqx.field(static=True, default=(), converter=tuple)
    sees_velocity: bool = eqx.field(static=True, default=True)
    middle: float = eqx.field(static=True, default=0.0)

    @property
    def count(self) -> int:
        return 1 + self.sees_velocity + len(self.widths)

    def start(self, batch: tuple[int, ...] = (), dtype=jnp.float32):
        return jnp.zeros((*batch, len(self.widths)), dtype)

    def step(self, state, x, v) -> tuple[jax.Array, jax.Array]:
        """New play operators and features (…, count) at displacement x and velocity v (…)."""
        state = jnp.clip(state, *self._limits(state, x))
        return state, self._seen(state, x, v)

    def along(self, state, x, v) -> tuple[jax.Array, jax.Array]:
        """Features (samples, …, count) for x and v (samples, …), and the play operators after them.

        Two clips in a row are one clip, so the play operators of all samples need no loop over them.
        """
        limits = jax.lax.associative_scan(
            lambda first, then: tuple(jnp.clip(x, *then) for x in first), self._limits(state, x)
        )
        states = jnp.clip(state, *limits)
        return self._seen(states, x, v), states[-1]

    def _limits(self, state, x) -> tuple[jax.Array, jax.Array]:
        """Between which displacement x (…) moves the play operators."""
        r, x = jnp.asarray(self.widths, state.dtype), jnp.asarray(x, state.dtype)[..., None]
        return x - r, x + r

    def _seen(self, state, x, v) -> jax.Array:
        """Features (…, count), with the play operators `state` after the sample."""
        r = jnp.asarray(self.widths, state.dtype)
        x, v = jnp.asarray(x, state.dtype)[..., None], jnp.asarray(v, state.dtype)[..., None]
        seen = [(x - self.middle) / self.displacement] + [v / self.velocity] * self.sees_velocity
        return jnp.concatenate([*seen, (x - state) / r], axis=-1)


class BoundedFeatures(MotionFeatures):
    """Bounded functions of velocity, and positions inside play operators: nothing grows beyond the training tests.

    The first is the velocity over the largest of the training tests, between −1 and 1. The displacement itself is not
    among them: the device has no marked position but where it was moved from.
    """

    @property
    def count(self) -> int:
        return 2 + len(_SPEEDS) + len(self.widths)

    def _seen(self, state, x, v) -> jax.Array:
        r = jnp.asarray(self.widths, state.dtype)
        x, v = jnp.asarray(x, state.dtype)[..., None], jnp.asarray(v, state.dtype)[..., None]
        heard = jnp.clip(v / self.velocity, -1.0, 1.0)
        seen = [heard, *(jnp.tanh(heard / share) for share in _SPEEDS), jnp.log(1.0 + 30.0 * jnp.abs(heard)) / 3.0]
        return jnp.concatenate([*seen, jnp.clip((x - state) / r, -1.0, 1.0)], axis=-1)
