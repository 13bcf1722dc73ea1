"""Is the estimate of a filter what its readings say?

A Kalman filter of motion and unknowns together is approximate: its estimate can stop beside the most likely values with
a covariance that does not know it. For constant unknowns and an exact model the most likely values are those of least
squares; a filter's estimate that is farther from them than its standard deviations allow is moved there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.findings import KNOWN, Finding
from vibrid.identification.checks.again import distance_to_minimum, fitted_again, movable
from vibrid.identification.conclude import unlikelihood
from vibrid.identification.levenberg import linearised

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

FILTERS = ("ExtendedKalman", "UnscentedKalman")
AWAY = 0.5
"""Standard deviations from the least squares of the readings at which a filter's estimate is moved."""

MOST_PROCESS_NOISE = 1e-3
"""Process noise above which a filter is told that its model is not exact: then least squares are not its aim."""


def checked_filter(fit: Identification) -> Identification:
    """The result of a filter, moved to the least squares of the readings where it is not there already."""
    settings = fit.settings
    if fit.method not in FILTERS or settings["parameter_drift"] or settings["process_noise"] > MOST_PROCESS_NOISE:
        return fit
    keep = movable(fit)
    if not keep.any() or not distance_to_minimum(fit, linearised(fit.problem, fit.free)) > AWAY:
        return fit
    again = fitted_again(fit, fit.problem)
    if not unlikelihood(again) < unlikelihood(fit):
        return fit
    deviation = np.sqrt(np.diag(np.asarray(again.free_covariance)))[keep]
    moved = float(np.max(np.abs(again.free - fit.free)[keep] / np.maximum(deviation, 1e-300)))
    said = (
        f"The filter's own estimate was {moved:.2g} standard deviations from the most likely values, more than its "
        "interval says: the estimate was moved there by least squares."
    )
    return again.replace(checks=(*again.checks, Finding("filter", KNOWN, said, "", 0.0, {"deviations": moved})))
