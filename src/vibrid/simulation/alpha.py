"""KR-α and MKR-α: explicit, unconditionally stable for linear structures, with numerical damping of high modes."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.core.parameters import as_number
from vibrid.simulation.base import INTEGRATORS, ExplicitIntegrator, State, Trial
from vibrid.structures.model import Model


@INTEGRATORS.register("kr-alpha")
class KRAlpha(ExplicitIntegrator):
    """Kolay & Ricles (2014): `x₁ = x₀ + dt v₀ + dt² α₂ a₀`, `v₁ = v₀ + dt α₁ a₀`,
    `M [(I − α₃) a₁ + α₃ a₀] + f = L u`, forces and loads weighted between the two ends of the step by α_f.

    The displacement is of order 2 from rest, for linear and for nonlinear stiffness. The velocity is of order 1: it
    lags the motion by γ dt α₁ a (half a step at ρ∞ = 1), and α₁ corrects that for the damping of small
    motions only. So where damping or a rate-driven state changes during the motion (thermostat, Bouc–Wen, friction)
    the displacement, too, is of order 1.

    Arguments
        dissipation: ρ∞, the factor by which the highest mode shrinks each step: 1 none, 0 the most.
        weigh: "force" averages the forces at the two ends (Malik et al., Eq. 4); "displacement" takes the forces at the
            averaged motion, as OpenSees' KRAlphaExplicit does. Equal for linear structures.
    """

    dissipation: jax.Array = eqx.field(converter=as_number, default=0.5)
    weigh: str = eqx.field(static=True, default="force")
    modified: ClassVar[bool] = False
    begins_anywhere: ClassVar[bool] = False  # a₀ is not that of the equation of motion
    least_order: ClassVar[int] = 1  # of the velocity

    def __check_init__(self) -> None:
        if self.weigh not in ("force", "displacement"):
            raise InputError(f"KRAlpha weighs 'force' or 'displacement', not '{self.weigh}'.")

    def weights(self) -> Any:
        """α_m, α_f, β, γ for this ρ∞."""
        r = self.dissipation
        alpha_m = (2 * r**3 + r**2 - 1) / (r**3 + r**2 + r + 1) if self.modified else (2 * r - 1) / (r + 1)
        alpha_f = r / (r + 1)
        gamma = 0.5 - alpha_m + alpha_f
        return alpha_m, alpha_f, 0.25 * (0.5 + gamma) ** 2, gamma

    def prepare(self, model: Model, dt: jax.Array | float) -> Any:
        alpha_m, alpha_f, beta, gamma = self.weights()
        m, c, k = model.initial_matrices()
        inverse = jnp.linalg.inv(m + gamma * dt * c + beta * dt * dt * k)
        alpha1 = inverse @ m
        alpha3 = inverse @ (alpha_m * m + alpha_f * gamma * dt * c + alpha_f * beta * dt * dt * k)
        n = m.shape[0]
        return {
            "alpha_f": alpha_f,
            "velocity": dt * alpha1,
            "displacement": dt * dt * (0.5 + gamma) * alpha1,
            "solve": jnp.linalg.inv(m @ (jnp.eye(n) - alpha3)),
            "carry": m @ alpha3,
        }

    def start(self, model: Model, constants: Any, x: jax.Array, v: jax.Array, s: Any, u: Any) -> State:
        first = super().start(model, constants, x, v, s, u)
        kept = model.forces(x, v, s) if self.weigh == "force" else (x, v)
        return first._replace(notes=kept)

    def standing(self, state: State) -> tuple[jax.Array, jax.Array]:
        return (state.x, state.v) if self.weigh == "force" else state.notes

    def predict(self, constants: Any, state: State, dt: jax.Array | float) -> Trial:
        x = state.x + dt * state.v + constants["displacement"] @ state.a
        v = state.v + constants["velocity"] @ state.a
        if self.weigh == "force":
            return Trial(x, v, (x, v))
        f = constants["alpha_f"]
        return Trial(x, v, ((1 - f) * x + f * state.x, (1 - f) * v + f * state.v))

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
        f = constants["alpha_f"]
        weighted = (1 - f) * forces + f * state.notes if self.weigh == "force" else forces
        load = model.load((1 - f) * u.end + f * u(0.0))
        a = model.times(constants["solve"], load - weighted - model.times(constants["carry"], state.a))
        return State(trial.x, trial.v, a, s, forces if self.weigh == "force" else trial.at)


@INTEGRATORS.register("mkr-alpha")
class MKRAlpha(KRAlpha):
    """Kolay & Ricles (2019): KR-α with another α_m, which avoids overshoot at high damping; equal at ρ∞ = 0 and 1."""

    modified: ClassVar[bool] = True
