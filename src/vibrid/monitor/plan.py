"""What monitoring would find, before any sensor is installed.

The variance of a frequency from ambient vibration of length T is, for a mode that stands clearly above the noise,

    var(ln f) = ζ / (2π f T B),      B = (2/π)(atan κ − κ/(κ² + 1)),  κ = (half of the band)/(ζ f)

(uncertainty laws of operational modal analysis; S.-K. Au, J. Brownjohn & J. Mottershead, 2018). What the environment
leaves after the regression is added to it. The power of the chart is
that of its best span, whose last test may fall up to a stride before the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from vibrid.core.errors import InputError
from vibrid.monitor.chart import Chart, most_of_a_window, statistic_at, stride
from vibrid.monitor.tails import normal_tail

_BAND = 6.0  # κ: half of the band of a mode, in units of ζ f


def frequency_variance(frequencies: np.ndarray, ratios: np.ndarray, duration: float) -> np.ndarray:
    """(k,) var(ln f) of modes with these frequencies (Hz) and damping ratios from `duration` seconds."""
    if not duration > 0 or np.any(np.asarray(ratios) <= 0):
        raise InputError("The uncertainty of a frequency needs a duration and a damping ratio above zero.")
    share = 2 / np.pi * (np.arctan(_BAND) - _BAND / (_BAND**2 + 1))
    return np.asarray(ratios) / (2 * np.pi * np.asarray(frequencies) * duration * share)


@dataclass(frozen=True, eq=False)
class MonitoringPlan:
    """The smallest loss of each parameter that is found; printing it gives a table.

    Fields
        names: of the parameters; losses: (p,) share of each that is found with `probability`; 1 where even its complete
            loss would not be, by the sensitivities at the sound structure.
        together: for each parameter, others whose change looks the same (|cosine| above 0.95).
        windows: changed windows until it is found; false_alarms, horizon: of the chart.
    """

    names: tuple[str, ...]
    losses: np.ndarray
    together: tuple[tuple[str, ...], ...]
    probability: float
    windows: int
    false_alarms: float
    horizon: int

    def __str__(self) -> str:
        head = (
            f"Smallest loss that is found with {100 * self.probability:.0f} % probability within {self.windows} "
            f"windows;\nprobability of a false alarm {100 * self.false_alarms:g} % in {self.horizon} windows."
        )
        width = max(len(name) for name in self.names)
        lines = [head, f"{'parameter':<{width}}   smallest loss   cannot be told apart from"]
        for name, loss, others in zip(self.names, self.losses, self.together, strict=True):
            told = "not found" if loss >= 1 else f"{100 * loss:.2f} %"
            lines.append(f"{name:<{width}} {told:>15}   {', '.join(others)}".rstrip())
        return "\n".join(lines)


def detectable(
    sensitivity: np.ndarray,
    covariance: np.ndarray,
    names: Sequence[str],
    chart: Chart,
    *,
    training: int,
    windows: int = 72,
    probability: float = 0.9,
    regressors: int = 2,
) -> MonitoringPlan:
    """The smallest loss of each parameter that the chart finds.

    Arguments
        sensitivity: (d, p) ∂ ln y/∂ ln θ; covariance: (d, d) of ln y of one window, after the regression.
        training: windows of the training; regressors: coefficients of its regression for each quantity.
        windows: changed windows by which it must be found; probability: with which.
    """
    g = np.asarray(sensitivity, float)
    d, freedom = g.shape[0], float(training - regressors)
    if freedom - d < 10:
        raise InputError(
            f"{training} windows of training are too few for {d} quantities: {d + regressors + 10} are needed."
        )
    if not 0 < probability < 1 or windows < 1:
        raise InputError("A plan needs a probability between 0 and 1 and at least one window.")
    if not any(_weight(m, windows, training) for m in chart.spans):
        raise InputError(
            f"No span of the chart is tested within {windows} windows; its shortest has {min(chart.spans)}."
        )
    needed = min(_needed(chart, m, windows, training, d, freedom, probability) for m in chart.spans)
    white = np.linalg.solve(np.linalg.cholesky(np.asarray(covariance, float)), g)
    strength = np.sum(white**2, axis=0)
    with np.errstate(divide="ignore"):
        losses = -np.expm1(-np.sqrt(needed / strength))
    alike = white.T @ white
    size = np.sqrt(np.diag(alike))
    cosine = np.abs(alike / np.where(size > 0, size, np.inf) / np.where(size > 0, size, np.inf)[:, None])
    together = tuple(
        tuple(names[j] for j in range(len(names)) if j != i and cosine[i, j] > 0.95) for i in range(len(names))
    )
    return MonitoringPlan(tuple(names), losses, together, probability, windows, chart.false_alarms, chart.horizon)


def _needed(chart: Chart, span: int, windows: int, training: int, d: int, freedom: float, probability: float) -> float:
    """δᵀS⁻¹δ of one window that a span finds; infinite where it finds none, or only larger ones than it counts."""
    weight = _weight(span, windows, training)
    if weight == 0:
        return np.inf
    bar = statistic_at(chart.level, d, freedom)
    if span == 1:
        bar = max(bar, normal_tail(training, d, freedom).bar(chart.level))
    scale = (freedom - d + 1) / (d * freedom)
    needed = _noncentrality(bar * scale, d, freedom - d + 1, probability) / weight
    return needed if span == 1 or needed <= most_of_a_window(d, freedom) - d else np.inf


def _weight(span: int, windows: int, training: int) -> float:
    """Noncentrality per unit of δᵀS⁻¹δ of the last test of a span within `windows` changed ones, in the worst case."""
    changed = min(span, windows - stride(span) + 1)
    return (changed / span) ** 2 / (1 / span + 1 / training) if changed > 0 else 0.0


def _noncentrality(bar: float, d: int, freedom: float, probability: float) -> float:
    """The noncentrality at which F exceeds `bar` with the given probability; infinite above three millions."""

    def short(logarithm: float) -> float:
        return float(scipy.special.ncfdtr(d, freedom, np.exp(logarithm), bar)) - (1 - probability)

    return float(np.exp(scipy.optimize.brentq(short, -5.0, 15.0))) if short(15.0) < 0 else np.inf
