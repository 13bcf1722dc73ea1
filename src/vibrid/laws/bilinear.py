"""Bilinear (elasto-plastic) hysteresis with kinematic hardening."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Law, Motion


@LAWS.register("bilinear")
class Bilinear(Law):
    """A spring in parallel with an elastic–perfectly-plastic slider.

    `F = a k e + (1 − a) k (e − p)` with |e − p| ≤ u_y; the state p is the plastic deformation, moved by exact return
    mapping. `a` is the ratio of the stiffness after yield to the stiffness before it.
    """

    stiffness: Parameter = parameter("elastic stiffness k", "N/m", positive=True, zero=True)
    yield_deformation: Parameter = parameter("deformation at first yield u_y", "m", positive=True)
    post_yield_ratio: Parameter = parameter("stiffness after yield / before", "", positive=True, default=0.0)

    def start(self) -> Any:
        return jnp.zeros(())

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.post_yield_ratio * self.stiffness * e + (1.0 - self.post_yield_ratio) * self.stiffness * (e - s)

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        elastic = jnp.clip(after.e - s, -self.yield_deformation, self.yield_deformation)
        return after.e - elastic
