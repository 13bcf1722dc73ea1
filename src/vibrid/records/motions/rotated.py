"""Spectra of a pair of horizontal components that do not depend on the orientation of the sensors: RotD50, RotD100.

D. M. Boore, "Orientation-independent, nongeometric-mean measures of seismic intensity from two horizontal components of
motion", Bulletin of the Seismological Society of America 100 (2010) 1830–1835: the largest response of an oscillator to
the motion in every direction of a half circle, and of these the median (RotD50) or the largest (RotD100).
"""

from __future__ import annotations

import numpy as np
import scipy

from vibrid.core.arguments import Numbers, checked
from vibrid.core.errors import InputError
from vibrid.records.record import Record, step_of
from vibrid.records.spectra import response_history

_ANGLES = np.radians(np.arange(180))


@checked
def rotated_spectrum(
    first: Record, second: Record, periods: Numbers, percentile: float = 50.0, damping: float = 0.05
) -> np.ndarray:
    """(periods,) m/s²: RotDnn of the pseudo-acceleration of two perpendicular horizontal components.

    percentile: nn, over all directions: 50 for the median, 100 for the largest.
    """
    if not 0 <= percentile <= 100:
        raise InputError(f"A percentile is between 0 and 100, not {percentile:g}.")
    first, second = same_samples(first, second)
    values = []
    for period in np.atleast_1d(np.asarray(periods, float)):
        points = np.column_stack([response_history(part, float(period), damping)[0] for part in (first, second)])
        points = _outermost(points)
        largest = np.abs(points @ np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])).max(axis=0)
        values.append(np.percentile(largest, percentile) * (2 * np.pi / period) ** 2)
    return np.array(values)


def same_samples(first: Record, second: Record) -> tuple[Record, Record]:
    """Two components over their common samples; refused where they were not sampled together."""
    steps = step_of(first), step_of(second)
    lengths = len(first), len(second)
    if abs(steps[0] / steps[1] - 1) > 1e-6 or max(lengths) > 1.05 * min(lengths):
        raise InputError(
            f"'{first.name}' ({lengths[0]} samples, step {steps[0]:g} s) and '{second.name}' ({lengths[1]}, "
            f"{steps[1]:g} s) are not two components of one record."
        )
    count = min(lengths)
    cut = (part if len(part) == count else part.replace(data=part.data[:count]) for part in (first, second))
    return tuple(cut)  # pyright: ignore[reportReturnType]


def _outermost(points: np.ndarray) -> np.ndarray:
    """The corners of the convex hull, which hold the largest projection in every direction."""
    try:
        return points[scipy.spatial.ConvexHull(points).vertices]
    except scipy.spatial.QhullError:  # all on one line
        return points
