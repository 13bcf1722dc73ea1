"""The exact step of a linear structure, and the step of a device whose motion is imposed."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.linalg import input_integrals
from vibrid.simulation.base import INTEGRATORS, Integrator, State
from vibrid.structures.model import Model

_POINTS = {"zero": (0.0,), "first": (0.0, 1.0), "cubic": (0.0, 1 / 3, 2 / 3, 1.0)}
"""Points in a step at which the inputs are used, by hold."""


@INTEGRATORS.register("exact-linear")
class ExactLinear(Integrator):
    """`z₁ = Ad z₀ + Σ B_j u_j` by matrix exponential: exact for linear structures at any step.

    `hold` states how the inputs vary inside a step: "zero" constant, "first" linear, "cubic" cubic (splines and
    band-limited inputs).
    """

    hold: str = eqx.field(static=True, default="first")

    def __check_init__(self) -> None:
        if self.hold not in _POINTS:
            raise InputError(f"ExactLinear holds its inputs by {', '.join(_POINTS)} order, not '{self.hold}'.")

    def prepare(self, model: Model, dt: jax.Array | float) -> Any:
        mass, damping, stiffness, load = model.linear()
        n = model.size
        inverse = jnp.linalg.inv(mass)
        a = jnp.block([[jnp.zeros((n, n)), jnp.eye(n)], [-inverse @ stiffness, -inverse @ damping]])
        b = jnp.concatenate([jnp.zeros_like(load), inverse @ load])
        points = _POINTS[self.hold]
        a_d, gamma = input_integrals(a, b, dt, len(points) - 1)
        through = np.linalg.inv(np.vander(points, increasing=True))  # powers from values at the points
        return a_d, jnp.einsum("pj,pnm->jnm", through, gamma), a[n:], b[n:]

    def step(self, model: Model, constants: Any, state: State, u: Any, dt: jax.Array | float) -> State:
        a_d, by_point, bottom, direct = constants
        z = model.times(a_d, jnp.concatenate([state.x, state.v]))
        for matrix, point in zip(by_point, _POINTS[self.hold], strict=True):
            z = z + model.times(matrix, u.end if point == 1.0 else u(point))
        n = model.size
        return State(z[:n], z[n:], model.times(bottom, z) + model.times(direct, u.end), state.s)


@INTEGRATORS.register("imposed")
class Imposed(Integrator):
    """The motion is given by the inputs (displacement, velocity); only the states of the laws move."""

    def start(self, model: Model, constants: Any, x: jax.Array, v: jax.Array, s: Any, u: Any) -> State:
        x, v = imposed_motion(u)
        return State(x, v, jnp.zeros_like(x), s)

    def step(self, model: Model, constants: Any, state: State, u: Any, dt: jax.Array | float) -> State:
        x, v = imposed_motion(u.end)
        return State(x, v, jnp.zeros_like(x), model.advance(state.s, (state.x, state.v), (x, v), dt))


def imposed_motion(u: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Displacements and velocities of a device test from its inputs; a command after them counts as a displacement."""
    if u.shape[-1] == 2:
        return u[:1], u[1:2]
    return jnp.stack([u[0], u[2]]), jnp.stack([u[1], jnp.zeros_like(u[2])])
