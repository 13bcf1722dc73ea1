"""Semi-active devices: a law whose parameters follow a command, such as the voltage of a magnetorheological damper."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core import paths
from vibrid.core.arguments import as_entries
from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Law, Motion

LEAST = 1e-3
"""Smallest share of its value without a command that a parameter keeps."""


class CommandedState(NamedTuple):
    """The state of the law, and the command after its filter."""

    law: Any
    command: jax.Array


@LAWS.register("commanded")
class Commanded(Law):
    """A law with parameters that follow a command u: `θ(u) = θ₀ (1 + g₁ u + g₂ u² + …)`, `lag · du/dt = command − u`.

    Its two deformations are that of the law and the command; no force acts on the second. With a lag of zero the
    command acts at once, and a device with a lag is switched on when its test begins.

    Arguments
        base: any law with one deformation; its values are those without a command.
        follows: paths of the parameters that follow the command, which must be positive.
        gains: g, a row for each of them and a column for each power of the command.
    """

    base: Law
    follows: tuple[str, ...] = eqx.field(static=True, converter=lambda value: as_entries(value, "paths of parameters"))
    gains: Parameter = parameter("change of θ / θ₀ with each power of the command", "1/V^i")
    lag: Parameter = parameter("time constant of the command", "s", positive=True, default=0.0)
    components: ClassVar[int] = 2
    is_averageable: ClassVar[bool] = False

    @property
    def corners(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.corners

    def __check_init__(self) -> None:
        if not isinstance(self.base, Law) or self.base.components != 1 or isinstance(self.base, Commanded):
            raise InputError(f"Commanded(base=…) holds a law with one deformation, not {self.base!r}.")
        if jnp.ndim(self.gains) != 2 or jnp.shape(self.gains)[0] != len(self.follows):
            raise InputError(
                f"'gains' of Commanded needs a row for each of the {len(self.follows)} parameters that follow, with a "
                f"number for each power of the command: [[0.5, -0.1], …]; its shape is {jnp.shape(self.gains)}."
            )
        for path in self.follows:
            if jnp.ndim(paths.get(self.base, path)):
                raise InputError(f"'{path}' of Commanded is not one number.")

    def at(self, command: jax.Array) -> Law:
        """The law at a command."""
        powers = command ** jnp.arange(1, self.gains.shape[-1] + 1)
        factors = jnp.maximum(1.0 + self.gains @ powers, LEAST)
        return paths.replace(self.base, {p: paths.get(self.base, p) * factors[i] for i, p in enumerate(self.follows)})

    def start(self) -> Any:
        return CommandedState(self.base.start(), jnp.zeros(()))

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        command = jnp.where(self.lag > 0.0, s.command, e[1])
        return jnp.stack([self.at(command).force(e[0], w[0], s.law), jnp.zeros_like(e[1])])

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        kept = jnp.where(self.lag > 0.0, jnp.exp(-dt / jnp.where(self.lag > 0.0, self.lag, 1.0)), 0.0)
        command = after.e[1] + kept * (s.command - after.e[1])
        begin, end = (Motion(motion.e[0], motion.w[0]) for motion in (before, after))
        return CommandedState(self.at(command).advance(s.law, begin, end, dt), command)

    def overflowed(self, s: Any) -> jax.Array:
        return self.base.overflowed(s.law)
