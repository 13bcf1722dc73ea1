"""Linear equations with a band of coefficients: `bands[i, d]` is the coefficient of unknown `i + d − w` in equation i.

A solution is never differentiated through its elimination: its derivative is the solution of the same equations with
another right-hand side, and of the transposed ones backwards.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core import precision  # noqa: F401  (64-bit numbers before the first array)


@jax.jit
def vibrid_solve_bands(bands, right):
    """x of the equations; a native loop finds it by this name (core/native)."""
    if bands.shape[1] == 3:
        lower, diagonal, upper = bands[:, 0].at[0].set(0.0), bands[:, 1], bands[:, 2].at[-1].set(0.0)
        return jax.lax.linalg.tridiagonal_solve(lower, diagonal, upper, right[:, None])[:, 0]
    result = jax.ShapeDtypeStruct(right.shape, right.dtype)
    return jax.pure_callback(_by_scipy, result, bands, right, vmap_method="sequential")


def _by_scipy(bands, right) -> np.ndarray:
    """By LAPACK, whose bands have the coefficients of one unknown in a column; NaN where there is no solution."""
    bands, right = np.asarray(bands), np.asarray(right)
    width, columns = bands.shape[1] // 2, np.zeros(bands.shape[::-1])
    for d, own in enumerate(bands.T):
        shift = d - width
        first, last = max(0, -shift), len(right) - max(0, shift)
        columns[2 * width - d, first + shift : last + shift] = own[first:last]
    try:
        return scipy.linalg.solve_banded((width, width), columns, right, overwrite_ab=True, check_finite=False)
    except np.linalg.LinAlgError:
        return np.full(right.shape, np.nan)


def band_places(size: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, 2w + 1): the unknown that each coefficient belongs to, and whether it is one of the n."""
    places = np.arange(size)[:, None] + np.arange(-width, width + 1)
    return np.clip(places, 0, size - 1), (places >= 0) & (places < size)


def band_product(bands, vector):
    """(n,): the coefficients times a vector."""
    places, inside = band_places(len(vector), bands.shape[1] // 2)
    return (jnp.where(inside, bands, 0.0) * vector[places]).sum(1)


def transposed(bands):
    """The bands of the transposed equations."""
    places, inside = band_places(bands.shape[0], bands.shape[1] // 2)
    return jnp.where(inside, bands[places, np.arange(bands.shape[1])[::-1]], 0.0)


def solve_bands(bands, right):
    """x of the equations, to be differentiated in both directions."""
    return jax.lax.custom_linear_solve(
        lambda x: band_product(bands, x), right, lambda _, r: vibrid_solve_bands(bands, r),
        lambda _, r: vibrid_solve_bands(transposed(bands), r),
    )  # fmt: skip
