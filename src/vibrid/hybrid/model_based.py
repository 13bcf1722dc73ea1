"""A compensator made from a linear model of the actuator: its inverse forwards, the error fed back optimally."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.core.linalg import discretise, matvec
from vibrid.core.parameters import Parameter, parameter
from vibrid.hybrid.actuator import Dynamics, LinearMachine
from vibrid.hybrid.compensation import COMPENSATORS, Compensator

_DOUBLINGS = 40  # of the Riccati equation: 2⁴⁰ steps


class ErrorEstimate(NamedTuple):
    """State of the compensator."""

    error: jax.Array  # estimated state of the error, and of the constant command that would cause it
    acceleration: jax.Array  # the last target's, m/s²
    wanted: jax.Array  # m, where the specimen was to be after the last step


class ModelGains(NamedTuple):
    """Constants of a test."""

    forward: jax.Array  # (4,) coefficients of x and three derivatives
    moved: jax.Array
    pushed: jax.Array
    gain: jax.Array  # of the feedback
    correction: jax.Array  # of the estimate


@COMPENSATORS.register("model-based")
class ModelBased(Compensator):
    """`u = q₀ x + q₁ ẋ + q₂ ẍ + q₃ x⃛ − K ê − d̂`: the inverse of a model to third order, and optimal feedback.

    The inverse is the expansion of command over position of the model at low frequencies: exact for actuators up to the
    third order. What the model does not explain of the error `e = measured − x` is described as the response of the
    same model to a slowly changing command d. A stationary Kalman filter estimates its state ê and d; a
    linear–quadratic regulator with gains K brings ê to zero, and d̂ is taken away. So an actuator that differs from
    its model, in gain most of all, is followed nevertheless. `order` is that of the inverse.

    Arguments
        model: linear dynamics of the actuator: first-order, second-order or rths-benchmark.
        effort: weight of the command against the error: larger is gentler.
        drift: how fast d may change, m in √s, against the noise of the sensor.
        noise: m √s, square root of the noise density of the displacement sensor.
        lead: s, by which the specimen is ahead of its target: half a step makes up for a force that is held for a step,
            one step for a target that belongs to the start of the step.
    """

    model: Dynamics
    effort: Parameter = parameter("weight of the command", "", positive=True, default=1.0)
    drift: Parameter = parameter("random walk of d", "m/s^0.5", positive=True, default=1e-3)
    noise: Parameter = parameter("noise of the displacement sensor", "m s^0.5", positive=True, default=2.5e-7)
    lead: Parameter = parameter("time ahead of the target", "s", positive=True, zero=True, default=0.0)
    order: int = eqx.field(static=True, default=3)
    needs_position: ClassVar[bool] = True

    def __check_init__(self) -> None:
        if not isinstance(self.model, LinearMachine):
            raise InputError(
                "A model-based compensator needs linear dynamics (first-order, second-order or rths-benchmark), "
                f"not {type(self.model).__name__}."
            )
        if not 1 <= self.order <= 3:
            raise InputError(f"The inverse of a model-based compensator has an order from 1 to 3, not {self.order}.")

    def prepare(self, dt):
        assert isinstance(self.model, LinearMachine)
        a, b = self.model.polynomial()
        n = len(a)
        inverse = jnp.zeros(4).at[: min(n + 1, 4)].set(jnp.stack([*a, jnp.ones(())])[:4] / b)
        ahead = jnp.stack([jnp.ones(()), self.lead, self.lead**2 / 2, self.lead**3 / 6])  # of exp(lead s)
        forward = jnp.convolve(inverse, ahead)[:4] * (jnp.arange(4) <= self.order)
        speed = a[0] ** (1.0 / n)  # scales the derivatives in the state, so that all have the size of the position
        powers = speed ** jnp.arange(n)
        last = -jnp.stack(a) * powers / speed ** (n - 1)
        state_matrix = (speed * jnp.eye(n, k=1)).at[-1].set(last)
        input_matrix = jnp.zeros((n, 1)).at[-1, 0].set(b / speed ** (n - 1))
        moved, pushed, _ = discretise(state_matrix, input_matrix, dt, hold="zero")
        weight = jnp.zeros((n, n)).at[0, 0].set(1.0)
        regulator = riccati(moved, pushed @ pushed.T / self.effort, weight)
        gain = pushed.T @ regulator @ moved / (self.effort + pushed.T @ regulator @ pushed)
        # With the constant command d as one more state:
        wide = jnp.zeros((n + 1, n + 1)).at[:n, :n].set(moved).at[:n, n].set(pushed[:, 0]).at[n, n].set(1.0)
        walk = jnp.zeros((n + 1, n + 1)).at[n, n].set(self.drift**2 * dt)
        seen = jnp.zeros((n + 1, 1)).at[0, 0].set(1.0)
        variance = self.noise**2 / dt
        spread = riccati(wide.T, seen @ seen.T / variance, walk)
        correction = spread[:, 0] / (spread[0, 0] + variance)
        return ModelGains(forward, wide, jnp.append(pushed[:, 0], 0.0), jnp.append(gain[0], 1.0), correction)

    def start(self, constants):
        zero = jnp.zeros(())
        return ErrorEstimate(jnp.zeros(constants.moved.shape[0]), zero, zero)

    def command(self, constants, state, target, measured, dt):
        wanted = target.x + self.lead * (target.v + 0.5 * self.lead * target.a)
        error = state.error + constants.correction * (measured - state.wanted - state.error[0])
        back = -constants.gain @ error
        jerk = (target.a - state.acceleration) / dt
        ahead = constants.forward @ jnp.stack([target.x, target.v, target.a, jerk])
        predicted = matvec(constants.moved, error) + constants.pushed * back
        return ahead + back, ErrorEstimate(predicted, target.a, wanted)


def riccati(a: jax.Array, g: jax.Array, q: jax.Array) -> jax.Array:
    """The stabilising solution of `X = Aᵀ X (I + G X)⁻¹ A + Q` by doubling (Chu, Fan & Lin 2005)."""
    one = jnp.eye(a.shape[0])

    def double(_, triple):
        a, g, h = triple
        left = jnp.linalg.inv(one + g @ h)
        return a @ left @ a, g + a @ left @ g @ a.T, h + a.T @ h @ left @ a

    return jax.lax.fori_loop(0, _DOUBLINGS, double, (a, g, q))[2]
