"""Sparse regression with pysindy (Brunton et al. 2016): the next output from polynomials of past outputs and inputs.

The regression is pysindy's sequentially thresholded least squares, on up to ten bootstrapped samples of the rows; the
median of their coefficients is taken (Fasel et al. 2022), so that a seed has a meaning.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import require
from vibrid.papers.public.black_box.series import Budget, DrivenSeries, TrainedBox, monomials, products

_SAMPLES = 10


class SparseBox:
    """Settings: `lags`, `degree` of the polynomials, `threshold` below which a coefficient is left out."""

    name = "pysindy"

    def train(self, setting: dict[str, Any], series: DrivenSeries, seed: int, budget: Budget) -> TrainedBox:
        pysindy = require("pysindy", "sparse", "the entry of pysindy")
        budget = budget.begin()
        lags = setting["lags"]
        rows = np.arange(lags, series.known)
        past = rows[:, None] - np.arange(1, lags + 1)
        seen = jnp.column_stack([series.u[rows], series.u[past], series.y[past]])
        terms = np.asarray(products(seen, monomials(2 * lags + 1, 0, setting["degree"])))
        rng, found = np.random.default_rng(seed), []
        while len(found) < _SAMPLES and (budget.spend() or not found):
            drawn = rng.integers(len(rows), size=len(rows))
            optimiser = pysindy.STLSQ(threshold=setting["threshold"], alpha=setting["ridge"])
            found.append(np.ravel(optimiser.fit(terms[drawn], series.y[rows][drawn, None]).coef_))
        vector = np.median(found, axis=0)
        free = self.run(setting, series, vector[None], jnp.asarray(series.u))[0]
        return TrainedBox(vector, series.validation(free), budget.spent, budget.used)

    def run(self, setting: dict[str, Any], series: DrivenSeries, vectors: np.ndarray, u: jax.Array) -> np.ndarray:
        """(models, samples) free runs from rest."""
        lags = setting["lags"]
        places = monomials(2 * lags + 1, 0, setting["degree"])

        def along(vector):
            def one(memory, now):
                past_u, past_y = memory
                seen = jnp.concatenate([now[None], past_u, past_y])
                y = products(seen, places) @ vector
                return (seen[:lags], jnp.append(y, past_y[:-1])), y

            return jax.lax.scan(one, (jnp.zeros(lags), jnp.zeros(lags)), u)[1]

        return np.asarray(jax.jit(jax.vmap(along))(jnp.asarray(vectors)))
