"""A law whose parameters are updated, step by step, from measurements of the tested device.

A constrained unscented Kalman filter (Malik, Cao, Ricles & Downey 2025, equations 24–39) estimates x, the named
parameters of a law, from the measured force of the tested device; the same law with these parameters gives the force at
the modelled place.

    χ = x, x ± γ √(L + λ) √P,    λ = α² (L + κ) − L                                               (25), (29), (30)
    W₀ᵐ = λ/(L + λ),  W₀ᶜ = W₀ᵐ + 1 − α² + β,  W = 1/2(L + λ)                                        (26)–(28)
    x⁻ = Σ Wᵐ χ,  P⁻ = Σ Wᶜ (χ − x⁻)(χ − x⁻)ᵀ + Q,  ν = f(χ),  y⁻ = Σ Wᵐ ν,  S = Σ Wᶜ (ν − y⁻)² + R   (31)–(36)
    K = Σ Wᶜ (χ − x⁻)(ν − y⁻) / S,  x = x⁻ + K (y − y⁻),  P = P⁻ − K S Kᵀ                           (37)–(39)

Corrections to the printed equations: W₀ᵐ and λ (as printed the weights do not sum to one), and x⁻ in (33) and (37).
γ falls from 1 by 0.1 until every sigma point lies within its bounds. The weights stay, so smaller sigma points also
shrink P by γ²: near a bound the filter underestimates its uncertainty. A mean on the bound would need γ = 0, which
makes the gain zero for ever; the mean is therefore kept so far inside that the sigma points of P = Q fit.

Parameters are counted in units of their characterised values, so Q = P₀ = σ_N² I. κ = 0 and β = 2.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import paths
from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, parameter
from vibrid.hybrid.device import SPECIMENS, Companion, LawState, LoopDevice, Reading
from vibrid.hybrid.learned.answers import ScaledLaw
from vibrid.hybrid.smoothing import Smoothed
from vibrid.laws.base import Motion

SHRINKING = 1.0 - 0.1 * np.arange(11)
"""γ: the values that are tried, from the largest."""
SMALLEST = 1e-11
"""Smallest eigenvalue of P, relative to the sum of them all."""


class UpdatedState(NamedTuple):
    """State of the filter and of the modelled device."""

    mean: jax.Array  # (L,) in units of the characterised values
    covariance: jax.Array  # (L, L)
    copies: Any  # states of the law of the tested device, one per sigma point
    companion: Motion  # of the tested device, at the last step
    displacement: Smoothed
    force: Smoothed
    begun: jax.Array  # whether there was a measurement yet
    own: LawState


def _scaled(law) -> ScaledLaw:
    return law if isinstance(law, ScaledLaw) else ScaledLaw(law, 1.0)


def _where(condition, yes, no):
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


@SPECIMENS.register("updated-law")
class UpdatedLaw(LoopDevice):
    """A law at the modelled place whose parameters a constrained unscented Kalman filter updates (module docstring).

    The law of the tested device has a separate state for every sigma point (`memory` "each"): where the device slips,
    its force does not depend on the stiffness of its bristles, and only a state that was moved with that stiffness
    shows it. With "mean" all points share the state of the mean, as in a filter whose only states are the parameters;
    slip is then taken as a change of stiffness.

    Its signals are the estimates, in SI units.

    Arguments
        law: with the characterised values; a `ScaledLaw` serves any capacity.
        capacity: N, one for both directions or (for w > 0, for w < 0); without a `ScaledLaw`, 1.
        updated: paths of the parameters that are updated.
        lower, upper: their bounds, as factors on the characterised values (the paper does not give its own).
        process_noise: σ_N, relative change of a parameter in one step.
        force_noise: √R, N.
        corner: Hz, of a low-pass on the measured displacement and force, which also gives the velocity; 0 takes the
            measured velocity. A sensor with 0.02 mm of noise at 1024 Hz has 30 mm/s of noise in its differences.
        spread: α.
        memory: "each" or "mean".
    """

    law: ScaledLaw = eqx.field(converter=_scaled)
    capacity: Parameter = parameter("friction force, or one of each direction", "N", positive=True, default=1.0)
    updated: tuple[str, ...] = eqx.field(static=True, converter=tuple, default=("bristle_stiffness", "bristle_damping"))
    lower: Parameter = parameter("lower bound of the parameters / characterised", "", positive=True, default=0.05)
    upper: Parameter = parameter("upper bound of the parameters / characterised", "", positive=True, default=5.0)
    process_noise: Parameter = parameter("σ_N", "", positive=True, zero=True, default=1e-3)
    force_noise: Parameter = parameter("√R", "N", positive=True, default=1e3)
    corner: Parameter = parameter("corner of the low-pass", "Hz", positive=True, zero=True, default=60.0)
    spread: Parameter = parameter("α", "", positive=True, default=1e-3)
    memory: str = eqx.field(static=True, default="each")

    no_force_means: ClassVar[str] = "The law overflowed, or its memory was too small for the path."

    def __check_init__(self):
        if not self.updated:
            raise InputError("An updated law needs at least one parameter to update.")
        if self.memory not in ("each", "mean"):
            raise InputError(f"The memory of an updated law is 'each' or 'mean', not {self.memory!r}.")
        for path in self.updated:
            paths.get(self.law.law, path)

    @staticmethod
    def faithful(*_, **__):
        """Left `UpdatedLaw` in 0.2; goes away in 0.3."""
        raise InputError(
            "UpdatedLaw.faithful() left the library: the filter as published is published_filter() in "
            "vibrid.papers.ocpnn.as_published."
        )

    @property
    def signal_names(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.updated

    @property
    def signal_units(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(paths.info(self.law.law, path).unit for path in self.updated)

    @property
    def characterised(self) -> jax.Array:
        return jnp.stack([jnp.asarray(paths.get(self.law.law, path), float) for path in self.updated])

    def start(self) -> UpdatedState:
        size, zero = len(self.updated), jnp.zeros(())
        copies = jax.tree.map(lambda leaf: jnp.stack([jnp.asarray(leaf)] * (2 * size + 1)), self.law.law.start())
        rest, still = Motion(zero, zero), Smoothed(zero, zero, zero)
        begun = jnp.zeros((), bool)
        covariance = jnp.square(self.process_noise) * jnp.eye(size)
        law_state = LawState(self.law.law.start(), rest)
        return UpdatedState(jnp.ones(size), covariance, copies, rest, still, still, begun, law_state)

    def moved(self, x, law_state, before: Motion, after: Motion, dt):
        """State and force of the law with parameters x (in units of the characterised ones) after a step."""
        given = dict(zip(self.updated, self.characterised * x, strict=True))
        law, share = self.law.scaled(jnp.broadcast_to(self.capacity, (2,)), given)
        law_state = law.advance(law_state, before, after, dt)
        force = jnp.where(law.overflowed(law_state), jnp.nan, law.force(after.e, after.w, law_state) * share)
        return law_state, force

    def listened(self, state: UpdatedState, companion: Companion, dt) -> tuple[Motion, jax.Array, Smoothed, Smoothed]:
        """Motion and force of the tested device after the low-pass."""
        x, force = companion.motion.e, companion.reading.force
        begin = lambda old, value: _where(state.begun, old, Smoothed(value, jnp.zeros(()), value))  # noqa: E731
        smooth = begin(state.displacement, x).step(x, self.corner, dt)
        pushed = begin(state.force, force).step(force, self.corner, dt)
        filtered = self.corner > 0
        motion = Motion(jnp.where(filtered, smooth.value, x), jnp.where(filtered, smooth.rate, companion.motion.w))
        return motion, jnp.where(filtered, pushed.value, force), smooth, pushed

    def estimate(self, state: UpdatedState, motion: Motion, measured, dt):
        """Mean, covariance and copies after one measured force: equations (30)–(39)."""
        size = len(self.updated)
        wide = jnp.square(self.spread) * size  # L + λ, with κ = 0
        center = (wide - size) / wide
        means = jnp.full(2 * size + 1, 0.5 / wide).at[0].set(center)
        weights = means.at[0].set(center + 1.0 - jnp.square(self.spread) + 2.0)
        noise = jnp.square(self.process_noise) * jnp.eye(size)

        values, vectors = jnp.linalg.eigh(0.5 * (state.covariance + state.covariance.T))
        values = jnp.maximum(values, SMALLEST * jnp.sum(jnp.abs(values)))
        root = (vectors * jnp.sqrt(values)) @ vectors.T
        away = jnp.sqrt(wide) * jnp.concatenate([jnp.zeros((1, size)), root, -root])
        tried = state.mean + SHRINKING[:, None, None] * away
        inside = jnp.all((tried >= self.lower) & (tried <= self.upper), axis=(1, 2))
        points = tried[jnp.where(inside.any(), jnp.argmax(inside), len(SHRINKING) - 1)]

        before = state.companion
        copies, forces = jax.vmap(lambda x, own: self.moved(x, own, before, motion, dt))(points, state.copies)
        mean, predicted = means @ points, means @ forces
        apart, spread = points - mean, forces - predicted
        variance = weights @ jnp.square(spread) + jnp.square(self.force_noise)
        gain = (weights * spread) @ apart / variance
        margin = self.process_noise * jnp.sqrt(wide)
        after = jnp.clip(mean + gain * (measured - predicted), self.lower + margin, self.upper - margin)
        covariance = (weights * apart.T) @ apart + noise - variance * jnp.outer(gain, gain)
        if self.memory == "mean":
            first = jax.tree.map(lambda leaf: leaf[0], state.copies)
            own, _ = self.moved(after, first, before, motion, dt)
            copies = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (2 * size + 1, *jnp.shape(leaf))), own)
        return after, covariance, copies

    def trial(
        self, state: UpdatedState, motion: Motion, companion: Companion | None, dt
    ) -> tuple[Reading, UpdatedState]:
        if companion is None:
            raise InputError("An updated law needs measurements of a tested device: name the device with `companion`.")
        seen, force, smooth, pushed = self.listened(state, companion, dt)
        state = state._replace(companion=_where(state.begun, state.companion, seen))
        mean, covariance, copies = self.estimate(state, seen, force, dt)
        own, modelled_force = self.moved(mean, state.own.own, state.own.at, motion, dt)
        after = UpdatedState(mean, covariance, copies, seen, smooth, pushed, jnp.ones((), bool), LawState(own, motion))
        return Reading(modelled_force, self.characterised * mean), after

    def initial_stiffness(self):
        law, share = self.law.scaled(jnp.broadcast_to(self.capacity, (2,)), {})
        return law.initial_stiffness() * share

    def initial_damping(self):
        law, share = self.law.scaled(jnp.broadcast_to(self.capacity, (2,)), {})
        return law.initial_damping() * share
