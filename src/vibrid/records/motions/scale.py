"""Scaling of ground motions to a target spectrum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vibrid.core.arguments import Numbers, checked
from vibrid.core.errors import InputError, unknown_name
from vibrid.records.motions.rotated import rotated_spectrum
from vibrid.records.motions.targets import Target
from vibrid.records.record import Record
from vibrid.records.spectra import response_spectrum

MEASURES: dict[str, float | None] = {"geometric": None, "rotd50": 50.0, "rotd100": 100.0}
"""Spectra of a pair of components: the geometric mean, or the percentile over all directions."""


@dataclass(frozen=True, eq=False)
class ScaledMotion:
    """A scaled motion.

    records: one, or the two components of a pair, scaled by the same factor; factor; misfit: weighted root mean square
    of ln(Sa/target) after scaling; limited: whether the limit on the factor was reached; periods in s and acceleration
    in m/s²: the scaled spectrum (of a pair: by the measure that was asked for).
    """

    records: tuple[Record, ...]
    factor: float
    misfit: float
    limited: bool
    periods: np.ndarray
    acceleration: np.ndarray

    @property
    def name(self) -> str:
        return " + ".join(r.name for r in self.records)


def matching_periods(target: Target, period_range: tuple[float, float] | None, count: int = 60) -> np.ndarray:
    """Periods equally spaced in logarithm over the range, the target's own range when none is given."""
    low, high = period_range if period_range is not None else (target.periods[0], target.periods[-1])
    if not 0 < low < high:
        raise InputError(f"The period range must rise from a positive value, not from {low!r} to {high!r}.")
    target.at([low, high])
    return np.geomspace(low, high, count)


def motion_spectrum(
    motion: Record | Sequence[Record], periods: np.ndarray, damping: float = 0.05, measure: str = "geometric"
) -> np.ndarray:
    """Pseudo-acceleration in m/s² of a motion; of a pair, by `measure`: the geometric mean, RotD50 or RotD100."""
    components = (motion,) if isinstance(motion, Record) else tuple(motion)
    if len(components) not in (1, 2):
        raise InputError(f"A motion is one record or a pair of them, not {len(components)}.")
    if measure not in MEASURES:
        raise unknown_name("measure of a pair", measure, MEASURES)
    percentile = MEASURES[measure]
    if percentile is not None and len(components) == 2:
        values = rotated_spectrum(components[0], components[1], periods, percentile, damping)
        if not np.all(values > 0):
            raise InputError(f"Records '{components[0].name}' and '{components[1].name}' are zero.")
        return values
    logs = []
    for component in components:
        values = response_spectrum(component, periods, damping).pseudo_acceleration
        if not np.all(values > 0):
            raise InputError(f"Record '{component.name}' is zero; it cannot be scaled.")
        logs.append(np.log(values))
    return np.exp(np.mean(logs, axis=0))


def best_factor(spectrum, target, weights=None, space: str = "log"):
    """The factor that brings a spectrum nearest to the target, by weighted least squares.

    space 'log' minimises Σ w (ln f·Sa − ln target)², so ln f = Σ w ln(target/Sa) / Σ w;
    space 'linear' minimises Σ w (f·Sa − target)², so f = Σ w Sa·target / Σ w Sa².
    """
    weights = np.ones(np.shape(target)[-1]) if weights is None else np.asarray(weights, dtype=float)
    if weights.shape != np.shape(target)[-1:] or np.any(weights < 0) or not np.any(weights > 0):
        raise InputError("There must be one weight for each period, none negative and one at least positive.")
    if space == "log":
        return np.exp(np.sum(weights * np.log(target / spectrum), axis=-1) / weights.sum())
    if space == "linear":
        return np.sum(weights * spectrum * target, axis=-1) / np.sum(weights * spectrum**2, axis=-1)
    raise InputError(f"`space` is 'log' or 'linear', not {space!r}.")


@checked
def scale_to_target(
    motion: Record | Sequence[Record],
    target: Target,
    period_range: tuple[float, float] | None = None,
    weights: Numbers | Callable | None = None,
    limit: tuple[float, float] = (0.25, 4.0),
    space: str = "log",
    measure: str = "geometric",
) -> ScaledMotion:
    """One motion or a pair, scaled to the target over a range of periods.

    Arguments
        motion: a record, or two that keep their ratio.
        target: what to match; period_range: s, the target's range when not given.
        weights: one for each of the 60 matching periods (see `matching_periods`), or a function of the period.
        limit: smallest and largest factor; a factor outside is cut to it and `limited` is True.
        space: 'log' or 'linear' least squares (see `best_factor`).
        measure: spectrum of a pair: 'geometric' (mean of the two), 'rotd50' or 'rotd100'.
    """
    low, high = limit
    if not 0 < low <= high:
        raise InputError(f"The limits on the factor must be positive and in order, not {limit!r}.")
    periods = matching_periods(target, period_range)
    weights = weights(periods) if callable(weights) else weights
    spectrum, wanted = motion_spectrum(motion, periods, measure=measure), target.at(periods)
    free = float(best_factor(spectrum, wanted, weights, space))
    factor = float(np.clip(free, low, high))
    components = (motion,) if isinstance(motion, Record) else tuple(motion)
    w = np.ones(periods.size) if weights is None else np.asarray(weights, dtype=float)
    misfit = float(np.sqrt(np.sum(w * np.log(factor * spectrum / wanted) ** 2) / w.sum()))
    note = f"scaled by {factor:.4g} to {target.name} over {periods[0]:g} to {periods[-1]:g} s"
    scaled = tuple(r.replace(note, data=r.data * factor) for r in components)
    return ScaledMotion(scaled, factor, misfit, factor != free, periods, factor * spectrum)
