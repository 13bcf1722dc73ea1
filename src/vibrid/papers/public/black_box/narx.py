"""A NARX network: the next output from the last outputs and inputs, linear and one hidden layer of tanh."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.papers.public.black_box.descent import by_adam
from vibrid.papers.public.black_box.series import Budget, DrivenSeries, TrainedBox


def arx(series: DrivenSeries, lags: int) -> np.ndarray:
    """Linear coefficients by least squares on one step: of u now, the past u and the past y, newest first."""
    rows = np.arange(lags, series.known)
    past = np.arange(1, lags + 1)
    matrix = np.column_stack([series.u[rows], series.u[rows[:, None] - past], series.y[rows[:, None] - past]])
    return np.linalg.lstsq(matrix, series.y[rows], rcond=None)[0]


class NARX:
    """Settings: `lags` of input and output, `width` of the hidden layer, `horizon` of the free run that is trained
    (1: one step), `rate` of Adam."""

    name = "NARX network"

    def parameters(self, setting: dict[str, Any], series: DrivenSeries, seed: int) -> dict[str, jax.Array]:
        """Linear as by least squares; the layer is random and its output small."""
        lags, width = setting["lags"], setting["width"]
        rng = np.random.default_rng(seed)
        size = 2 * lags + 1
        return {
            "linear": jnp.asarray(arx(series, lags)),
            "in": jnp.asarray(rng.normal(size=(size, width)) / np.sqrt(size)),
            "bias": jnp.asarray(rng.normal(size=width)),
            "out": jnp.asarray(1e-3 * rng.normal(size=width)),
        }

    def train(self, setting: dict[str, Any], series: DrivenSeries, seed: int, budget: Budget) -> TrainedBox:
        start, unravel = ravel_pytree(self.parameters(setting, series, seed))
        lags, horizon = setting["lags"], setting["horizon"]
        first = np.arange(lags, series.known - horizon, max(horizon // 4, 1))
        past = first[:, None] - np.arange(1, lags + 1)
        ahead = first + np.arange(horizon)[:, None]
        u, y = jnp.asarray(series.u), jnp.asarray(series.y)
        memory, inputs, wanted = (u[past], y[past]), u[ahead], y[ahead]

        def loss(vector):
            return jnp.mean(jnp.square(_along(unravel(vector), memory, inputs) - wanted))

        free = jax.jit(lambda vector: _along(unravel(vector), _rest(lags), u))
        return by_adam(loss, lambda v: series.validation(free(v)), start, budget, setting["rate"])

    def run(self, setting: dict[str, Any], series: DrivenSeries, vectors: np.ndarray, u: jax.Array) -> np.ndarray:
        """(models, samples) free runs from rest."""
        unravel = ravel_pytree(self.parameters(setting, series, 0))[1]
        free = jax.jit(jax.vmap(lambda v: _along(unravel(v), _rest(setting["lags"]), u)))
        return np.asarray(free(jnp.asarray(vectors)))


def _rest(lags: int) -> tuple[jax.Array, jax.Array]:
    return jnp.zeros(lags), jnp.zeros(lags)


def _along(p: dict[str, jax.Array], memory, u: jax.Array) -> jax.Array:
    """Outputs along inputs whose first axis is time, each from the outputs before it."""

    def one(memory, now):
        past_u, past_y = memory
        seen = jnp.concatenate([now[..., None], past_u, past_y], axis=-1)
        y = seen @ p["linear"] + jnp.tanh(seen @ p["in"] + p["bias"]) @ p["out"]
        after = (
            jnp.concatenate([now[..., None], past_u[..., :-1]], axis=-1),
            jnp.concatenate([y[..., None], past_y[..., :-1]], axis=-1),
        )
        return after, y

    return jax.lax.scan(one, memory, u)[1]
