"""How far a sound structure strays in rare windows, from the windows of the training and not from a normal law.

A level of 10⁻⁵ lies far beyond what some hundreds of windows show, and estimates from records have heavier tails than
a normal distribution: modes that are close mix now and then. Each window of the training is therefore judged by all the
others (T², with its deleted residual and the covariance without it). The k+1 largest of n are taken for a power law,
P(T² > t) ~ t^(−1/γ), whose γ is estimated by the mean of ln(T²/edge) of the k beyond the (k+1)-th, the edge (B. Hill,
1975). For a new window

    P(T² > t) = (k + 1)/(n + 1) (1 + ln(t/edge)/(k γ))^(−k),      t > edge,

which holds exactly under that law, with the uncertainty of γ counted: (k + 1)/(n + 1) passes the edge, and the excess
of a new window over the mean of k others has the distribution F(2, 2k). Tails of normal and of Student's distributions
fall faster the further out, so that for them it is on the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

_MANY = 1.5  # windows in the tail for each √n
_ODD = 1e-3  # chance below which the furthest window of the training does not belong to the others


@dataclass(frozen=True)
class Tail:
    """The power law of T² of single windows.

    Fields
        share: of the windows that lie beyond `edge`, a T²; count: windows of the training that do.
        index: γ, the mean of ln(T²/edge) of these; furthest: the largest of those.
    """

    share: float
    edge: float
    count: int
    index: float
    furthest: float

    def chance(self, statistic: np.ndarray) -> np.ndarray:
        """The probability of a T² as large; 1 up to the edge."""
        excess = np.log(np.maximum(statistic, self.edge) / self.edge)
        law = self.share * (1 + excess / (self.count * self.index)) ** -self.count
        return np.where(statistic > self.edge, law, 1.0)

    def bar(self, level: float) -> float:
        """The T² whose chance is `level`, which is below the share."""
        excess = self.count * self.index * ((self.share / level) ** (1 / self.count) - 1)
        return float(self.edge * np.exp(min(excess, 600.0)))

    @property
    def odd(self) -> bool:
        """Whether the furthest window lies beyond what the power law of the others explains (R. Fisher, 1929)."""
        part, k = self.furthest / (self.count * self.index), self.count
        j = np.arange(1, int(1 / part) + 1)
        return bool(np.sum((-1.0) ** (j - 1) * scipy.special.comb(k, j) * (1 - j * part) ** (k - 1)) < _ODD)


def tail_of(statistics: np.ndarray) -> Tail:
    """The tail of T² of windows, each judged by the others."""
    n = len(statistics)
    k = tail_count(n)
    largest = np.sort(statistics)[::-1][: k + 1]
    excess = np.log(largest[:k] / largest[k])
    return Tail((k + 1) / (n + 1), float(largest[k]), k, float(excess.mean()), float(excess[0]))


def tail_count(n: int) -> int:
    """How many of n windows are taken for the tail."""
    return int(np.ceil(_MANY * np.sqrt(n)))


def normal_tail(n: int, d: int, freedom: float) -> Tail:
    """The tail that n normal windows of d directions show on average: T² (ν − d + 1)/(d ν) ~ F(d, ν − d + 1)."""
    chances = (np.arange(tail_count(n)) + 0.5) / n
    edge = (len(chances) + 0.5) / n
    largest = scipy.stats.f.isf([*chances, edge], d, freedom - d + 1) * d * freedom / (freedom - d + 1)
    excess = np.log(largest[:-1] / largest[-1])
    return Tail((len(chances) + 1) / (n + 1), float(largest[-1]), len(chances), float(excess.mean()), float(excess[0]))


def deleted_statistics(away: np.ndarray, leverage: np.ndarray, coefficients: int) -> np.ndarray:
    """(n,) T² of every window of a regression by all the others (S. Weisberg, Applied linear regression).

    Arguments
        away: (n, d) what the regression leaves; leverage: (n,) xᵀ(XᵀX)⁻¹x; coefficients: p of the regression.
    """
    basis, _ = np.linalg.qr(away)
    part = np.minimum(np.sum(basis**2, axis=1) / (1 - leverage), 1 - 1e-12)
    return (len(away) - coefficients - 1) * part / (1 - part)
