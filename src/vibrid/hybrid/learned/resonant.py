"""A device network without recurrent layers: static layers before and after a bank of damped oscillators.

The permanent memory of a friction device is in the play operators among its features; its fading memory (ringing,
warming, filtered signals of the tested device) is linear between two nonlinear maps. So:

    e = tanh(W [own, companion] + b);  s = resonators(e);  outputs = dense(own, e, s)
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.networks.dense import Layer, bent, drawn_layer
from vibrid.networks.resonators import Resonators


class ResonantNetwork(eqx.Module):
    """Made by `ResonantNetwork.make`; takes the place of a `DeviceNetwork`."""

    before: Layer
    resonators: Resonators
    layers: tuple[Layer, ...]
    weights: jax.Array
    bias: jax.Array
    uses_companion: bool = eqx.field(static=True)
    dropout: float = eqx.field(static=True, default=0.0)

    @classmethod
    def make(
        cls, key, companion: int, own: int, outputs: int, rate: float, *, encoded: int = 32, count: int = 24,
        hidden: tuple[int, ...] = (48, 32), dtype=jnp.float32,
    ) -> ResonantNetwork:  # fmt: skip
        """New layers.

        Arguments
            companion: signals of the tested device; 0 for a network that uses none.
            own: features of its own motion.
            rate: Hz, samples per second.
            encoded: width of the layer before the oscillators.
            count: oscillators.
            hidden: widths of the layers after them.
        """
        if encoded < 1 or count < 1 or not hidden or min(hidden) < 1:
            raise InputError("A resonant network needs widths of at least 1, and one hidden layer.")
        keys = iter(jax.random.split(key, 3 + len(hidden)))
        before = drawn_layer(next(keys), own + companion, encoded, dtype=dtype)
        resonators = Resonators.make(next(keys), encoded, count, rate, dtype=dtype)
        layers, width = [], own + encoded + 2 * count
        for size in hidden:
            layers.append(drawn_layer(next(keys), width, size, dtype=dtype))
            width = size
        last = drawn_layer(next(keys), width, outputs, 0.3, dtype)
        return cls(before, resonators, tuple(layers), *last, bool(companion))

    def sizes(self) -> dict[str, Any]:
        """Arguments of `make` for layers of these shapes."""
        (inputs, encoded), count = self.before[0].shape, self.resonators.count
        hidden = [bias.shape[0] for _, bias in self.layers]
        own = self.layers[0][0].shape[0] - encoded - 2 * count
        return {"companion": inputs - own, "own": own, "outputs": self.bias.shape[0], "rate": self.resonators.rate,
                "encoded": encoded, "count": count, "hidden": hidden}  # fmt: skip

    def start(self, batch: tuple[int, ...] = ()):
        return self.resonators.start(batch)

    def _seen(self, companion, own):
        seen = jnp.concatenate([own, companion], axis=-1) if self.uses_companion else own
        return bent(self.before, seen)

    def _answer(self, own, encoded, states):
        x = jnp.concatenate([own, encoded, states], axis=-1)
        for layer in self.layers:
            x = bent(layer, x)
        return x @ self.weights + self.bias

    def step(self, memory, companion, own, masks=None) -> tuple[jax.Array, jax.Array]:
        """Memory and outputs (…, outputs) after one sample."""
        encoded = self._seen(companion, own)
        memory = self.resonators.step(memory, encoded)
        return memory, self._answer(own, encoded, memory)

    def along(self, memory, companion, own, masks=None) -> tuple[jax.Array, jax.Array]:
        """Outputs (samples, …, outputs), and the memory after them."""
        encoded = self._seen(companion, own)
        states, memory = self.resonators.along(memory, encoded)
        return self._answer(own, encoded, states), memory
