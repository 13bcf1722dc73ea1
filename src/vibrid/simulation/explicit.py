"""Central difference, in the form that predicts the motion before the forces are known."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from vibrid.simulation.base import INTEGRATORS, ExplicitIntegrator, State, Trial
from vibrid.structures.model import Model


@INTEGRATORS.register("central-difference")
class CentralDifference(ExplicitIntegrator):
    """Newmark's explicit member (β = 0, γ = 1/2): second order, stable for dt < 2/ω_max.

    `x₁ = x₀ + dt v₀ + dt²/2 a₀`; forces are taken at x₁ and the predicted velocity `v₀ + dt a₀`; damping of the first
    slope is treated implicitly: `(M + dt/2 C) a₁ = L u₁ − f + dt/2 C a₀`, then `v₁ = v₀ + dt/2 (a₀ + a₁)`.
    """

    begins_anywhere: ClassVar[bool] = False  # a₀ belongs to the predicted velocity where damping changes

    def prepare(self, model: Model, dt: jax.Array | float) -> Any:
        mass, damping, _ = model.initial_matrices()
        return jnp.linalg.inv(mass + 0.5 * dt * damping), damping

    def predict(self, constants: Any, state: State, dt: jax.Array | float) -> Trial:
        x = state.x + dt * state.v + 0.5 * dt * dt * state.a
        v = state.v + dt * state.a
        return Trial(x, v, (x, v))

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
        effective, damping = constants
        a = model.times(effective, model.load(u.end) - forces + 0.5 * dt * model.times(damping, state.a))
        return State(trial.x, state.v + 0.5 * dt * (state.a + a), a, s)
