"""Whether what a fit leaves over depends on the excitation or on the response: then the model, not the noise, is wrong.

Noise may have a memory, so the whiteness of residuals says nothing about the model. Here whitened residuals of every
channel are tested (F-test, what the unknowns explain projected out) against the inputs, the predicted signals, their
derivatives and integrals, signed squares and cubes of all of these, a constant and a drift. The model of the noise that
whitens them is made without constant and drift, which it would take for a long memory.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from vibrid.identification.checks.noise import ChannelNoise, NoiseModel, noise_model
from vibrid.identification.diagnostics import ChannelFit
from vibrid.identification.levenberg import LinearReadings

LEVEL = 2e-3
"""Probability that any channel of a right model is called dependent."""

MOST_SAMPLES = 50_000
"""Samples of a record that are tested, from its beginning; more would cost memory and tell no more."""

_LAST: deque[tuple[bytes, NoiseModel]] = deque(maxlen=2)
_LAGS = (0, 1, 2, 4, 8)
_SHIFTS = 16
_CLEARLY = 1.5  # times what causes of other times explain at most
_STEADY = 2  # a constant and a drift
_INVISIBLE = 0.005  # share of the residual below which no model of the noise notices them
_NOTICED = 0.05  # share of the residual below which these two do no harm
_OTHERS = 8  # signals of other channels
_SAME = 1e-8  # share of a column outside the others below which it adds nothing


def noise_at(here: LinearReadings) -> NoiseModel:
    """A model of the noise from the residuals of a fit."""
    return _modelled(here, here.residuals)


def noise_about_trend(here: LinearReadings) -> NoiseModel:
    """A model of the noise without a constant and a drift of the residuals, which it would take for a long memory."""
    cleaned = [r.copy() for r in here.residuals]
    for r in cleaned:
        time = np.linspace(-1.0, 1.0, min(len(r), MOST_SAMPLES))
        for c in range(r.shape[1]):
            r[:, c] = _without(r[:, c], np.stack([np.ones_like(time), time], axis=1))
    powers = ([np.sum(r * r, axis=0) for r in part] for part in (here.residuals, cleaned))
    removed = max(np.max(1.0 - after / (before + 1e-300)) for before, after in zip(*powers, strict=True))
    return noise_at(here) if removed < _INVISIBLE else _modelled(here, cleaned)


def tested_fits(fits: Sequence[ChannelFit], here: LinearReadings, movable: np.ndarray) -> list[ChannelFit]:
    """The fits of all channels with what the test says; `movable` are the unknowns that explained what they could."""
    causes = [[_causes(here, i, c) for i in range(len(here.predictions))] for c in range(len(fits))]
    noise = noise_about_trend(here)
    found = []
    for c, fit in enumerate(fits):
        slopes = [j[:, c, movable] for j in here.slopes]
        found.append(_tested(fit, [r[:, c] for r in here.residuals], slopes, noise.channels[c], causes[c], len(fits)))
    return found


def _modelled(here: LinearReadings, residuals: Sequence[np.ndarray]) -> NoiseModel:
    """The model; those of the last residuals are kept, for several checks ask for the same."""
    data = here.problem.data
    present = [np.asarray(d.present) for d in data]
    parts = (*residuals, *here.predictions, *present)
    key = hashlib.blake2b(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).digest()
    for known, model in _LAST:
        if known == key:
            return model
    model = noise_model(residuals, here.predictions, present, [d.step for d in data])
    _LAST.append((key, model))
    return model


def _without(residual: np.ndarray, causes: np.ndarray) -> np.ndarray:
    """(nt,) without what steady causes explain; as it is where samples are few."""
    part = len(causes)
    keep = residual[:part] != 0.0  # a missing sample is zero
    if keep.sum() < 10 * causes.shape[1]:
        return residual
    basis, made = orthonormal(causes * keep[:, None]), residual.copy()
    made[:part] -= keep * (basis @ (basis.T @ residual[:part]))
    return made


def _tested(fit: ChannelFit, residuals, slopes, noise: ChannelNoise, causes, channels: int) -> ChannelFit:
    r, known, tried = [], [], []
    for i, columns in enumerate(causes):
        valid = np.flatnonzero(noise.weights[i][: len(columns)] > 0)
        longer = np.pad(columns, ((0, len(residuals[i]) - len(columns)), (0, 0)))
        for values, kept in ((residuals[i], r), (slopes[i], known), (longer, tried)):
            kept.append(noise.whitened(i, values)[valid])
    r, inside, tried = np.concatenate(r), orthonormal(np.concatenate(known)), np.concatenate(tried)
    r = r - inside @ (inside.T @ r)
    bases, total = [], float(r @ r)
    for columns in (tried[:, :_STEADY], tried[:, _STEADY:]):
        columns = columns / (np.linalg.norm(columns, axis=0) + 1e-300)
        for basis in (inside, *bases):
            columns = columns - basis @ (basis.T @ columns)
        bases.append(orthonormal(columns))
    left = len(r) - inside.shape[1] - sum(basis.shape[1] for basis in bases)
    if left < len(r) / 2 or not bases[1].shape[1]:
        return fit
    steady, moving = bases
    explained = [float(np.sum((basis.T @ r) ** 2)) for basis in bases]
    size = max(total - sum(explained), 1e-300) / left  # of one reading
    others = _by_chance(moving, r - steady @ (steady.T @ r))
    chance = max(float(np.mean(others)) / (moving.shape[1] * size), 1.0)
    counts = [basis.shape[1] for basis in bases]
    by_chance = (max(chance, float(noise.left_over()[0])), chance)  # steady causes have the frequency zero
    ratios = [e / max(n, 1) / size / a for e, n, a in zip(explained, counts, by_chance, strict=True)]
    likely = [float(scipy.special.fdtrc(n, left, q)) if n else 1.0 for n, q in zip(counts, ratios, strict=True)]
    if explained[0] < _NOTICED * total:
        likely[0] = 1.0
    if explained[1] < _CLEARLY * max(others):
        likely[1] = 1.0
    share = max(sum(explained) - size * chance * sum(counts), 0.0) / max(total, 1e-300)
    excess = float(np.sqrt(max(max(ratios) - 1.0, 0.0)))
    return replace(fit, depends=min(likely) < LEVEL / (2 * channels), explained=share, excess=excess)


def _by_chance(basis: np.ndarray, r: np.ndarray) -> list[float]:
    """What the causes explain of a residual that they cannot have caused: those of other times.

    Noise whose spectrum has an empty band is not quite whitened; more of it then falls on signals by chance.
    """
    firsts, twice = np.linspace(0.1, 0.9, _SHIFTS) * len(r), np.concatenate([r, r])
    earlier = np.stack([twice[int(first) :][: len(r)] for first in firsts], axis=1)  # as if causes were so much later
    return np.sum((basis.T @ earlier) ** 2, axis=0).tolist()


def _causes(here: LinearReadings, record: int, channel: int) -> np.ndarray:
    """(nt, causes): what the residual of a channel may depend on, each of unit size; the first two are steady."""
    step = here.problem.data[record].step
    inputs = np.asarray(here.problem.data[record].drive.samples)[:MOST_SAMPLES]
    signals = here.predictions[record][:MOST_SAMPLES]
    time = np.linspace(-1.0, 1.0, len(signals))
    columns = [np.ones(len(signals)), time]
    for u in inputs.T:
        columns += [np.concatenate([np.zeros(lag), u[: len(u) - lag]]) for lag in _LAGS]
    y = signals[:, channel]
    moved = np.cumsum(y - y.mean()) * step
    trend = np.stack([columns[0], time, time**2], axis=1)
    moved = moved - trend @ np.linalg.solve(trend.T @ trend, trend.T @ moved)
    for q in (y, np.gradient(y, step), moved):
        q = q / (np.sqrt(np.mean(q * q)) + 1e-300)
        columns += [q, q * np.abs(q), q**3]
    columns += [other for c, other in enumerate(signals.T) if c != channel][:_OTHERS]
    made = np.stack(columns, axis=1)
    return made / (np.sqrt(np.mean(made**2, axis=0)) + 1e-300)


def orthonormal(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns, without those that the others contain."""
    size = np.linalg.norm(columns, axis=0)
    if not np.any(size > 0):
        return np.zeros((len(columns), 0))
    scaled = columns[:, size > 0] / size[size > 0]
    squares, directions = np.linalg.eigh(scaled.T @ scaled)
    kept = squares > _SAME * squares[-1]
    return scaled @ (directions[:, kept] / np.sqrt(squares[kept]))
