"""Bouc–Wen smooth hysteresis."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Law, RateLaw, absolute_power, with_fields

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("bouc-wen")
class BoucWen(RateLaw):
    """`F = a k e + (1 − a) k z`, `dz/dt = w − β |w| |z|ⁿ⁻¹ z − γ w |z|ⁿ` (Bouc 1967, Wen 1976).

    z is the hysteretic deformation in metres; it saturates at (β + γ)^(−1/n). β and γ have the unit m^−n, so they are
    pure numbers times m^−1 for n = 1. With `post_yield_ratio` a = 0 the force is k z. `whole_exponent` is set by
    vibrid, not by you.
    """

    stiffness: Parameter = parameter("initial stiffness k", "N/m", positive=True, zero=True)
    beta: Parameter = parameter("loop shape β", "m^-n", positive=True, zero=True)
    gamma: Parameter = parameter("loop shape γ", "m^-n")
    exponent: Parameter = parameter("sharpness of yield n", "", positive=True, default=1.0)
    post_yield_ratio: Parameter = parameter("stiffness after yield / before", "", positive=True, default=0.0)

    whole_exponent: int | None = eqx.field(static=True, default=None, repr=False)  # set by `simplify`

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        shape = 0.5 / loop.elastic
        return {"stiffness": loop.stiffness, "beta": shape, "gamma": shape}

    def simplify(self, free: Collection[str]) -> Law:
        exponent = self.exponent
        if "exponent" in free or isinstance(exponent, Tracer) or exponent.ndim:
            return self
        power = float(exponent)
        return with_fields(self, whole_exponent=int(power)) if power in (1.0, 2.0, 3.0, 4.0) else self

    def start(self) -> Any:
        return jnp.zeros(())

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.stiffness * (self.post_yield_ratio * e + (1.0 - self.post_yield_ratio) * s)

    def state_rate(self, e: jax.Array, w: jax.Array, s: Any) -> Any:
        power = absolute_power(s, self.whole_exponent or self.exponent)
        return w - power * (jnp.where(s < 0, -self.beta, self.beta) * jnp.abs(w) + self.gamma * w)
