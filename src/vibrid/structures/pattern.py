"""Which degrees of freedom of a model act on each other directly, and the solution of equations that keep to it.

M, C, K and the slopes of all laws have entries at few places. In a chain, or after the degrees of freedom were put in
an order that brings neighbours together (Cuthill and McKee 1969), these places lie in a narrow band, whose elimination
costs n w² operations instead of n³ / 3. Otherwise a sparse factorisation (SuperLU) is asked for.

Numbers of a matrix are kept as one vector: 2w + 1 of every row of the band, or the entries column by column.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.banded import solve_bands

_KEPT = 8  # factorisations


class Pattern:
    """Places of entries of symmetric pattern, and how equations with them are solved. Equal by content.

    Fields
        size: degrees of freedom.
        rows, columns: the places, sorted by column.
        order: degrees of freedom in the order in which they lie in a band.
        width: of the band, neighbours on either side.
        banded: whether equations are solved in the band; otherwise by a sparse factorisation.
        count: numbers of a matrix.
    """

    def __init__(self, rows: Any, columns: Any, size: int, banded: bool | None = None, most_width: int = 0):
        """`banded` None takes the band up to `most_width` neighbours on either side."""
        both = np.r_[rows, columns], np.r_[columns, rows]
        places = scipy.sparse.csc_matrix((np.ones(2 * len(rows)), both), (size, size))
        places = (places + scipy.sparse.eye(size)).tocsc()
        places.sort_indices()
        self.size = size
        self.rows, self._starts = places.indices.astype(np.int64), places.indptr
        self.columns = np.repeat(np.arange(size), np.diff(places.indptr))
        self.order = np.arange(size)
        if self._reach(np.arange(size)) > 1:
            other = scipy.sparse.csgraph.reverse_cuthill_mckee(places.tocsr(), symmetric_mode=True).astype(np.int64)
            if self._reach(np.argsort(other)) < self._reach(self.order):
                self.order = other
        self.place = np.argsort(self.order)
        self.width = max(self._reach(self.place), 1)
        self.banded = self.width <= most_width if banded is None else banded
        self.count = (2 * self.width + 1) * size if self.banded else len(self.rows)
        self.entries = self.at(self.rows, self.columns)
        digest = hashlib.sha256(np.stack([self.rows, self.columns]).tobytes())
        self._key = digest.digest(), size, self.banded

    def _reach(self, place: np.ndarray) -> int:
        return int(np.abs(place[self.rows] - place[self.columns]).max(initial=0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        return Pattern, (self.rows, self.columns, self.size, self.banded)

    def __repr__(self) -> str:
        return f"Pattern({self})"

    def __str__(self) -> str:
        if self.banded:
            near = f"{self.width} neighbour" + ("s" if self.width > 1 else "")
            return f"a band of {self.size} unknowns with {near} on either side"
        return f"a sparse factorisation of {self.size} unknowns with {len(self.rows)} entries"

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Where the entries at some places stand among the numbers of a matrix."""
        if self.banded:
            first, last = self.place[rows], self.place[columns]
            return first * (2 * self.width + 1) + last - first + self.width
        key = np.asarray(columns) * self.size + rows
        return np.searchsorted(self.columns * self.size + self.rows, key)

    @functools.cached_property
    def neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        """(k, n): the neighbours of each degree of freedom, and where the entry stands; `count` for none."""
        slots = np.arange(len(self.rows)) - self._starts[self.columns]
        near = np.tile(np.arange(self.size), (slots.max() + 1, 1))
        entry = np.full(near.shape, self.count)
        near[slots, self.columns] = self.rows
        entry[slots, self.columns] = self.at(self.columns, self.rows)
        return near, entry

    @functools.cached_property
    def colours(self) -> np.ndarray:
        """(n,) where no two that act on the same degree of freedom share a number (Curtis, Powell, Reid 1974)."""
        if self.banded:
            return self.place % (2 * self.width + 1)
        matrix: Any = scipy.sparse.csc_matrix((np.ones(len(self.rows)), self.rows, self._starts), (self.size,) * 2)
        near = (matrix @ matrix).tocsr()
        colours = np.full(self.size, -1)
        for i in range(self.size):
            used = set(colours[near.indices[near.indptr[i] : near.indptr[i + 1]]].tolist())
            colours[i] = next(c for c in range(len(used) + 1) if c not in used)
        return colours

    # -- numbers ---------------------------------------------------------------------------------------------------

    def of_matrix(self, matrix: jax.Array) -> jax.Array:
        """The numbers of a full matrix or of a diagonal; NaN where it has entries at other places."""
        if matrix.ndim == 1:
            return jnp.zeros(self.count).at[self.at(np.arange(self.size), np.arange(self.size))].set(matrix)
        inside = np.zeros((self.size,) * 2, bool)
        inside[self.rows, self.columns] = True
        beyond = jnp.any(jnp.where(inside, 0.0, matrix) != 0.0)
        own = jnp.zeros(self.count).at[self.entries].set(matrix[self.rows, self.columns])
        return jnp.where(beyond, jnp.nan, own)

    def times(self, numbers: jax.Array, vector: jax.Array) -> jax.Array:
        """(n,): the matrix times a vector."""
        near, entry = self.neighbours
        return (jnp.concatenate([numbers, jnp.zeros(1)])[entry] * vector[near]).sum(0)

    def probed(self, function: Any) -> jax.Array:
        """The numbers of a linear function, from its values at few vectors."""
        colours = self.colours
        seeds = (colours == np.arange(colours.max() + 1)[:, None]).astype(float)
        values = jax.vmap(function)(jnp.asarray(seeds))
        return jnp.zeros(self.count).at[self.entries].set(values[colours[self.columns], self.rows])

    def solve(self, numbers: jax.Array, right: jax.Array) -> jax.Array:
        """x of `matrix x = right`, to be differentiated in both directions."""
        if self.banded:
            bands = numbers.reshape(self.size, 2 * self.width + 1)
            if np.array_equal(self.order, np.arange(self.size)):
                return solve_bands(bands, right)
            return solve_bands(bands, right[self.order])[self.place]
        return jax.lax.custom_linear_solve(
            lambda x: self.times(numbers, x), right, lambda _, r: self._factored(numbers, r, False),
            lambda _, r: self._factored(numbers, r, True),
        )  # fmt: skip

    def _factored(self, numbers: jax.Array, right: jax.Array, transposed: bool) -> jax.Array:
        def solve(numbers, right):
            factors = _factors(self, np.asarray(numbers).tobytes())
            return np.full(self.size, np.nan) if factors is None else factors.solve(np.asarray(right), "NT"[transposed])

        result = jax.ShapeDtypeStruct((self.size,), float)
        return jax.pure_callback(solve, result, numbers, right, vmap_method="sequential")


@functools.lru_cache(maxsize=_KEPT)
def _factors(pattern: Pattern, numbers: bytes) -> Any:
    """The factors of a matrix, made once as long as its numbers stay; None where there are none."""
    try:
        return scipy.sparse.linalg.splu(
            scipy.sparse.csc_matrix((np.frombuffer(numbers), pattern.rows, pattern._starts), (pattern.size,) * 2),
            permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.1, options={"SymmetricMode": True},
        )  # fmt: skip
    except (RuntimeError, ValueError):
        return None


class PatternedMatrix(eqx.Module):
    """A square matrix by its entries at the places of a pattern."""

    numbers: jax.Array
    pattern: Pattern = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.size, self.pattern.size

    @property
    def ndim(self) -> int:
        return 2

    def times(self, vector: jax.Array) -> jax.Array:
        return self.pattern.times(self.numbers, vector)
