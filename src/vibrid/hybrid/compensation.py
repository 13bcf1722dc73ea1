"""Compensation of an actuator's delay: the command that brings the specimen to its target."""

from __future__ import annotations

from math import comb
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, Parameterised, parameter
from vibrid.core.registry import Registry
from vibrid.hybrid.ring import empty_ring, past, push

COMPENSATORS = Registry("compensator")
_MEMORY = 1024


class TargetMotion(NamedTuple):
    """The target of a specimen: displacement (m), and its first two derivatives in time (m/s, m/s²).

    `rate` is the velocity that the integrator uses for the device: in explicit integrators it lags slightly behind the
    displacement. A device that is moved exactly gets `rate`; an actuator follows `v`.
    """

    x: jax.Array
    v: jax.Array
    a: jax.Array
    rate: jax.Array


class Compensator(Parameterised):
    """Turns a target into a command, causally."""

    needs_position: ClassVar[bool] = False  # uses the measured displacement

    def prepare(self, dt: jax.Array | float) -> Any:
        """Constants of a test with commands every `dt` seconds."""
        return ()

    def start(self, constants: Any) -> Any:
        return ()

    def command(
        self, constants: Any, state: Any, target: TargetMotion, measured: jax.Array, dt: jax.Array | float
    ) -> tuple[jax.Array, Any]:
        """The command (m) for this step; `measured` is the measured displacement (m) after the last one."""
        raise NotImplementedError

    def transfer(self, s: Any) -> Any:
        """Command / target at the complex frequency `s` (1/s, laboratory time); None if it is not linear."""
        return None


@COMPENSATORS.register("none")
class NoCompensation(Compensator):
    """The command is the target."""

    def command(
        self, constants: Any, state: Any, target: TargetMotion, measured: jax.Array, dt: jax.Array | float
    ) -> tuple[jax.Array, Any]:
        return target.x, state

    def transfer(self, s):
        return 1.0


@COMPENSATORS.register("polynomial")
class PolynomialExtrapolation(Compensator):
    """`u(t) = Σ_i (−1)^i C(n+1, i+1) x(t − i τ)`: the polynomial of order n through the target now and at n earlier
    times τ apart, at t + τ (Horiuchi, Inoue, Konno & Namita 1999; order 3 there). Stable up to ω τ ≈ 1.6 at order 3.
    """

    delay: Parameter = parameter("delay τ", "s", positive=True, zero=True)
    order: int = eqx.field(static=True, default=3)

    def __check_init__(self) -> None:
        if not 1 <= self.order <= 5:
            raise InputError(f"A polynomial extrapolation has an order from 1 to 5, not {self.order}.")

    def prepare(self, dt: jax.Array | float) -> Any:
        return self.delay / dt

    def start(self, constants: Any) -> Any:
        return empty_ring(_MEMORY)

    def command(
        self, constants: Any, state: Any, target: TargetMotion, measured: jax.Array, dt: jax.Array | float
    ) -> tuple[jax.Array, Any]:
        ring = push(state, target.x)
        n = self.order
        terms = [(-1.0) ** i * comb(n + 1, i + 1) * past(ring, i * constants)[0] for i in range(n + 1)]
        return sum(terms[1:], start=terms[0]), ring

    def transfer(self, s):
        n, z = self.order, np.exp(-s * float(self.delay))
        return sum((-1.0) ** i * comb(n + 1, i + 1) * z**i for i in range(n + 1))


@COMPENSATORS.register("inverse")
class Inverse(Compensator):
    """`u = x + a₁ ẋ + a₂ ẍ`: exact for an actuator of first (a₁ = τ) or second order (a₁ = 2ζ/ω, a₂ = 1/ω²)."""

    first: Parameter = parameter("a₁", "s", positive=True, zero=True)
    second: Parameter = parameter("a₂", "s^2", positive=True, default=0.0)

    def command(
        self, constants: Any, state: Any, target: TargetMotion, measured: jax.Array, dt: jax.Array | float
    ) -> tuple[jax.Array, Any]:
        return target.x + self.first * target.v + self.second * target.a, state

    def transfer(self, s):
        return 1.0 + float(self.first) * s + float(self.second) * s * s
