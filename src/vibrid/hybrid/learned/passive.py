"""A device network that cannot give energy: passive by construction, for any weights, motion and step.

Two parts. The modulators are a network that sees the history of the motion (and of the tested device) but never the
force; it may do what it likes. The port turns their outputs into a force. Energy is stored only in complex states z,

    ż = (iθ − ρ − r |v|) z + b v,      F = Re(b* z) + d v / (|v| + v₀),      H = |z|²/2,      ρ, r, d ≥ 0

in units of the capacity and of a length. Over one sample, with the modulators held, it is solved exactly: z rotates,
z₁ = e^{iθΔt} z; then with y = r |Δx| + ρ Δt, φ = (1 − e^−y)/y and ψ = (1 − φ)/y,

    z⁺ = e^−y z₁ + b φ Δx,      F = Re b*(φ z₁ + b ψ Δx) + …

so that F Δx is the change of H plus losses that are never negative (van der Schaft & Jeltsema 2014, Port-Hamiltonian
systems theory; the exact step is this package's). A factor κ ≤ 1 on b limits the force and changes nothing of this.

A device that carries a force f (in mean capacities) before the first sample has energy stored: H₀ = |z₀|²/2. Its states
are those of least energy with that force, moved by what the network has learned of such a device, u, in directions in
which the force stays,

    z₀ = f (u + b (1 − Re b*u)/|b|²),      each part of u between −1 and 1,

so that H₀ is bounded, and zero where no force is known. Over a test, work done on the network ≥ H − H₀ ≥ −H₀: it may
give back what the device had stored when the test began, and nothing more.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.hybrid.learned.answers import Answer
from vibrid.hybrid.learned.samples import Setting
from vibrid.laws.base import Motion
from vibrid.networks.recurrence import recurrence
from vibrid.networks.selective import softplus

_SERIES = 0.05  # y below which φ and ψ are summed: their differences would lose digits
_LIMIT = 1.6  # capacities
_WEAKEST = 0.01  # |b|², for the states of a first force: a weaker port begins with less than that force


def first_share(setting: Setting) -> jax.Array:
    """The first force in mean capacities, within what a port can give."""
    return jnp.clip(setting.first_force / setting.capacity.mean(axis=-1), -_LIMIT, _LIMIT)


class PortState(NamedTuple):
    """States z, the displacement of the last sample (m), and 1 after the first sample."""

    real: jax.Array
    imaginary: jax.Array
    x: jax.Array
    begun: jax.Array


class _Parameters(NamedTuple):
    """Of a port over a sample: b, angle of the turn, Δx in the unit of length, e^−y, φ, ψ; d before its bound."""

    real: jax.Array
    imaginary: jax.Array
    angle: jax.Array
    dx: jax.Array
    kept: jax.Array
    phi: jax.Array
    psi: jax.Array
    friction: jax.Array


class PassivePort(Answer):
    """The force of a passive port. Outputs of the network: b (real, imaginary), r, ρ, θ of every state, and d.

    Arguments
        states: number of complex states.
        length: m, unit of displacements.
        soft: m/s, v₀.
        most: largest |b| of either part.
        least_path, least_time: smallest r (per unit of length) and ρ (1/s): whatever is stored is lost.
        most_friction: largest d, in capacities.
        limit: largest force of the states, in capacities of its direction.
        learns_first: whether outputs (real, imaginary) of the network are u of every state, behind all others.
    """

    states: int = eqx.field(static=True, default=12)
    length: float = eqx.field(static=True, default=1e-3)
    soft: float = eqx.field(static=True, default=5e-3)
    most: float = eqx.field(static=True, default=1.5)
    least_path: float = eqx.field(static=True, default=0.02)
    least_time: float = eqx.field(static=True, default=0.2)
    most_friction: float = eqx.field(static=True, default=1.2)
    limit: float = eqx.field(static=True, default=_LIMIT)
    learns_first: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if self.states < 1 or min(self.length, self.soft, self.least_path, self.least_time, self.limit) <= 0:
            raise InputError("A passive port needs a state, and a positive length, speed, loss and limit.")

    @property
    def outputs(self) -> int:
        return 5 * self.states + 1 + self.of_first

    @property
    def of_first(self) -> int:
        """How many of the outputs are of the first sample alone."""
        return 2 * self.states if self.learns_first else 0

    def first_bias(self) -> np.ndarray:
        """Of a new network: losses over decades, half of the states resting and half ringing."""
        n, rng = self.states, np.random.default_rng(1)
        paths, times = np.geomspace(0.1, 2.0, n), np.geomspace(0.3, 30.0, n)[rng.permutation(n)]
        turning = np.concatenate([np.zeros(n // 2), np.geomspace(30.0, 150.0, n - n // 2)])
        b = 0.25 * rng.standard_normal(2 * n)
        return np.concatenate([b, np.log(np.expm1(paths)), np.log(np.expm1(times)), turning, [-1.0]])

    def start(self, batch: tuple[int, ...] = ()) -> PortState:
        z = jnp.zeros((*batch, self.states))
        return PortState(z, z, jnp.zeros(batch), jnp.zeros(batch))

    def energy(self, state: PortState, setting: Setting) -> jax.Array:
        """J, stored (…)."""
        stored = 0.5 * jnp.sum(state.real**2 + state.imaginary**2, axis=-1)
        return jnp.asarray(setting.capacity, float).mean(axis=-1) * self.length * stored

    def step(self, state: PortState, outputs, motion: Motion, setting: Setting, dt) -> tuple[PortState, jax.Array]:
        capacity = jnp.asarray(setting.capacity, float)
        mean, x = capacity.mean(axis=-1), jnp.asarray(motion.e, float)
        outputs, begun = jnp.asarray(outputs, float), state.begun[..., None] > 0
        p = self._parameters(outputs, state.begun * (x - state.x), dt)
        exact = Setting(capacity, jnp.asarray(setting.first_force, float))
        both = zip(self._rotated(state, p), self._first(p, outputs, exact), strict=True)
        z_real, z_imaginary = (jnp.where(begun, z, z0) for z, z0 in both)
        first = jnp.sum(p.phi * (p.real * z_real + p.imaginary * z_imaginary), axis=-1)
        own = jnp.sum(p.psi * (p.real**2 + p.imaginary**2) * p.dx, axis=-1)
        side = jnp.where(first + own > 0, capacity[..., 0], capacity[..., 1]) / mean
        kappa = jnp.minimum(1.0, self.limit * side / jnp.maximum(jnp.abs(first) + jnp.abs(own), 1e-12))
        moved = kappa[..., None] * p.phi * p.dx
        after = PortState(
            p.kept * z_real + p.real * moved, p.kept * z_imaginary + p.imaginary * moved, x, jnp.ones_like(x)
        )
        return after, mean * (kappa * first + kappa**2 * own + self._friction(p, dt, capacity))

    def unlimited(self, outputs, motion: Motion, setting: Setting, dt) -> jax.Array:
        """Forces (samples, …) from rest without their limit: parallel in time and in the precision of the outputs, for
        a training."""
        outputs, capacity, first_force, x = (jnp.asarray(part, outputs.dtype) for part in (outputs, *setting, motion.e))
        mean = capacity.mean(axis=-1)
        p = self._parameters(outputs, jnp.diff(x, axis=0, prepend=x[:1]), dt)
        b, turned = p.real + 1j * p.imaginary, jnp.exp(1j * p.angle)
        at_first = jax.tree.map(lambda part: part[0], p)
        real, imaginary = self._first(at_first, outputs[0], Setting(capacity, first_force))
        begin = real + 1j * imaginary
        factors = (p.kept * turned).at[0].set(p.kept[0])
        z = recurrence(factors, b * p.phi * p.dx, begin)
        before = jnp.concatenate([begin[None], turned[1:] * z[:-1]])
        force = jnp.sum((b.conj() * (p.phi * before + b * p.psi * p.dx)).real, axis=-1)
        return mean * (force + self._friction(p, dt, capacity))

    def _parameters(self, outputs, moved, dt) -> _Parameters:
        """Of the port over a sample in which it is moved by so much (m)."""
        n, o = self.states, outputs
        b = self.most * jnp.tanh(o[..., : 2 * n] / self.most)
        r = self.least_path + softplus(o[..., 2 * n : 3 * n])
        rho = self.least_time + softplus(o[..., 3 * n : 4 * n])
        dx = (moved / self.length)[..., None]
        y = r * jnp.abs(dx) + rho * dt
        return _Parameters(
            b[..., :n], b[..., n:], o[..., 4 * n : 5 * n] * dt, dx, jnp.exp(-y), *_shares(y), friction=o[..., 5 * n]
        )

    def _rotated(self, state: PortState, p: _Parameters) -> tuple[jax.Array, jax.Array]:
        """e^{iθΔt} z, real and imaginary."""
        cosine, sine = jnp.cos(p.angle), jnp.sin(p.angle)
        return cosine * state.real - sine * state.imaginary, sine * state.real + cosine * state.imaginary

    def _first(self, p: _Parameters, outputs, setting: Setting) -> tuple[jax.Array, jax.Array]:
        """z₀, real and imaginary."""
        share = first_share(setting)[..., None]
        rest = 1.0 / jnp.maximum(jnp.sum(p.real**2 + p.imaginary**2, axis=-1, keepdims=True), _WEAKEST)
        if not self.learns_first:
            return share * rest * p.real, share * rest * p.imaginary
        real, imaginary = jnp.split(jnp.tanh(outputs[..., 5 * self.states + 1 :]), 2, axis=-1)
        rest = rest * (1.0 - jnp.sum(p.real * real + p.imaginary * imaginary, axis=-1, keepdims=True))
        return share * (real + rest * p.real), share * (imaginary + rest * p.imaginary)

    def _friction(self, p: _Parameters, dt, capacity):
        """d v/(|v| + v₀), in mean capacities."""
        v = p.dx[..., 0] * self.length / dt
        side = jnp.where(v > 0, capacity[..., 0], capacity[..., 1]) / capacity.mean(axis=-1)
        return self.most_friction * jax.nn.sigmoid(p.friction) * side * v / (jnp.abs(v) + self.soft)


def _shares(y) -> tuple[jax.Array, jax.Array]:
    """φ = (1 − e^−y)/y and ψ = (1 − φ)/y."""
    safe = jnp.where(y < _SERIES, 1.0, y)
    phi = (1.0 - jnp.exp(-safe)) / safe
    small = y * (1 / 2 - y * (1 / 6 - y * (1 / 24 - y / 120)))
    phi = jnp.where(y < _SERIES, 1.0 - small, phi)
    series = 1 / 2 - y * (1 / 6 - y * (1 / 24 - y * (1 / 120 - y / 720)))
    return phi, jnp.where(y < _SERIES, series, (1.0 - phi) / safe)
