"""Target spectra for suites of ground motions.

A table of the user's own, a code's shape (ASCE 7, Eurocode 8), a uniform hazard spectrum from hazard curves, and the
conditional mean spectrum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.arguments import Numbers, checked
from vibrid.core.errors import InputError, unknown_name
from vibrid.records.units import STANDARD_GRAVITY, unit_for


@dataclass(frozen=True, eq=False)
class Target:
    """A target spectrum.

    periods: s, increasing; acceleration: median pseudo-acceleration in m/s² at 5 % damping; deviation: standard
    deviation of its natural logarithm, None where the target has no scatter; name: for figures.
    """

    periods: np.ndarray
    acceleration: np.ndarray
    deviation: np.ndarray | None = None
    name: str = "target"

    def __post_init__(self) -> None:
        periods = np.asarray(self.periods, dtype=float)
        values = np.asarray(self.acceleration, dtype=float)
        if periods.ndim != 1 or periods.size < 2 or values.shape != periods.shape:
            raise InputError("A target needs at least two periods and one acceleration for each.")
        if not (np.all(periods > 0) and np.all(np.diff(periods) > 0) and np.all(np.isfinite(periods))):
            raise InputError("The periods of a target must be positive and increase.")
        if not (np.all(np.isfinite(values)) and np.all(values > 0)):
            raise InputError("The accelerations of a target must be positive.")
        object.__setattr__(self, "periods", periods)
        object.__setattr__(self, "acceleration", values)
        if self.deviation is not None:
            deviation = np.broadcast_to(np.asarray(self.deviation, dtype=float), periods.shape).copy()
            if not np.all(deviation >= 0):
                raise InputError("The deviations of a target must not be negative.")
            object.__setattr__(self, "deviation", deviation)

    def at(self, periods: Numbers) -> np.ndarray:
        """Acceleration in m/s² at other periods, interpolated in logarithms; InputError outside the table."""
        return np.exp(np.interp(self._inside(periods), np.log(self.periods), np.log(self.acceleration)))

    def deviation_at(self, periods: Numbers) -> np.ndarray:
        """Deviation of ln Sa at other periods; zero where the target has none."""
        if self.deviation is None:
            return np.zeros(np.asarray(periods, dtype=float).shape)
        return np.interp(self._inside(periods), np.log(self.periods), self.deviation)

    def _inside(self, periods: Numbers) -> np.ndarray:
        periods = np.asarray(periods, dtype=float)
        if np.any((periods < self.periods[0] * (1 - 1e-9)) | (periods > self.periods[-1] * (1 + 1e-9))):
            raise InputError(f"The target covers only {self.periods[0]:g} to {self.periods[-1]:g} s.")
        return np.log(periods)


_PERIODS = np.geomspace(0.01, 10.0, 200)


@checked
def table_target(
    periods: Numbers, acceleration: Numbers, unit: str = "g", deviation: Numbers | None = None, name: str = "target"
) -> Target:
    """A target from a table: periods in s, accelerations in `unit`, deviations of ln Sa where there are any."""
    values = np.asarray(acceleration, dtype=float) * unit_for(unit, "m/s^2").factor
    scatter = None if deviation is None else np.asarray(deviation, dtype=float)
    return Target(np.asarray(periods, dtype=float), values, scatter, name)


@checked
def asce7_target(short: float, one_second: float, long_period: float = 8.0, periods: Numbers | None = None) -> Target:
    """The design spectrum of ASCE/SEI 7-16, section 11.4.6.

    short, one_second: S_DS and S_D1 in g; long_period: T_L in s.
    """
    if not (short > 0 and one_second > 0 and long_period > 0):
        raise InputError("S_DS, S_D1 and T_L must be positive.")
    t = _PERIODS if periods is None else np.asarray(periods, dtype=float)
    corner = one_second / short
    sa = np.select(
        [t < 0.2 * corner, t <= corner, t <= long_period],
        [short * (0.4 + 0.6 * t / (0.2 * corner)), np.full_like(t, short), one_second / t],
        one_second * long_period / t**2,
    )
    return Target(t, sa * STANDARD_GRAVITY, name=f"ASCE 7: S_DS {short:g} g, S_D1 {one_second:g} g")


_EUROCODE = {  # EN 1998-1:2004 tables 3.2 and 3.3: S, T_B, T_C, T_D
    1: {
        "A": (1.0, 0.15, 0.4, 2.0),
        "B": (1.2, 0.15, 0.5, 2.0),
        "C": (1.15, 0.20, 0.6, 2.0),
        "D": (1.35, 0.20, 0.8, 2.0),
        "E": (1.4, 0.15, 0.5, 2.0),
    },
    2: {
        "A": (1.0, 0.05, 0.25, 1.2),
        "B": (1.35, 0.05, 0.25, 1.2),
        "C": (1.5, 0.10, 0.25, 1.2),
        "D": (1.8, 0.10, 0.30, 1.2),
        "E": (1.6, 0.05, 0.25, 1.2),
    },
}


@checked
def eurocode8_target(
    ground: float, soil: str = "B", kind: int = 1, damping: float = 0.05, periods: Numbers | None = None
) -> Target:
    """The horizontal elastic spectrum of EN 1998-1:2004, section 3.2.2.2.

    ground: design acceleration a_g on type A ground in g, importance included; soil: A to E; kind: spectrum 1 or 2;
    damping: ratio to critical.
    """
    if kind not in _EUROCODE:
        raise InputError(f"Eurocode 8 has the spectra 1 and 2, not {kind!r}.")
    if soil.upper() not in _EUROCODE[kind]:
        raise unknown_name("ground type", soil, _EUROCODE[kind])
    if not (ground > 0 and 0 <= damping < 1):
        raise InputError("The ground acceleration must be positive and the damping a ratio.")
    factor, tb, tc, td = _EUROCODE[kind][soil.upper()]
    eta = max(np.sqrt(10 / (5 + 100 * damping)), 0.55)
    t = np.geomspace(0.01, 4.0, 200) if periods is None else np.asarray(periods, dtype=float)
    shape = np.select(
        [t < tb, t <= tc, t <= td],
        [1 + t / tb * (2.5 * eta - 1), np.full_like(t, 2.5 * eta), 2.5 * eta * tc / t],
        2.5 * eta * tc * td / t**2,
    )
    return Target(
        t,
        ground * factor * shape * STANDARD_GRAVITY,
        name=f"Eurocode 8: a_g {ground:g} g, ground {soil.upper()}, type {kind}",
    )


@checked
def uniform_hazard_target(periods, levels, rates, return_period: float, unit: str = "g") -> Target:
    """The spectrum whose every ordinate is exceeded once in `return_period` years on average.

    levels: (levels,) accelerations of the hazard curves in `unit`; rates: (periods, levels) exceedances per year.
    Interpolated in logarithms.
    """
    levels, rates = np.asarray(levels, dtype=float), np.asarray(rates, dtype=float)
    if rates.shape != (np.size(periods), levels.size) or levels.size < 2:
        raise InputError(f"The rates must have one row per period and one column per level, not {rates.shape}.")
    if not (np.all(levels > 0) and np.all(np.diff(levels) > 0) and np.all(rates > 0) and np.all(np.diff(rates) < 0)):
        raise InputError("Levels must increase, and rates must be positive and fall with the level.")
    wanted = -np.log(return_period)
    values = []
    for period, curve in zip(periods, np.log(rates), strict=True):
        if not curve[-1] <= wanted <= curve[0]:
            raise InputError(f"The hazard curve at {period:g} s does not reach {return_period:g} years.")
        values.append(np.exp(np.interp(wanted, curve[::-1], np.log(levels)[::-1])))
    return table_target(periods, values, unit, name=f"uniform hazard, {return_period:g} years")


def correlation(first, second) -> np.ndarray:
    """Correlation of ε at two periods in s, 0.01 to 10 s.

    J. W. Baker and N. Jayaram, "Correlation of spectral acceleration values from NGA ground motion models",
    Earthquake Spectra 24 (2008) 299–317.
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    if np.any(low < 0.01 - 1e-9) or np.any(high > 10 + 1e-9):
        raise InputError("The correlation of spectral accelerations is known for periods from 0.01 to 10 s.")
    c1 = 1 - np.cos(np.pi / 2 - 0.366 * np.log(high / np.maximum(low, 0.109)))
    with np.errstate(over="ignore"):
        tail = 1 - 1 / (1 + np.exp(np.minimum(100 * high - 5, 700.0)))
    c2 = np.where(high < 0.2, 1 - 0.105 * tail * (high - low) / (high - 0.0099), 0.0)
    c3 = np.where(high < 0.109, c2, c1)
    c4 = c1 + 0.5 * (np.sqrt(np.maximum(c3, 0.0)) - c3) * (1 + np.cos(np.pi * low / 0.109))
    return np.where(high < 0.109, c2, np.where(low > 0.109, c1, np.where(high < 0.2, np.minimum(c2, c4), c4)))


@checked
def conditional_mean_target(periods, median, deviation, period: float, acceleration: float, unit: str = "g") -> Target:
    """The conditional mean spectrum, given the acceleration at one period.

    J. W. Baker, "Conditional mean spectrum: tool for ground-motion selection", Journal of Structural Engineering 137
    (2011) 322–331: μ(T) + ρ(T, T*) ε(T*) σ(T), with the scatter σ√(1 − ρ²).

    periods: s; median: of a ground-motion model in `unit`; deviation: its σ of ln Sa; period: T*; acceleration: at T*.
    """
    base = table_target(periods, median, unit, deviation)
    sigma = float(base.deviation_at(period))
    if sigma <= 0:
        raise InputError("The ground-motion model needs a positive deviation at the conditioning period.")
    epsilon = np.log(acceleration * unit_for(unit, "m/s^2").factor / base.at(period)) / sigma
    grid = np.union1d(base.periods, [period])  # the spectrum has its peak of correlation at T*
    rho, scatter = correlation(grid, period), base.deviation_at(grid)
    values = base.at(grid) * np.exp(rho * epsilon * scatter)
    return Target(
        grid,
        values,
        scatter * np.sqrt(np.maximum(1 - rho**2, 0.0)),
        f"conditional mean, {acceleration:g} {unit} at {period:g} s (ε = {epsilon:.2f})",
    )
