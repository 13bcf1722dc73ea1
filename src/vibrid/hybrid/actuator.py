"""Actuators that move a specimen, with their limits, dynamics and displacement sensor.

A command passes the stroke and the velocity limit, then the dynamics of the actuator; a sensor with noise and finite
resolution measures the displacement of the specimen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.core.errors import InputError
from vibrid.core.linalg import discretise, matvec
from vibrid.core.parameters import Parameter, Parameterised, parameter
from vibrid.core.registry import Registry
from vibrid.hybrid.noise import gauss
from vibrid.hybrid.ring import empty_ring, past, push
from vibrid.laws.base import Motion

DYNAMICS = Registry("dynamics of an actuator")
LONGEST = 512
"""Samples that a delay can reach back: half a second at 1024 Hz."""


class Dynamics(Parameterised):
    """How an actuator follows its command, without limits and sensor."""

    def prepare(self, dt: jax.Array | float) -> Any:
        """Constants of a test with commands every `dt` seconds."""
        return ()

    def start(self, constants: Any) -> Any:
        """The state at rest."""
        return ()

    def follow(self, constants: Any, state: Any, command: jax.Array, dt: jax.Array | float) -> tuple[Motion, Any]:
        """Position and velocity at the end of a step towards `command`, and the state there."""
        raise NotImplementedError

    def transfer(self, s: Any) -> Any:
        """Position / command at the complex frequency `s` (1/s, laboratory time); None if it is not linear."""
        return None


@DYNAMICS.register("ideal")
class IdealMachine(Dynamics):
    """The specimen follows the command exactly."""

    def start(self, constants: Any) -> Any:
        return jnp.zeros(())

    def follow(self, constants: Any, state: Any, command: jax.Array, dt: jax.Array | float) -> tuple[Motion, Any]:
        return Motion(command, (command - state) / dt), command

    def transfer(self, s):
        return 1.0


@DYNAMICS.register("delay")
class PureDelay(Dynamics):
    """The command after a delay, linear between samples."""

    delay: Parameter = parameter("delay τ", "s", positive=True, zero=True)

    def prepare(self, dt: jax.Array | float) -> Any:
        return self.delay / dt

    def start(self, constants: Any) -> Any:
        return empty_ring(LONGEST)

    def follow(self, constants: Any, state: Any, command: jax.Array, dt: jax.Array | float) -> tuple[Motion, Any]:
        ring = push(state, command)
        value, slope = past(ring, constants)
        return Motion(value, slope / dt), ring

    def transfer(self, s):
        return np.exp(-s * float(self.delay))


class LinearMachine(Dynamics):
    """`x⁽ⁿ⁾ + a_{n−1} x⁽ⁿ⁻¹⁾ + … + a_0 x = b u`, exact for commands that are linear between samples."""

    def polynomial(self) -> tuple[tuple[jax.Array, ...], jax.Array]:
        """(a_0, …, a_{n−1}) and b."""
        raise NotImplementedError

    def prepare(self, dt: jax.Array | float) -> Any:
        a, b = self.polynomial()
        n = len(a)
        state_matrix = jnp.eye(n, k=1).at[-1].set(-jnp.stack(a))
        input_matrix = jnp.zeros((n, 1)).at[-1, 0].set(b)
        moved, first, last = discretise(state_matrix, input_matrix, dt)
        velocity = jnp.concatenate([state_matrix[0], input_matrix[0]])
        return moved, first[:, 0], last[:, 0], velocity

    def start(self, constants: Any) -> Any:
        return jnp.zeros(constants[0].shape[0]), jnp.zeros(())

    def follow(self, constants: Any, state: Any, command: jax.Array, dt: jax.Array | float) -> tuple[Motion, Any]:
        moved, first, last, velocity = constants
        z, before = state
        z = matvec(moved, z) + first * before + last * command
        return Motion(z[0], velocity[:-1] @ z + velocity[-1] * command), (z, command)

    def transfer(self, s: Any) -> Any:
        a, b = self.polynomial()
        return float(b) / np.polyval([1.0, *map(float, reversed(a))], s)


@DYNAMICS.register("first-order")
class FirstOrder(LinearMachine):
    """`τ ẋ + x = u`."""

    lag: Parameter = parameter("time constant τ", "s", positive=True)

    def polynomial(self) -> tuple[tuple[jax.Array, ...], jax.Array]:
        return (1.0 / self.lag,), 1.0 / self.lag


@DYNAMICS.register("second-order")
class SecondOrder(LinearMachine):
    """`ẍ + 2 ζ ω ẋ + ω² x = ω² u`, ω = 2π f. At low frequencies it lags by 2 ζ/ω."""

    frequency: Parameter = parameter("natural frequency f", "Hz", positive=True)
    ratio: Parameter = parameter("damping ratio ζ", "", positive=True, zero=True, default=1.0)

    @staticmethod
    def with_lag(lag: float, ratio: float = 1.0) -> SecondOrder:
        """An actuator that lags by `lag` seconds at low frequencies."""
        return SecondOrder(ratio / (jnp.pi * lag), ratio)

    def polynomial(self) -> tuple[tuple[jax.Array, ...], jax.Array]:
        omega = 2 * jnp.pi * self.frequency
        return (omega**2, 2 * self.ratio * omega), omega**2


@DYNAMICS.register("rths-benchmark")
class BenchmarkMachine(LinearMachine):
    """The transfer system of the benchmark problem for real-time hybrid simulation (Silva, Gomez, Maghareh, Dyke &
    Spencer 2020): a servo-valve `a₁β₀/(s² + β₁ s + β₂)`, an actuator `1/(s + a₃)` with natural velocity feedback
    `a₂ s`, a specimen `1/(m s² + c s + k)`, closed over the position. The nominal values are the defaults; the gain at
    rest is 0.982, the lag about 28 ms. The force comes from the device; this class gives the motion only.
    """

    valve_gain: Parameter = parameter("a₁ β₀", "N/(m s^3)", positive=True, default=2.13e13)
    feedback: Parameter = parameter("natural velocity feedback a₂", "N/m", positive=True, default=4.23e6)
    leakage: Parameter = parameter("actuator pole a₃", "1/s", positive=True, zero=True, default=3.3)
    valve_damping: Parameter = parameter("β₁", "1/s", positive=True, default=425.0)
    valve_stiffness: Parameter = parameter("β₂", "1/s^2", positive=True, default=1e5)
    mass: Parameter = parameter("moving mass m", "kg", positive=True, default=29.12)
    damping: Parameter = parameter("damping of the specimen c", "N s/m", positive=True, zero=True, default=114.6)
    stiffness: Parameter = parameter("stiffness of the specimen k", "N/m", positive=True, zero=True, default=1.19e6)
    gain: Parameter = parameter("gain of the command", "", positive=True, default=1.0)

    def polynomial(self) -> tuple[tuple[jax.Array, ...], jax.Array]:
        def times(p, q):
            return jnp.convolve(jnp.stack(p), jnp.stack(q))  # lowest power first

        one = jnp.ones(())
        valve = (self.valve_stiffness, self.valve_damping, one)
        piston = times((self.leakage, one), (self.stiffness, self.damping, self.mass)).at[1].add(self.feedback)
        whole = times(valve, piston).at[0].add(self.valve_gain)
        whole = whole / whole[-1]
        return tuple(whole[:-1]), self.gain * self.valve_gain / self.mass


class MachineState(NamedTuple):
    """State of an actuator."""

    own: Any  # of its dynamics
    asked: jax.Array  # the command after limits, m
    measured: jax.Array  # last reading of the displacement sensor, m
    steps: jax.Array  # so far: noise depends on it


class ImposedMotion(NamedTuple):
    """The motion of the specimen, and the displacement measured by the sensor."""

    motion: Motion
    measured: jax.Array


class Actuator(Parameterised):
    """An actuator with limits and a displacement sensor.

    Arguments
        dynamics: how it follows its command; by default exactly.
        velocity_limit, stroke: m/s and m; commands are limited to them before the actuator follows.
        noise: m, standard deviation of the displacement sensor.
        quantum: m, resolution of that sensor; 0 for none.
        seed: the same seed gives the same noise.
    """

    dynamics: Dynamics = eqx.field(default_factory=IdealMachine)
    velocity_limit: Parameter = parameter("largest velocity", "m/s", positive=True, default=jnp.inf)
    stroke: Parameter = parameter("largest displacement", "m", positive=True, default=jnp.inf)
    noise: Parameter = parameter("noise of the displacement sensor", "m", positive=True, default=0.0)
    quantum: Parameter = parameter("resolution of the displacement sensor", "m", positive=True, default=0.0)
    seed: int = 0

    def __check_init__(self) -> None:
        if isinstance(self.dynamics, PureDelay) and not isinstance(self.dynamics.delay, Tracer):
            late = float(jnp.max(self.dynamics.delay))
            if late * 1024 > LONGEST - 2:
                raise InputError(f"The delay of an actuator must be shorter than half a second, not {late:g} s.")

    def prepare(self, dt: jax.Array | float) -> Any:
        return self.dynamics.prepare(dt)

    def start(self, constants: Any) -> MachineState:
        zero = jnp.zeros(())
        return MachineState(self.dynamics.start(constants), zero, zero, jnp.zeros((), jnp.int32))

    def move(
        self, constants: Any, state: MachineState, command: jax.Array, dt: jax.Array | float
    ) -> tuple[ImposedMotion, MachineState]:
        """Follow a command for one step of `dt` seconds."""
        reach = self.velocity_limit * dt
        asked = jnp.clip(jnp.clip(command, -self.stroke, self.stroke), state.asked - reach, state.asked + reach)
        motion, followed = self.dynamics.follow(constants, state.own, asked, dt)
        measured = motion.e + self.noise * gauss(self.seed, state.steps)[0]
        step = jnp.where(self.quantum > 0, self.quantum, 1.0)
        measured = jnp.where(self.quantum > 0, step * jnp.round(measured / step), measured)
        return ImposedMotion(motion, measured), MachineState(followed, asked, measured, state.steps + 1)
