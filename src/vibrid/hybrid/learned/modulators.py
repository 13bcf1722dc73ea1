"""The modulators of a passive network: they see the history of a motion, never the force, and set its port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.networks.dense import Layer, bent, drawn_layer, product
from vibrid.networks.resonators import Resonators
from vibrid.networks.selective import SelectiveMemory

CONSTANTS = 3
"""Last inputs of a network that learns its first states: ratio and size of the capacities, and the first force."""


class Modulators(eqx.Module):
    """Static layers around a selective memory and damped oscillators. Made by `Modulators.make`.

    With a layer `first` the last inputs are constants of a test (`CONSTANTS`). The first force, the last of them, goes
    to that layer alone, which sets the memory before the first sample, m₀ = tanh(…), and the last outputs.
    """

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
    first: Layer | None = None

    @classmethod
    def make(
        cls, key, companion: int, own: int, outputs: int, rate: float, speed_at: int, path: float, *, width: int = 48,
        memories: int = 24, oscillators: int = 8, hidden: tuple[int, ...] = (64, 48), first: int = 0,
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
            first: how many of the outputs are of the first sample alone; with any, the first memory is learned too.
            bias: first bias of the other outputs; zero by default.
        """
        if min(width, memories, oscillators) < 1 or not hidden or min(hidden) < 1:
            raise InputError("Modulators need widths of at least 1, one memory, one oscillator and one hidden layer.")
        keys = iter(jax.random.split(key, 5 + len(hidden)))
        start = drawn_layer(next(keys), CONSTANTS, memories + first, 0.3, dtype) if first else None
        own, outputs = own - bool(first), outputs - first
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
        begin = jnp.asarray(bias, dtype) if len(bias) else zero
        parts = before, memory, resonators, tuple(layers), weights, begin
        return cls(*parts, companion, speed_at, path, first=start)

    def sizes(self) -> dict[str, Any]:
        """Arguments of `make` for layers of these shapes."""
        (inputs, width), memories, oscillators = self.before[0].shape, self.memory.count, self.resonators.count
        first = 0 if self.first is None else self.first[1].shape[0] - memories
        own, outputs = inputs - self.companions + bool(first), self.bias.shape[0] + first
        return {"companion": self.companions, "own": own, "outputs": outputs, **({"first": first} if first else {}),
                "rate": self.memory.rate, "speed_at": self.speed_at, "path": self.path, "width": width,
                "memories": memories, "oscillators": oscillators,
                "hidden": [bias.shape[0] for _, bias in self.layers]}  # fmt: skip

    def start(self, batch: tuple[int, ...] = ()):
        state = self.memory.start(batch), self.resonators.start(batch)
        return state if self.first is None else (*state, jnp.zeros(batch, self.bias.dtype))  # 1 after the first sample

    def _seen(self, companion, own):
        own = own if self.first is None else own[..., :-1]
        seen = jnp.concatenate([own, companion], axis=-1) if self.companions else own
        path = self.path * jnp.abs(own[..., self.speed_at])
        return seen, bent(self.before, seen), path

    def _begun(self, memory, own):
        """The memory before a sample with such inputs, what follows the oscillators in the state after it, and the
        outputs of the first sample alone."""
        if self.first is None:
            return memory[0], (), ()
        found = own[..., -CONSTANTS:] @ self.first[0] + self.first[1]
        kept = jnp.where(memory[2][..., None] > 0, memory[0], jnp.tanh(found[..., : self.memory.count]))
        return kept, (jnp.ones_like(memory[2]),), (found[..., self.memory.count :],)

    def _answer(self, *parts):
        x = jnp.concatenate(parts, axis=-1)
        for layer in self.layers:
            x = bent(layer, x)
        return product(x, self.weights) + self.bias

    def step(self, memory, companion, own, masks=None) -> tuple[Any, jax.Array]:
        """Memory and outputs (…, outputs) after one sample."""
        seen, encoded, path = self._seen(companion, own)
        before, begun, first = self._begun(memory, own)
        kept, ringing = self.memory.step(before, encoded, path), self.resonators.step(memory[1], encoded)
        answer = self._answer(seen, encoded, kept, ringing)
        return (kept, ringing, *begun), jnp.concatenate([answer, *first], axis=-1) if first else answer

    def along(self, memory, companion, own, masks=None) -> tuple[jax.Array, Any]:
        """Outputs (samples, …, outputs), and the memory after them."""
        seen, encoded, path = self._seen(companion, own)
        before, begun, first = self._begun(memory, own[0])
        kept, last = self.memory.along(before, encoded, path)
        ringing, end = self.resonators.along(memory[1], encoded)
        answer = self._answer(seen, encoded, kept, ringing)
        if first:
            answer = jnp.concatenate([answer, jnp.broadcast_to(first[0], (*answer.shape[:-1], first[0].shape[-1]))], -1)
        return answer, (last, end, *begun)
