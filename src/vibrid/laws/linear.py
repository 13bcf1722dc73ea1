"""Linear spring and linear dashpot."""

from __future__ import annotations

from typing import Any, ClassVar

import jax

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, StaticLaw


@LAWS.register("linear")
class Linear(StaticLaw):
    """A linear spring with an optional linear dashpot beside it: `F = k e + c w`."""

    stiffness: Parameter = parameter("stiffness k", "N/m", positive=True, zero=True)
    damping: Parameter = parameter("viscous damping c", "N s/m", positive=True, default=0.0)
    is_linear: ClassVar[bool] = True

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.stiffness * e + self.damping * w


@LAWS.register("viscous")
class Viscous(StaticLaw):
    """A linear dashpot: `F = c w`."""

    damping: Parameter = parameter("viscous damping c", "N s/m", positive=True, zero=True)
    is_linear: ClassVar[bool] = True

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.damping * w
