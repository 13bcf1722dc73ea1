"""The adaptive time series compensator."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.linalg import discretise, matvec
from vibrid.core.parameters import Parameter, parameter
from vibrid.hybrid.compensation import COMPENSATORS, Compensator
from vibrid.hybrid.ring import Ring, empty_ring, oldest, push


class AtsState(NamedTuple):
    """State of the compensator."""

    coefficients: jax.Array  # (3,) a₀, a₁ (s), a₂ (s²)
    command: jax.Array  # the last one, m
    inputs: jax.Array  # (2,) last inputs of the filter: measured displacement, command
    filtered: jax.Array  # (3, 2) filtered measured displacement and command, with two derivatives
    window: Ring  # (samples, 4) rows y, ẏ, ÿ of the measured displacement, and the command
    moments: jax.Array  # (4, 4) sum of the rows' products over the window


@COMPENSATORS.register("ats")
class AdaptiveTimeSeries(Compensator):
    """`u = a₀ x + a₁ ẋ + a₂ ẍ`, the coefficients by least squares from commands and measured displacements of the last
    second: those that give the commands from the measured motion of the specimen (Chae, Kazemibidokhti & Ricles 2013).
    They start at (1, τ, τ²/2).

    Commands and measured displacements pass the same low-pass filter (Butterworth, third order), whose states are the
    derivatives: the filter's lag cancels, and noise is not differentiated. The coefficients are kept while the motion
    is small, and change within limits of value and rate. A motion with one frequency determines only two of the three:
    a small weight (`caution`) keeps the remaining one.

    Arguments
        delay: s, initial value of τ.
        samples: number of past commands that are used: a second at 1024 Hz.
        cutoff: Hz, of the filter.
        threshold: m, root mean square of the displacement below which the coefficients are kept.
        lowest, highest: limits of a₀, a₁ (s), a₂ (s²).
        rate: most by which each may change in a second.
        caution: weight of the present coefficients, as a share of the information in the window.
    """

    delay: Parameter = parameter("initial value of the delay τ", "s", positive=True, zero=True)
    samples: int = eqx.field(static=True, default=1024)
    cutoff: float = eqx.field(static=True, default=12.0)
    threshold: Parameter = parameter(
        "displacement below which the coefficients are kept", "m", positive=True, zero=True, default=1e-4
    )
    lowest: Parameter = parameter("lower limits of a₀, a₁, a₂", "", default=(0.7, 0.0, 0.0))
    highest: Parameter = parameter("upper limits of a₀, a₁, a₂", "", default=(1.3, 0.08, 2e-3))
    rate: Parameter = parameter("largest change of a₀, a₁, a₂ in a second", "", default=(4.0, 0.4, 1e-2))
    caution: Parameter = parameter("weight of the present coefficients", "", positive=True, zero=True, default=1e-4)
    needs_position: ClassVar[bool] = True

    def prepare(self, dt):
        omega = 2 * np.pi * self.cutoff
        # Butterworth: y‴ + 2ω y″ + 2ω² y′ + ω³ y = ω³ u; its states are y, y′, y″.
        state_matrix = jnp.asarray([[0, 1, 0], [0, 0, 1], [-(omega**3), -2 * omega**2, -2 * omega]], float)
        return discretise(state_matrix, jnp.asarray([[0.0], [0.0], [omega**3]]), dt)

    def start(self, constants):
        first = jnp.stack([jnp.ones_like(self.delay), self.delay, 0.5 * self.delay**2])
        return AtsState(
            first, jnp.zeros(()), jnp.zeros(2), jnp.zeros((3, 2)), empty_ring(self.samples, 4), jnp.zeros((4, 4))
        )

    def command(self, constants, state, target, measured, dt):
        moved, first, last = constants
        inputs = jnp.stack([measured, state.command])
        filtered = moved @ state.filtered + first * state.inputs + last * inputs
        row = jnp.append(filtered[:, 0], filtered[0, 1])
        gone = oldest(state.window)
        window = push(state.window, row)
        moments = state.moments + jnp.outer(row, row) - jnp.outer(gone, gone)
        coefficients = self._learn(state.coefficients, moments, dt)
        u = coefficients @ jnp.stack([target.x, target.v, target.a])
        return u, AtsState(coefficients, u, inputs, filtered, window, moments)

    def transfer(self, s):
        """With the initial coefficients."""
        return 1.0 + float(self.delay) * s + 0.5 * float(self.delay) ** 2 * s * s

    def _learn(self, now, moments, dt):
        """Least squares about the present coefficients, within limits."""
        information, right = moments[:3, :3], moments[:3, 3]
        scale = jnp.sqrt(jnp.maximum(jnp.diagonal(information), 1e-30))
        normal = information / jnp.outer(scale, scale) + self.caution * jnp.eye(3)
        change = solve3(normal, (right - matvec(information, now)) / scale) / scale
        moves = information[0, 0] > self.threshold**2 * self.samples
        change = jnp.where(moves, jnp.clip(change, -self.rate * dt, self.rate * dt), 0.0)
        return jnp.clip(now + change, self.lowest, self.highest)


def solve3(matrix, right):
    """The solution of three equations by Cramer's rule: no library call inside the loop."""
    a, b, c = matrix
    det = a @ jnp.cross(b, c)
    inverse = jnp.stack([jnp.cross(b, c), jnp.cross(c, a), jnp.cross(a, b)], axis=1)
    return matvec(inverse, right) / det
