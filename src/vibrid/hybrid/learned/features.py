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

    def step(self, state, x, v, first_force=0.0) -> tuple[jax.Array, jax.Array]:
        """New state and features (…, count) at displacement x and velocity v (…), after a first force (…) in N."""
        plays = self._before(state, x, first_force)
        plays = jnp.clip(plays, *self._limits(plays, x))
        return self._after(plays), self.seen(plays, x, v)

    def along(self, state, x, v, first_force=0.0) -> tuple[jax.Array, jax.Array]:
        """Features (samples, …, count) for x and v (samples, …), and the state after them."""
        plays = self.plays(state, x, first_force)
        return self.seen(plays, x, v), self._after(plays[-1])

    def plays(self, state, x, first_force=0.0) -> jax.Array:
        """The play operators (samples, …, widths) for x (samples, …).

        Two clips in a row are one clip, so those of all samples need no loop over them.
        """
        first = self._before(state, x[0], first_force)
        limits = jax.lax.associative_scan(
            lambda one, then: tuple(jnp.clip(x, *then) for x in one), self._limits(first, x)
        )
        return jnp.clip(first, *limits)

    def _before(self, state, x, first_force) -> jax.Array:
        """The play operators before a sample."""
        return state

    def _after(self, plays) -> jax.Array:
        """The state with these play operators."""
        return plays

    def _limits(self, plays, x) -> tuple[jax.Array, jax.Array]:
        """Between which displacement x (…) moves the play operators."""
        r, x = jnp.asarray(self.widths, plays.dtype), jnp.asarray(x, plays.dtype)[..., None]
        return x - r, x + r

    def seen(self, plays, x, v) -> jax.Array:
        """Features (…, count), with the play operators after the sample."""
        r = jnp.asarray(self.widths, plays.dtype)
        x, v = jnp.asarray(x, plays.dtype)[..., None], jnp.asarray(v, plays.dtype)[..., None]
        seen = [(x - self.middle) / self.displacement] + [v / self.velocity] * self.sees_velocity
        return jnp.concatenate([*seen, (x - plays) / r], axis=-1)


class BoundedFeatures(MotionFeatures):
    """Bounded functions of velocity, and positions inside play operators: nothing grows beyond the training tests.

    The first is the velocity over the largest of the training tests, between −1 and 1. The displacement itself is not
    among them: the device has no marked position. At the first sample a device stands in its play where its first
    force says, (x − p_r) = first force / stiffness, in the middle where it has none.

    stiffness: N/m, of the device while its force is small; 0 where every test begins in the middle.
    reach: m, how far from the middle a first force can say that a device stands, for it is no spring; 0 for any.
    """

    stiffness: float = eqx.field(static=True, default=0.0)
    reach: float = eqx.field(static=True, default=0.0)

    @property
    def count(self) -> int:
        return 2 + len(_SPEEDS) + len(self.widths)

    def start(self, batch: tuple[int, ...] = (), dtype=jnp.float32):
        return jnp.zeros((*batch, len(self.widths) + 1), dtype)  # the last is 1 after the first sample

    def _before(self, state, x, first_force) -> jax.Array:
        r, x = jnp.asarray(self.widths, state.dtype), jnp.asarray(x, state.dtype)[..., None]
        if self.stiffness:
            placed = jnp.asarray(first_force, state.dtype)[..., None] / self.stiffness
            most = jnp.minimum(r, self.reach) if self.reach else r
            x = x - jnp.clip(placed, -most, most)
        return jnp.where(state[..., -1:] > 0, state[..., :-1], x)

    def _after(self, plays) -> jax.Array:
        return jnp.concatenate([plays, jnp.ones_like(plays, shape=(*plays.shape[:-1], 1))], axis=-1)

    def seen(self, plays, x, v) -> jax.Array:
        r = jnp.asarray(self.widths, plays.dtype)
        x, v = jnp.asarray(x, plays.dtype)[..., None], jnp.asarray(v, plays.dtype)[..., None]
        heard = jnp.clip(v / self.velocity, -1.0, 1.0)
        seen = [heard, *(jnp.tanh(heard / share) for share in _SPEEDS), jnp.log(1.0 + 30.0 * jnp.abs(heard)) / 3.0]
        return jnp.concatenate([*seen, jnp.clip((x - plays) / r, -1.0, 1.0)], axis=-1)
