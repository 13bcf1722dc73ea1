"""A recurrent network of one layer: LSTM (Hochreiter & Schmidhuber 1997) or GRU (Cho et al. 2014)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.networks.lstm import LSTM
from vibrid.papers.public.black_box.descent import by_adam
from vibrid.papers.public.black_box.series import Budget, DrivenSeries, TrainedBox


class RecurrentBox:
    """Settings: `cell` ("lstm", "gru"), `width`, `window` of the pieces that are trained, `lead` samples before each in
    which the memory fills, `rate` of Adam."""

    name = "LSTM or GRU"

    def parameters(self, setting: dict[str, Any], seed: int) -> Any:
        width = setting["width"]
        key, other = jax.random.split(jax.random.key(seed))
        head = 0.1 * jax.random.normal(other, (width + 1,)) / width**0.5
        if setting["cell"] == "lstm":
            return LSTM.make(key, 1, width), head
        drawn = jax.random.uniform(key, (width + 1, 3 * width), minval=-1.0, maxval=1.0) / width**0.5
        return (drawn, jnp.zeros(3 * width)), head

    def train(self, setting: dict[str, Any], series: DrivenSeries, seed: int, budget: Budget) -> TrainedBox:
        start, unravel = ravel_pytree(self.parameters(setting, seed))
        washout, window = setting["lead"], setting["window"]
        first = np.arange(0, series.known - washout - window + 1, window)
        places = first + np.arange(washout + window)[:, None]
        u, wanted = jnp.asarray(series.u)[places], jnp.asarray(series.y)[places[washout:]]
        whole = jnp.asarray(series.u)[:, None]

        def loss(vector):
            return jnp.mean(jnp.square(_along(setting["cell"], unravel(vector), u)[washout:] - wanted))

        free = jax.jit(lambda vector: _along(setting["cell"], unravel(vector), whole)[:, 0])
        return by_adam(loss, lambda v: series.validation(free(v)), start, budget, setting["rate"])

    def run(self, setting: dict[str, Any], series: DrivenSeries, vectors: np.ndarray, u: jax.Array) -> np.ndarray:
        """(models, samples) free runs from rest."""
        unravel = ravel_pytree(self.parameters(setting, 0))[1]
        free = jax.jit(jax.vmap(lambda v: _along(setting["cell"], unravel(v), u[:, None])[:, 0]))
        return np.asarray(free(jnp.asarray(vectors)))


def _along(cell: str, parameters: Any, u: jax.Array) -> jax.Array:
    """(samples, batch) outputs of inputs (samples, batch)."""
    layer, head = parameters
    x = u[..., None]
    hidden = layer.along(layer.start(u.shape[1:]), x)[0] if cell == "lstm" else _gated(layer, x)
    return jnp.concatenate([hidden, x], axis=-1) @ head


def _gated(layer: tuple[jax.Array, jax.Array], x: jax.Array) -> jax.Array:
    """Hidden states of a GRU: h ← (1 − z) n + z h, n = tanh(x W + r (h U))."""
    weights, bias = layer
    width = bias.shape[0] // 3
    inner = weights[1:]

    def one(h, driven):
        z, r, n = jnp.split(driven, 3, axis=-1)
        own = h @ inner
        z = jax.nn.sigmoid(z + own[..., :width])
        r = jax.nn.sigmoid(r + own[..., width : 2 * width])
        h = (1.0 - z) * jnp.tanh(n + r * own[..., 2 * width :]) + z * h
        return h, h

    return jax.lax.scan(one, jnp.zeros((*x.shape[1:-1], width)), x @ weights[:1] + bias)[1]
