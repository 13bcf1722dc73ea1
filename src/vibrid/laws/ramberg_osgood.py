"""Ramberg–Osgood hysteresis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, check_parameters, parameter
from vibrid.laws.base import LAWS
from vibrid.laws.masing import MemoryLaw

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes

_STEPS = 40


@LAWS.register("ramberg-osgood")
class RambergOsgood(MemoryLaw):
    """`e = F/k (1 + α |F/F_y|ʳ⁻¹)` on first loading (Ramberg & Osgood 1943), stretched twice from every turning point
    by Masing's rules (Jennings 1964), with the memory of `Masing`; a dashpot in parallel.

    The curve is solved for F by Newton's method. Smooth between turning points.

    Arguments
        capacity: turning points that can be stored; more are an error, never dropped silently.
    """

    corners: ClassVar[str] = "turns"

    stiffness: Parameter = parameter("initial stiffness k", "N/m", positive=True)
    yield_force: Parameter = parameter("reference force F_y", "N", positive=True)
    exponent: Parameter = parameter("sharpness of yield r, above 1", "", positive=True, default=7.0)
    shape: Parameter = parameter("plastic share at F_y, α", "", positive=True, default=1.0)
    damping: Parameter = parameter("viscous damping c", "N s/m", positive=True, default=0.0)
    capacity: int = eqx.field(static=True, default=32)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        return {"stiffness": loop.first_stiffness, "yield_force": loop.yielding}

    def __check_init__(self) -> None:
        check_parameters(self, type(self).__name__)
        if isinstance(self.capacity, bool) or not isinstance(self.capacity, int) or self.capacity < 2:
            raise InputError(f"The memory must hold at least 2 turning points, not {self.capacity!r}.")

    def curve(self, y: jax.Array, largest: jax.Array) -> jax.Array:
        relative = y * self.stiffness / self.yield_force
        return self.yield_force * _inverse(relative, self.exponent, self.shape)


@jax.custom_jvp
def _inverse(u: jax.Array, r: jax.Array, a: jax.Array) -> jax.Array:
    """g ≥ 0 of u = g + a gʳ. From above the function is convex: Newton's steps fall to the root without overshoot."""
    safe = jnp.where(u > 0.0, u, 1.0)
    g = jnp.minimum(safe, jnp.exp(jnp.log(safe / jnp.maximum(a, 1e-30)) / r))

    def step(_, g):
        power = a * jnp.exp((r - 1.0) * jnp.log(g))
        return g - (g + power * g - safe) / (1.0 + r * power)

    return jnp.where(u > 0.0, jax.lax.fori_loop(0, _STEPS, step, g), 0.0)


@_inverse.defjvp
def _inverse_jvp(values, changes):
    (u, r, a), (du, dr, da) = values, changes
    g = _inverse(u, r, a)
    safe = jnp.where(g > 1e-30, g, 1.0)
    log = jnp.log(safe)
    power = jnp.where(g > 1e-30, jnp.exp((r - 1.0) * log), 0.0)
    return g, (du - power * g * (da + a * log * dr)) / (1.0 + a * r * power)
