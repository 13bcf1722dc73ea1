"""Whether the model fits and the estimate is a minimum: whiteness of residuals, scores, and messages for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.findings import WRONG, Finding

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem


ESTIMATE = "method"
"""Name of a finding about the estimate of a method, not about the model."""

LOWER_LIMIT = "Because the model does not fit, treat ± 2σ as a lower limit of the uncertainty."


@dataclass(frozen=True)
class ChannelFit:
    """How well one sensor is reproduced."""

    name: str
    residual: float  # rms of measured − predicted, in the sensor's unit
    relative: float  # the same over the rms of the measured signal about its mean
    autocorrelation: float  # rms of the residual's autocorrelation at lags 1 … 20; 1/√n for white noise
    white: bool
    held_out: float = float("nan")  # relative error on samples that were kept for scoring
    constant: float = 0.0  # mean of the residual over its rms, from −1 to 1; near 0 for white noise
    known: float = 0.0  # error of the data that is known beforehand, relative to the signal
    depends: bool | None = None  # whether the residual depends on excitation or response; None: not tested
    explained: float = 0.0  # share of the residual's power that these explain, beyond chance
    excess: float = 0.0  # bias, in standard deviations, that such a residual may cause in an unknown


def relative_error(measured: np.ndarray, predicted: np.ndarray, present: np.ndarray | None = None) -> float:
    """rms(measured − predicted) / rms(measured − its mean) over the samples present; NaN when there are none."""
    keep = np.isfinite(measured) if present is None else np.asarray(present, bool) & np.isfinite(measured)
    if not keep.any():
        return float("nan")
    y = measured[keep]
    size = np.sqrt(np.mean((y - y.mean()) ** 2))
    return float(np.sqrt(np.mean((y - predicted[keep]) ** 2)) / (size if size > 0 else np.nan))


def correlation(measured: np.ndarray, predicted: np.ndarray) -> float:
    """Pearson's correlation coefficient."""
    keep = np.isfinite(measured) & np.isfinite(predicted)
    return float(np.corrcoef(measured[keep], predicted[keep])[0, 1]) if keep.sum() > 1 else float("nan")


def autocorrelation(residual: np.ndarray, present: np.ndarray, lags: int = 20, first: int = 1) -> float:
    """rms of the normalised autocorrelation at `lags` lags from `first` on, missing samples left out.

    The mean is not subtracted: a constant residual is not noise.
    """
    keep = np.asarray(present, bool)
    r = np.where(keep, residual, 0.0)
    power = np.mean(r[keep] ** 2)
    if power == 0.0:
        return 0.0
    lags = min(lags, len(r) // 4)
    values = []
    for lag in range(first, first + lags):
        pairs = max((keep[lag:] & keep[:-lag]).sum(), 1)
        values.append(np.sum(r[lag:] * r[:-lag]) / pairs / power)
    return float(np.sqrt(np.mean(np.square(values))))


def channel_fits(
    problem: Problem,
    predictions: list[np.ndarray],
    innovations: list[np.ndarray] | None = None,
    first_lag: int = 1,
    known: float = 0.0,
) -> list[ChannelFit]:
    """A `ChannelFit` of every sensor, all records together.

    Whiteness is tested on measured − predicted, or on `innovations` where a method has them, from `first_lag` on.
    `known` is an error of the data that is known beforehand, relative to the signals.
    """
    fits = []
    for c, sensor in enumerate(problem.sensors):
        squares = used = signal = added = 0.0
        rho, scored = [], []
        for i, (data, kept, predicted) in enumerate(zip(problem.data, problem.held_out, predictions, strict=True)):
            y, m, k = (np.asarray(a)[:, c] for a in (data.readings, data.present, kept))
            keep = m.astype(bool)
            if not keep.any():  # this sensor was not used in this record
                continue
            r = y - predicted[:, c]
            squares += np.sum(r[keep] ** 2)
            added += np.sum(r[keep])
            used += keep.sum()
            signal += np.sum((y[keep] - y[keep].mean()) ** 2)
            rho.append(
                (autocorrelation(r if innovations is None else innovations[i][:, c], keep, first=first_lag), keep.sum())
            )
            if k.any():
                scored.append(relative_error(y, predicted[:, c], k))
        total = sum(n for _, n in rho)
        level = float(sum(r * n for r, n in rho) / total)
        fits.append(
            ChannelFit(
                sensor.label,
                float(np.sqrt(squares / used)),
                float(np.sqrt(squares / max(signal, 1e-300))),
                level,
                bool(level < 3.0 / np.sqrt(total / len(rho))),
                float(np.mean(scored)) if scored else float("nan"),
                float(added / np.sqrt(max(used * squares, 1e-300))),
                known,
            )
        )
    return fits


def verdict(fits: list[ChannelFit], negligible: float = 2e-3, findings: Sequence[Finding] = ()) -> tuple[bool, str]:
    """Whether the model fits, and the message that states it.

    A model fits when its residuals depend neither on the excitation nor on the response (where that was not tested:
    when they are white), or are negligible compared with the signal. Otherwise the data come from another model,
    however small the standard deviations are. A finding that says what is
    wrong (`checks`) replaces the advice; its own sentence is not repeated here.
    """
    cause = any(finding.verdict == WRONG for finding in findings)
    bad = [f for f in fits if _is_structured(f, negligible) and not _is_known(f)]
    worst = max(fits, key=lambda f: f.relative)
    if not bad:
        seen = f"residuals look like noise (worst channel {worst.name}, {100 * worst.relative:.2g} %)"
        return (not cause, f"Apart from that, {seen}." if cause else f"The model fits: {seen}.")
    named = ", ".join(f"{f.name} ({100 * f.relative:.3g} %, autocorrelation {f.autocorrelation:.2f})" for f in bad[:4])
    more = f" and {len(bad) - 4} more" if len(bad) > 4 else ""
    constant = ", ".join(f.name for f in bad if abs(f.constant) > 0.5)
    offset = f" In {constant} most of the residual is a constant: name its offset as unknown." if constant else ""
    wrong = {finding.name for finding in findings if finding.verdict == WRONG}
    if wrong == {ESTIMATE}:
        return False, f"With this estimate residuals are not noise in {named}{more}."
    said = f"The model does not fit: residuals are not noise in {named}{more}.{offset}"
    if cause:
        return False, f"{said} Correct what is named first, then fit again: the estimates do not hold."
    return False, (
        f"{said} The standard deviations assume that the model is right, so they are too small; try another law or "
        "more unknowns."
    )


def _is_structured(fit: ChannelFit, negligible: float) -> bool:
    """Whether a residual is no noise, and large enough to matter."""
    if fit.depends is None:
        return not fit.white and fit.relative > negligible
    return fit.depends and fit.relative * np.sqrt(fit.explained) > negligible


def _is_known(fit: ChannelFit) -> bool:
    """Whether the part of the residual that is not noise is no larger than an error that is known beforehand."""
    return fit.relative * np.sqrt(fit.autocorrelation) <= 2.0 * fit.known


def convergence_message(convergence: dict[str, Any]) -> str:
    """A message about the convergence of a descent; empty where there was none."""
    if "projected_gradient" not in convergence:
        return ""
    gradient, tolerance = convergence["projected_gradient"], convergence["gradient_tolerance"]
    numbers = f"projected gradient {gradient:.1g} of the residuals, tolerance {tolerance:.1g}"
    held = convergence["at_bound"]
    at_bound = f"; at a bound: {', '.join(held)}" if held else ""
    if not convergence["converged"]:
        return f"Not converged ({numbers}{at_bound}): the estimate is where the descent ended, not a minimum."
    if gradient > tolerance:
        return f"Converged (residuals are zero except for rounding{at_bound})."
    return f"Converged ({numbers}{at_bound})."
