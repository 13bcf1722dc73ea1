"""What a structure did while nothing was wrong: its quantities as a function of the environment, and their scatter.

    ln y = B x + ε,   ε ~ N(0, S)          x = 1 and the environment, each power of it up to `degree`

Where no environment was measured, the directions of ln y that change slowly over the training (their neighbouring
windows are correlated) are taken for its work and left out (principal components; A.-M. Yan et al., 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import InputError
from vibrid.monitor.series import Series
from vibrid.monitor.tails import Tail, deleted_statistics, tail_of

_FEWEST = 10  # degrees of freedom beyond those of the quantities
_SIGNIFICANT = 3.0  # standard deviations of a correlation that is none


@dataclass(frozen=True, eq=False)
class Baseline:
    """The undamaged state, from a training period; `learn` makes it.

    Fields
        names: of the quantities; environment_names: of what they were regressed on.
        directions: (q, d) the combinations of ln y that are watched: all of them, or those that do not follow the
            environment.
        slow: (q, r) the combinations that were left out.
        coefficients: (p, d); centre, scale: (e,) of the environment; degree: of its polynomial.
        covariance: (d, d) of what the regression leaves; freedom: its degrees of freedom.
        gram: (p, p) inverse of XᵀX, for the uncertainty of the regression itself.
        correlation: between neighbouring windows, of what the regression leaves; 0 where it is not significant.
        estimated: (q,) mean variance of the estimates in the training, for windows with larger ones.
        windows: how many were used; notes: sentences on what was found.
        away: (windows, d) what the regression leaves of them; leverage: (windows,) of each in it.
        inflated: (windows,) their own `inflation`.
        looked: windows of the training that gave some quantity; missed: (q,) in how many of them each was missing.
    """

    names: tuple[str, ...]
    environment_names: tuple[str, ...]
    directions: np.ndarray
    slow: np.ndarray
    coefficients: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    degree: int
    covariance: np.ndarray
    freedom: float
    gram: np.ndarray
    correlation: float
    estimated: np.ndarray
    windows: int
    looked: int
    missed: np.ndarray
    away: np.ndarray
    leverage: np.ndarray
    inflated: np.ndarray
    notes: tuple[str, ...] = ()

    def regressors(self, environment: np.ndarray) -> np.ndarray:
        """(w, p) 1 and the powers of the environment in units of its scatter in the training."""
        return _regressors((environment - self.centre) / self.scale, self.degree)

    def residuals(self, series: Series) -> tuple[np.ndarray, np.ndarray]:
        """(w, d) what the regression does not explain, NaN where a quantity is missing, and (w, p) its regressors."""
        if series.names != self.names or series.environment_names != self.environment_names:
            raise InputError("The baseline was learned from other quantities or another environment than this series.")
        x = self.regressors(series.environment)
        y, gone = series.logarithms, np.isnan(series.values)
        watched = np.where(gone, 0.0, y) @ self.directions
        watched[gone.astype(float) @ (self.directions != 0) > 0] = np.nan
        return watched - x @ self.coefficients, x

    def inflation(self, series: Series) -> np.ndarray:
        """(w,) variance of each window over that of the training, 1 at least: fewer sensors, a quiet hour.

        Stated variances above the scatter (modes that are close, the error of a model) count by their whole growth:
        what they hold beside scatter is the same in all windows until a sensor fails, and is another then.
        """
        return _inflation(series.shares, self.estimated, self.directions @ self.covariance @ self.directions.T)

    def tail(self, pattern: np.ndarray) -> Tail:
        """How far single windows of the training stray in the directions `pattern`, each judged by the others."""
        statistics = deleted_statistics(self.away[:, pattern], self.leverage, len(self.coefficients))
        factor = self.inflated * (1 - self.leverage) + self.leverage
        return tail_of(statistics / factor)

    def mean_variance(self, count: np.ndarray) -> np.ndarray:
        """Variance of the mean of `count` neighbouring windows over that of one, correlated as in the training."""
        rho = self.correlation
        n = np.maximum(np.asarray(count, float), 1.0)
        if rho == 0.0:
            return 1.0 / n
        return ((1 + rho) / (1 - rho) - 2 * rho * (1 - rho**n) / (n * (1 - rho) ** 2)) / n


def learn(series: Series, degree: int = 1) -> Baseline:
    """The baseline of a training period; windows in which a quantity or the environment is missing are left out.

    Arguments
        series: the windows of the training, in which the structure was sound.
        degree: of the polynomial in each channel of the environment.
    """
    if degree < 1:
        raise InputError("The degree of a regression is 1 or more.")
    y, z = series.logarithms, series.environment
    whole = np.isfinite(y).all(axis=1) & np.isfinite(z).all(axis=1)
    y, z = y[whole], z[whole]
    n, q, e = len(y), len(series.names), z.shape[1]
    p = 1 + degree * e
    if q < 1 or n - p - q < _FEWEST:
        raise InputError(
            f"{n} complete windows are too few to learn {q} quantities and {p} coefficients of each: "
            f"{p + q + _FEWEST} are needed."
        )
    centre = z.mean(axis=0)
    scale = z.std(axis=0)
    for name, spread in zip(series.environment_names, scale, strict=True):
        if spread == 0:
            raise InputError(f"'{name}' did not change during the training: nothing can be learned from it.")
    x = _regressors((z - centre) / scale, degree)
    directions, slow = (np.eye(q), np.zeros((q, 0))) if e else _without_slow(y)
    watched = y @ directions
    gram = np.linalg.inv(x.T @ x)
    coefficients, leverage = gram @ x.T @ watched, np.einsum("np,pr,nr->n", x, gram, x)
    away = watched - x @ coefficients
    rho, notes = _neighbours(away), []
    freedom = float(n - p)
    if rho > 0:
        freedom *= (1 - rho) / (1 + rho)
        gram = gram * (1 + rho) / (1 - rho)
        notes.append(
            f"Neighbouring windows of the training are correlated ({rho:.2f}) after the regression: the means of "
            "several windows are taken as less certain, and small changes are found later."
        )
        if freedom - directions.shape[1] < _FEWEST:
            raise InputError(
                "The windows of the training are so correlated after the regression that they say too little: "
                "train for longer, or measure what moves them."
            )
    if slow.shape[1]:
        notes.append(
            f"No environment was measured: {slow.shape[1]} of {q} combinations of the quantities change slowly and "
            "were left out; damage that looks like them is not seen."
        )
    share, there = series.shares[whole], np.isfinite(series.values)
    looked = there.any(axis=1)
    covariance = away.T @ away / (n - p)
    estimated = np.nanmean(share**2, axis=0) if np.isfinite(share).any() else np.zeros(q)
    estimated = np.nan_to_num(estimated, nan=np.inf)
    return Baseline(
        names=series.names,
        environment_names=series.environment_names,
        directions=directions,
        slow=slow,
        coefficients=coefficients,
        centre=centre,
        scale=scale,
        degree=degree,
        covariance=covariance,
        freedom=freedom,
        gram=gram,
        correlation=rho,
        estimated=estimated,
        windows=n,
        looked=int(looked.sum()),
        missed=np.sum(~there[looked], axis=0),
        away=away,
        leverage=leverage,
        inflated=_inflation(share, estimated, directions @ covariance @ directions.T),
        notes=(*notes, *_tails(away, series.names if e or not slow.shape[1] else ())),
    )


def _regressors(z: np.ndarray, degree: int) -> np.ndarray:
    return np.concatenate([np.ones((len(z), 1)), *(z**k for k in range(1, degree + 1))], axis=1)


def _inflation(shares: np.ndarray, estimated: np.ndarray, scatter: np.ndarray) -> np.ndarray:
    """(w,) 1 + the largest growth of a stated variance over the scatter of the training."""
    total = np.diag(scatter)
    more = np.nan_to_num(shares**2 - estimated, nan=0.0) / np.where(total > 0, total, np.inf)
    return 1.0 + np.maximum(more, 0.0).max(axis=1, initial=0.0)


def _without_slow(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Principal directions of y in which neighbouring windows are independent, and those in which they are not."""
    _, _, axes = np.linalg.svd(y - y.mean(axis=0), full_matrices=False)
    along = (y - y.mean(axis=0)) @ axes.T
    limit = _SIGNIFICANT / np.sqrt(len(y))
    moving = np.array([_correlation(column) > limit for column in along.T])
    if moving.all():
        raise InputError(
            "Everything that was estimated follows the environment, and no environment was measured: name channels of "
            "temperature and the like (--environment)."
        )
    return axes[~moving].T, axes[moving].T


def _correlation(column: np.ndarray) -> float:
    """Of neighbouring windows."""
    centred = column - column.mean()
    total = centred @ centred
    return float(centred[1:] @ centred[:-1] / total) if total > 0 else 0.0


def _neighbours(away: np.ndarray) -> float:
    """The largest correlation of neighbouring windows over directions, where it is significant; else 0."""
    lower = np.linalg.cholesky(np.cov(away.T).reshape(away.shape[1], -1))
    white = np.linalg.solve(lower, (away - away.mean(axis=0)).T)
    lagged = white[:, 1:] @ white[:, :-1].T / white.shape[1]
    largest = float(np.linalg.eigvalsh(0.5 * (lagged + lagged.T)).max())
    n, d = away.shape
    edge = (np.sqrt(2 * d) + 1) / np.sqrt(n)  # of independent windows (E. Wigner's semicircle, and one deviation)
    return min(largest, 0.95) if largest > edge else 0.0


def _tails(away: np.ndarray, names: tuple[str, ...]) -> list[str]:
    """A sentence where what is left has much heavier tails than a normal distribution."""
    standard = (away - away.mean(axis=0)) / away.std(axis=0)
    heavy = np.mean(standard**4, axis=0) - 3 > 6 * np.sqrt(24 / len(away))
    named = [names[i] for i in np.flatnonzero(heavy)] if names else []
    if not heavy.any():
        return []
    return [
        f"The scatter of {', '.join(named) or 'some quantities'} has heavier tails than a normal distribution: the "
        "chart counts them, and single windows raise an alarm later."
    ]
