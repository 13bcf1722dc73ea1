"""A device network: layers on the signals of the tested device, layers on its own motion, and layers that join them."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.device import accelerated
from vibrid.core.errors import InputError
from vibrid.networks.lstm import LSTM, along_beside
from vibrid.networks.wavefront import along_stack


class CellMemory(NamedTuple):
    """(h, c) of every layer."""

    companion: Any
    own: Any
    joined: tuple


class DeviceNetwork(eqx.Module):
    """LSTM layers on the signals of the tested device and on its own motion, in parallel; LSTM layers on both; a linear
    output.

    Made by `DeviceNetwork.make`. All arrays may have leading axes: a batch needs no vmap.
    """

    companion: LSTM | None
    own: LSTM
    joined: tuple[LSTM, ...]
    weights: jax.Array  # (last width, outputs)
    bias: jax.Array
    dropout: float = eqx.field(static=True, default=0.0)

    @classmethod
    def make(
        cls, key, companion: int, own: int, outputs: int, *, branch: int = 16, joined: tuple[int, ...] = (48, 48),
        dropout: float = 0.0, dtype=jnp.float32,
    ) -> DeviceNetwork:  # fmt: skip
        """New layers.

        Arguments
            companion: signals of the tested device; 0 for a network that uses none.
            own: features of its own motion.
            outputs: number of outputs.
            branch: width of the two parallel layers.
            joined: widths of the layers on both.
            dropout: share of each layer's output that is left out at random in training.
        """
        if not joined or branch < 1 or min(joined) < 1 or not 0 <= dropout < 1:
            raise InputError("A device network needs widths of at least 1, one joined layer, and a dropout in [0, 1).")
        keys = jax.random.split(key, 3 + len(joined))
        other = LSTM.make(keys[0], companion, branch, dtype) if companion else None
        sees = LSTM.make(keys[1], own, branch, dtype)
        layers, width = [], branch * (1 + bool(companion))
        for own_key, size in zip(keys[3:], joined, strict=True):
            layers.append(LSTM.make(own_key, width, size, dtype))
            width = size
        weights = jax.random.uniform(keys[2], (width, outputs), dtype, -1.0, 1.0) / width**0.5
        return cls(other, sees, tuple(layers), weights, jnp.zeros(outputs, dtype), dropout)

    def sizes(self) -> dict[str, Any]:
        """Arguments of `make` for layers of these shapes."""
        branch = self.own.width
        companion = 0 if self.companion is None else self.companion.weights.shape[0] - branch
        joined = [layer.width for layer in self.joined]
        return {"companion": companion, "own": self.own.weights.shape[0] - branch, "outputs": self.bias.shape[0],
                "branch": branch, "joined": joined, "dropout": self.dropout}  # fmt: skip

    def start(self, batch: tuple[int, ...] = ()) -> CellMemory:
        companion = None if self.companion is None else self.companion.start(batch)
        return CellMemory(companion, self.own.start(batch), tuple(layer.start(batch) for layer in self.joined))

    def masks(self, key, batch: tuple[int, ...] = ()) -> tuple[Any, ...]:
        """Which outputs of each layer are kept, drawn once for a stretch of samples; scaled so that means stay."""
        layers = [*([self.companion] if self.companion is not None else []), self.own, *self.joined]
        keep = 1.0 - self.dropout
        keys = jax.random.split(key, len(layers))
        return tuple(
            jax.random.bernoulli(k, keep, (*batch, layer.width)).astype(layer.bias.dtype) / keep
            for k, layer in zip(keys, layers, strict=True)
        )

    def step(
        self, memory: CellMemory, companion, own, masks: tuple[Any, ...] | None = None
    ) -> tuple[CellMemory, jax.Array]:
        """Memory and outputs (…, outputs) after one sample of signals (…, companion) and features (…, own)."""
        left = iter(masks) if masks is not None else None
        kept = (lambda h: h * next(left)) if left is not None else (lambda h: h)
        sides, listening = [], None
        if self.companion is not None:
            listening = self.companion.step(memory.companion, companion)
            sides.append(kept(listening[0]))
        seeing = self.own.step(memory.own, own)
        sides.append(kept(seeing[0]))
        x, after = jnp.concatenate(sides, axis=-1), []
        for layer, state in zip(self.joined, memory.joined, strict=True):
            state = layer.step(state, x)
            after.append(state)
            x = kept(state[0])
        return CellMemory(listening, seeing, tuple(after)), x @ self.weights + self.bias

    def along(
        self, memory: CellMemory, companion, own, masks: tuple[Any, ...] | None = None
    ) -> tuple[jax.Array, CellMemory]:
        """Outputs (samples, …, outputs) for signals and features (samples, …), and the memory after them."""
        if accelerated():
            return self._along_at_once(memory, companion, own, masks)
        left = iter(masks) if masks is not None else None
        kept = (lambda h: h * next(left)) if left is not None else (lambda h: h)
        if self.companion is None:
            (x, seeing), listening = self.own.along(memory.own, own), None
            x = kept(x)
        else:
            (first, listening), (second, seeing) = along_beside(
                (self.companion, self.own), (memory.companion, memory.own), (companion, own)
            )
            x = jnp.concatenate([kept(first), kept(second)], axis=-1)
        after = []
        for layer, state in zip(self.joined, memory.joined, strict=True):
            x, state = layer.along(state, x)
            after.append(state)
            x = kept(x)
        return x @ self.weights + self.bias, CellMemory(listening, seeing, tuple(after))

    def _along_at_once(self, memory: CellMemory, companion, own, masks) -> tuple[jax.Array, CellMemory]:
        """`along` with all layers in one loop: fewer operations, but larger ones."""
        if self.companion is None:
            first, states, inputs = [self.own], [memory.own], [own]
        else:
            first, states = [self.companion, self.own], [memory.companion, memory.own]
            inputs = [companion, own]
        x, after = along_stack(first, self.joined, [*states, *memory.joined], inputs, masks)
        listening, seeing = None if self.companion is None else after[0], after[len(first) - 1]
        x = x if masks is None else x * masks[-1]
        return x @ self.weights + self.bias, CellMemory(listening, seeing, tuple(after[len(first) :]))


class Constant(eqx.Module):
    """Outputs that do not depend on anything: with a law layer, the law whose parameters fit all tests best."""

    bias: jax.Array
    dropout: float = eqx.field(static=True, default=0.0)

    @classmethod
    def make(cls, key, outputs: int, spread: float = 0.3) -> Constant:
        return cls(spread * jax.random.normal(key, (outputs,)))

    def sizes(self) -> dict[str, Any]:
        return {"outputs": self.bias.shape[0]}

    def start(self, batch: tuple[int, ...] = ()) -> tuple[Any, ...]:
        return ()

    def step(self, memory, companion, own, masks=None):
        return memory, jnp.broadcast_to(self.bias, (*own.shape[:-1], *self.bias.shape))

    def along(self, memory, companion, own, masks=None):
        return self.step(memory, companion, own)[::-1]
