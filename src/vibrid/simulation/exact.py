"""The exact step of a linear structure, and the step of a device whose motion is imposed."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.core.linalg import discretise
from vibrid.simulation.base import INTEGRATORS, Integrator, State


@INTEGRATORS.register("exact-linear")
class ExactLinear(Integrator):
    """`z₁ = Ad z₀ + B0 u₀ + B1 u₁` by matrix exponential: exact for linear structures at any step.

    `hold` says what the inputs do inside a step: "first" moves linearly, "zero" stays.
    """

    hold: str = eqx.field(static=True, default="first")

    def __check_init__(self):
        if self.hold not in ("zero", "first"):
            raise InputError(f"ExactLinear holds its inputs by 'zero' or 'first' order, not '{self.hold}'.")

    def prepare(self, model, dt):
        mass, damping, stiffness, load = model.linear()
        n = model.size
        inverse = jnp.linalg.inv(mass)
        a = jnp.block([[jnp.zeros((n, n)), jnp.eye(n)], [-inverse @ stiffness, -inverse @ damping]])
        b = jnp.concatenate([jnp.zeros_like(load), inverse @ load])
        return (*discretise(a, b, dt, self.hold), a[n:], b[n:])

    def step(self, model, constants, state, u, dt):
        a_d, b0, b1, bottom, direct = constants
        z = jnp.concatenate([state.x, state.v])
        z = model.times(a_d, z) + model.times(b0, u(0.0)) + model.times(b1, u.end)
        n = model.size
        return State(z[:n], z[n:], model.times(bottom, z) + model.times(direct, u.end), state.s)


@INTEGRATORS.register("imposed")
class Imposed(Integrator):
    """The motion is given by the inputs (displacement, velocity); only the states of the laws move."""

    def start(self, model, constants, x, v, s, u):
        return State(u[:1], u[1:2], jnp.zeros(1), s)

    def step(self, model, constants, state, u, dt):
        x, v = u.end[:1], u.end[1:2]
        return State(x, v, jnp.zeros(1), model.advance(state.s, (state.x, state.v), (x, v), dt))
