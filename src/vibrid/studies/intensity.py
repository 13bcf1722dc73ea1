"""Intensity measures of motions: what a level of shaking is a level of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError, unknown_name
from vibrid.records.intensity import intensity
from vibrid.records.motions.scale import motion_spectrum
from vibrid.records.record import Record
from vibrid.structures.base import Structure
from vibrid.structures.modes import modes

MEASURES = {"pga": "m/s^2", "sa": "m/s^2", "avgsa": "m/s^2", "arias": "m/s"}
"""The measures and their units."""


@checked
@dataclass(frozen=True)
class IntensityMeasure:
    """What the level of a motion measures.

    Arguments
        kind: "pga"; "sa", the spectral acceleration at one period; "avgsa", the geometric mean of ten spectral
            accelerations at periods from 0.2 to 3 times the given one; "arias".
        period: s, of "sa" and "avgsa"; by default the first period of the structure.
        damping: ratio to critical, of the spectrum.

    Of a pair of components it is the geometric mean of both; its Arias intensity is the sum.
    """

    kind: str = "sa"
    period: float | None = None
    damping: float = 0.05

    def __post_init__(self) -> None:
        if self.kind not in MEASURES:
            raise unknown_name("intensity measure", self.kind, MEASURES)
        if self.period is not None and not (np.isfinite(self.period) and self.period > 0):
            raise InputError(f"The period of an intensity measure must be positive, not {self.period}.")
        if self.period is not None and self.kind in ("pga", "arias"):
            raise InputError(f"The intensity measure '{self.kind}' has no period.")

    @property
    def unit(self) -> str:
        return MEASURES[self.kind]

    def at_period_of(self, structure: Structure) -> IntensityMeasure:
        """The same measure with its period: the given one, else the first of the structure."""
        if self.kind in ("pga", "arias") or self.period is not None:
            return self
        moving = [p for p in modes(structure).periods if np.isfinite(p)]
        if not moving:
            raise InputError("The structure has no period; state that of the intensity measure.")
        return IntensityMeasure(self.kind, float(max(moving)), self.damping)

    def of(self, components: tuple[Record, ...]) -> float:
        """The measure of a motion, in its unit; that of a pair where there are two components."""
        if self.kind == "arias":
            return float(sum(intensity(part).arias for part in components))
        if self.kind == "pga":
            return float(np.exp(np.mean([np.log(max(intensity(part).pga, 1e-300)) for part in components])))
        if self.period is None:
            raise InputError("The period of the intensity measure is not known: at_period_of(structure).")
        shares = np.array([1.0]) if self.kind == "sa" else np.linspace(0.2, 3.0, 10)
        spectrum = motion_spectrum(components, shares * self.period, self.damping)
        return float(np.exp(np.mean(np.log(spectrum))))

    def factor(self, level: np.ndarray, now: float) -> np.ndarray:
        """By what a motion of intensity `now` is multiplied to reach a level."""
        ratio = np.asarray(level, float) / now
        return np.sqrt(ratio) if self.kind == "arias" else ratio

    def __str__(self) -> str:
        at = "" if self.period is None else f" at {self.period:.4g} s"
        return {"pga": "PGA", "sa": "Sa", "avgsa": "AvgSa", "arias": "Arias intensity"}[self.kind] + at
