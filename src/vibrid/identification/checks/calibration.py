"""What a sensor that is not quite calibrated does to the estimates, which no misfit shows.

A gain error of a fraction of a percent (a sensor a few degrees out of its axis) is absorbed by the unknowns: the model
still fits, and the intervals, which count noise alone, may be far smaller than the error. No test can find it, for what
it leaves in the readings is less than the noise. So it is said of every result in which it matters, with the way to
count it: an unknown gain whose prior is what is known of the sensor. To first order a relative
error ε of one channel moves the least squares by ε (JᵀWJ)⁻¹ JᵀW y, with y the prediction of that channel alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.device import on_processor
from vibrid.core.errors import VibridError
from vibrid.identification.checks.again import movable
from vibrid.identification.checks.numbers import MOST_NUMBERS
from vibrid.identification.checks.work import around, forget
from vibrid.identification.conclude import covariance_of
from vibrid.structures.device import ImposedTest

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

ERROR = 0.01
"""Relative error of a channel that is spoken of: that of a sensor 8° out of its axis."""


def moved_by_calibration(fit: Identification, error: float = ERROR) -> np.ndarray:
    """(channels, unknowns): how far such an error of every channel moves every estimate, in its standard deviations;
    NaN where an unknown is held or has no deviation."""
    here, keep = around(fit), movable(fit)
    _, _, normal = here.normal_equations(fit.noise)
    inverse = covariance_of(normal[np.ix_(keep, keep)])
    found = np.full((len(fit.problem.sensors), len(fit.names)), np.nan)
    deviation = np.sqrt(np.diag(np.asarray(fit.free_covariance)))[keep]
    for c in range(len(found)):
        pull = np.zeros(int(keep.sum()))
        for data, y, slopes in zip(fit.problem.data, here.predictions, here.slopes, strict=True):
            present = np.asarray(data.present)[:, c]
            pull += slopes[:, c, keep].T @ (y[:, c] * present) / fit.noise[c] ** 2
        with np.errstate(all="ignore"):
            found[c, keep] = error * (inverse @ pull) / deviation
    return found


def calibration_in_words(fit: Identification, least: float = 0.0) -> str:
    """The channel and the unknown where an error of calibration does most; "" where that cannot be told, the result was
    not checked, or it moves the unknown by less than `least` standard deviations."""
    if fit.convergence.get("checks") != "all" or isinstance(fit.problem.experiment.structure, ImposedTest):
        return ""
    if any(fits.depends for fits in fit.fits):
        return ""  # what is left over is more than noise
    size = sum(d.readings.size for d in fit.problem.data) * len(fit.names)
    if fit.free_covariance is None or not 0 < size <= MOST_NUMBERS:
        return ""
    gains = np.array([name.endswith(".gain") for name in fit.names])
    try:
        moved = np.where(gains, np.nan, np.abs(moved_by_calibration(fit)))
    except VibridError:  # a law of a plugin that is not there
        return ""
    finally:
        forget()
    if not np.nanmax(moved, initial=-1.0) >= least:
        return ""
    channel, unknown = np.unravel_index(np.nanargmax(moved), moved.shape)
    label, name, size = fit.problem.sensors[channel].label, fit.names[unknown], moved[channel, unknown]
    return (
        f"An error of {100 * ERROR:.0f} % in the sensitivity of '{label}', as of a sensor 8° out of its axis, moves "
        f"{name} by {size:.2g} standard deviations, more than that of any other. The intervals count noise, not "
        "calibration: where sensors are known to 0.5 %, name `sensors[*].gain` as unknown with the prior 1 ± 0.005."
    )


def with_calibration_told(fit: Identification) -> Identification:
    """The result with a note of what an error of calibration does, where it is more than the noise does."""
    try:
        with on_processor():
            said = calibration_in_words(fit, least=1.0)
    except (ArithmeticError, LookupError, ValueError, RuntimeError, np.linalg.LinAlgError):
        return fit  # a check that fails costs no result
    return fit.replace(warnings=(*fit.warnings, said)) if said else fit
