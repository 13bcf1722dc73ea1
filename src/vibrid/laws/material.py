"""Uniaxial materials: laws of stress over strain, for the fibres of a section."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax

from vibrid.laws.base import Law, Motion


class Material(Law):
    """A path law from strain to stress (N/m², tension positive) that also gives its tangent.

    Written elementwise: parameters, strains and states may be arrays that broadcast against each other, so that all
    fibres of all sections are one evaluation.
    """

    @abstractmethod
    def respond(self, s: Any, strain: jax.Array) -> tuple[jax.Array, jax.Array, Any]:
        """(stress, tangent, new state) at `strain`, coming straight from the committed state `s`; pure."""

    @abstractmethod
    def initial_modulus(self) -> jax.Array:
        """The tangent at rest in N/m²."""

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.respond(s, e)[0]

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        return self.respond(s, after.e)[2]

    def initial_stiffness(self) -> jax.Array:
        return self.initial_modulus()
