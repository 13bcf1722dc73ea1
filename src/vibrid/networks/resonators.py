"""A bank of damped oscillators driven by inputs: a linear memory that stays stable during training.

    s ← e^{(−d + iω)/rate} s + x B,      d, ω > 0

Each state has its own frequency ω and decay rate d; both are learned. Because it is linear in time it needs no small
product at every sample as recurrent networks do, and because d > 0 it cannot grow without bound (diagonal state
spaces; Orvieto et al. 2023, Resurrecting recurrent neural networks for long sequences).
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.networks.dense import product
from vibrid.networks.recurrence import recurrence


class Resonators(eqx.Module):
    """From (…, inputs) to real and imaginary parts (…, 2 count). Made by `Resonators.make`."""

    log_decay: jax.Array  # (count,) of d in 1/s
    log_frequency: jax.Array  # (count,) of ω in rad/s
    weights: jax.Array  # (inputs, 2 count)
    rate: float = eqx.field(static=True)

    @classmethod
    def make(
        cls, key, inputs: int, count: int, rate: float, *, frequencies=(0.1, 40.0), forgets=(0.3, 30.0),
        dtype=jnp.float32,
    ) -> Resonators:  # fmt: skip
        """New resonators.

        Arguments
            rate: samples a second.
            frequencies: Hz, range of the initial frequencies, equally spaced in logarithm.
            forgets: 1/s, range from which the initial decay rates are drawn.
        """
        drawing, pace = jax.random.split(key)
        low, high = np.log(forgets)
        decay = jax.random.uniform(pace, (count,), dtype, low, high)
        lowest, highest = np.log(2 * np.pi * np.asarray(frequencies))
        frequency = jnp.linspace(lowest, highest, count, dtype=dtype)
        weights = jax.random.normal(drawing, (inputs, 2 * count), dtype) / inputs**0.5
        return cls(decay, frequency, weights, rate)

    @property
    def count(self) -> int:
        return self.log_decay.shape[-1]

    def start(self, batch: tuple[int, ...] = ()):
        return jnp.zeros((*batch, 2 * self.count), self.weights.dtype)

    def _turn(self) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Real and imaginary part of e^{(−d + iω)/rate}, and √(1 − |.|²), which keeps white noise at its size."""
        size = jnp.exp(-jnp.exp(self.log_decay) / self.rate)
        angle = jnp.exp(self.log_frequency) / self.rate
        return size * jnp.cos(angle), size * jnp.sin(angle), jnp.sqrt(1 - size * size)

    def step(self, state, x):
        """The state after one sample, which is also the output."""
        real, imaginary, gain = self._turn()
        return _turned(real, imaginary, state, product(x, self.weights) * jnp.concatenate([gain, gain]))

    def along(self, state, x):
        """Outputs (samples, …, 2 count), and the state after them."""
        real, imaginary, gain = self._turn()
        pushed = _joined(product(x, self.weights) * jnp.concatenate([gain, gain]))
        states = recurrence(jnp.broadcast_to(real + 1j * imaginary, pushed.shape), pushed, _joined(state))
        outputs = jnp.concatenate([states.real, states.imag], axis=-1)
        return outputs, outputs[-1]


def _joined(values):
    """Complex numbers from their real parts and then their imaginary ones, (…, 2 count)."""
    real, imaginary = jnp.split(values, 2, axis=-1)
    return real + 1j * imaginary


def _turned(real, imaginary, state, push):
    a, b = jnp.split(state, 2, axis=-1)
    return jnp.concatenate([real * a - imaginary * b, imaginary * a + real * b], axis=-1) + push
