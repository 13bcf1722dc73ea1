"""From the estimate of a method to the result: predictions, fit, identifiability and warnings."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import platform
import time
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.device import on_processor
from vibrid.core.interrupts import finishing
from vibrid.core.numbers import as_array
from vibrid.core.version import __version__
from vibrid.identification.diagnostics import LOWER_LIMIT, channel_fits, verdict
from vibrid.identification.identifiability import fisher_information, identifiability
from vibrid.identification.levenberg import prior_at
from vibrid.identification.problem import Problem, predict
from vibrid.identification.result import Identification

if TYPE_CHECKING:
    from vibrid.identification.method import Method


def residual_deviations(problem: Problem, predictions: list[np.ndarray]) -> np.ndarray:
    """Noise of every sensor from the residuals of a fit, corrected for the number of unknowns."""
    squares = np.zeros(len(problem.sensors))
    for data, y in zip(problem.data, predictions, strict=True):
        squares += np.sum(((np.asarray(data.readings) - y) * np.asarray(data.present)) ** 2, axis=0)
    counts = problem.counts()
    spent = len(problem.unknowns) / len(problem.sensors)
    floor = 1e-12 * problem.signal_size()
    return np.maximum(np.sqrt(squares / np.maximum(counts - spent, 1.0)), floor)


def unlikelihood(fit: Identification) -> float:
    """Negative log-likelihood of readings and priors, up to a constant; infinite where it is NaN."""
    left = residual_deviations(fit.problem, fit.predictions)
    prior, _ = prior_at(fit.problem, fit.free)
    value = np.sum(fit.problem.counts() * (np.log(fit.noise) + 0.5 * (left / fit.noise) ** 2)) + 0.5 * prior @ prior
    return float(np.nan_to_num(value, nan=np.inf))


def predictions_at(problem: Problem, free: Array) -> list[np.ndarray]:
    """Predicted readings of every record at φ."""
    with on_processor():
        return [np.asarray(predict(problem, as_array(free), i)) for i in range(len(problem.data))]


def covariance_of(normal: np.ndarray, held: np.ndarray | None = None) -> np.ndarray:
    """Inverse of a Gauss–Newton matrix; very large, not singular, where the data carry no information.

    `held` are unknowns at a bound: the covariance is that of the others while these stay there, and zero for `held`.
    """
    if held is not None and held.any():
        covariance, free = np.zeros_like(normal), np.flatnonzero(~held)
        if free.size:
            covariance[np.ix_(free, free)] = covariance_of(normal[np.ix_(free, free)])
        return covariance
    diagonal = np.diag(normal)
    scale = np.sqrt(np.maximum(diagonal, 1e-30 * np.max(diagonal) + 1e-300))
    values, vectors = np.linalg.eigh(normal / np.outer(scale, scale))
    return ((vectors / np.maximum(values, 1e-14)) @ vectors.T) / np.outer(scale, scale)


@finishing()
def conclude(
    problem: Problem,
    method: Method,
    free: np.ndarray,
    *,
    started: float,
    covariance: np.ndarray | None = None,
    noise: np.ndarray | None = None,
    warnings: tuple[str, ...] = (),
    information: np.ndarray | None = None,
    innovations: list[np.ndarray] | None = None,
    **rest: Any,
) -> Identification:
    """Assemble the result. `noise` defaults to the stated noise, else to the residual rms of each sensor.

    `information` about φ is that of the simulation unless given; `innovations` (samples, sensors) are tested for
    whiteness where the residuals of a method are not measured − predicted.
    """
    free = np.asarray(free, dtype=float)
    predictions = predictions_at(problem, free)
    left = residual_deviations(problem, predictions)
    if noise is None:
        given = problem.given_deviations()
        noise = np.where(np.isfinite(given), given, left)
    fits = channel_fits(problem, predictions, innovations)
    with on_processor():
        limits = identifiability(problem, free, noise, information)
    notes = list(warnings) + _warnings(problem, free, limits)
    if not verdict(fits)[0] and covariance is not None:
        notes.append(LOWER_LIMIT)
    return Identification(
        method=type(method).__name__,
        settings=settings_of(method),
        problem=problem,
        free=free,
        free_covariance=covariance,
        noise=noise,
        predictions=predictions,
        fits=fits,
        limits=limits,
        warnings=tuple(notes),
        seconds=time.perf_counter() - started,
        versions=versions(),
        **rest,
    )


CONTRADICTED = 3.0
"""Standard deviations of a prior from its mean at which an estimate contradicts it."""


def contradicted(what: str, stated: str, found: str, away: float) -> str:
    """The message for a prior that the data contradict."""
    return (
        f"The prior of {what}, {stated}, is contradicted: the estimate is {found}, {abs(away):.1f} standard deviations "
        "away. Either the prior or the model is wrong."
    )


def compile_conclusion(problem: Problem) -> None:
    """Compile the programs of `conclude` on the processor while a training runs on an accelerator."""
    free = problem.start
    predictions_at(problem, free)
    with on_processor():
        fisher_information(problem, free, np.ones(len(problem.sensors)))


def settings_of(method: Any) -> dict[str, Any]:
    """A method's settings as plain values."""
    settings = {}
    for f in dataclasses.fields(method):
        value = getattr(method, f.name)
        settings[f.name] = np.asarray(value).tolist() if isinstance(value, jax.Array | np.ndarray) else value
    return {k: v if isinstance(v, int | float | str | bool | type(None)) else repr(v) for k, v in settings.items()}


def versions() -> dict[str, str]:
    """Versions of the software that computed the result, and its device."""
    first = {"vibrid": __version__, "python": platform.python_version()}
    return first | _installed() | {"device": jax.devices()[0].platform}


@functools.cache
def _installed() -> dict[str, str]:
    libraries = ("jax", "jaxlib", "equinox", "optax", "numpy", "scipy")
    return {name: importlib.metadata.version(name) for name in libraries}


def _warnings(problem: Problem, free, limits) -> list[str]:
    u = problem.unknowns
    value = np.asarray(u.to_physical(as_array(free)))
    notes = []
    sides = u.at_bound(free)
    for i, name in enumerate(u.names):
        if sides[i]:
            bound = float(u.low[i] if sides[i] < 0 else u.high[i])
            notes.append(f"'{name}' is at its bound {bound:g}: widen the bounds, or treat its estimate as uncertain.")
        elif u.kinds[i] == "log" and (abs(free[i]) > 7):
            notes.append(
                f"'{name}' moved from its first guess {float(u.start[i]):.3g} to {value[i]:.3g}: it is weakly "
                "identifiable from these data."
            )
    away, _ = prior_at(problem, free)
    for i in np.flatnonzero(np.abs(away) > CONTRADICTED):
        stated = (f"{float(u.prior_mean[i]):.4g} ± {float(u.prior_deviation[i]):.2g}", f"{value[i]:.4g}")
        notes.append(contradicted(f"'{u.names[i]}'", *stated, away[i]))
    weak = [n for n, ok in zip(u.names, limits.identifiable, strict=True) if not ok]
    if weak:
        notes.append(f"Not identifiable from these data: {', '.join(weak)}.")
    notes += [f"The data cannot separate: {words}." for words in limits.inseparable[:3]]
    return notes
