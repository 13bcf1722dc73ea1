"""The numbers of a result on data as they are: time step, input between samples, and noise."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.findings import KNOWN, WRONG, Finding
from vibrid.identification.checks.again import distance_to_minimum, is_minimum, movable, with_noise
from vibrid.identification.checks.covariance import normal_equations, robust_covariance
from vibrid.identification.checks.dependence import noise_at, tested_fits
from vibrid.identification.checks.noise import NoiseModel
from vibrid.identification.checks.time_step import (
    check_hold,
    check_time_step,
    plain_noise,
    step_of_misfit,
    with_steps_needed,
)
from vibrid.identification.checks.work import around, keep_around
from vibrid.identification.conclude import covariance_of
from vibrid.identification.diagnostics import LOWER_LIMIT, verdict
from vibrid.identification.levenberg import LinearReadings

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

WORTH = 0.9
"""Narrowing of an interval from which the noise is modelled and the fit repeated."""

EXACT = 1e-6
"""Residuals over signal below which the readings are without noise: rounding is not modelled."""

NEAR = 1.0
"""Standard deviations from the least squares of the readings within which the noise is judged by what is left over:
what the unknowns can explain of it is projected out."""

TOO_NARROW = 1.1
"""Widening of an interval by the noise as it is from which it is told that a method does not count it."""

ROUNDS = 3
MOST_NUMBERS = 2e8
"""Derivatives of all readings that are kept in memory; a larger problem is not checked."""


def checked_numbers(fit: Identification, may_change: Collection[str] = ()) -> Identification:
    """The result with a time step that is fine enough and intervals that hold for the noise as it is.

    Where the estimate is not the least squares of the readings (samples of a posterior, a filter), nothing of it is
    changed: an error of the time step, or of the input between samples, is told, and the steps that it takes where the
    caller left them open: `identify` then calls the method again. Noise that it does not count is told.
    """
    if not _has_derivatives(fit):
        return fit
    here = around(fit)
    is_least_squares = fit.samples is None and is_minimum(fit, here)
    if max(f.relative for f in fit.fits) < EXACT:
        return fit
    is_near = not is_least_squares and distance_to_minimum(fit, here) < NEAR
    if is_near:
        fit = _judged(fit, here)
    elif not is_least_squares:
        fit = _by_whiteness(fit)
    if not (is_least_squares or verdict(fit.fits)[0]):
        return _with_step_of_misfit(fit, may_change)
    movable_by = may_change if is_least_squares else ()
    fit, here, step = check_time_step(fit, here, "substeps" in movable_by)
    fit, here, hold = check_hold(fit, here, noise_at(here), "hold" in movable_by)
    if not is_least_squares:
        step = [with_steps_needed(fit, finding) for finding in step] if "substeps" in may_change else step
        noise = _not_counted(fit, here) if is_near else []
        return fit.replace(checks=(*fit.checks, *step, *hold, *noise))
    keep_around(here)
    fit, noise = _with_noise_as_it_is(fit, here)
    return fit.replace(checks=(*fit.checks, *step, *hold, *noise))


def checked_step(fit: Identification, may_change: Collection[str] = ()) -> Identification:
    """Of `checked_numbers` what takes few simulations, for a slow model: a time step that is fine enough, and whether
    the model fits. Of a result that is not the least squares of its readings only a step that led it astray is told."""
    if fit.samples is not None or not _has_derivatives(fit):
        return fit
    here = around(fit)
    if max(f.relative for f in fit.fits) < EXACT:
        return fit
    if not is_minimum(fit, here):
        return fit if verdict(fit.fits)[0] else _with_step_of_misfit(fit, may_change)
    fit, here, step = check_time_step(fit, here, "substeps" in may_change)
    keep_around(here)
    fit = _judged(fit, here)
    return fit.replace(checks=(*fit.checks, *step))


def _with_step_of_misfit(fit: Identification, may_change: Collection[str]) -> Identification:
    """A result that does not fit, with what its time step has to do with that."""
    if "substeps" not in may_change or not _is_descent(fit):
        return fit
    return fit.replace(checks=(*fit.checks, *step_of_misfit(fit)))


def _has_derivatives(fit: Identification) -> bool:
    """Whether the derivatives of the readings say what its numbers mean, and can be kept in memory."""
    size = sum(d.readings.size for d in fit.problem.data) * len(fit.names)
    modelled = "input_noise" in fit.convergence  # the noise is what the method says
    return fit.free_covariance is not None and 0 < size <= MOST_NUMBERS and not modelled


def _is_descent(fit: Identification) -> bool:
    """Whether the method went down the misfit of the readings."""
    return fit.samples is None and "projected_gradient" in fit.convergence


def _by_whiteness(fit: Identification) -> Identification:
    """A descent whose answer is no clear minimum, with the sentence that its residuals were not tested as usual."""
    if not _is_descent(fit):
        return fit  # methods that are no descents have tests of their own
    unseen = [name for name, seen in zip(fit.names, fit.limits.identifiable, strict=True) if not seen]
    why = f", because the data do not identify {', '.join(unseen[:4])}" if unseen else ""
    todo = "Fix these, or give them priors, and fit again" if unseen else "Give another first guess, and fit again"
    said = (
        "Whether the model fits was judged by the whiteness of the residuals alone: about the estimate the misfit has "
        f"no clear minimum{why}. {todo}."
    )
    return fit.replace(warnings=(*fit.warnings, said))


def _with_noise_as_it_is(fit: Identification, here: LinearReadings) -> tuple[Identification, list[Finding]]:
    noise = noise_at(here)
    fit = _judged(fit, here)
    if noise.is_white:
        return fit, []
    keep = movable(fit)
    robust = robust_covariance(here, plain_noise(fit), keep)
    if verdict(fit.fits)[0] and _narrowing(here, noise, robust, keep) < WORTH:
        for _ in range(ROUNDS):
            before = fit.free
            fit, here = with_noise(fit, here, noise)
            moved = np.abs(fit.free - before)[keep] / np.sqrt(np.diag(np.asarray(fit.free_covariance)))[keep]
            noise = noise_at(here)
            if np.max(moved, initial=0.0) < 0.05:
                break
        keep_around(here)
        fit = _judged(fit, here)
        told = "weighed accordingly"
    else:
        covariance = np.array(fit.free_covariance)
        covariance[np.ix_(keep, keep)] = robust[np.ix_(keep, keep)]
        fit, told = fit.replace(free_covariance=covariance), "counted in the intervals"
    return fit, _in_words(fit, noise, told) if verdict(fit.fits)[0] else []  # a misfit is not noise


def _not_counted(fit: Identification, here: LinearReadings) -> list[Finding]:
    """That the intervals of a method which assumes independent noise of constant size are too narrow."""
    noise = noise_at(here)
    if noise.is_white or not verdict(fit.fits)[0]:
        return []
    keep = movable(fit)
    robust = np.diag(robust_covariance(here, plain_noise(fit), keep))[keep]
    _, _, normal = here.normal_equations(fit.noise)
    assumed = np.diag(covariance_of(normal, ~keep))[keep]
    wider = float(np.sqrt(np.max(robust / np.maximum(assumed, 1e-300), initial=0.0)))
    if wider < TOO_NARROW:
        return []
    told = f"which {fit.method} does not count: its intervals are up to {wider:.2g} times too narrow"
    return [replace(found, verdict=WRONG) for found in _in_words(fit, noise, told)]


def _judged(fit: Identification, here: LinearReadings) -> Identification:
    """The result judged by what its residuals depend on."""
    fits = tested_fits(fit.fits, here, movable(fit))
    notes = [note for note in fit.warnings if note != LOWER_LIMIT]
    return fit.replace(fits=fits, warnings=tuple(notes if verdict(fits)[0] else [*notes, LOWER_LIMIT]))


def _narrowing(here: LinearReadings, noise: NoiseModel, robust: np.ndarray, keep: np.ndarray) -> float:
    """The least ratio of a standard deviation with a model of the noise to that without."""
    _, _, normal = normal_equations(here, noise)
    modelled = np.diag(covariance_of(normal, ~keep))[keep] / noise.efficiency**2
    return float(np.sqrt(np.min(modelled / np.maximum(np.diag(robust)[keep], 1e-300), initial=1.0)))


def _in_words(fit: Identification, noise: NoiseModel, told: str) -> list[Finding]:
    """What the noise is like, one sentence for each kind."""
    memory, signal, time, tails = {}, [], [], []
    for sensor, channel in zip(fit.problem.sensors, noise.channels, strict=True):
        if channel.memory:
            memory[sensor.label] = channel.memory
        if channel.kind == "signal":
            signal.append(sensor.label)
        if channel.kind == "time":
            time.append(sensor.label)
        if np.isfinite(channel.degrees):
            tails.append(sensor.label)
    found = []
    if memory:
        each = ", ".join(f"'{name}' {_seconds(value)}" for name, value in list(memory.items())[:4])
        found.append(_finding("memory", f"The noise has a memory ({each}), {told}.", max(memory.values())))
    if signal:
        found.append(_finding("growing", f"The noise of {_named(signal)} grows with the signal, {told}."))
    if time:
        found.append(_finding("bursts", f"The noise of {_named(time)} changes with time, {told}."))
    if tails:
        found.append(_finding("outliers", f"Readings of {_named(tails)} have outliers, {told}."))
    if noise.mixing is not None:
        found.append(_finding("shared", f"Channels share noise, {told}."))
    return found


def _seconds(value: float) -> str:
    return f"{1e3 * value:.3g} ms" if value < 1.0 else f"{value:.3g} s"


def _finding(name: str, sentence: str, seconds: float = 0.0) -> Finding:
    return Finding(name, KNOWN, sentence, "", 0.0, {"memory": seconds} if seconds else {})


def _named(channels: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in channels[:4]) + (" and others" if len(channels) > 4 else "")
