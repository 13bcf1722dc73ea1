"""The rules of codes for suites of ground motions, each with its number and whether it holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError, unknown_name
from vibrid.records.motions.scale import ScaledMotion, motion_spectrum
from vibrid.records.motions.select import Suite
from vibrid.records.motions.targets import Target

_COUNT = 100  # periods at which a suite is checked


@dataclass(frozen=True)
class RuleCheck:
    """One rule: its place in the code, what it demands, the number of the suite, and whether the rule holds."""

    clause: str
    demand: str
    value: float
    required: float

    @property
    def met(self) -> bool:
        return bool(self.value >= self.required * (1 - 1e-9))

    def __str__(self) -> str:
        held = "holds" if self.met else "does not hold"
        return f"{self.clause}: {self.demand}: {self.value:.4g}, at least {self.required:.4g}: {held}"


@checked
def check_rules(suite: Suite, code: str, period: float) -> list[RuleCheck]:
    """Check a suite against the rules of a code, `ec8` or `asce7`, for a structure of fundamental period T₁ (s).

    Eurocode 8: EN 1998-1:2004, 3.2.3.1.2(4) and 4.3.3.4.3(3). ASCE 7: ASCE/SEI 7-22, 16.2.2 and 16.2.3, pairs by
    RotD100.
    """
    if code not in _CODES:
        raise unknown_name("code", code, _CODES)
    if not period > 0:
        raise InputError(f"The fundamental period must be positive, not {period:g} s.")
    return _CODES[code](suite, period)


def range_of(code: str, period: float) -> tuple[float, float]:
    """s: the periods over which both codes compare a suite with the target, 0.2 T₁ to 2 T₁."""
    if code not in _CODES:
        raise unknown_name("code", code, _CODES)
    return 0.2 * period, 2.0 * period


def raised(suite: Suite, code: str, period: float) -> tuple[Suite, float]:
    """The suite with all factors multiplied by one number, at least 1, so that the rules on its spectrum hold."""
    short = [c.required / c.value for c in check_rules(suite, code, period) if c.clause in _RAISED]
    factor = max([1.0, *short])
    if factor == 1.0:
        return suite, factor
    motions = tuple(_times(motion, factor, code) for motion in suite.motions)
    wanted = np.log(suite.target.at(suite.periods))
    mean = np.log([m.acceleration for m in motions]).mean(axis=0)
    return dataclasses.replace(suite, motions=motions, mean_error=float(np.abs(mean - wanted).max())), factor


def _times(motion: ScaledMotion, factor: float, code: str) -> ScaledMotion:
    note = f"scaled by {factor:.4g} more, so that the rules of {code} hold"
    records = tuple(r.replace(note, data=r.data * factor) for r in motion.records)
    return dataclasses.replace(
        motion, records=records, factor=motion.factor * factor, acceleration=motion.acceleration * factor
    )


def _lowest_ratio(suite: Suite, period: float, code: str, measure: str) -> float:
    """The smallest mean spectrum / target over the periods of the code."""
    low, high = range_of(code, period)
    periods = np.geomspace(low, high, _COUNT)
    mean = np.mean([motion_spectrum(m.records, periods, measure=measure) for m in suite.motions], axis=0)
    return float((mean / suite.target.at(periods)).min())


def zero_period(target: Target) -> float:
    """m/s²: the target at the period zero, by a line through its first two values."""
    (t0, t1), (a0, a1) = target.periods[:2], target.acceleration[:2]
    if t0 > 0.05:
        raise InputError(f"The target begins at {t0:g} s: its value at the period zero is not known.")
    return float(a0 - t0 * (a1 - a0) / (t1 - t0))


_MEAN = "mean spectrum / target, smallest from 0.2 T₁ to 2 T₁"
_EC8_ZERO, _EC8_MEAN = "EN 1998-1 3.2.3.1.2(4)b", "EN 1998-1 3.2.3.1.2(4)c"
_ASCE_MEAN = "ASCE 7-22 16.2.3.2"
_RAISED = (_EC8_ZERO, _EC8_MEAN, _ASCE_MEAN)


def _eurocode8(suite: Suite, period: float) -> list[RuleCheck]:
    count = len(suite.motions)
    largest = [np.exp(np.mean([np.log(np.abs(r.data).max()) for r in m.records])) for m in suite.motions]
    return [
        RuleCheck("EN 1998-1 3.2.3.1.2(4)a", "number of motions", count, 3),
        RuleCheck("EN 1998-1 4.3.3.4.3(3)", "number of motions, to use mean responses", count, 7),
        RuleCheck(
            _EC8_ZERO, "mean at the period zero [m/s²], a_g S", float(np.mean(largest)), zero_period(suite.target)
        ),
        RuleCheck(_EC8_MEAN, _MEAN, _lowest_ratio(suite, period, "ec8", suite.measure), 0.9),
    ]


def _asce7(suite: Suite, period: float) -> list[RuleCheck]:
    pairs = sum(len(m.records) == 2 for m in suite.motions)
    measure = "rotd100" if pairs == len(suite.motions) else suite.measure
    return [
        RuleCheck("ASCE 7-22 16.2.2", "number of pairs of horizontal components", pairs, 11),
        RuleCheck(_ASCE_MEAN, f"{_MEAN}, {measure}", _lowest_ratio(suite, period, "asce7", measure), 0.9),
    ]


_CODES: dict[str, Callable[[Suite, float], list[RuleCheck]]] = {"ec8": _eurocode8, "asce7": _asce7}
