"""Numbers that loggers write where they have no sample: -999, -9999, 1e30 and the like.

They are dropped only when they are named (`missing = -9999`); without a word they are told, because -999 may as well be
a measurement.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_USUAL = (
    *(sign * value for value in (999.0, 9999.0, 99999.0, 999999.0, 9999999.0) for sign in (-1, 1)),
    *(-999.25, -9999.9, -999.9, -7999.0, 7999.0, -6999.0),
    *(sign * value for value in (1e10, 1e20, 1e30, 1e31, 1e34, 1e35, 1e36, 1e37, 1e38) for sign in (1, -1)),
    *(9.96921e36, 3.4028234663852886e38, -3.4028234663852886e38, 3.402823e38, -3.402823e38),
)
_FAR = 5.0  # times the largest other number
MOST = 0.5  # the largest share of fillers in a channel


def without(data: np.ndarray, missing: Sequence[float] | None) -> tuple[np.ndarray, int]:
    """The numbers with those that stand for missing samples as NaN, and how many these were."""
    if not missing:
        return data, 0
    found = np.zeros(data.shape, bool)
    for number in missing:
        found |= np.abs(data - number) <= 1e-9 * abs(number)
    return np.where(found, np.nan, data), int(found.sum())


def suspects(data: np.ndarray) -> dict[int, tuple[float, int, float]]:
    """Of every column with numbers that look like fillers: the filler, how often it occurs, the largest other number.

    A filler is one of the usual numbers, at least five times as large as all others of its column, which are the most.
    """
    found: dict[int, tuple[float, int, float]] = {}
    for column in range(data.shape[1]):
        values = data[:, column]
        if not values.size or not np.nanmax(np.abs(values), initial=0.0, where=np.isfinite(values)) >= 999.0:
            continue
        for number in _USUAL:
            here = np.abs(values - number) <= 1e-9 * abs(number)
            count = int(here.sum())
            if not 0 < count <= MOST * values.size:
                continue
            largest = float(np.nanmax(np.abs(values), initial=0.0, where=np.isfinite(values) & ~here))
            if abs(number) >= _FAR * largest:
                found[column] = (number, count, largest)
                break
    return found


def told(name: str, number: float, count: int, largest: float) -> str:
    """A sentence on numbers that look like fillers."""
    word = "sample is" if count == 1 else "samples are"
    return (
        f"'{name}': {count} {word} {number:.15g}, all others at most {largest:.4g}: missing? If so, name it: "
        f"`missing = {number:.15g}` (--missing {number:.15g}); if not, `missing = []` (--missing none)"
    )
