"""The misfit of many laws at once to tests with an imposed deformation, without derivatives."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import paths
from vibrid.core.errors import InputError
from vibrid.identification.cyclic_tests import ZEROS, Zeros
from vibrid.laws.base import Law, Motion
from vibrid.laws.loops import LoopSizes

CANDIDATES = 128
"""Laws that are tried at once."""


@dataclass(frozen=True)
class Place:
    """A law, and what the tests read at zero."""

    law: Law
    zeros: Zeros


class LawSearch:
    """Laws that differ in the parameters `names`, and in the zeros of the tests where these are unknown.

    A place is a row of numbers: the parameters, then the two zeros. motions: (deformation, rate, force, step) of every
    test.
    """

    def __init__(self, names: Sequence[str], motions: list[tuple], loop: LoopSizes, unknown: Sequence[str] = ()):
        self.names, self.motions = tuple(names), motions
        self.count = sum(int(np.isfinite(force[1:]).sum()) for _, _, force, _ in motions)
        sizes = (loop.elastic, loop.force)
        self._reach = np.array([size if what in unknown else 0.0 for what, size in zip(ZEROS, sizes, strict=True)])

    def steps(self, random: np.random.Generator, spread: float | np.ndarray) -> np.ndarray:
        """Random steps to neighbours, one less than `CANDIDATES`."""
        own = spread * random.standard_normal((CANDIDATES - 1, len(self.names)))
        zeros = np.zeros((len(own), len(ZEROS)))
        if self._reach.any():
            zeros = spread * random.standard_normal(zeros.shape)
        return np.hstack([own, zeros])

    def values(self, place: Place) -> np.ndarray:
        return np.array([*(float(paths.get(place.law, name)) for name in self.names), *place.zeros])

    def at(self, place: Place, values: np.ndarray) -> Place | None:
        """The place with other values; None where the law refuses them, as an envelope whose points do not grow."""
        own, zeros = values[: len(self.names)], values[len(self.names) :]
        try:
            law = paths.replace(place.law, dict(zip(self.names, map(float, own), strict=True)))
        except InputError:
            return None
        return dataclasses.replace(place, law=law, zeros=Zeros(*map(float, zeros)))

    def better(self, place: Place, steps: np.ndarray) -> Place | None:
        """The best of the neighbours, where it fits better. A step is one of ln θ, or of θ where that is zero; zeros
        move by shares of the yield deformation and of the force."""
        start, own = self.values(place), len(self.names)
        law, zeros = start[:own], start[own:]
        moved = np.where(law != 0.0, law * np.exp(steps[:, :own]), 0.01 * np.abs(steps[:, :own]))
        tried = np.vstack([start, np.hstack([moved, zeros + self._reach * steps[:, own:]])])
        found = self.squares(place.law, tried)
        best = int(np.argmin(np.where(np.isfinite(found), found, np.inf)))
        return self.at(place, tried[best]) if found[best] < found[0] else None

    def misfit(self, place: Place) -> float:
        return float(self.squares(place.law, self.values(place)[None])[0])

    def squares(self, law: Law, values: np.ndarray) -> np.ndarray:
        """Sum of squares of the residuals of every row of values, over all tests."""
        with np.errstate(over="ignore"):  # a simulation may diverge
            return np.square(self.residuals(law, values)).sum(axis=1)

    def residuals(self, law: Law, values: np.ndarray) -> np.ndarray:
        """(rows, samples) of every row of values, of all tests one after the other; zero where a force is missing."""
        padded = np.vstack([values, np.repeat(values[-1:], -len(values) % CANDIDATES, axis=0)])
        parts = [jnp.asarray(part) for part in np.split(padded, len(padded) // CANDIDATES)]
        made = [np.hstack([_residuals(law, self.names, part, *m) for m in self.motions]) for part in parts]
        return np.concatenate(made)[: len(values)]


@eqx.filter_jit
def _residuals(law: Law, names: tuple[str, ...], values, x, v, force, step):
    """Residuals of every row of values."""
    seen = jnp.isfinite(force)
    measured = jnp.where(seen, force, 0.0)

    def one(row):
        own = paths.replace(law, {name: row[i] for i, name in enumerate(names)})
        deformation, constant = row[len(names)], row[len(names) + 1]

        def advance(s, ends):
            before, after = Motion(ends[0], ends[1]), Motion(ends[2], ends[3])
            s = own.advance(s, before, after, step)
            return s, jnp.where(ends[5], own.force(after.e, after.w, s) + constant - ends[4], 0.0)

        e = x - deformation
        ends = (e[:-1], v[:-1], e[1:], v[1:], measured[1:], seen[1:])
        return jax.lax.scan(advance, own.start(), ends)[1]

    return jax.vmap(one)(values)
