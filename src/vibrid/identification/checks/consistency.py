"""Is the estimate of a method what its readings say?

A Kalman filter of motion and unknowns together is approximate: its estimate can stop beside the most likely values with
a covariance that does not know it. For constant unknowns and an exact model the most likely values are those of least
squares; a filter's estimate that is farther from them than its standard deviations allow is moved there.

Other methods answer another question than least squares of the readings: they balance forces, forget, or train. Their
estimate is theirs and is not moved. Where the model fits at the most likely values, and not with theirs or far outside
their intervals, that is told: no fault of an instrument and no missing law is then sought in what they leave over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.findings import KNOWN, WRONG, Finding
from vibrid.identification.checks.again import SETTLED, distance_to_minimum, fitted_again, is_minimum, movable
from vibrid.identification.checks.dependence import noise_at
from vibrid.identification.checks.work import around, is_costly
from vibrid.identification.conclude import unlikelihood
from vibrid.identification.diagnostics import ESTIMATE, verdict

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

FILTERS = ("ExtendedKalman", "UnscentedKalman")
FILTER = "filter"
"""Name of what is found about the estimate of a filter."""

LARGE = 2.0
"""Size of the innovations over the expected one, in any eighth of the record after the first third, from which they
contradict the filter."""

CORRELATED = 0.15
"""Autocorrelation of the innovations from which they do."""

AWAY = 0.5
"""Standard deviations from the least squares of the readings at which a filter's estimate is moved."""

CONTRADICTED = 3.0
"""Standard deviations of a method's own from the most likely values beyond which its intervals do not hold."""

MOST_PROCESS_NOISE = 1e-3
"""Process noise above which a filter is told that its model is not exact: then least squares are not its aim."""


def checked_filter(fit: Identification) -> Identification:
    """The result of a filter, moved to the least squares of the readings where it is not there already, or where the
    noise is not white, as a filter assumes; without intervals where its innovations contradict them."""
    settings = fit.settings
    if fit.method not in FILTERS:
        return fit
    if settings["parameter_drift"] or settings["process_noise"] > MOST_PROCESS_NOISE:
        return _without_contradicted_intervals(fit)
    if not movable(fit).any():
        return fit
    here = around(fit)
    distance = distance_to_minimum(fit, here)
    if not distance > SETTLED or (distance <= AWAY and noise_at(here).is_white):
        return fit
    again = fitted_again(fit, fit.problem)
    if not unlikelihood(again) < unlikelihood(fit):
        return _without_contradicted_intervals(fit)
    if distance > AWAY:
        said = (
            f"The filter's own estimate was {distance:.2g} standard deviations from the most likely values, more than "
            "its interval says: the estimate was moved there by least squares."
        )
    else:
        said = (
            "The noise is not white, as the filter assumes: the estimate was moved to the most likely values by least "
            "squares, where the noise as it is can be counted."
        )
    return again.replace(checks=(*again.checks, Finding(FILTER, KNOWN, said, "", 0.0, {"deviations": distance})))


def _without_contradicted_intervals(fit: Identification) -> Identification:
    """The result of a filter that stays where it is; without a covariance where its innovations are larger than the
    filter expected, or depend on those before."""
    size, correlation = (fit.convergence.get(f"innovation_{name}") for name in ("size", "correlation"))
    if size is None or correlation is None or fit.free_covariance is None:
        return fit
    if size <= LARGE and correlation <= CORRELATED:
        return fit
    said = (
        f"The innovations of the filter contradict its intervals, which are left out: they are up to {size:.2g} times "
        f"as large as it expected over a part of the record, and their autocorrelation is {correlation:.2g} (0 if the "
        "filter is right). Give more process_noise, free more unknowns, or try another law."
    )
    found = Finding(FILTER, WRONG, said, "", 1.0, {"size": size, "correlation": correlation})
    return fit.replace(free_covariance=None, checks=(*fit.checks, found))


def most_likely(fit: Identification) -> Identification | None:
    """The result of least squares of the readings, from the estimate of a method that answers another question; None
    where it is that already, has samples or counts noise of the excitation, or another fit would take long or is no
    better."""
    if fit.samples is not None or "input_noise" in fit.convergence or not movable(fit).any() or is_costly(fit.problem):
        return None
    if is_minimum(fit, around(fit)):
        return None
    least = fitted_again(fit, fit.problem)
    return least if unlikelihood(least) < unlikelihood(fit) else None


def contradicted(fit: Identification, least: Identification) -> list[Finding]:
    """What the most likely values, with which the model fits, say against the estimate of a method; empty where they do
    not, or the model does not fit with them either."""
    if least is fit or fit.free_covariance is None or not verdict(least.fits)[0]:
        return []
    keep = movable(fit)
    deviation = np.sqrt(np.diag(np.asarray(fit.free_covariance)))
    away = np.where(keep, np.abs(least.free - fit.free) / np.maximum(deviation, 1e-300), 0.0)
    worst = int(np.argmax(away))
    holds = away[worst] <= CONTRADICTED
    if holds and verdict(fit.fits)[0]:
        return []
    each = zip(least.names, least.estimate, least.units, strict=True)
    values = ", ".join(f"{name} = {value:.4g} {unit}".strip() for name, value, unit in list(each)[:4])
    more = ", …" if len(least.names) > 4 else ""
    ending = "with its own it does not." if holds else "its intervals do not hold."
    is_descent = "projected_gradient" in fit.convergence
    todo = "Give more iterations." if is_descent else "`TrajectoryFit` gives those values with their intervals."
    said = (
        f"The estimate of {fit.method} is {away[worst]:.2g} of its own standard deviations ({fit.names[worst]}) from "
        f"the most likely values ({values}{more}), with which the model fits the readings: {ending} {todo}"
    )
    return [Finding(ESTIMATE, WRONG, said, "", 1.0, {"deviations": float(away[worst])})]
