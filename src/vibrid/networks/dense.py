"""Dense layers: small fully connected networks as plain trees of arrays."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core import precision  # noqa: F401  (64-bit numbers before the first array)
from vibrid.core.errors import InputError, unknown_name

INITS = {
    "uniform": lambda key, n, m, dtype: jax.random.uniform(key, (n, m), dtype, -1.0, 1.0) / jnp.sqrt(n).astype(dtype),
    "glorot": lambda key, n, m, dtype: jax.nn.initializers.glorot_normal()(key, (n, m), dtype),
    "he": lambda key, n, m, dtype: jax.nn.initializers.he_normal()(key, (n, m), dtype),
}
"""How weights begin: "uniform" in ± 1/√inputs (what PyTorch's Linear does, biases too), "glorot", "he"."""

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

    @classmethod
    def make(
        cls, key, widths: Sequence[int], *, activation: str = "leaky-relu", init: str = "uniform", dtype=jnp.float64
    ) -> Dense:
        """New layers of the given widths, inputs first and outputs last, e.g. (10, 64, 32, 16, 4)."""
        if init not in INITS:
            raise unknown_name("way to begin weights", init, INITS)
        if activation not in ACTIVATIONS:
            raise unknown_name("activation", activation, ACTIVATIONS)
        if len(widths) < 2 or min(widths) < 1:
            raise InputError(f"A dense network needs two widths or more, each at least 1, not {tuple(widths)}.")
        weights, biases = [], []
        for own, n, m in zip(jax.random.split(key, len(widths) - 1), widths[:-1], widths[1:], strict=True):
            first, second = jax.random.split(own)
            weights.append(INITS[init](first, n, m, dtype))
            limit = 1.0 / n**0.5 if init == "uniform" else 0.0
            biases.append(limit * jax.random.uniform(second, (m,), dtype, -1.0, 1.0))
        return cls(tuple(weights), tuple(biases), activation)

    def __call__(self, x):
        bend = ACTIVATIONS[self.activation]
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = bend(x @ w + b)
        return x @ self.weights[-1] + self.biases[-1]

    def with_output(self, bias, shrink: float = 1.0) -> Dense:
        """The same network whose last layer begins at `bias`, its weights multiplied by `shrink`."""
        last = jnp.asarray(bias, self.biases[-1].dtype)
        return Dense(
            (*self.weights[:-1], shrink * self.weights[-1]), (*self.biases[:-1], last), self.activation
        )
