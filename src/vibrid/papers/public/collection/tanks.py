"""Grey box of the cascaded tanks: Torricelli's law, the upper tank overflows into the lower one.

    ẋ₁ = −k₁ √x₁ + k₄ u, ẋ₂ = k₂ √x₁ − k₃ √x₂ (+ k₅ × what flows over while x₁ is full)

after M. Schoukens, P. Mattsson, T. Wigren & J.-P. Noël, Cascaded tanks benchmark combining soft and hard
nonlinearities, 2016. The levels at the beginning are unknown and the same in both parts.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.papers.public.collection.layouts import FreeRunData

_LEAST = 1e-6  # V: no level is below it, where the root has no slope


@partial(jax.jit, static_argnames=("substeps",))
def levels(values: jax.Array, u: jax.Array, step: float, highest: float, substeps: int) -> jax.Array:
    """Level of the lower tank at every sample (V). values: k₁ to k₅ and both levels at the beginning."""
    k1, k2, k3, k4, k5 = values[:5]
    h = step / substeps

    def rates(x, now):
        root = jnp.sqrt(jnp.maximum(x, _LEAST))
        fed = -k1 * root[0] + k4 * now
        over = jnp.where(x[0] >= highest, jnp.maximum(fed, 0.0), 0.0)
        return jnp.stack([fed - over, k2 * root[0] - k3 * root[1] + k5 * over])

    def sample(x, ends):
        def part(x, share):
            now, after = (ends[0] + s * (ends[1] - ends[0]) for s in (share, share + 1 / substeps))
            a = rates(x, now)
            b = rates(x + h * a, after)
            return jnp.clip(x + 0.5 * h * (a + b), _LEAST, highest), None

        after = jax.lax.scan(part, x, jnp.arange(substeps) / substeps)[0]
        return after, x[1]

    ends = jnp.stack([u, jnp.append(u[1:], u[-1])], axis=1)
    return jax.lax.scan(sample, values[5:], ends)[1]


def fit_tanks(data: FreeRunData, highest: float, substeps: int) -> np.ndarray:
    """Least squares on the simulated level, from three times of filling; all values stay positive."""
    u, y = jnp.asarray(data.u), jnp.asarray(data.y)

    def left(logs):
        return levels(jnp.exp(logs), u, data.step, highest, substeps) - y

    slopes, off = jax.jit(jax.jacfwd(left)), jax.jit(left)
    best = None
    level, pump = max(float(data.y.mean()), 0.1), max(float(np.mean(data.u)), 0.1)
    for time in (15.0, 40.0, 100.0):  # s
        k = np.sqrt(level) / time
        first = np.log([k, k, k, k * np.sqrt(level) / pump, 1.0, level, max(float(data.y[0]), 0.1)])
        found = scipy.optimize.least_squares(
            lambda logs: np.asarray(off(jnp.asarray(logs))), first, lambda logs: np.asarray(slopes(jnp.asarray(logs))),
            bounds=(first - 5.0, first + 5.0), max_nfev=60,
        )  # fmt: skip
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    return np.exp(best.x)
