"""The alarm: means over spans of windows against the baseline, with a stated probability of a false alarm.

For every span of m windows Hotelling's statistic of the mean of what the baseline does not explain is

    T² = d̄ᵀ S⁻¹ d̄ / (c/m + x̄ᵀ(XᵀX)⁻¹x̄),      T² (ν − d + 1)/(d ν)  ~  F(d, ν − d + 1)

for independent normal windows, whatever the environment, and counts the uncertainty of the training. Estimates from
records have heavier tails, and two things keep them from raising alarms. A single window must stray as far as the power
law says that the windows of the training follow (`tails`), too. In the means of longer spans a window counts at most as
one in twenty normal ones does: it is drawn towards the baseline, as far as that T² (P. Huber, 1964). So no window alone
moves a mean far, and a change that lasts does, however large it is.

Short spans find large changes at once, long ones small changes later. A span of m windows is tested every m/4
windows; the level of one test is the stated probability over the number of tests in the horizon, so that the
probability of any false alarm in it is not larger, however the tests depend on each other (Boole's inequality).

Damage may be so large that a mode is no longer recognised. A quantity that is missing in at least half of the windows
of a span of several, and more often than its training explains (beta-binomial, windows independent), is an alarm too;
it has a tenth of the stated probability.
"""

from __future__ import annotations

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
_DRAWN = 0.05  # share of normal windows that are drawn towards the baseline in means
_REACH = 1.5  # the T² of a mean of windows that all point to one side, over that of an alarm: at least
_SHORT = 1.5  # how much further a single window must stray than a normal one until it is told


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
        notes: sentences on what the training says of rare windows.
    """

    chances: np.ndarray
    level: float
    spans: tuple[int, ...]
    lost: np.ndarray
    notes: tuple[str, ...] = ()

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
            chances[ends, column] = _chances(baseline, away, x, more, ends, m, self.level)
        lost = self._lost(baseline, np.isfinite(series.values))
        return ChartReading(chances, self.level, self.spans, lost, tuple(self._of_rare_windows(baseline)))

    def _of_rare_windows(self, baseline: Baseline) -> list[str]:
        d = baseline.covariance.shape[0]
        tail, told = baseline.tail(np.ones(d, bool)), []
        further = np.sqrt(tail.bar(self.level) / statistic_at(self.level, d, baseline.freedom))
        if 1 in self.spans and further > _SHORT:
            told.append(
                f"One window alone raises an alarm if it strays {further:.2g} times as far as a normal one would have "
                f"to: what happens once in {1 / self.level:.2g} tests is extrapolated from the {baseline.windows} "
                "windows of the training. A longer one lowers this; changes that last are found by means."
            )
        if tail.odd:
            told.append(
                "One window of the training is far away from all the others. How often that happens cannot be learned "
                "from one: look what happened then; if it was nothing, false alarms may be more frequent than stated."
            )
        return told

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
    baseline: Baseline, away: np.ndarray, x: np.ndarray, more: np.ndarray, ends: np.ndarray, m: int, level: float
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
        there, own = (np.where(whole[:, None], part, 0.0) for part in (away, x))
        white = _whitened(baseline, there, pattern)
        single = np.sum(white**2, axis=1) / (more + _of_regression(baseline, own))
        if m > 1:
            most = _most(baseline, int(pattern.sum()), m, level)
            white = white * np.sqrt(most / np.maximum(single, most))[:, None]
        sums = [_spans(part, ends[used], m) / count[:, None]
                for part in (white, own, np.where(whole, more, 0.0)[:, None])]  # fmt: skip
        variance = sums[2][:, 0] * baseline.mean_variance(count) + _of_regression(baseline, sums[1])
        result[used] = chance_of_mean(np.sum(sums[0] ** 2, axis=1) / variance, int(pattern.sum()), baseline.freedom)
        if m == 1:
            result[used] = np.maximum(result[used], baseline.tail(pattern).chance(single[ends[used]]))
    return result


def chance_of_mean(statistic: np.ndarray, d: int, freedom: float) -> np.ndarray:
    """p-values of T² of d directions, for normal windows."""
    return scipy.special.fdtrc(d, freedom - d + 1, statistic * (freedom - d + 1) / (d * freedom))


def statistic_at(level: float, d: int, freedom: float) -> float:
    """The T² that has this p-value for normal windows."""
    return float(scipy.stats.f.isf(level, d, freedom - d + 1) * d * freedom / (freedom - d + 1))


def most_of_a_window(d: int, freedom: float) -> float:
    """The T² up to which a window counts in means of several."""
    return statistic_at(_DRAWN, d, freedom)


def _most(baseline: Baseline, d: int, m: int, level: float) -> float:
    """The same for a span, so large that m windows which all point to one side raise an alarm after any training."""
    variance = float(baseline.mean_variance(np.array(m))) + float(baseline.gram[0, 0])
    return max(most_of_a_window(d, baseline.freedom), _REACH * variance * statistic_at(level, d, baseline.freedom))


def _whitened(baseline: Baseline, away: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """(w, d') the directions `pattern` in units of their scatter, independent of each other."""
    lower = np.linalg.cholesky(baseline.covariance[np.ix_(pattern, pattern)])
    return scipy.linalg.solve_triangular(lower, away[:, pattern].T, lower=True).T


def _of_regression(baseline: Baseline, x: np.ndarray) -> np.ndarray:
    """(t,) variance that the regression adds at x (t, p), over that of one window."""
    return np.einsum("tp,pr,tr->t", x, baseline.gram, x)


def _spans(columns: np.ndarray, ends: np.ndarray, m: int) -> np.ndarray:
    """(ends, columns) sums over the m rows up to each end."""
    total = np.concatenate([np.zeros((1, columns.shape[1])), np.cumsum(columns, axis=0)])
    return total[ends + 1] - total[ends + 1 - m]
