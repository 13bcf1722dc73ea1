"""Of the poles of a mode in models of several orders, the one that is known best; and modes that were found twice."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vibrid.modal.realisation import HankelChanges, OrderModes, Realisation, changes_of_mode, subspace_change
from vibrid.modal.selection import Selection

_TRIED = 5  # candidates of each mode, those of the lowest orders


def highest_tried(selection: Selection, models: Sequence[OrderModes]) -> int:
    """The highest order of which changes are needed."""
    return max(models[m].order for members in selection.candidates for m, _ in members[:_TRIED])


def best_known(
    selection: Selection, made: Realisation, models: Sequence[OrderModes], changes: HankelChanges
) -> tuple[Selection, list[tuple[np.ndarray, np.ndarray]]]:
    """The selection with the candidate of each mode whose pole has the smallest standard deviation, and its changes.

    Where two singular values are nearly equal, the space of a model of the order between them is hardly known, and
    neither are its modes: those of the orders beside it are as good as ever.
    """
    wanted: dict[int, list[tuple[int, int]]] = {}
    for number, members in enumerate(selection.candidates):
        for level, i in members[:_TRIED]:
            wanted.setdefault(level, []).append((number, i))
    best: dict[int, tuple[float, tuple[int, int], tuple[np.ndarray, np.ndarray]]] = {}
    for level, places in sorted(wanted.items()):
        moved = subspace_change(made, changes, models[level].order)
        for number, i in places:
            change = changes_of_mode(made, models[level], i, moved)
            size = float(np.sum(np.abs(change[0]) ** 2))
            if number not in best or size < best[number][0]:
                best[number] = size, (level, i), change
    numbers = range(len(selection.candidates))
    return replace(selection, chosen=tuple(best[n][1] for n in numbers)), [best[n][2] for n in numbers]


def found_twice(
    selection: Selection, models: Sequence[OrderModes], frequencies: np.ndarray, deviations: np.ndarray
) -> np.ndarray:
    """(k,): modes that are another one again, which is known better.

    A pole that moves at some order ends one cluster and begins another. Their frequencies then differ by less than 2σ,
    and the model from which the one was chosen does not have the other; of two modes that are close it has both.
    """
    again = np.zeros(len(frequencies), bool)
    for i, j in itertools.permutations(range(len(frequencies)), 2):
        near = abs(frequencies[i] - frequencies[j]) < 2 * np.hypot(deviations[i], deviations[j])
        if near and deviations[i] > deviations[j]:
            order = models[selection.chosen[i][0]].order
            again[i] |= not np.any((selection.mode == j) & (selection.order == order))
    return again
