"""The rows B of a model as operations on neighbours: time and memory grow with their entries, not with their product.

Each row turns displacements into one deformation. Most rows touch one or two degrees of freedom, so B is kept in one of
three forms, whichever suits its entries:

    diagonals   few offsets between row and column, as in a chain: products are sums of shifted slices
    picked      few entries in each row and column: products pick them by places that are known beforehand
    dense       small, or full (reduced structures)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.linalg import matvec
from vibrid.structures.constants import ConstantPlaces

_SMALL = 256  # entries of B up to which a full product is as fast
_MOST_OFFSETS = 4
_MOST_SHARE = 0.125  # of a row or column, in entries, above which picking is slower than a full product


class Entries(NamedTuple):
    """Rows with few entries: `weights[i, k]` stands in row i at `columns[i, k]`; entries of one place add up."""

    columns: np.ndarray  # (rows, k) of integers
    weights: np.ndarray  # (rows, k)
    size: int  # length of a row

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        out = np.zeros((len(self.columns), self.size), dtype or float)
        np.add.at(out, (np.arange(len(out))[:, None], self.columns), self.weights)
        return out


class IncidenceRow(NamedTuple):
    """The entries of one row that are not zero, by column."""

    columns: np.ndarray
    weights: np.ndarray

    @property
    def key(self) -> tuple[bytes, bytes]:
        return self.columns.tobytes(), self.weights.tobytes()


def rows_of(given: Any, size: int) -> list[IncidenceRow] | None:
    """The rows of numbers (rows, size), or of `Entries`; None where they have another length."""
    if isinstance(given, Entries):
        if given.size != size:
            return None
        rows = []
        for columns, weights in zip(given.columns, given.weights, strict=True):
            own = dict(zip(columns.tolist(), weights.tolist(), strict=True))
            if len(own) == len(columns) <= 2:  # as in a chain: ten times quicker than what follows
                there = [column for column in sorted(own) if own[column] != 0]
                rows.append(IncidenceRow(np.array(there, np.int64), np.array([own[c] for c in there], float)))
                continue
            places, which = np.unique(columns, return_inverse=True)
            sums = np.bincount(which, weights=weights, minlength=len(places))
            rows.append(IncidenceRow(places[sums != 0].astype(np.int64), sums[sums != 0]))
        return rows
    full = np.asarray(given, dtype=float)
    if full.ndim != 2 or full.shape[1] != size:
        return None
    return [IncidenceRow(np.flatnonzero(row), row[row != 0]) for row in full]


class Incidence(eqx.Module):
    """B, (rows, size). `weights` are numbers, its pattern is part of a compiled program."""

    weights: jax.Array | np.ndarray  # (k, rows) beside `columns`; (rows, size) where dense
    back: jax.Array | np.ndarray | None  # (k, size): the same numbers by column, of the picked form
    columns: ConstantPlaces | None = eqx.field(static=True)  # (k, rows)
    sources: ConstantPlaces | None = eqx.field(static=True)  # (k, size): the row of each number in `back`
    offsets: tuple[int, ...] = eqx.field(static=True)  # column − row, of the form with diagonals
    shape: tuple[int, int] = eqx.field(static=True)

    @property
    def form(self) -> str:
        return "dense" if self.columns is None else "diagonals" if self.offsets else "picked"

    def deform(self, x: jax.Array, batched: bool = False) -> jax.Array:
        """B x."""
        if self.columns is None:
            return cast("jax.Array", matvec(self.weights, x, batched))
        if not self.offsets:
            return (self.weights * x[self.columns.values]).sum(0)
        total = None
        for weights, offset, (first, last) in zip(self.weights, self.offsets, self._spans(), strict=True):
            own = weights[first:last] * x[first + offset : last + offset]
            own = _placed(own, first, self.shape[0])
            total = own if total is None else total + own
        assert total is not None
        return total

    def gather(self, forces: jax.Array, batched: bool = False) -> jax.Array:
        """Bᵀ f."""
        if self.columns is None:
            return cast("jax.Array", matvec(self.weights.T, forces, batched))
        if self.sources is not None:
            assert self.back is not None
            return (self.back * forces[self.sources.values]).sum(0)
        total = None
        for weights, offset, (first, last) in zip(self.weights, self.offsets, self._spans(), strict=True):
            own = _placed(weights[first:last] * forces[first:last], first + offset, self.shape[1])
            total = own if total is None else total + own
        assert total is not None
        return total

    def _spans(self) -> list[tuple[int, int]]:
        """First and last row of every diagonal."""
        rows, size = self.shape
        return [(max(0, -offset), min(rows, size - offset)) for offset in self.offsets]

    def dense(self) -> jax.Array | np.ndarray:
        """B as one matrix; of NumPy where its numbers are known."""
        if self.columns is None:
            return self.weights
        rows = np.broadcast_to(np.arange(self.shape[0]), self.columns.values.shape)
        if isinstance(self.weights, np.ndarray):
            out = np.zeros(self.shape)
            np.add.at(out, (rows, self.columns.values), self.weights)
            return out
        return jnp.zeros(self.shape).at[rows, self.columns.values].add(self.weights)

    def assemble(self, index: Sequence[int], slopes: jax.Array) -> jax.Array:
        """`Σ Bᵍᵀ kᵍ Bᵍ` (size, size) over parts g: `index` lists their rows, `slopes` is (parts, rows, rows)."""
        parts, components, _ = slopes.shape
        chosen = np.asarray(index).reshape(parts, components)
        size = self.shape[1]
        if self.columns is None or self.shape[0] * size <= _SMALL:
            rows = self.dense()[chosen]
            return jnp.einsum("gan,gab,gbm->nm", rows, slopes, rows)
        rows, columns, values = self.assembled_entries(chosen, slopes)
        return jnp.zeros((size, size)).at[rows, columns].add(values)

    def assembled_entries(self, chosen: np.ndarray, slopes: jax.Array) -> tuple[np.ndarray, np.ndarray, jax.Array]:
        """The entries of that sum: (rows, columns, values), repeated places to be added; not of the dense form."""
        assert self.columns is not None
        at = np.moveaxis(self.columns.values[:, chosen], 0, -1)  # (parts, components, k)
        weights = jnp.moveaxis(jnp.asarray(self.weights)[:, chosen], 0, -1)
        values = jnp.einsum("gai,gab,gbj->gaibj", weights, slopes, weights)
        rows = np.broadcast_to(at[:, :, :, None, None], values.shape)
        columns = np.broadcast_to(at[:, None, None, :, :], values.shape)
        return rows.reshape(-1), columns.reshape(-1), values.reshape(-1)


def _placed(values: jax.Array, first: int, size: int) -> jax.Array:
    """Values in a vector of zeros, from place `first`."""
    after = size - first - values.shape[0]
    return values if first == 0 and after == 0 else jnp.pad(values, (first, after))


def dense_incidence(matrix: jax.Array | np.ndarray) -> Incidence:
    """B of numbers that may be traced."""
    return Incidence(matrix, None, None, None, (), (int(matrix.shape[0]), int(matrix.shape[1])))


def incidence(rows: Sequence[IncidenceRow], size: int) -> Incidence:
    """B of rows by their entries, in the form that suits them."""
    count = len(rows)
    at = np.repeat(np.arange(count), [len(row.columns) for row in rows])
    columns = np.concatenate([np.zeros(0, np.int64), *(row.columns for row in rows)])
    weights = np.concatenate([np.zeros(0), *(row.weights for row in rows)])
    offsets = np.unique(columns - at)
    if count * size > _SMALL and 0 < len(offsets) <= _MOST_OFFSETS:
        own = np.zeros((len(offsets), count))
        own[np.searchsorted(offsets, columns - at), at] = weights
        places = np.clip(np.arange(count) + offsets[:, None], 0, size - 1)
        return Incidence(own, None, ConstantPlaces(places), None, tuple(map(int, offsets)), (count, size))
    by_row, by_column = _slots(at, count), _slots(columns, size)
    most = max(by_row.max(initial=-1), by_column.max(initial=-1)) + 1
    if count * size <= _SMALL or most > max(_MOST_OFFSETS, _MOST_SHARE * min(count, size)):
        full = np.zeros((count, size))
        full[at, columns] = weights
        return dense_incidence(full)
    own, places = np.zeros((by_row.max() + 1, count)), np.zeros((by_row.max() + 1, count), int)
    own[by_row, at], places[by_row, at] = weights, columns
    back, sources = np.zeros((by_column.max() + 1, size)), np.zeros((by_column.max() + 1, size), int)
    back[by_column, columns], sources[by_column, columns] = weights, at
    return Incidence(own, back, ConstantPlaces(places), ConstantPlaces(sources), (), (count, size))


def _slots(owners: np.ndarray, count: int) -> np.ndarray:
    """For every entry, how many entries of the same owner come before it."""
    order = np.argsort(owners, kind="stable")
    first = np.searchsorted(owners[order], np.arange(count))
    out = np.zeros(len(owners), int)
    out[order] = np.arange(len(owners)) - first[owners[order]]
    return out
