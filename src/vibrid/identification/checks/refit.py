"""Fitting again with corrected readings, from a fit that is there: the same compiled program, a few steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from vibrid.identification.checks.signals import SignalPair, advanced, at_true_time
from vibrid.identification.diagnostics import ChannelFit, channel_fits, verdict
from vibrid.identification.levenberg import descend
from vibrid.identification.problem import Problem, predict

ITERATIONS, ROUNDS = 8, 3
"""Steps of one descent, and times that the noise is estimated again."""

_LEFT_OUT = 1e5  # factor on the noise of a channel that is not to count


@dataclass(frozen=True)
class Correction:
    """What is assumed about one channel: reading = gain · true(t − delay − clock · t) + added(t)."""

    gain: float = 1.0
    delay: float = 0.0
    clock: float = 0.0
    added: tuple[np.ndarray, ...] | None = None  # (samples,) of every record

    def then(self, gain: float, delay: float) -> Correction:
        """This correction, followed by a factor and a delay found in what it leaves."""
        return dataclasses.replace(self, gain=self.gain * gain, delay=self.delay + delay)


Corrections = Mapping[int, Correction]


@dataclass(frozen=True)
class Refit:
    """A fit of corrected readings. `deviations` are those of the residuals in the units of the original readings."""

    problem: Problem
    free: np.ndarray
    predictions: list[np.ndarray]
    deviations: np.ndarray
    counts: np.ndarray

    @property
    def unlikelihood(self) -> float:
        """Negative log-likelihood of the original readings, up to a constant."""
        return float(np.sum(self.counts * np.log(self.deviations)))

    @property
    def fits(self) -> list[ChannelFit]:
        return channel_fits(self.problem, self.predictions)

    @property
    def model_fits(self) -> bool:
        return verdict(self.fits)[0]

    def pairs(self, channel: int) -> list[SignalPair]:
        """Readings and predictions of one channel in every record."""
        return [
            SignalPair(np.asarray(d.readings)[:, channel], y[:, channel], np.asarray(d.present)[:, channel] > 0, d.step)
            for d, y in zip(self.problem.data, self.predictions, strict=True)
        ]


def as_fitted(problem: Problem, free: np.ndarray, predictions: list[np.ndarray]) -> Refit:
    """A fit that is there, to compare others with."""
    return Refit(problem, np.asarray(free), predictions, _deviations(problem, predictions), problem.counts())


def refit(
    problem: Problem,
    free: np.ndarray,
    corrections: Corrections,
    without: int | None = None,
    iterations: int = ITERATIONS,
) -> Refit:
    """Fit the corrected readings, starting at φ; the noise of every channel is estimated from what is left.

    `without` is a channel that does not count.
    """
    changed = corrected(problem, corrections)
    gains = np.ones(len(problem.sensors))
    for channel, correction in corrections.items():
        gains[channel] = abs(correction.gain)
    free = np.asarray(free, dtype=float)
    noise = _deviations(changed, _predicted(changed, free))
    for _ in range(ROUNDS):
        weights = noise.copy()
        if without is not None:
            weights[without] *= _LEFT_OUT
        descent = descend(changed, free[None], weights, iterations=iterations, tolerance=1e-5)
        if not np.isfinite(descent.cost[descent.best]):
            break
        free = descent.free[descent.best]
        updated = _deviations(changed, _predicted(changed, free))
        change = np.delete(np.log(updated / noise), [] if without is None else [without])
        noise = updated
        if np.max(np.abs(change), initial=0.0) < 0.05:
            break
    return Refit(changed, free, _predicted(changed, free), gains * noise, changed.counts())


def _predicted(problem: Problem, free: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(predict(problem, jnp.asarray(free), i)) for i in range(len(problem.data))]


def _deviations(problem: Problem, predictions: list[np.ndarray]) -> np.ndarray:
    """rms of the residuals of every channel; a prediction that is not finite leaves the whole signal."""
    squares = np.zeros(len(problem.sensors))
    for data, y in zip(problem.data, predictions, strict=True):
        squares += np.sum(((np.asarray(data.readings) - y) * np.asarray(data.present)) ** 2, axis=0)
    size = problem.signal_size()
    left = np.sqrt(squares / np.maximum(problem.counts(), 1.0))
    return np.where(np.isfinite(left), np.maximum(left, 1e-9 * size), size)


def corrected(problem: Problem, corrections: Corrections) -> Problem:
    """The problem with other readings of the same shapes."""
    data = []
    for i, d in enumerate(problem.data):
        readings, present = np.array(d.readings), np.array(d.present)
        for channel, correction in corrections.items():
            values, there = readings[:, channel], present[:, channel]
            if correction.added is not None:
                values = values - correction.added[i]
            if correction.delay:
                values, there = advanced(values, there, correction.delay, d.step)
            if correction.clock:
                values, there = at_true_time(values, there, correction.clock)
            readings[:, channel] = np.where(there > 0, values / correction.gain, 0.0)
            present[:, channel] = there
        data.append(dataclasses.replace(d, readings=jnp.asarray(readings), present=jnp.asarray(present)))
    return dataclasses.replace(problem, data=tuple(data))


def exchanged(problem: Problem, one: int, two: int) -> Problem:
    """The problem with the readings of two channels exchanged."""
    order = np.arange(len(problem.sensors))
    order[[one, two]] = two, one
    data = [dataclasses.replace(d, readings=d.readings[:, order], present=d.present[:, order]) for d in problem.data]
    return dataclasses.replace(problem, data=tuple(data))
