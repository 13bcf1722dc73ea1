"""Newmark's implicit family with Newton iterations."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.core.parameters import as_number
from vibrid.simulation.base import INTEGRATORS, Integrator, State
from vibrid.structures.arranged import arranged
from vibrid.structures.model import Model

SOLVERS = ("auto", "full", "banded", "sparse")
_GOOD_REDUCTION = 0.1  # the fixed matrix is used while the residual falls below this share of the one before


class _Try(NamedTuple):
    """The iteration of one step."""

    tries: jax.Array
    a: jax.Array  # acceleration at the end of the step
    unbalanced: jax.Array  # residual force of the equation of motion
    miss: jax.Array  # its largest entry
    gain: jax.Array  # miss / previous miss
    done: jax.Array


@INTEGRATORS.register("newmark")
class Newmark(Integrator):
    """Newmark's method: average acceleration (β = 1/4, γ = 1/2) by default; order 2 for γ = 1/2.

    `x₁ = x₀ + dt v₀ + dt² [(½ − β) a₀ + β a₁]`, `v₁ = v₀ + dt [(1 − γ) a₀ + γ a₁]`, `M a₁ + f(x₁, v₁) = L u₁`. The
    unknown is a₁. Corrections with the matrix of small motions come first: they need no factorisation; full Newton
    takes over where they stall. The derivative is that of the solution (implicit function theorem), in both directions.

    A step without equilibrium is an error: `simulate` refuses the run and states when.

    Arguments
        beta, gamma: Newmark's constants; β = 1/6 is linear acceleration.
        iterations: the most corrections in a time step.
        tolerance: stop when the unbalanced force is below this fraction of the forces in the balance, or when a
            correction is below this fraction of the acceleration.
        solver: how the equations of a step are solved: "full", "banded" (elimination in a band, in an order that brings
            neighbours together), "sparse" (SuperLU), or "auto": by size and neighbours, which the response tells.
    """

    beta: jax.Array = eqx.field(converter=as_number, default=0.25)
    gamma: jax.Array = eqx.field(converter=as_number, default=0.5)
    iterations: int = eqx.field(static=True, default=25)
    tolerance: float = eqx.field(static=True, default=1e-11)
    solver: str = eqx.field(static=True, default="auto")
    iterates: ClassVar[bool] = True

    def __check_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise InputError(
                f"The solver is {', '.join(map(repr, SOLVERS[:-1]))} or '{SOLVERS[-1]}', not '{self.solver}'."
            )

    def arranged(self, model: Model) -> Model:
        return model if self.solver == "full" else arranged(model)

    def prepare(self, model: Model, dt: jax.Array | float) -> Any:
        m, c, k = model.initial_matrices()
        return model.prepared(m + self.gamma * dt * c + self.beta * dt * dt * k)

    def start(self, model: Model, constants: Any, x: jax.Array, v: jax.Array, s: Any, u: Any) -> State:
        return super().start(model, constants, x, v, s, u)._replace(notes=jnp.zeros((), bool))

    def failed(self, state: State) -> jax.Array:
        return state.notes

    def step(self, model: Model, constants: Any, state: State, u: Any, dt: jax.Array | float) -> State:
        load = model.load(u.end)
        x_first = state.x + dt * state.v + (0.5 - self.beta) * dt * dt * state.a
        v_first = state.v + (1.0 - self.gamma) * dt * state.a

        def end(a):
            """x₁, v₁ and the states that belong to a₁."""
            x, v = x_first + self.beta * dt * dt * a, v_first + self.gamma * dt * a
            return x, v, model.advance(state.s, (state.x, state.v), (x, v), dt)

        def iterate(_, guess):
            def judge(before: _Try, correction) -> _Try:
                a = before.a - correction
                x, v, s = end(a)
                inertia, forces = model.mass_times(a), model.forces(x, v, s)
                unbalanced = inertia + forces - load
                miss = _largest(unbalanced)
                small = miss <= self.tolerance * (_largest(inertia) + _largest(forces) + _largest(load))
                still = _largest(correction) <= self.tolerance * _largest(a)
                done = small | (still & (before.tries >= 0))
                return _Try(before.tries + 1, a, unbalanced, miss, miss / jnp.maximum(before.miss, 1e-300), done)

            def fixed(now: _Try) -> _Try:
                tried = judge(now, model.solve_prepared(constants, now.unbalanced))
                better = tried.done | (tried.miss < now.miss)
                kept = now._replace(tries=tried.tries, gain=tried.gain)
                return jax.tree.map(lambda new, old: jnp.where(better, new, old), tried, kept)

            def newton(now: _Try) -> _Try:
                x, v, _ = end(now.a)
                slope = model.tangent(state.s, (state.x, state.v), (x, v), self.beta * dt * dt, self.gamma * dt, dt)
                return judge(now, model.solve(model.mass_matrix + slope, now.unbalanced))

            nothing, far = jnp.zeros_like(guess), jnp.asarray(jnp.inf)
            first = judge(
                _Try(jnp.asarray(-1), guess, nothing, far, far, jnp.asarray(False)),
                nothing,
            )

            def more(now: _Try):
                return ~now.done & (now.tries < self.iterations)

            at = jax.lax.while_loop(lambda now: more(now) & (now.gain < _GOOD_REDUCTION), fixed, first)
            at = jax.lax.while_loop(more, newton, at)
            return at.a, jnp.where(at.done, 0.0, 1.0)  # a number: custom_root wants its extras differentiable

        def balance(a):
            x, v, s = end(a)
            return model.mass_times(a) + model.forces(x, v, s) - load

        def tangent_solve(slope, r):
            return model.solve_function(slope, r)

        a, failed = jax.lax.custom_root(balance, state.a, iterate, tangent_solve, has_aux=True)
        x, v, s = end(a)
        return State(x, v, a, s, state.notes | (failed > 0))


def _largest(values):
    return jnp.max(jnp.abs(values))
