"""A model whose M, C, K and slopes are kept by their entries, for implicit steps of chains and sparse structures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.structures.model import Group, Model
from vibrid.structures.pattern import Pattern, PatternedMatrix


class ArrangedModel(Model):
    """A `Model` whose matrices are vectors of their entries at the places of `pattern`.

    `mass_matrix`, `initial_matrices` and `tangent` give such vectors, and `solve` takes them.
    """

    @property
    def known(self) -> Pattern:
        assert self.pattern is not None
        return self.pattern

    def times(self, matrix: Any, vector: jax.Array) -> jax.Array:
        return matrix.times(vector) if isinstance(matrix, PatternedMatrix) else super().times(matrix, vector)

    @property
    def mass_matrix(self) -> jax.Array:
        mass: Any = self.mass
        return mass.numbers if isinstance(mass, PatternedMatrix) else self.known.of_matrix(mass)

    def zero_matrix(self) -> jax.Array:
        return jnp.zeros(self.known.count)

    def numbers_of(self, matrix: Any) -> jax.Array:
        return matrix.numbers

    def assembled(self, group: Group, slopes: jax.Array) -> jax.Array:
        assert self.incidence is not None
        if self.incidence.form == "dense":
            return self.known.of_matrix(super().assembled(group, slopes))
        chosen = np.asarray(group.index).reshape(group.count, group.components)
        rows, columns, values = self.incidence.assembled_entries(chosen, slopes)
        return self.zero_matrix().at[self.known.at(rows, columns)].add(values)

    def prepared(self, matrix: jax.Array) -> jax.Array:
        return matrix

    def solve_prepared(self, prepared: jax.Array, right: jax.Array) -> jax.Array:
        return self.known.solve(prepared, right)

    def solve(self, matrix: jax.Array, right: jax.Array) -> jax.Array:
        return self.known.solve(matrix, right)

    def solve_function(self, function: Callable[[jax.Array], jax.Array], right: jax.Array) -> jax.Array:
        return self.known.solve(self.known.probed(function), right)


def arranged(model: Model) -> Model:
    """The model by its entries, where it has a pattern."""
    pattern = model.pattern
    if pattern is None or isinstance(model, ArrangedModel):
        return model
    own = {f.name: getattr(model, f.name) for f in dataclasses.fields(model)}
    for name in ("mass", "damping", "stiffness"):
        if own[name] is not None and own[name].ndim == 2:
            own[name] = PatternedMatrix(pattern.of_matrix(own[name]), pattern)
    return ArrangedModel(**own)


def places_of(model: Model) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows and columns of the entries of M, C, K and of the slopes of the laws; None where they cannot be told."""
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array))):
        return None
    rows, columns = [np.arange(model.size)], [np.arange(model.size)]
    for matrix in (model.mass, model.damping, model.stiffness):
        if matrix is not None and matrix.ndim == 2:
            found = np.nonzero(np.asarray(matrix))
            rows.append(found[0])
            columns.append(found[1])
    if model.incidence is not None:
        full = np.asarray(model.incidence.dense()) != 0 if model.incidence.form == "dense" else None
        for g in model.groups:
            if full is not None:
                touched = full[np.asarray(g.index).reshape(g.count, g.components)].any(axis=1)
                pairs = np.nonzero(np.any(touched[:, :, None] & touched[:, None, :], axis=0))
                rows.append(pairs[0])
                columns.append(pairs[1])
                continue
            chosen = np.asarray(g.index).reshape(g.count, g.components)
            ones = cast("jax.Array", np.ones((g.count, g.components, g.components)))
            i, j, _ = model.incidence.assembled_entries(chosen, ones)
            rows.append(i)
            columns.append(j)
    return np.concatenate(rows), np.concatenate(columns)
