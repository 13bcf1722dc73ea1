"""Newmark's implicit family with Newton iterations."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.parameters import as_number
from vibrid.laws.base import Motion
from vibrid.simulation.base import INTEGRATORS, Integrator, State


@INTEGRATORS.register("newmark")
class Newmark(Integrator):
    """Newmark with full Newton: average acceleration (β = 1/4, γ = 1/2) unless told otherwise.

    The iteration runs outside the derivative; one further Newton step at the solution carries the exact derivative, so
    gradients cost one linear solve a step in either direction.

    Arguments
        beta, gamma: Newmark's constants; β = 1/6 is linear acceleration.
        iterations: the most Newton steps in a time step.
        tolerance: stop when the unbalanced force is below this fraction of the largest force in the balance.
    """

    beta: object = eqx.field(converter=as_number, default=0.25)
    gamma: object = eqx.field(converter=as_number, default=0.5)
    iterations: int = eqx.field(static=True, default=20)
    tolerance: float = eqx.field(static=True, default=1e-11)

    def _end(self, state, x, dt):
        """v₁ and a₁ that belong to x₁."""
        a = (x - state.x - dt * state.v) / (self.beta * dt * dt) - (0.5 / self.beta - 1.0) * state.a
        return state.v + dt * ((1.0 - self.gamma) * state.a + self.gamma * a), a

    def step(self, model, constants, state, u, dt):
        load = model.load(u.end)
        dv_dx = self.gamma / (self.beta * dt)
        da_dx = 1.0 / (self.beta * dt * dt)

        def balance(model, state, load, x):
            """Unbalanced force at x₁, its size, and the states there."""
            v, a = self._end(state, x, dt)
            s = model.advance(state.s, (state.x, state.v), (x, v), dt)
            inertia, forces = model.mass_times(a), model.forces(x, v, s)
            size = jnp.max(jnp.abs(inertia)) + jnp.max(jnp.abs(forces)) + jnp.max(jnp.abs(load))
            return inertia + forces - load, size, s

        def tangent(model, state, x):
            v, _ = self._end(state, x, dt)
            return model.mass_matrix * da_dx + consistent_tangent(model, state, x, v, dv_dx, dt)

        frozen = jax.lax.stop_gradient((model, state, load))

        def again(carry):
            count, x, miss, size = carry
            return (count < self.iterations) & (miss > self.tolerance * size)

        def newton(carry):
            count, x, _, _ = carry
            r, _, _ = balance(*frozen, x)
            x = x - jnp.linalg.solve(tangent(*frozen[:2], x), r)
            r, size, _ = balance(*frozen, x)
            return count + 1, x, jnp.max(jnp.abs(r)), size

        guess = frozen[1].x + dt * frozen[1].v + 0.5 * dt * dt * frozen[1].a
        _, x, _, _ = jax.lax.while_loop(again, newton, (0, guess, jnp.inf, 1.0))
        x = jax.lax.stop_gradient(x)
        r, _, _ = balance(model, state, load, x)
        x = x - jnp.linalg.solve(tangent(*frozen[:2], x), r)
        v, a = self._end(state, x, dt)
        s = model.advance(state.s, (state.x, state.v), (x, v), dt)
        return State(x, v, a, s)


def consistent_tangent(model, state, x, v, dv_dx, dt):
    """d(forces)/dx₁ at the end of a step when v₁ moves with x₁ at the ratio `dv_dx`, law states included."""
    n = model.size
    total = jnp.zeros((n, n))
    if model.stiffness is not None:
        total = total + model.stiffness
    if model.damping is not None:
        total = total + dv_dx * model.damping
    if model.rows is None:
        return total
    before, after = model.deformations(state.x, state.v), model.deformations(x, v)
    for g, own in zip(model.groups, state.s, strict=True):

        def slope(law, own, e0, w0, e1, w1):
            def force(e):
                w = w1 + dv_dx * (e - e1)
                return law.force(e, w, law.advance(own, Motion(e0, w0), Motion(e, w), dt))

            return jax.jacfwd(force)(e1)

        k = jax.vmap(slope)(g.law, own, *(g.cut(value) for value in (*before, *after)))
        rows = model.rows[g.rows].reshape(g.count, g.components, n)
        total = total + jnp.einsum("gan,gab,gbm->nm", rows, k.reshape(g.count, g.components, g.components), rows)
    return total
