"""Fragility curves: the probability of an event, such as collapse, over the intensity of a motion.

A curve is lognormal, P(event | x) = Φ(ln(x / θ) / β), fitted by maximum likelihood: to counts at levels as in J. W.
Baker, "Efficient analytical fragility function fitting using dynamic structural analysis", Earthquake Spectra 31 (2015)
579–599; or, where every motion was scaled to its own collapse, to the levels between which it lies. In the variables
a = −ln θ / β and b = 1 / β both likelihoods are log-concave, so that Newton's method finds the one maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jax.scipy.stats import norm

from vibrid.core.arguments import Numbers, checked
from vibrid.core.attached import attached
from vibrid.core.errors import InputError, unknown_name
from vibrid.studies.kept import COLLAPSED, DIVERGED, STANDS

if TYPE_CHECKING:
    import xarray

_ROUNDS = 100
_SMALL = 0.01
"""The share of an annual rate that may come from beyond the table of a hazard curve."""


@dataclass(frozen=True, eq=False)
class Fragility:
    """A lognormal fragility curve.

    median: θ, the intensity at which the event is as likely as not, in `unit`; dispersion: β, the standard deviation of
    ln x; covariance: (2, 2) of (−ln θ / β, 1 / β), from the curvature of the likelihood; levels, events, counts: what
    it was fitted to, of `counts` runs at a level `events` showed it (for levels of their own: 0 or 1 of 1); left_out:
    runs that are no result.
    """

    median: float
    dispersion: float
    covariance: np.ndarray
    levels: np.ndarray
    events: np.ndarray
    counts: np.ndarray
    event: str = "collapse"
    measure: str = "intensity"
    unit: str = ""
    left_out: int = 0

    def probability(self, level: Numbers) -> np.ndarray:
        """The probability of the event at levels of intensity."""
        return scipy.special.ndtr(np.log(np.asarray(level, float) / self.median) / self.dispersion)

    def band(self, level: Numbers, confidence: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper probability at levels: what the number of runs leaves open, with this confidence."""
        if not 0 < confidence < 1:
            raise InputError(f"A confidence is between 0 and 1, not {confidence}.")
        rows = np.stack([np.ones_like(np.asarray(level, float)), np.log(np.asarray(level, float))], axis=-1)
        middle = np.log(np.asarray(level, float) / self.median) / self.dispersion
        reach = scipy.special.ndtri(0.5 + confidence / 2) * np.sqrt(
            np.einsum("...i,ij,...j", rows, self.covariance, rows)
        )
        return scipy.special.ndtr(middle - reach), scipy.special.ndtr(middle + reach)

    @property
    def deviations(self) -> tuple[float, float]:
        """Standard deviations of ln θ and of β, to first order."""
        b = 1.0 / self.dispersion
        a = -np.log(self.median) * b
        slopes = np.array([[-1.0 / b, a / b**2], [0.0, -1.0 / b**2]])
        of_both = slopes @ self.covariance @ slopes.T
        return float(np.sqrt(of_both[0, 0])), float(np.sqrt(of_both[1, 1]))

    def __str__(self) -> str:
        log_median, dispersion = self.deviations
        unit = f" {self.unit}" if self.unit else ""
        lines = [
            f"Fragility for {self.event} over {self.measure}",
            f"  median θ {self.median:.4g}{unit} (± {100 * 2 * log_median:.0f} %), "
            f"dispersion β {self.dispersion:.3g} ± {2 * dispersion:.2g} (2σ, from the number of runs)",
        ]
        if self.left_out:
            lines.append(f"  {self.left_out} runs are no result (no equilibrium, memory full, set aside) and left out")
        return "\n".join(lines)

    __repr__ = __str__

    @attached
    def plot(self, ax: Any = None) -> Any:
        """Draw the curve with its band and the shares that it was fitted to; returns the axes."""


@checked
def fit_fragility(levels: Numbers, events: Numbers, counts: Numbers) -> Fragility:
    """The fragility curve of maximum likelihood for `events` among `counts` runs at levels of intensity (Baker 2015).

    Example
        >>> curve = fit_fragility([0.2, 0.4, 0.6, 0.8], [0, 3, 14, 18], [20, 20, 20, 20])
        >>> round(curve.median, 2)
        0.53
    """
    x, k, n = (np.atleast_1d(np.asarray(v, float)) for v in (levels, events, counts))
    n = np.broadcast_to(n, x.shape)
    if x.ndim != 1 or k.shape != x.shape or not np.all(x > 0):
        raise InputError("A fragility curve needs a list of positive levels and one number of events for each.")
    if np.any(k < 0) or np.any(k > n):
        raise InputError("The number of events at a level is between zero and the number of its runs.")
    used = n > 0
    _refuse_one_sided(x[used], k[used], n[used])
    share = float(np.clip(k[used].sum() / n[used].sum(), 0.05, 0.95))
    slope = 1.0 / 0.4  # a usual dispersion
    first = np.array([float(scipy.special.ndtri(share)) - slope * float(np.mean(np.log(x[used]))), slope])
    a, b, covariance = _maximum(_binomial, first, np.log(x), k, n)
    return Fragility(float(np.exp(-a / b)), 1.0 / b, covariance, x, k, np.array(n))


def fit_capacities(low: Numbers, high: Numbers) -> Fragility:
    """The fragility curve of maximum likelihood for motions that stand at `low` and collapse at `high`, one of each.

    `high` is infinite for a motion that stood at every level it was scaled to; `low` is zero for one that never did.
    """
    below, above = (np.atleast_1d(np.asarray(v, float)) for v in (low, high))
    if below.shape != above.shape or below.ndim != 1 or not np.all((below >= 0) & (above > below)):
        raise InputError("Every capacity lies between a level at which the motion stands and a higher one.")
    known = np.isfinite(above) & (below > 0)
    middle = np.log(np.sqrt(below[known] * above[known]))
    if known.sum() < 2 or np.ptp(middle) == 0:
        raise InputError("Fewer than two motions collapsed at different levels: a curve needs more, or higher levels.")
    with np.errstate(divide="ignore"):
        log_low, log_high = np.log(below), np.log(above)
    stood, fell = np.isfinite(log_low), np.isfinite(log_high)
    start = 1.0 / max(float(np.std(middle)), 0.05)
    levels = np.concatenate([below[stood], above[fell]])
    events = np.concatenate([np.zeros(stood.sum()), np.ones(fell.sum())])
    first = np.array([-float(np.mean(middle)) * start, start])
    ends = np.where(stood, log_low, 0.0), np.where(fell, log_high, 0.0)
    a, b, covariance = _maximum(_intervals, first, *ends, stood, fell)
    return Fragility(float(np.exp(-a / b)), 1.0 / b, covariance, levels, events, np.ones_like(levels))


def _refuse_one_sided(x: np.ndarray, k: np.ndarray, n: np.ndarray) -> None:
    """Refuse counts whose likelihood has no maximum."""
    if not k.any():
        raise InputError("The event occurred at no level: a curve needs higher levels.")
    if np.all(k == n):
        raise InputError("The event occurred in every run: a curve needs lower levels.")
    highest_without, lowest_with = x[k < n].max(), x[k > 0].min()
    if highest_without < lowest_with:
        raise InputError(
            f"The event never occurs up to {highest_without:.4g} and always from {lowest_with:.4g} on: a curve needs "
            "levels in between."
        )


def _binomial(ab, log_x, k, n):
    """ln likelihood of k events among n runs at levels."""
    eta = ab[0] + ab[1] * log_x
    return jnp.sum(jnp.where(k > 0, k * norm.logcdf(eta), 0.0) + jnp.where(n > k, (n - k) * norm.logcdf(-eta), 0.0))


def _intervals(ab, log_low, log_high, stood, fell):
    """ln likelihood of capacities between levels; those that never `stood` or `fell` are open to one side."""
    upper = jnp.where(fell, norm.logcdf(ab[0] + ab[1] * log_high), 0.0)
    lower = norm.logcdf(ab[0] + ab[1] * log_low)
    return jnp.sum(upper + jnp.log1p(-jnp.where(stood, jnp.exp(lower - upper), 0.0)))


@partial(jax.jit, static_argnums=0)
def _expansion(likelihood: Callable, at, *data):
    """Value, slope and curvature."""
    return likelihood(at, *data), jax.grad(likelihood)(at, *data), jax.hessian(likelihood)(at, *data)


def _maximum(likelihood: Callable, first: np.ndarray, *data: np.ndarray) -> tuple[float, float, np.ndarray]:
    """a, b and their covariance at the maximum of a log-concave likelihood, by Newton's method with shorter steps at
    need."""
    at = np.asarray(first)
    for _ in range(_ROUNDS):
        now, slope, curvature = (np.asarray(v) for v in _expansion(likelihood, at, *data))
        step, share = np.linalg.solve(curvature - 1e-12 * np.eye(2), -slope), 1.0
        while share > 1e-9 and not _expansion(likelihood, at + share * step, *data)[0] >= now:
            share /= 2
        at = at + share * step
        if np.all(np.abs(share * step) <= 1e-10 * np.maximum(np.abs(at), 1.0)):
            break
    if not (np.isfinite(at).all() and at[1] > 0):
        raise InputError("The event becomes rarer as the level grows, so that no fragility curve describes it.")
    curvature = np.asarray(_expansion(likelihood, at, *data)[2])
    return float(at[0]), float(at[1]), np.linalg.inv(-curvature)


# -- from a dataset ----------------------------------------------------------------------------------------------------


def fragility(data: xarray.Dataset, variable: str | None = None, above: float | None = None) -> Fragility:
    """The fragility curve of a study with levels, or of one that hunted for collapse.

    Arguments
        data: of `Study.run`.
        variable, above: the event is that `variable` (such as "peak_storey_drift") passes `above` (SI units) anywhere,
            or that the run collapses; collapse alone by default. It needs levels.

    Motions and samples are counted together; of any other dimension (a law, the values of a list) one is to be chosen
    first, `data.sel(law="bilinear")`. Runs without equilibrium, or set aside, are no result and left out; `left_out`
    counts them.
    """
    refuse_mixture(data)
    if (variable is None) != (above is None):
        raise InputError("An event is a variable and the value that it passes; give both, or neither for collapse.")
    event = "collapse" if variable is None else f"{variable.replace('_', ' ')} above {above:g}"
    if "trial" in data.dims:
        if variable is not None:
            raise InputError("A hunt for collapse has too few levels for other events; run a study with levels.")
        found = fit_capacities(*capacities(data))
    else:
        found = fit_fragility(*stripe_counts(data, variable, above))
    level = data["level"]
    lost = int((~np.isin(data.outcome.values, (0, STANDS, COLLAPSED, DIVERGED))).sum())
    named = {"measure": str(level.attrs.get("long_name", "intensity")), "unit": str(level.attrs.get("units", ""))}
    return replace(found, event=event, left_out=lost, **named)


def refuse_mixture(data: xarray.Dataset) -> None:
    """Refuse a study with dimensions whose ticks are no draws of one population."""
    for dim in data.outcome.dims:
        if dim not in ("motion", "level", "trial", "sample", "scale") and data.sizes[dim] > 1:
            first, second = (str(label) for label in data[dim].values[:2])
            raise InputError(
                f"One curve would mix what the study varies along '{dim}' ({first}, {second}, …): choose one of them, "
                f"data.sel({{'{dim}': …}}), on the command line --at '{dim}={first}'."
            )


def stripe_counts(
    data: xarray.Dataset, variable: str | None = None, above: float | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Levels, events and runs that count of a study with levels."""
    if "level" not in data.dims:
        raise InputError("A fragility curve needs a study with levels of intensity: vb.study(…, levels=[…]).")
    outcome = data.outcome.transpose("level", ...).values.reshape(data.sizes["level"], -1)
    known = np.isin(outcome, (STANDS, COLLAPSED, DIVERGED))
    events = np.isin(outcome, (COLLAPSED, DIVERGED))
    if variable is not None and above is not None:
        if variable not in data.data_vars:
            raise unknown_name("variable of the study", variable, map(str, data.data_vars))
        inside = [dim for dim in data[variable].dims if dim not in data.outcome.dims]
        largest = data[variable].max(inside).transpose(*("level", ...)).values.reshape(outcome.shape)
        events = events | (largest > above)
    return data["level"].values, (events & known).sum(axis=1), known.sum(axis=1)


def capacities(data: xarray.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """(motions,) the highest level at which each motion of a hunt stands, and the lowest at which it collapses."""
    low, high = [], []
    for level, outcome in zip(data["level"].values, data.outcome.values, strict=True):
        falls = level[np.isin(outcome, (COLLAPSED, DIVERGED))]
        high.append(falls.min() if falls.size else np.inf)
        stands = level[(outcome == STANDS) & (level < high[-1])]
        low.append(stands.max() if stands.size else 0.0)
    return np.array(low), np.array(high)


# -- hazard ------------------------------------------------------------------------------------------------------------


@checked
def annual_rate(curve: Fragility, levels: Numbers, rates: Numbers) -> float:
    """How often a year the event occurs, given a hazard curve: ∫ P(event | x) |dλ(x)|.

    Arguments
        levels, rates: intensities, and how often a year each is exceeded; straight between them in logarithms, and
            beyond them as in their outermost part. Where more than 1 % would come from there, the table is refused.
    """
    x, rate = (np.asarray(v, float) for v in (levels, rates))
    if x.ndim != 1 or rate.shape != x.shape or x.size < 2 or not (np.all(x > 0) and np.all(rate > 0)):
        raise InputError("A hazard curve has at least two positive levels, and a positive rate for each.")
    if not (np.all(np.diff(x) > 0) and np.all(np.diff(rate) < 0)):
        raise InputError("The levels of a hazard curve rise and its rates fall.")
    log_x, log_rate = np.log(x), np.log(rate)
    u = np.log(curve.median) + curve.dispersion * np.linspace(-9.0, 9.0, 20_001)
    line = np.interp(u, log_x, log_rate)
    ends = np.diff(log_rate)[[0, -1]] / np.diff(log_x)[[0, -1]]
    line = np.where(u < log_x[0], log_rate[0] + ends[0] * (u - log_x[0]), line)
    line = np.where(u > log_x[-1], log_rate[-1] + ends[1] * (u - log_x[-1]), line)
    density = np.exp(line - 0.5 * ((u - np.log(curve.median)) / curve.dispersion) ** 2)
    density /= np.sqrt(2 * np.pi) * curve.dispersion
    total = float(scipy.integrate.trapezoid(density, u))
    beyond = float(scipy.integrate.trapezoid(np.where((u < log_x[0]) | (u > log_x[-1]), density, 0.0), u))
    if beyond > _SMALL * total:
        raise InputError(
            f"{100 * beyond / total:.0f} % of the annual rate come from beyond the hazard curve, which covers "
            f"{x[0]:.4g} to {x[-1]:.4g}: give it over a wider range."
        )
    return total


def demand_hazard(
    data: xarray.Dataset, variable: str, thresholds: Numbers, levels: Numbers, rates: Numbers
) -> np.ndarray:
    """How often a year a variable of a study with levels passes each threshold, given a hazard curve.

    The variable may be a drift or an acceleration; a run that collapsed passes every threshold.
    """
    return np.array(
        [annual_rate(fragility(data, variable, float(t)), levels, rates) for t in np.atleast_1d(np.asarray(thresholds))]
    )
