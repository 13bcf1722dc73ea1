"""The complete deteriorating Iwan assembly: elastic, elasto-plastic and breaking elements in parallel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS
from vibrid.laws.distributions import RayleighYield, YieldDistribution
from vibrid.laws.masing import MemoryLaw, check_memory_law, surviving

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("iwan")
class Iwan(MemoryLaw):
    """A spring, one elasto-plastic element that never breaks, and distributed elements that yield and break
    (Iwan & Cifuentes 1986); a dashpot in parallel. When all breakable elements have broken, it is bilinear.

    `curve(y) = k_e y + k_p min(y, u_p) +` the curve of `Masing`; the same memory serves all three.
    """

    stiffness: Parameter = parameter("initial stiffness of the breaking elements k", "N/m", positive=True, zero=True)
    distribution: YieldDistribution
    ductility: Parameter = parameter("deformation at breaking / at yield β", "", positive=True, default=jnp.inf)
    elastic_stiffness: Parameter = parameter("stiffness of the elastic element k_e", "N/m", positive=True, default=0.0)
    plastic_stiffness: Parameter = parameter("stiffness of the unbreakable one k_p", "N/m", positive=True, default=0.0)
    plastic_yield: Parameter = parameter(
        "yield deformation of the unbreakable one u_p", "m", positive=True, default=1.0
    )
    damping: Parameter = parameter("viscous damping c", "N s/m", positive=True, default=0.0)
    capacity: int = eqx.field(static=True, default=32)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        return {"distribution": RayleighYield(loop.elastic), "plastic_yield": loop.elastic}

    def __check_init__(self) -> None:
        check_memory_law(self)

    def curve(self, y: jax.Array, largest: jax.Array) -> jax.Array:
        breaking = self.stiffness * surviving(self.distribution, y, largest / self.ductility)
        return self.elastic_stiffness * y + self.plastic_stiffness * jnp.minimum(y, self.plastic_yield) + breaking
