"""Automatic selection of modes over the orders of a model: clusters, without thresholds set by hand.

Three steps as E. Reynders, J. Houbrechts & G. De Roeck (2012): every pole is compared with its nearest one of the order
before, and two clusters of these differences separate stable poles from the others; stable poles are clustered by a
distance of frequency, damping and shape that ends where stable poles usually do; and two clusters of the numbers of
orders in which these occur separate modes from chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from vibrid.modal.measured import phase_collinearity
from vibrid.modal.realisation import OrderModes
from vibrid.structures.pairing import mac

_USUAL = 0.95  # share of the stable poles that differ less from the order before than the length of a cluster


@dataclass(frozen=True, eq=False)
class Selection:
    """The poles of all orders, and the modes among them.

    Fields
        order, pole: (poles,) of each.
        kind: (poles,) 0 spurious, 1 stable, 2 in the cluster of a mode.
        mode: (poles,) number of the mode, −1 for none.
        chosen: (index of the order, index of the mode in that order) of each mode, lowest first.
        candidates: of each mode, those that could be chosen as well, in rising order.
    """

    order: np.ndarray
    pole: np.ndarray
    kind: np.ndarray
    mode: np.ndarray
    chosen: tuple[tuple[int, int], ...]
    candidates: tuple[tuple[tuple[int, int], ...], ...]


def select_modes(models: Sequence[OrderModes]) -> Selection:
    """The modes among the poles of models of rising order; of each cluster one of the half nearest to all others."""
    poles = np.concatenate([m.poles for m in models])
    shapes = np.concatenate([m.shapes for m in models], axis=1)
    level = np.concatenate([np.full(len(m.poles), i) for i, m in enumerate(models)])
    inside = np.concatenate([np.arange(len(m.poles)) for m in models])
    damped = np.real(poles) < 0  # a structure takes energy: other poles describe noise
    stable = np.zeros(len(poles), bool)
    candidates = np.flatnonzero(damped)
    label = np.full(len(poles), -1)
    near: list[tuple[tuple[int, int], ...]] = []
    if candidates.size:
        feature, away = _differences(poles[candidates], shapes[:, candidates], level[candidates])
        known = np.isfinite(away)
        better = np.zeros(len(candidates), bool)
        better[known] = _better_half(feature[known])
        stable[candidates[better]] = True
        chosen_poles = candidates[better]
        reach = float(np.quantile(away[better], _USUAL)) if better.any() else 0.0
        groups = _clusters(poles[chosen_poles], shapes[:, chosen_poles], reach)
        groups = [chosen_poles[g] for g in groups]
        sizes = np.array([len(np.unique(level[g])) for g in groups])
        modes = [g for g, keep in zip(groups, _large(sizes), strict=True) if keep]
        modes.sort(key=lambda g: float(np.median(np.abs(poles[g]))))
        for number, members in enumerate(modes):
            away = _distance(poles[members], shapes[:, members]).sum(axis=1)
            middle = members[away <= np.median(away)]  # in rising order: those of the lowest vary least
            near.append(tuple((int(level[i]), int(inside[i])) for i in middle))
            label[_nearest_of_each_order(members, middle[0], poles, shapes, level)] = number
    kind = np.where(label >= 0, 2, np.where(stable, 1, 0))
    order = np.array([m.order for m in models])[level]
    return Selection(order, poles, kind, label, tuple(members[0] for members in near), tuple(near))


def _nearest_of_each_order(members: np.ndarray, middle: int, poles, shapes, level) -> list[int]:
    """Of the members of a cluster, that of each order which is nearest to the middle."""
    unlike = 1.0 - mac(shapes[:, members], shapes[:, [middle]])[:, 0]
    by_distance = members[np.argsort(_pole_distance(poles[members], poles[[middle]])[:, 0] + unlike, kind="stable")]
    _, first = np.unique(level[by_distance], return_index=True)
    return by_distance[first].tolist()


def _differences(poles: np.ndarray, shapes: np.ndarray, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features (poles, 4) and distance of every pole from the nearest of the order before; NaN where there is none."""
    features, distance = np.full((len(poles), 4), np.nan), np.full(len(poles), np.nan)
    collinear = phase_collinearity(shapes)
    ratio = -np.real(poles) / np.abs(poles)
    for own in np.unique(level):
        here, before = np.flatnonzero(level == own), np.flatnonzero(level == own - 1)
        if not before.size:
            continue
        apart = _pole_distance(poles[here], poles[before])
        unlike = 1.0 - mac(shapes[:, here], shapes[:, before])
        nearest = (apart + unlike).argmin(axis=1)
        rows = np.arange(len(here))
        difference = np.abs(ratio[here] - ratio[before[nearest]]) / np.maximum(ratio[here], ratio[before[nearest]])
        columns = (apart[rows, nearest], unlike[rows, nearest], difference, 1.0 - collinear[here])
        features[here] = np.minimum(np.stack(columns, axis=1), 1.0)
        distance[here] = (apart + unlike)[rows, nearest]
    return features, distance


def _pole_distance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.abs(first[:, None] - second) / np.maximum(np.abs(first)[:, None], np.abs(second))


def _distance(poles: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """(poles, poles): by which poles are clustered."""
    apart = np.maximum(_pole_distance(poles, poles) + 1.0 - mac(shapes, shapes), 0.0)
    np.fill_diagonal(apart, 0.0)
    return apart


def _better_half(features: np.ndarray) -> np.ndarray:
    """Which rows, of numbers from 0 to 1, are in the better cluster: two means, from 0 and from the mean of all."""
    centres = np.stack([np.zeros(features.shape[1]), features.mean(axis=0)])
    better = np.ones(len(features), bool)
    for _ in range(100):
        distances = ((features[:, None, :] - centres) ** 2).sum(axis=2)
        now = distances[:, 0] <= distances[:, 1]
        if np.array_equal(now, better) or now.all() or not now.any():
            return now
        better = now
        centres = np.stack([features[now].mean(axis=0), features[~now].mean(axis=0)])
    return better


def _clusters(poles: np.ndarray, shapes: np.ndarray, reach: float) -> list[np.ndarray]:
    """Indices of poles that belong together: average linkage, as far as `reach`."""
    if len(poles) < 2:
        return [np.arange(len(poles))] if len(poles) else []
    apart = scipy.spatial.distance.squareform(_distance(poles, shapes), checks=False)
    tree = scipy.cluster.hierarchy.linkage(apart, "average")
    label = scipy.cluster.hierarchy.fcluster(tree, reach, "distance")
    return [np.flatnonzero(label == own) for own in np.unique(label)]


def _large(sizes: np.ndarray) -> np.ndarray:
    """Which clusters are modes: nearer to the large than to the small centre of two means of their sizes.

    An empty cluster for each large one stands for what chance could have left, as a selection from few poles needs it.
    """
    if not len(sizes):
        return np.zeros(0, bool)
    low, high = 0.0, float(sizes.max())
    large = sizes > 0.5 * (low + high)
    for _ in range(100):
        small = np.concatenate([sizes[~large], np.zeros(max(1, int(large.sum())))])
        low, high = float(small.mean()), float(sizes[large].mean())
        now = sizes > 0.5 * (low + high)
        if np.array_equal(now, large):
            break
        large = now
    return large
