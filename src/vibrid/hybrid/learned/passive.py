"""A device network that cannot give energy: passive by construction, for any weights, motion and step.

Two parts. The modulators are a network that sees the history of the motion (and of the tested device) but never the
force; it may do what it likes. The port turns their outputs into a force. Energy is stored only in complex states z,

    ż = (iθ − ρ − r |v|) z + b v,      F = Re(b* z) + d v / (|v| + v₀),      H = |z|²/2,      ρ, r, d ≥ 0

in units of the capacity and of a length. Over one sample, with the modulators held, it is solved exactly: z rotates,
z₁ = e^{iθΔt} z; then with y = r |Δx| + ρ Δt, φ = (1 − e^−y)/y and ψ = (1 − φ)/y,

    z⁺ = e^−y z₁ + b φ Δx,      F = Re b*(φ z₁ + b ψ Δx) + …

so that F Δx is the change of H plus losses that are never negative (van der Schaft & Jeltsema 2014, Port-Hamiltonian
systems theory; the exact step is this package's). A factor κ ≤ 1 on b limits the force and changes nothing of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.hybrid.learned.answers import Answer
from vibrid.hybrid.learned.samples import Setting
from vibrid.laws.base import Motion
from vibrid.networks.dense import Layer, bent, drawn_layer
from vibrid.networks.recurrence import recurrence
from vibrid.networks.resonators import Resonators
from vibrid.networks.selective import SelectiveMemory, softplus

_SERIES = 0.05  # y below which φ and ψ are summed: their differences would lose digits


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
    """

    states: int = eqx.field(static=True, default=12)
    length: float = eqx.field(static=True, default=1e-3)
    soft: float = eqx.field(static=True, default=5e-3)
    most: float = eqx.field(static=True, default=1.5)
    least_path: float = eqx.field(static=True, default=0.02)
    least_time: float = eqx.field(static=True, default=0.2)
    most_friction: float = eqx.field(static=True, default=1.2)
    limit: float = eqx.field(static=True, default=1.6)

    def __check_init__(self):
        if self.states < 1 or min(self.length, self.soft, self.least_path, self.least_time, self.limit) <= 0:
            raise InputError("A passive port needs a state, and a positive length, speed, loss and limit.")

    @property
    def outputs(self) -> int:
        return 5 * self.states + 1

    def first_bias(self) -> np.ndarray:
        """(outputs,) of a new network: losses over decades, half of the states resting and half ringing."""
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
        p = self._parameters(jnp.asarray(outputs, float), state.begun * (x - state.x), dt)
        z_real, z_imaginary = self._rotated(state, p, setting.first_force / mean)
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
        power = jnp.maximum(jnp.sum(p.real[0] ** 2 + p.imaginary[0] ** 2, axis=-1), 1e-6)
        begin = b[0] * (first_force / mean / power)[..., None]  # as in `_rotated`
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
            b[..., :n], b[..., n:], o[..., 4 * n : 5 * n] * dt, dx, jnp.exp(-y), *_shares(y), friction=o[..., -1]
        )

    def _rotated(self, state: PortState, p: _Parameters, first_force):
        """z₁; before the first sample, the states of least energy with the first force (in capacities)."""
        turned = (
            jnp.cos(p.angle) * state.real - jnp.sin(p.angle) * state.imaginary,
            jnp.sin(p.angle) * state.real + jnp.cos(p.angle) * state.imaginary,
        )
        power = jnp.maximum(jnp.sum(p.real**2 + p.imaginary**2, axis=-1), 1e-6)
        size = (jnp.asarray(first_force, float) / power)[..., None]
        begun = state.begun[..., None] > 0
        return tuple(jnp.where(begun, z, size * b) for z, b in zip(turned, (p.real, p.imaginary), strict=True))

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


class Modulators(eqx.Module):
    """Static layers around a selective memory and damped oscillators. Made by `Modulators.make`."""

    before: Layer
    memory: SelectiveMemory
    resonators: Resonators
    layers: tuple[Layer, ...]
    weights: jax.Array
    bias: jax.Array
    companions: int = eqx.field(static=True)
    speed_at: int = eqx.field(static=True)
    path: float = eqx.field(static=True)
    dropout: float = eqx.field(static=True, default=0.0)

    @classmethod
    def make(
        cls, key, companion: int, own: int, outputs: int, rate: float, speed_at: int, path: float, *, width: int = 48,
        memories: int = 24, oscillators: int = 8, hidden: tuple[int, ...] = (64, 48),
        bias: Sequence[float] | np.ndarray = (), dtype=jnp.float32,
    ) -> Modulators:  # fmt: skip
        """New layers.

        Arguments
            companion: signals of the tested device; 0 for a network that uses none.
            own: features of its own motion.
            rate: Hz, samples per second.
            speed_at: which feature is the velocity.
            path: in a sample at a velocity feature of 1, in the unit of length.
            width: of the layer before the memories.
            memories, oscillators: their numbers.
            hidden: widths of the layers after them.
            bias: first bias of the outputs; zero by default.
        """
        if min(width, memories, oscillators) < 1 or not hidden or min(hidden) < 1:
            raise InputError("Modulators need widths of at least 1, one memory, one oscillator and one hidden layer.")
        keys = iter(jax.random.split(key, 4 + len(hidden)))
        before = drawn_layer(next(keys), own + companion, width, dtype=dtype)
        memory = SelectiveMemory.make(next(keys), width, memories, rate, dtype=dtype)
        resonators = Resonators.make(
            next(keys), width, oscillators, rate, frequencies=(4.0, 40.0), forgets=(3.0, 30.0), dtype=dtype
        )
        layers, inputs = [], own + companion + width + memories + 2 * oscillators
        for size in hidden:
            layers.append(drawn_layer(next(keys), inputs, size, dtype=dtype))
            inputs = size
        weights, zero = drawn_layer(next(keys), inputs, outputs, 0.4, dtype)
        first = jnp.asarray(bias, dtype) if len(bias) else zero
        return cls(before, memory, resonators, tuple(layers), weights, first, companion, speed_at, path)

    def sizes(self) -> dict[str, Any]:
        """Arguments of `make` for layers of these shapes."""
        (inputs, width), memories, oscillators = self.before[0].shape, self.memory.count, self.resonators.count
        own = inputs - self.companions
        return {"companion": self.companions, "own": own, "outputs": self.bias.shape[0],
                "rate": self.memory.rate, "speed_at": self.speed_at, "path": self.path, "width": width,
                "memories": memories, "oscillators": oscillators,
                "hidden": [bias.shape[0] for _, bias in self.layers]}  # fmt: skip

    def start(self, batch: tuple[int, ...] = ()):
        return self.memory.start(batch), self.resonators.start(batch)

    def _seen(self, companion, own):
        seen = jnp.concatenate([own, companion], axis=-1) if self.companions else own
        path = self.path * jnp.abs(own[..., self.speed_at])
        return seen, bent(self.before, seen), path

    def _answer(self, *parts):
        x = jnp.concatenate(parts, axis=-1)
        for layer in self.layers:
            x = bent(layer, x)
        return x @ self.weights + self.bias

    def step(self, memory, companion, own, masks=None) -> tuple[Any, jax.Array]:
        """Memory and outputs (…, outputs) after one sample."""
        seen, encoded, path = self._seen(companion, own)
        kept, ringing = self.memory.step(memory[0], encoded, path), self.resonators.step(memory[1], encoded)
        return (kept, ringing), self._answer(seen, encoded, kept, ringing)

    def along(self, memory, companion, own, masks=None) -> tuple[jax.Array, Any]:
        """Outputs (samples, …, outputs), and the memory after them."""
        seen, encoded, path = self._seen(companion, own)
        kept, last = self.memory.along(memory[0], encoded, path)
        ringing, end = self.resonators.along(memory[1], encoded)
        return self._answer(seen, encoded, kept, ringing), (last, end)
