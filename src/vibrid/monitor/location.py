"""Where a structure changed: which parameters explain the change, how much, and what cannot be told apart.

The change δ of ln y since an instant has the covariance C. Where only the parameters of a set changed, δ = G a with the
columns of G = ∂ ln y/∂ ln θ of that set, and a is found by weighted least squares. Sets grow one parameter at a time
while the misfit falls by more than chance explains (Bayesian information criterion over the parameters); another set of
the same size whose misfit is not larger by more than chance cannot be told apart from the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from vibrid.core.errors import InputError
from vibrid.monitor.baseline import Baseline
from vibrid.monitor.series import Series

_TOGETHER = 5.99
"""Difference of χ² up to which two explanations cannot be told apart: 20 to 1."""
_MOST_SETS = 20_000
_RECENT = 64  # windows, of which half must have a quantity


@dataclass(frozen=True, eq=False)
class Change:
    """The change of the watched directions since a window.

    Fields
        since: index of the first changed window, by maximum likelihood.
        known: (d,) which of the watched directions the windows have.
        size: of those, in ln; covariance: of it, the uncertainty of the baseline included.
        windows: how many there are since.
    """

    since: int
    known: np.ndarray
    size: np.ndarray
    covariance: np.ndarray
    windows: int


@dataclass(frozen=True, eq=False)
class Location:
    """Parameters that explain a change; printing it gives sentences.

    Fields
        names: of all parameters.
        chosen: indices of those that changed.
        changes, deviations: of each of those, as a share: −0.03 is a loss of 3 %.
        instead: other sets of indices that explain the change as well.
        all_changes, all_deviations: of every parameter, with all of them free; NaN where they cannot be separated.
        misfit: χ² that is left; freedom: of it.
    """

    names: tuple[str, ...]
    chosen: tuple[int, ...]
    changes: np.ndarray
    deviations: np.ndarray
    instead: tuple[tuple[int, ...], ...]
    all_changes: np.ndarray
    all_deviations: np.ndarray
    misfit: float
    freedom: int

    def __str__(self) -> str:
        if not self.chosen:
            return "No parameter explains the change: it is not in those that were named as unknown."
        parts = [
            f"{self.names[i]} {'lost' if a < 0 else 'gained'} {100 * abs(a):.2g} % ± {200 * s:.2g} %"
            for i, a, s in zip(self.chosen, self.changes, self.deviations, strict=True)
        ]
        lines = [" and ".join(parts) + " (± 2σ)."]
        for other in self.instead:
            words = " and ".join(self.names[i] for i in other)
            lines.append(f"Cannot be told apart from a change of {words}.")
        if self.freedom > 0 and scipy.special.chdtrc(self.freedom, self.misfit) < 0.001:
            lines.append(
                "The change is not explained completely: other parts changed as well, or the model is not right."
            )
        return "\n".join(lines)


def change_since(baseline: Baseline, series: Series, until: int | None = None) -> Change:
    """The change that the windows after the training show best: its beginning by maximum likelihood.

    Arguments
        series: the windows that follow the training.
        until: the last window that is used; all of them by default.
    """
    last = len(series) if until is None else until + 1
    away, x = baseline.residuals(series.part(slice(0, last)))
    there = np.isfinite(x).all(axis=1)
    known = np.isfinite(away[there][-_RECENT:]).mean(axis=0) >= 0.5 if there.any() else np.zeros(away.shape[1], bool)
    rows = np.flatnonzero(there & np.isfinite(away[:, known]).all(axis=1))
    if not (known.any() and len(rows)):
        raise InputError("No window has the quantities that are watched: the change cannot be located.")
    more = baseline.inflation(series.part(rows))
    count = np.arange(len(rows), 0, -1)
    mean, xs, inflated = (_from_here(part) / count[:, None] for part in (away[rows][:, known], x[rows], more[:, None]))
    variance = inflated[:, 0] * baseline.mean_variance(count) + np.einsum("tp,pr,tr->t", xs, baseline.gram, xs)
    covariance = baseline.covariance[np.ix_(known, known)]
    white = np.linalg.solve(np.linalg.cholesky(covariance), mean.T)
    best = int(np.argmax(np.sum(white**2, axis=0) / variance))
    return Change(int(rows[best]), known, mean[best], covariance * variance[best], int(count[best]))


def _from_here(columns: np.ndarray) -> np.ndarray:
    """Sums from each row to the last."""
    return np.cumsum(columns[::-1], axis=0)[::-1]


def locate(
    change: Change, sensitivity: np.ndarray, names: Sequence[str], most: int = 3, least: float = 0.0
) -> Location:
    """The parameters that explain a change.

    Arguments
        sensitivity: (d, p) ∂ (watched directions of ln y)/∂ ln θ.
        names: of the p parameters.
        most: parameters that may have changed together.
        least: share below which a change is not told.
    """
    g, names = np.asarray(sensitivity, float), tuple(names)
    if g.shape != (len(change.known), len(names)):
        raise InputError(f"The sensitivity has the shape {g.shape}, not {(len(change.known), len(names))}.")
    g = g[change.known]
    lower = np.linalg.cholesky(change.covariance)
    target = scipy.linalg.solve_triangular(lower, change.size, lower=True)
    white = scipy.linalg.solve_triangular(lower, g, lower=True)
    d, p = g.shape
    chosen: tuple[int, ...] = ()
    misfit, price, fits = float(target @ target), np.log(max(p, 2)) * 2 + 3.84, {}
    for size in range(1, min(most, p, d) + 1):
        if scipy.special.comb(p, size) > _MOST_SETS:
            break
        fits = {s: _misfit(white[:, s], target) for s in combinations(range(p), size)}
        best = min(fits, key=lambda s: fits[s])
        if misfit - fits[best] < price:
            break
        chosen, misfit = best, fits[best]
    if not chosen:
        return Location(names, (), np.zeros(0), np.zeros(0), (), *_all_free(white, target), misfit, d)
    sizes, deviations = _solved(white[:, chosen], target)
    large = np.abs(np.expm1(sizes)) >= least
    same = {s: _misfit(white[:, s], target) for s in combinations(range(p), len(chosen))}
    instead = tuple(s for s in sorted(same, key=lambda s: same[s]) if s != chosen and same[s] - misfit < _TOGETHER)
    return Location(
        names,
        tuple(i for i, told in zip(chosen, large, strict=True) if told),
        np.expm1(sizes)[large],
        (np.exp(sizes) * deviations)[large],
        instead[:5],
        *_all_free(white, target),
        misfit,
        d - len(chosen),
    )


def _misfit(columns: np.ndarray, target: np.ndarray) -> float:
    """χ² that a set of parameters leaves."""
    basis, _ = np.linalg.qr(columns)
    return float(target @ target - np.sum((basis.T @ target) ** 2))


def _solved(columns: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found, *_ = np.linalg.lstsq(columns, target, rcond=None)
    return found, np.sqrt(np.diag(np.linalg.pinv(columns.T @ columns)))


def _all_free(white: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Changes of all parameters, with all free, and their deviations; NaN where the data cannot separate them."""
    p = white.shape[1]
    if np.linalg.matrix_rank(white, tol=1e-8 * np.linalg.norm(white)) < p:
        return np.full(p, np.nan), np.full(p, np.nan)
    found, deviations = _solved(white, target)
    return np.expm1(found), np.exp(found) * deviations
