"""The lowest modes of large sparse structures: Lanczos iterations with (K − σM)⁻¹, which one factorisation gives.

    K φ = λ M φ,   λ = ω²,   φᵀ M φ = 1

The shift σ lies below the lowest eigenvalue, so K may be singular (a structure that can move freely). What was found is
counted: the factorisation of K − λ̂ M has as many negative pivots as there are eigenvalues below λ̂ (Sylvester), so a
missed mode is an error and not a gap. A derivative is `dλ = φᵀ (dK − λ dM) φ`; the iterations are never differentiated.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np
import scipy

from vibrid.core.errors import InputError, VibridError
from vibrid.core.linalg import one_blas_thread
from vibrid.structures.constants import ConstantPlaces

_MOST_TRIES = 3
_APART = 1e-6  # relative distance above which two eigenvalues are two


def factor(matrix: Any) -> scipy.sparse.linalg.SuperLU:
    """The factors of a symmetric sparse matrix, for many right-hand sides."""
    return scipy.sparse.linalg.splu(
        scipy.sparse.csc_matrix(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )  # fmt: skip


def lowest_modes(mass: Any, stiffness: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(count,) ω² and (n, count) shapes of the lowest modes, with unit modal mass.

    Arguments
        mass, stiffness: (n, n) sparse, symmetric, the mass positive definite.
        count: how many, fewer than n.
    """
    n = int(mass.shape[0])
    mass, stiffness = (scipy.sparse.csc_matrix(m, dtype=float) for m in (mass, stiffness))
    if not 1 <= count < n:
        raise InputError(f"Of {n} modes, Lanczos iterations find 1 to {n - 1}, not {count}.")
    shift = -1e-7 * float(abs(stiffness).sum() / abs(mass).sum())
    try:
        factors = factor(stiffness - shift * mass)
    except RuntimeError as problem:
        raise InputError(f"K − σM cannot be factored ({problem}); check that both matrices are finite.") from None
    inverse = scipy.sparse.linalg.LinearOperator((n, n), matvec=factors.solve, dtype=float)
    extra, found = 0, None
    for _ in range(_MOST_TRIES):
        wanted = min(count + extra, n - 1)
        try:
            with one_blas_thread():
                found = scipy.sparse.linalg.eigsh(
                    stiffness, wanted, mass, sigma=shift, OPinv=inverse, which="LM",
                    ncv=min(n, max(2 * wanted + 1, 20)), v0=np.random.default_rng(0).standard_normal(n),
                )  # fmt: skip
        except scipy.sparse.linalg.ArpackError as problem:
            raise VibridError(f"The Lanczos iterations for {wanted} modes did not converge ({problem}).") from None
        order = np.argsort(found[0])
        values, shapes = found[0][order], found[1][:, order]
        if _all_below(mass, stiffness, values, count):
            return values[:count], _signed(shapes[:, :count])
        extra += max(5, count // 5)
    raise VibridError(f"Some of the lowest {count} modes were not found; ask for a few more or fewer.")


def _all_below(mass, stiffness, values: np.ndarray, count: int) -> bool:
    """Whether no eigenvalue below the last wanted one is missing, by the signs of pivots between two of them."""
    scale = max(abs(values[-1]), 1e-300)
    gaps = np.diff(values) > _APART * scale
    above = [i for i in range(count - 1, len(values) - 1) if gaps[i]] or [i for i in range(len(values) - 1) if gaps[i]]
    if not above:
        return True  # all equal: nothing lies between them
    last = above[0] if above[0] >= count - 1 else above[-1]
    return count_below(mass, stiffness, 0.5 * (values[last] + values[last + 1])) in (None, last + 1)


def count_below(mass, stiffness, value: float) -> int | None:
    """How many eigenvalues lie below a value; None where rows were exchanged, so that signs of pivots say nothing."""
    factors = factor(stiffness - value * mass)
    return int(np.sum(factors.U.diagonal() < 0)) if np.array_equal(factors.perm_r, factors.perm_c) else None


def _signed(shapes: np.ndarray) -> np.ndarray:
    """Shapes whose largest entry is positive."""
    largest = np.abs(shapes).argmax(axis=0)
    return shapes * np.where(shapes[largest, np.arange(shapes.shape[1])] < 0, -1.0, 1.0)


@partial(jax.custom_jvp, nondiff_argnums=(2, 3, 4))
def lowest_eigenvalues(
    mass: jax.Array, stiffness: jax.Array, places: ConstantPlaces, size: int, count: int
) -> jax.Array:
    """(count,) ω² from the entries of M and K at `places` (2, entries), to be differentiated in both directions.

    Where eigenvalues repeat, a derivative belongs to one choice of shapes; the sum over the repeated ones does not.
    """
    return _found(mass, stiffness, places, size, count)[0]


@lowest_eigenvalues.defjvp
def _(places, size, count, primals, tangents):
    values, shapes = _found(primals[0], primals[1], places, size, count)
    rows, columns = places.values
    products = shapes[rows] * shapes[columns]
    d_mass, d_stiffness = tangents
    return values, d_stiffness @ products - values * (d_mass @ products)


def _found(mass, stiffness, places, size: int, count: int):
    def solve(mass, stiffness):
        rows, columns = places.values
        pair = [scipy.sparse.coo_matrix((np.asarray(m), (rows, columns)), (size, size)) for m in (mass, stiffness)]
        return lowest_modes(pair[0], pair[1], count)

    shapes = (jax.ShapeDtypeStruct((count,), float), jax.ShapeDtypeStruct((size, count), float))
    return jax.pure_callback(solve, shapes, mass, stiffness, vmap_method="sequential")
