"""Whether what a fit leaves over depends on the excitation or on the response: then the model, not the noise, is wrong.

Noise may have a memory, so the whiteness of residuals says nothing about the model. Here whitened residuals of every
channel are tested (F-test, what the unknowns explain projected out) against the inputs, the predicted signals, their
derivatives and integrals, signed squares and cubes of all of these, a constant and a drift.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import f as f_distribution

from vibrid.identification.checks.noise import ChannelNoise, NoiseModel
from vibrid.identification.diagnostics import ChannelFit
from vibrid.identification.levenberg import Linearised

LEVEL = 2e-3
"""Probability that any channel of a right model is called dependent."""

MOST_SAMPLES = 50_000
"""Samples of a record that are tested, from its beginning; more would cost memory and tell no more."""

_LAGS = (0, 1, 2, 4, 8)
_SHIFTS = 16
_SAME = 1e-8  # share of a column outside the others below which it adds nothing


def tested_fits(fits: Sequence[ChannelFit], here: Linearised, noise: NoiseModel) -> list[ChannelFit]:
    """The fits of all channels with what the test says."""
    causes = [_causes(here, record) for record in range(len(here.predictions))]
    return [_tested(fit, here, noise.channels[c], causes, c, len(fits)) for c, fit in enumerate(fits)]


def _tested(fit: ChannelFit, here: Linearised, noise: ChannelNoise, causes, c: int, channels: int) -> ChannelFit:
    residuals, known, tried, plain = [], [], [], []
    for i, (r, slopes) in enumerate(zip(here.residuals, here.slopes, strict=True)):
        part = slice(0, len(causes[i]))
        weighted = (noise.whitened(i, values)[part] for values in (r[:, c], slopes[:, c], _longer(causes[i], len(r))))
        one, two, three = weighted
        valid = noise.weights[i][part] > 0
        residuals.append(one[valid])
        known.append(two[valid])
        tried.append(three[valid])
        plain.append(causes[i])
    r, inside = np.concatenate(residuals), _basis(np.concatenate(known))
    r = r - inside @ (inside.T @ r)
    tried = np.concatenate(tried)
    size = np.linalg.norm(tried, axis=0) + 1e-300
    outside = tried / size
    outside = outside - inside @ (inside.T @ outside)
    basis = _basis(outside)
    count, left = basis.shape[1], len(r) - inside.shape[1] - basis.shape[1]
    if count == 0 or left < 2 * count:
        return fit
    explained, total = float(np.sum((basis.T @ r) ** 2)), float(r @ r)
    ratio = (explained / count) / (max(total - explained, 1e-300) / left)
    ratio /= max(_by_chance(basis, r) * left / (count * max(total, 1e-300)), 1.0)
    depends = bool(f_distribution.sf(ratio, count, left) < LEVEL / channels)
    share = max(explained - total * count / (count + left), 0.0) / max(total, 1e-300)
    return replace(fit, depends=depends, explained=share, excess=float(np.sqrt(max(ratio - 1.0, 0.0))))


def _by_chance(basis: np.ndarray, r: np.ndarray) -> float:
    """What the causes explain of a residual that they cannot have caused: those of other times.

    Noise whose spectrum has an empty band is not quite whitened; more of it then falls on signals by chance.
    """
    shifts = np.linspace(0.1, 0.9, _SHIFTS) * len(r)
    return float(np.mean([np.sum((np.roll(basis, int(shift), axis=0).T @ r) ** 2) for shift in shifts]))


def _longer(columns: np.ndarray, samples: int) -> np.ndarray:
    """The columns with zeros behind them."""
    return np.pad(columns, ((0, samples - len(columns)), (0, 0)))


def _causes(here: Linearised, record: int) -> np.ndarray:
    """(nt, causes): what the residuals of a record may depend on, each of unit size."""
    step = here.problem.data[record].step
    inputs = np.asarray(here.problem.data[record].drive.samples)[:MOST_SAMPLES]
    signals = here.predictions[record][:MOST_SAMPLES]
    time = np.linspace(-1.0, 1.0, len(signals))
    columns = [np.ones(len(signals)), time]
    for u in inputs.T:
        columns += [np.concatenate([np.zeros(lag), u[: len(u) - lag]]) for lag in _LAGS]
    for y in signals.T:
        moved = np.cumsum(y - y.mean()) * step
        moved = moved - np.polynomial.Polynomial.fit(time, moved, 2)(time)
        for q in (y, np.gradient(y, step), moved):
            q = q / (np.sqrt(np.mean(q * q)) + 1e-300)
            columns += [q, q * np.abs(q), q**3]
    made = np.stack(columns, axis=1)
    return made / (np.sqrt(np.mean(made**2, axis=0)) + 1e-300)


def _basis(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns, without those that the others contain."""
    size = np.linalg.norm(columns, axis=0)
    vectors, values, _ = np.linalg.svd(columns[:, size > 0] / size[size > 0], full_matrices=False)
    return vectors[:, values > np.sqrt(_SAME) * values.max(initial=0.0)]
