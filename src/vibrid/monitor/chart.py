"""The alarm: means over spans of windows against the baseline, with a stated probability of a false alarm.

For every span of m windows Hotelling's statistic of the mean of what the baseline does not explain is

    T² = d̄ᵀ S⁻¹ d̄ / (c/m + x̄ᵀ(XᵀX)⁻¹x̄),      T² (ν − d + 1)/(d ν)  ~  F(d, ν − d + 1)

which holds exactly for independent normal windows, whatever the environment, and counts the uncertainty of the
training. Short spans find large changes at once, long ones small changes later. A span of m windows is tested every m/4
windows; the level of one test is the stated probability over the number of tests in the horizon, so that the
probability of any false alarm in it is not larger, however the tests depend on each other (Boole's inequality).

Damage may be so large that a mode is no longer recognised. A quantity that is missing in at least half of the windows
of a span of several, and more often than its training explains (beta-binomial, windows independent), is an alarm too;
it has a tenth of the stated probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
import scipy.stats

from vibrid.core.errors import InputError
from vibrid.monitor.baseline import Baseline
from vibrid.monitor.series import Series

YEAR = 8766
"""Hours."""
_FOR_LOST = 0.1  # share of the stated probability


@dataclass(frozen=True, eq=False)
class ChartReading:
    """What the chart says of a series.

    Fields
        chances: (w, spans) probability of a statistic as large as that of the span that ends with each window, where
            nothing has changed; NaN where none was tested.
        level: below which a chance is an alarm.
        spans: windows in each.
        lost: (w, q) whether each quantity is missing, in the windows up to this one, more often than the training
            explains.
    """

    chances: np.ndarray
    level: float
    spans: tuple[int, ...]
    lost: np.ndarray

    @property
    def alarms(self) -> np.ndarray:
        """Indices of windows with an alarm."""
        with np.errstate(invalid="ignore"):
            return np.flatnonzero((self.chances < self.level).any(axis=1) | self.lost.any(axis=1))

    def moved(self, until: int) -> bool:
        """Whether the values of quantities raised an alarm up to a window."""
        with np.errstate(invalid="ignore"):
            return bool((self.chances[: until + 1] < self.level).any())

    @property
    def first(self) -> int | None:
        """The first of them."""
        return int(self.alarms[0]) if len(self.alarms) else None


@dataclass(frozen=True)
class Chart:
    """When an alarm is raised.

    Arguments
        false_alarms: probability of at least one false alarm within the horizon.
        horizon: windows; 8766 is a year of hours.
        spans: windows over which means are taken.
    """

    false_alarms: float = 0.1
    horizon: int = YEAR
    spans: tuple[int, ...] = (1, 8, 64)

    def __post_init__(self) -> None:
        if not 0 < self.false_alarms < 1:
            raise InputError(f"The probability of a false alarm is between 0 and 1, not {self.false_alarms}.")
        if self.horizon < 1 or not self.spans or any(m < 1 for m in self.spans):
            raise InputError("A chart needs a horizon and spans of at least one window.")

    def tests(self) -> float:
        """How many tests there are within the horizon."""
        return sum(np.ceil(self.horizon / stride(m)) for m in self.spans)

    @property
    def level(self) -> float:
        """The chance below which one test of values is an alarm."""
        return (1 - _FOR_LOST) * self.false_alarms / self.tests()

    def judge(self, baseline: Baseline, series: Series) -> ChartReading:
        """Test windows that follow the training."""
        away, x = baseline.residuals(series)
        more = baseline.inflation(series)
        chances = np.full((len(series), len(self.spans)), np.nan)
        for column, m in enumerate(self.spans):
            ends = np.arange(m - 1, len(series), stride(m))
            chances[ends, column] = _chances(baseline, away, x, more, ends, m)
        return ChartReading(chances, self.level, self.spans, self._lost(baseline, np.isfinite(series.values)))

    def _lost(self, baseline: Baseline, there: np.ndarray) -> np.ndarray:
        """(w, q) where a quantity is missing in a span, of the windows that gave some quantity."""
        lost, any_there = np.zeros(there.shape, bool), np.asarray(there.any(axis=1))
        several = [m for m in self.spans if m > 1]
        tests = there.shape[1] * sum(np.ceil(self.horizon / stride(m)) for m in several)
        looked, missed = baseline.looked, baseline.missed
        for m in several:
            ends = np.arange(m - 1, len(there), stride(m))
            count = _spans(any_there[:, None].astype(float), ends, m)
            gone = _spans((any_there[:, None] & ~there).astype(float), ends, m)
            chance = np.asarray(scipy.stats.betabinom.sf(gone - 1, count, missed + 1.0, looked - missed + 1.0))
            lost[ends] |= (chance < _FOR_LOST * self.false_alarms / tests) & (gone >= 0.5 * count) & (gone > 0)
        return lost


def stride(span: int) -> int:
    """Windows between tests of a span."""
    return max(1, span // 4)


def _chances(
    baseline: Baseline, away: np.ndarray, x: np.ndarray, more: np.ndarray, ends: np.ndarray, m: int
) -> np.ndarray:
    """(tests,) p-values of spans of m windows with these ends, of the quantities that half of the windows have."""
    known = np.isfinite(away) & np.isfinite(x).all(axis=1, keepdims=True)
    often = _spans(known.astype(float), ends, m) >= 0.5 * m
    result = np.full(len(ends), np.nan)
    for pattern in map(np.asarray, np.unique(often, axis=0)):
        if not pattern.any():
            continue
        tests = np.flatnonzero((often == pattern).all(axis=1))
        whole = np.asarray(known[:, pattern].all(axis=1))
        count = _spans(whole[:, None].astype(float), ends[tests], m)[:, 0]
        enough = np.asarray(count >= max(1.0, 0.25 * m))
        used, count = tests[enough], count[enough]
        sums = [
            _spans(np.where(whole[:, None], part, 0.0), ends[used], m) / count[:, None]
            for part in (away[:, pattern], x, more[:, None])
        ]
        result[used] = chance_of_mean(
            baseline, sums[0], sums[1], sums[2][:, 0] * baseline.mean_variance(count), pattern
        )
    return result


def chance_of_mean(
    baseline: Baseline, mean: np.ndarray, x: np.ndarray, variance: np.ndarray, pattern: np.ndarray | Sequence[bool]
) -> np.ndarray:
    """(t,) p-values of means (t, d') of the directions `pattern`, `variance` times that of one window, at x (t, p)."""
    pattern = np.asarray(pattern)
    lower = np.linalg.cholesky(baseline.covariance[np.ix_(pattern, pattern)])
    white = scipy.linalg.solve_triangular(lower, mean.T, lower=True)
    factor = variance + np.einsum("tp,pr,tr->t", x, baseline.gram, x)
    d, freedom = int(pattern.sum()), baseline.freedom
    statistic = np.sum(white**2, axis=0) / factor * (freedom - d + 1) / (d * freedom)
    return scipy.special.fdtrc(d, freedom - d + 1, statistic)


def _spans(columns: np.ndarray, ends: np.ndarray, m: int) -> np.ndarray:
    """(ends, columns) sums over the m rows up to each end."""
    total = np.concatenate([np.zeros((1, columns.shape[1])), np.cumsum(columns, axis=0)])
    return total[ends + 1] - total[ends + 1 - m]
