"""Compensators with feedback of the measured displacement: PI with a phase lead, and sliding mode."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.linalg import discretise, matvec
from vibrid.core.parameters import Parameter, parameter
from vibrid.hybrid.compensation import COMPENSATORS, Compensator


class LeadState(NamedTuple):
    """Integral of the error (m s), and the part of the phase lead that lags (m)."""

    integral: jax.Array
    slow: jax.Array


@COMPENSATORS.register("pi-lead")
class PhaseLeadPI(Compensator):
    """`u = L(x) + P e + I ∫ e dt`, `e = x − measured`: the target after a phase lead `L = (1 + a s)/(1 + b s)`, and a
    proportional–integral feedback of the error."""

    proportional: Parameter = parameter("proportional gain P", "", positive=True, zero=True)
    integral: Parameter = parameter("integral gain I", "1/s", positive=True, zero=True)
    lead: Parameter = parameter("time a of the phase lead", "s", positive=True, zero=True, default=0.0)
    lag: Parameter = parameter("time b of the phase lead", "s", positive=True, default=1e-3)
    needs_position: ClassVar[bool] = True

    def start(self, constants):
        return LeadState(jnp.zeros(()), jnp.zeros(()))

    def command(self, constants, state, target, measured, dt):
        # The lead is x + (a − b) v after a first-order lag b; the lag is exact for inputs that are held over a step.
        slow = state.slow + (1.0 - jnp.exp(-dt / self.lag)) * (target.x + self.lead * target.v - state.slow)
        error = target.x - measured
        integral = state.integral + dt * error
        return slow + self.proportional * error + self.integral * integral, LeadState(integral, slow)


class SlidingState(NamedTuple):
    """State of the sliding-mode compensator."""

    filtered: jax.Array  # (3,) measured displacement after the filter, with two derivatives
    before: jax.Array  # last input of the filter, m
    command: jax.Array  # m, before the phase lead
    slow: jax.Array  # m, the part of the phase lead that lags


@COMPENSATORS.register("sliding-mode")
class SlidingMode(Compensator):
    """Sliding-mode control of a plant that is reduced to `b/(s² + a₁ s + a₀)` (Slotine & Li 1991, chapter 7).

    On the surface `s = ė + λ e = 0` the error e of the measured displacement decays at the rate λ. The command is the
    one that stays on the surface, and a term that leads back to it, `−k sat(s/φ)/b`, k from the uncertainty of the
    plant. The reading passes a Butterworth filter, of which the states are its derivatives; the command ends with a
    phase lead `(2 Δt s + 1)/(Δt s + 1)`.

    Arguments
        gain, damping, stiffness: b, a₁ and a₀ of the reduced plant.
        slope: λ, 1/s.
        reach: η, m/s²: how fast the surface is reached.
        uncertainty: share by which a₁ ẏ + a₀ y may be wrong.
        gain_uncertainty: share by which b may be wrong.
        layer: φ, m/s: thickness of the layer in which the term is linear, so that it does not chatter.
        cutoff: Hz, of the filter of the reading.
    """

    gain: Parameter = parameter("b of the reduced plant", "1/s^2", positive=True)
    damping: Parameter = parameter("a₁ of the reduced plant", "1/s", positive=True)
    stiffness: Parameter = parameter("a₀ of the reduced plant", "1/s^2", positive=True)
    slope: Parameter = parameter("λ", "1/s", positive=True, default=188.0)
    reach: Parameter = parameter("η", "m/s^2", positive=True, zero=True, default=0.1)
    uncertainty: Parameter = parameter("relative uncertainty of the plant", "", positive=True, zero=True, default=0.36)
    gain_uncertainty: Parameter = parameter("relative uncertainty of b", "", positive=True, zero=True, default=0.1)
    layer: Parameter = parameter("thickness φ of the layer", "m/s", positive=True, default=0.1)
    cutoff: Parameter = parameter("cut-off frequency of the filter", "Hz", positive=True, default=60.0)
    needs_position: ClassVar[bool] = True

    def prepare(self, dt):
        omega = 2 * np.pi * self.cutoff
        one, zero = jnp.ones(()), jnp.zeros(())
        last = jnp.stack([-(omega**3), -2 * omega**2, -2 * omega])
        state_matrix = jnp.stack([jnp.stack([zero, one, zero]), jnp.stack([zero, zero, one]), last])
        return discretise(state_matrix, jnp.stack([zero, zero, omega**3])[:, None], dt)

    def start(self, constants):
        zero = jnp.zeros(())
        return SlidingState(jnp.zeros(3), zero, zero, zero)

    def command(self, constants, state, target, measured, dt):
        moved, first, last = constants
        filtered = matvec(moved, state.filtered) + first[:, 0] * state.before + last[:, 0] * measured
        lag = 2.0 / (2 * np.pi * self.cutoff)  # of the filter at low frequencies
        y, v = filtered[0] + lag * filtered[1], filtered[1] + lag * filtered[2]
        error, rate = y - target.x, v - target.v
        surface = rate + self.slope * error
        drift = self.damping * v + self.stiffness * y
        stay = target.a - self.slope * rate
        factor = 1.0 / (1.0 - self.gain_uncertainty)
        push = factor * (self.uncertainty * jnp.abs(drift) + self.reach) + (factor - 1.0) * jnp.abs(stay + drift)
        u = (stay + drift - push * jnp.clip(surface / self.layer, -1.0, 1.0)) / self.gain
        slow = state.slow + (1.0 - jnp.exp(-1.0)) * (u - state.slow)  # 1/(Δt s + 1) over one step
        return 2.0 * u - slow, SlidingState(filtered, measured, u, slow)
