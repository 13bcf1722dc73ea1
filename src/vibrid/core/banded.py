"""Linear equations with a band of coefficients: `bands[d, i]` is the coefficient of unknown `i + d − w` in equation i.

A solution is never differentiated through its elimination: its derivative is the solution of the same equations with
another right-hand side, and of the transposed ones backwards.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from vibrid.core import precision  # noqa: F401  (64-bit numbers before the first array)


@jax.jit
def vibrid_solve_bands(bands, right):
    """x of the equations; a native loop finds it by this name (core/native)."""
    if bands.shape[0] == 3:
        lower, diagonal, upper = bands[0].at[0].set(0.0), bands[1], bands[2].at[-1].set(0.0)
        return jax.lax.linalg.tridiagonal_solve(lower, diagonal, upper, right[:, None])[:, 0]
    result = jax.ShapeDtypeStruct(right.shape, right.dtype)
    return jax.pure_callback(_by_scipy, result, bands, right, vmap_method="sequential")


def _by_scipy(bands, right) -> np.ndarray:
    """By LAPACK, whose bands have the coefficients of one unknown in a column; NaN where there is no solution."""
    bands, right = np.asarray(bands), np.asarray(right)
    width, columns = len(bands) // 2, np.zeros(bands.shape)
    for d, own in enumerate(bands):
        shift = d - width
        first, last = max(0, -shift), len(right) - max(0, shift)
        columns[2 * width - d, first + shift : last + shift] = own[first:last]
    try:
        return scipy.linalg.solve_banded((width, width), columns, right, overwrite_ab=True, check_finite=False)
    except np.linalg.LinAlgError:
        return np.full(right.shape, np.nan)


def band_places(size: int, width: int) -> np.ndarray:
    """(2w + 1, n): the unknown that each coefficient belongs to; outside the matrix the nearest one, times zero."""
    return np.clip(np.arange(size) + np.arange(-width, width + 1)[:, None], 0, size - 1)


def band_product(bands, vector):
    """(n,): the coefficients times a vector."""
    return (bands * vector[band_places(len(vector), bands.shape[0] // 2)]).sum(0)


def transposed(bands):
    """The bands of the transposed equations."""
    width, size = bands.shape[0] // 2, bands.shape[1]
    places = np.arange(size) + np.arange(-width, width + 1)[:, None]
    inside = (places >= 0) & (places < size)
    own = np.arange(2 * width, -1, -1)[:, None] + np.zeros_like(places)
    return jnp.where(inside, bands[own, np.clip(places, 0, size - 1)], 0.0)


def solve_bands(bands, right):
    """x of the equations, to be differentiated in both directions."""
    return jax.lax.custom_linear_solve(
        lambda x: band_product(bands, x), right, lambda _, r: vibrid_solve_bands(bands, r),
        lambda _, r: vibrid_solve_bands(transposed(bands), r),
    )  # fmt: skip
