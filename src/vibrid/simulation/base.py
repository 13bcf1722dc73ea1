"""The base class of integrators: one step of the equations of motion."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.registry import Registry
from vibrid.structures.model import Model

INTEGRATORS = Registry("integrator")


class State(NamedTuple):
    """The state of a structure: displacement, velocity, acceleration, law states, and data of the integrator."""

    x: jax.Array
    v: jax.Array
    a: jax.Array
    s: Any
    notes: Any = ()


class Trial(NamedTuple):
    """A predicted end of step: the new x and v, and the motion at which forces are wanted."""

    x: jax.Array
    v: jax.Array
    at: tuple[jax.Array, jax.Array]


class Integrator(eqx.Module):
    """Moves a state over one step of `dt` seconds.

    `prepare` computes the constants of a run (effective masses, exponentials). `step` takes `u`: `u(fraction)`
    gives the inputs inside the step, `u.end` their value at its end, where the next step begins.
    """

    needs_rates: ClassVar[bool] = False  # ds/dt of every law: path laws are refused
    iterates: ClassVar[bool] = False  # a step seeks equilibrium and may not find it
    begins_anywhere: ClassVar[bool] = True  # a step needs only x, v and law states of the past
    least_order: ClassVar[int] = 2  # of displacement, velocity and acceleration, whatever the laws

    def arranged(self, model: Model) -> Model:
        """The model as this integrator takes it in a run."""
        return model

    def prepare(self, model: Model, dt: jax.Array | float) -> Any:
        """Constants of a run."""
        return ()

    def start(self, model: Model, constants: Any, x: jax.Array, v: jax.Array, s: Any, u: Any) -> State:
        """The first state: accelerations from the equation of motion."""
        return State(x, v, model.acceleration(x, v, s, u), s)

    def step(self, model: Model, constants: Any, state: State, u: Any, dt: jax.Array | float) -> State:
        raise NotImplementedError

    def failed(self, state: State) -> jax.Array:
        """Whether some step up to this state did not find equilibrium; never, for a method that does not iterate."""
        return jnp.zeros((), bool)


class ExplicitIntegrator(Integrator):
    """A step that predicts the motion before the forces are known: `finish(predict(…))`.

    A hybrid test imposes the predicted motion on its devices and gives their forces to `finish`.
    """

    def predict(self, constants: Any, state: State, dt: jax.Array | float) -> Trial:
        """The motion at the end of the step, from the past only."""
        raise NotImplementedError

    def finish(
        self,
        model: Model,
        constants: Any,
        state: State,
        trial: Trial,
        s: Any,
        forces: jax.Array,
        u: Any,
        dt: jax.Array | float,
    ) -> State:
        """The state at the end of the step, given the states `s` and all non-inertial `forces` at `trial.at`."""
        raise NotImplementedError

    def standing(self, state: State) -> tuple[jax.Array, jax.Array]:
        """The motion of the committed law states."""
        return state.x, state.v

    def step(self, model: Model, constants: Any, state: State, u: Any, dt: jax.Array | float) -> State:
        trial = self.predict(constants, state, dt)
        s = model.advance(state.s, self.standing(state), trial.at, dt)
        forces = model.forces(*trial.at, s)
        return self.finish(model, constants, state, trial, s, forces, u, dt)
