"""Long signals for a small picture: the least and the greatest value of every part, so that no peak is lost."""

from __future__ import annotations

import base64

import numpy as np


def extremes(values: np.ndarray, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """(indices, values): where each of `parts` equal parts has its least and its greatest value, in order.

    Signals of up to two values a part are kept whole. Missing values (NaN) are passed over where a part has others.
    """
    values = np.asarray(values, float)
    count = len(values)
    if count <= 2 * parts:
        return np.arange(count), values
    edges = np.linspace(0, count, parts + 1).astype(int)[:-1]
    known = np.isfinite(values)
    number = np.repeat(np.arange(parts), np.diff(np.append(edges, count)))
    both = []
    for filled, best in ((np.where(known, values, np.inf), np.minimum), (np.where(known, values, -np.inf), np.maximum)):
        wanted = best.reduceat(filled, edges)
        hits = np.flatnonzero(filled == wanted[number])
        both.append(hits[np.searchsorted(number[hits], np.arange(parts))])  # the first of each part
    places = np.sort(np.stack(both, axis=1), axis=1).ravel()
    return places, values[places]


def least_and_greatest(times: np.ndarray, columns: np.ndarray, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """(times, columns) of two rows for every part: each column's least and greatest value there, in their order.

    The columns have times in common, those of the beginning and the middle of a part, although their extremes are at
    moments of their own: for pictures in which a part is no wider than a pixel. Up to two rows a part are kept whole.
    """
    count = len(times)
    if count <= 2 * parts:
        return times, columns
    thinned = np.stack([extremes(column, parts)[1] for column in columns.T], axis=1)
    edges = np.linspace(0, count, parts + 1).astype(int)
    starts = np.stack([edges[:-1], (edges[:-1] + edges[1:]) // 2], axis=1).ravel()
    return times[starts], thinned


def as_json(values: np.ndarray) -> list[float | None]:
    """Numbers for JSON, which has no NaN: six digits, None where one is missing."""
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in np.asarray(values, float).tolist()]


def packed(values: np.ndarray, kind: str = "<f4") -> str:
    """Numbers as text for a page, which reads them a hundred times as fast as decimals: base64 of their bytes."""
    return base64.b64encode(np.ascontiguousarray(values, kind).tobytes()).decode("ascii")
