"""A polynomial state space (Paduart et al. 2010): x⁺ = A x + B u + E ζ(x, u), y = C x + D u, ζ all monomials of the
degrees 2 to d. It begins as a linear model by least squares, with next to no nonlinear terms, and is fitted to the
simulated output."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.papers.public.black_box.descent import by_levenberg
from vibrid.papers.public.black_box.narx import arx
from vibrid.papers.public.black_box.series import Budget, DrivenSeries, TrainedBox, monomials, products

_STABLE = 0.995  # largest modulus of a pole at the beginning
_BEGUN = 1e-6  # size of the nonlinear terms at the beginning: the free run is that of the linear model


class PolynomialStateSpace:
    """Settings: `states`, `degree`."""

    name = "polynomial state space"

    def parameters(self, setting: dict[str, Any], series: DrivenSeries, seed: int) -> dict[str, jax.Array]:
        n, degree = setting["states"], setting["degree"]
        a, b, c, d = _linear(series, n)
        count = len(monomials(n + 1, 2, degree)) if degree > 1 else 0
        e = _BEGUN * np.random.default_rng(seed).normal(size=(n, count))
        return {k: jnp.asarray(v) for k, v in {"A": a, "B": b, "C": c, "D": np.asarray(d), "E": e}.items()}

    def train(self, setting: dict[str, Any], series: DrivenSeries, seed: int, budget: Budget) -> TrainedBox:
        u, wanted = jnp.asarray(series.u), jnp.asarray(series.y[series.washout : series.known])
        seen = u[: series.known]
        start, unravel = ravel_pytree(self.parameters(setting, series, seed))

        def left(vector):
            return _along(setting, unravel(vector), seen)[series.washout :] - wanted

        free = jax.jit(lambda vector: _along(setting, unravel(vector), u))
        return by_levenberg(left, lambda v: series.validation(free(v)), start, budget)

    def run(self, setting: dict[str, Any], series: DrivenSeries, vectors: np.ndarray, u: jax.Array) -> np.ndarray:
        """(models, samples) free runs from rest."""
        unravel = ravel_pytree(self.parameters(setting, series, 0))[1]
        free = jax.jit(jax.vmap(lambda v: _along(setting, unravel(v), u)))
        return np.asarray(free(jnp.asarray(vectors)))


def _linear(series: DrivenSeries, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """The linear model of `arx` in the observer form, its states scaled to deviation one."""
    found = arx(series, n)
    direct, fed, back = found[0], found[1 : n + 1], found[n + 1 :]
    a = np.eye(n, k=1)
    a[:, 0] = back
    a *= min(1.0, _STABLE / np.abs(np.linalg.eigvals(a)).max())
    b, c = fed + back * direct, np.eye(n)[0]
    states, x = [], np.zeros(n)
    for u in series.u[: series.known]:
        states.append(x)
        x = a @ x + b * u
    size = np.std(states, axis=0) + 1e-12
    return a * size / size[:, None], b / size, c * size, float(direct)


def _along(setting: dict[str, Any], p: dict[str, jax.Array], u: jax.Array) -> jax.Array:
    n, degree = setting["states"], setting["degree"]
    places = monomials(n + 1, 2, degree) if degree > 1 else None

    def one(x, now):
        y = p["C"] @ x + p["D"] * now
        after = p["A"] @ x + p["B"] * now
        if places is not None:
            after = after + p["E"] @ products(jnp.append(x, now), places)
        return after, y

    return jax.lax.scan(one, jnp.zeros(n), u)[1]
