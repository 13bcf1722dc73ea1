"""Pairs of modes of two sets, computed or measured, and their modal assurance criterion (MAC)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.structures.modes import Modes, StructureModes


def mac(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(k, m) modal assurance criterion |φᴴψ|² / (φᴴφ ψᴴψ) of shapes (n, k) and (n, m): 1 for the same shape."""
    product = np.abs(first.conj().T @ second) ** 2
    sizes = np.outer(np.sum(np.abs(first) ** 2, axis=0), np.sum(np.abs(second) ** 2, axis=0))
    return product / np.where(sizes > 0, sizes, np.inf)


@dataclass(frozen=True, eq=False)
class ModePairs:
    """Modes of two sets that belong together; printing them gives a table.

    Fields
        first, second: the sets.
        pairs: (index in the first, index in the second), by the frequency of the first.
        mac: (k, m) of all modes with all.
        places: where the shapes were compared.
    """

    first: Modes
    second: Modes
    pairs: tuple[tuple[int, int], ...]
    mac: np.ndarray
    places: tuple[str, ...]

    @property
    def differences(self) -> np.ndarray:
        """(pairs,) frequency of the second over that of the first, minus 1."""
        return np.array([self.second.frequencies[j] / self.first.frequencies[i] - 1.0 for i, j in self.pairs])

    def __repr__(self) -> str:
        lines = [
            "mode  frequency   with  frequency   difference     MAC",
            "             Hz               Hz            %",
        ]
        for (i, j), away in zip(self.pairs, self.differences, strict=True):
            lines.append(
                f"{i + 1:4d} {self.first.frequencies[i]:10.4g} {j + 1:6d} {self.second.frequencies[j]:10.4g} "
                f"{100 * away:12.2f} {self.mac[i, j]:7.4f}"
            )
        return "\n".join(lines)


@checked
def pair_modes(first: Modes, second: Modes, places: Sequence[str] | None = None) -> ModePairs:
    """The modes of two sets that belong together: by shape and frequency, each mode in one pair at most.

    Of all ways to pair them, the one with the smallest sum of 1 − MAC + |ln(f₁/f₂)|; modes that cross keep their pair.

    Arguments
        places: where shapes are compared; by default those of the set that is measured, or all that both know.
    """
    if places is None and _same_rows(first, second):
        one, two, names = first.shapes, second.shapes, first.places
    else:
        names = tuple(places) if places is not None else _common_places(first, second)
        one, two = (np.stack([modes.at(place) for place in names]) for modes in (first, second))
    if len(one) < 2:
        raise InputError("Modes are paired by their shapes: at least two places must be known in both sets.")
    alike = mac(one, two)
    rows, columns = scipy.optimize.linear_sum_assignment(pair_cost(alike, first.frequencies, second.frequencies))
    order = np.argsort(first.frequencies[rows])
    return ModePairs(first, second, tuple((int(rows[i]), int(columns[i])) for i in order), alike, names)


def pair_cost(alike: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(k, m): 1 − MAC + |ln(f₁/f₂)|; a rigid-body motion pairs with nothing that swings."""
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.abs(np.log(np.asarray(first)[:, None] / np.asarray(second)[None, :]))
    return 1.0 - alike + np.where(np.isfinite(away), np.minimum(away, 10.0), 10.0)


def _same_rows(first: Modes, second: Modes) -> bool:
    """Whether both sets belong to structures with the same degrees of freedom."""
    both = isinstance(first, StructureModes) and isinstance(second, StructureModes)
    return both and first.shapes.shape[0] == second.shapes.shape[0] and first.places == second.places


def _common_places(first: Modes, second: Modes) -> tuple[str, ...]:
    """Places of the measured set, which the structure of the other is asked for; else those that both have."""
    for one, other in ((first, second), (second, first)):
        if not isinstance(one, StructureModes) and isinstance(other, StructureModes):
            return one.places
    common = tuple(place for place in first.places if place in second.places)
    if not common:
        raise InputError(
            f"These modes have no place in common ({', '.join(first.places) or 'none named'} and "
            f"{', '.join(second.places) or 'none named'}): name them with places=[…]."
        )
    return common


@checked
def expand_shapes(measured: Modes, computed: StructureModes) -> np.ndarray:
    """(n, k): measured shapes at every degree of freedom of a structure, those that were not measured too.

    Each is the combination of computed shapes that is nearest to it at the measured places (SEREP; J. O'Callahan et
    al., 1989), of as many of the lowest as there are modes or places, whichever is fewer; paired ones come first.
    """
    pairs = pair_modes(measured, computed, measured.places)
    paired = [j for _, j in pairs.pairs]
    most = min(len(measured.places), max(len(measured), 1))
    others = [j for j in range(len(computed)) if j not in paired]
    used = (paired + others)[:most]
    seen = np.stack([computed.at(place) for place in measured.places])[:, used]
    rows = np.stack([measured.at(place) for place in measured.places])
    return computed.shapes[:, used] @ np.linalg.lstsq(seen, rows, rcond=None)[0]
