"""Dense layers: small fully connected networks as plain trees of arrays."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core import precision  # noqa: F401  (64-bit numbers before the first array)
from vibrid.core.errors import InputError, unknown_name

INITS = {
    "uniform": lambda n, m: 1.0 / n**0.5,
    "glorot": lambda n, m: (2.0 / (n + m)) ** 0.5,
    "he": lambda n, m: (2.0 / n) ** 0.5,
}
"""Initial weights: "uniform" in ± 1/√inputs (as PyTorch's Linear, biases too); normal after Glorot or He, with this
deviation for n inputs and m outputs and biases of zero."""

ACTIVATIONS = {
    "leaky-relu": lambda x: jnp.where(x > 0, x, 0.2 * x),  # slope 0.2 on the negative side
    "tanh": jnp.tanh,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
}


class Dense(eqx.Module):
    """Layers `x W + b` with an activation between them; the last is linear. Made by `Dense.make`.

    Takes (…, inputs) and gives (…, outputs), so a batch needs no vmap; an ensemble is `vmap(make)(keys)` and
    `vmap(call)(ensemble, …)`.
    """

    weights: tuple[jax.Array, ...]
    biases: tuple[jax.Array, ...]
    activation: str = eqx.field(static=True, default="leaky-relu")
    skip: bool = eqx.field(static=True, default=False)  # whether layers between equal widths add to their input

    @classmethod
    def make(
        cls,
        key,
        widths: Sequence[int],
        *,
        activation: str = "leaky-relu",
        init: str = "uniform",
        skip: bool = False,
        dtype=jnp.float64,
    ) -> Dense:
        """New layers of the given widths, inputs first and outputs last, e.g. (10, 64, 32, 16, 4)."""
        if init not in INITS:
            raise unknown_name("kind of initial weights", init, INITS)
        if activation not in ACTIVATIONS:
            raise unknown_name("activation", activation, ACTIVATIONS)
        if len(widths) < 2 or min(widths) < 1:
            raise InputError(f"A dense network needs two widths or more, each at least 1, not {tuple(widths)}.")
        layers = list(itertools.pairwise(widths))
        count = sum((n + 1) * m for n, m in layers)  # drawn at once: every call of the generator compiles for seconds
        even = init == "uniform"
        drawn = jax.random.uniform(key, (count,), dtype, -1.0, 1.0) if even else jax.random.normal(key, (count,), dtype)
        weights, biases = [], []
        for n, m in layers:
            matrix, drawn = INITS[init](n, m) * drawn[: (n + 1) * m].reshape(n + 1, m), drawn[(n + 1) * m :]
            weights.append(matrix[:n])
            biases.append(matrix[n] if even else jnp.zeros(m, dtype))
        return cls(tuple(weights), tuple(biases), activation, skip)

    def __call__(self, x):
        bend = ACTIVATIONS[self.activation]
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            bent = bend(x @ w + b)
            x = x + bent if self.skip and w.shape[0] == w.shape[1] else bent
        return x @ self.weights[-1] + self.biases[-1]

    def with_output(self, bias, shrink: float = 1.0) -> Dense:
        """The same network with the initial bias `bias` of its last layer, whose weights are multiplied by `shrink`."""
        last = jnp.asarray(bias, self.biases[-1].dtype)
        return Dense(
            (*self.weights[:-1], shrink * self.weights[-1]), (*self.biases[:-1], last), self.activation, self.skip
        )


Layer: TypeAlias = tuple[jax.Array, jax.Array]
"""Weights (inputs, width) and bias of one layer."""


def drawn_layer(key, inputs: int, width: int, gain: float = 1.0, dtype=jnp.float32) -> Layer:
    """A layer with normal weights of deviation gain/√inputs and a bias of zero."""
    return jax.random.normal(key, (inputs, width), dtype) * gain / inputs**0.5, jnp.zeros(width, dtype)


def product(x: jax.Array, weights: jax.Array) -> jax.Array:
    """x W for (…, inputs), as a product of two matrices: its gradient over W would else be summed over two axes, which
    takes a processor three times as long."""
    if x.ndim < 3:
        return x @ weights
    return (x.reshape(-1, x.shape[-1]) @ weights).reshape(*x.shape[:-1], weights.shape[-1])


def bent(layer: Layer, x) -> jax.Array:
    """tanh(x W + b)"""
    return jnp.tanh(product(x, layer[0]) + layer[1])
