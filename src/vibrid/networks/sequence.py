"""Networks over a sequence of samples: long short-term memory and one-dimensional convolution.

Both take (samples, inputs) and give (samples, outputs); a batch of sequences is `vmap(network)(sequences)`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core import precision  # noqa: F401
from vibrid.core.errors import InputError, unknown_name
from vibrid.networks.dense import ACTIVATIONS
from vibrid.networks.lstm import LSTM


class Recurrent(eqx.Module):
    """Layers of long short-term memory and a linear output. Made by `Recurrent.make`."""

    layers: tuple[LSTM, ...]
    output: jax.Array  # (width, outputs)
    offset: jax.Array

    @classmethod
    def make(cls, key, widths: Sequence[int], *, dtype=jnp.float64) -> Recurrent:
        """New layers, inputs first and outputs last, uniform in ± 1/√width."""
        _check_widths(widths, "recurrent")
        pairs = list(itertools.pairwise(widths[:-1]))
        keys = jax.random.split(key, len(pairs))
        layers = tuple(LSTM.make(layer_key, n, m, dtype) for layer_key, (n, m) in zip(keys, pairs, strict=True))
        last = jax.random.uniform(jax.random.fold_in(key, 1), (widths[-2], widths[-1]), dtype, -1.0, 1.0)
        return cls(layers, last / widths[-2] ** 0.5, jnp.zeros(widths[-1], dtype))

    def start(self):
        """(h, c) of every layer before the first sample."""
        return tuple(layer.start() for layer in self.layers)

    def step(self, state, x):
        """State and output (outputs,) after one sample x (inputs,)."""
        after = []
        for layer_state, layer in zip(state, self.layers, strict=True):
            layer_state = layer.step(layer_state, x)
            after.append(layer_state)
            x = layer_state[0]
        return tuple(after), x @ self.output + self.offset

    def __call__(self, x):
        return jax.lax.scan(lambda state, now: self.step(state, now), self.start(), x)[1]

    def with_output(self, bias, shrink: float = 1.0) -> Recurrent:
        """The same network with the initial output bias `bias`, its output weights multiplied by `shrink`."""
        output = (shrink * self.output, jnp.asarray(bias, self.offset.dtype))
        return eqx.tree_at(lambda n: (n.output, n.offset), self, output)


class Convolution(eqx.Module):
    """Convolutions over the sequence with an activation between them; the last is linear. See `Convolution.make`.

    A layer's output at sample j depends on inputs j − reach … j + reach, so the sequence keeps its length;
    beyond its ends inputs are zero.
    """

    kernels: tuple[jax.Array, ...]  # (2 reach + 1, in, out)
    biases: tuple[jax.Array, ...]
    activation: str = eqx.field(static=True, default="tanh")

    @classmethod
    def make(
        cls, key, widths: Sequence[int], *, reach: int = 3, activation: str = "tanh", dtype=jnp.float64
    ) -> Convolution:
        """New layers of the given widths, inputs first and outputs last, uniform in ± 1/√(inputs of a sum)."""
        _check_widths(widths, "convolutional")
        if activation not in ACTIVATIONS:
            raise unknown_name("activation", activation, ACTIVATIONS)
        layers = list(itertools.pairwise(widths))
        keys = jax.random.split(key, len(layers))
        taps = 2 * reach + 1
        kernels = [
            jax.random.uniform(k, (taps, n, m), dtype, -1.0, 1.0) / (taps * n) ** 0.5
            for k, (n, m) in zip(keys, layers, strict=True)
        ]
        return cls(tuple(kernels), tuple(jnp.zeros(m, dtype) for _, m in layers), activation)

    def __call__(self, x):
        bend = ACTIVATIONS[self.activation]
        for i, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            reach = kernel.shape[0] // 2
            wide = jnp.pad(x, ((reach, reach), (0, 0)))
            seen = jnp.concatenate([wide[j : j + x.shape[0]] for j in range(kernel.shape[0])], axis=1)
            x = seen @ kernel.reshape(-1, kernel.shape[2]) + bias
            x = bend(x) if i + 1 < len(self.kernels) else x
        return x

    def with_output(self, bias, shrink: float = 1.0) -> Convolution:
        """The same network with the initial bias `bias` of its last layer, whose weights are multiplied by `shrink`."""
        kernels = (*self.kernels[:-1], shrink * self.kernels[-1])
        biases = (*self.biases[:-1], jnp.asarray(bias, self.biases[-1].dtype))
        return Convolution(kernels, biases, self.activation)


def _check_widths(widths: Sequence[int], kind: str) -> None:
    if len(widths) < 3 or min(widths) < 1:
        raise InputError(f"A {kind} network needs three widths or more, each at least 1, not {tuple(widths)}.")
