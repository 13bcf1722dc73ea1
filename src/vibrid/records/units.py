"""Units: every number that enters or leaves a record is converted here.

Inside a record all numbers are SI. Files use g, gal, inches and kips; `to_si` and `from_si` convert. The spellings that
are read are those of `unit_vocabulary`, joined as in `unit_text`; the factors are pint's. `g` is standard gravity
(9.80665 m/s², exact); a mass in grams must be written `gram`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.unit_factors import FACTORS, ZEROS
from vibrid.records.unit_text import LARGEST_POWER, factors_of

STANDARD_GRAVITY = 9.80665
"""Standard gravity in m/s² (exact by definition)."""

_BASE = ("kg", "m", "s", "A", "K")
_SYMBOLS = (*_BASE, "rad", "count")

# powers of kg, m, s, A, K, rad and count -> name of the quantity, and its SI unit
_DIMENSIONS: dict[tuple[int, ...], tuple[str, str]] = {
    (0, 1, 0, 0, 0, 0, 0): ("length", "m"),
    (0, 2, 0, 0, 0, 0, 0): ("area", "m^2"),
    (0, 1, -1, 0, 0, 0, 0): ("velocity", "m/s"),
    (0, 1, -2, 0, 0, 0, 0): ("acceleration", "m/s^2"),
    (1, 1, -2, 0, 0, 0, 0): ("force", "N"),
    (1, 0, -2, 0, 0, 0, 0): ("stiffness", "N/m"),
    (1, 0, -1, 0, 0, 0, 0): ("damping", "N*s/m"),
    (1, 2, -2, 0, 0, 0, 0): ("moment", "N*m"),
    (1, 2, -2, 0, 0, -1, 0): ("rotational stiffness", "N*m/rad"),
    (1, -1, -2, 0, 0, 0, 0): ("stress", "Pa"),
    (1, -3, 0, 0, 0, 0, 0): ("density", "kg/m^3"),
    (0, 0, 1, 0, 0, 0, 0): ("time", "s"),
    (0, 0, -1, 0, 0, 0, 0): ("rate", "1/s"),
    (1, 0, 0, 0, 0, 0, 0): ("mass", "kg"),
    (0, 0, 0, 0, 0, 1, 0): ("angle", "rad"),
    (0, 0, -1, 0, 0, 1, 0): ("angular velocity", "rad/s"),
    (0, 0, -2, 0, 0, 1, 0): ("angular acceleration", "rad/s^2"),
    (1, 2, -3, -1, 0, 0, 0): ("voltage", "V"),
    (1, 2, -3, 0, 0, 0, 0): ("power", "W"),
    (0, 0, 0, 0, 1, 0, 0): ("temperature", "K"),
    (0, 0, 0, 0, 0, 0, 1): ("counts", "count"),
    (0, 0, 0, 0, 0, 0, 0): ("none", ""),
}

_ALSO = {
    ("rad/s", "Hz"): 1 / (2 * math.pi),  # 2π rad/s are one cycle a second
    ("Hz", "rad/s"): 2 * math.pi,
    ("1/s", "Hz"): 1.0,
    ("rad/s", "1/s"): 1.0,
    ("N*m", "J"): 1.0,
}
"""Factor from numbers in one SI unit to another that may stand in its place."""


@dataclass(frozen=True)
class Unit:
    """A unit: SI number = factor × number + offset, in the SI unit `symbol`; `kind`: acceleration, force, none, …"""

    factor: float
    symbol: str
    kind: str
    offset: float = 0.0

    def to_si(self, values):
        return values * self.factor + self.offset if self.offset else values * self.factor

    def from_si(self, values):
        return (values - self.offset) / self.factor if self.offset else values / self.factor


@lru_cache(maxsize=512)
def parse_unit(text: str) -> Unit:
    """The unit that a text names; InputError with the nearest known one otherwise.

    >>> parse_unit("cm/s^2")
    Unit(factor=0.01, symbol='m/s^2', kind='acceleration', offset=0.0)
    """
    factors = factors_of(text)
    if not factors:
        return Unit(1.0, "", "none")
    factor, base, angle, count = 1.0, (0,) * len(_BASE), 0, 0
    for unit, power in factors:
        own, dimensions = FACTORS[unit.pint]
        factor *= own**power
        base = tuple(total + power * one for total, one in zip(base, dimensions, strict=True))
        angle, count = angle + power * unit.angle, count + power * unit.count
    powers = (*base, angle, count)
    if max(map(abs, powers)) > LARGEST_POWER:
        raise InputError(f"'{text}' is not a unit of a measurement: it has a power above {LARGEST_POWER}.")
    weighed = any(unit.pint.endswith("standard_gravity") and "*" not in unit.pint for unit, _ in factors)
    if weighed and powers[0] == 0 and powers[1] < 0:  # g/cm^3
        raise InputError(f"'{text}' is not a unit with one meaning: g is standard gravity; write gram for a mass.")
    kind, symbol = _DIMENSIONS.get(powers) or ("other", _written(powers))
    offset = 0.0
    if len(factors) == 1 and factors[0].power == 1:
        unit = factors[0].unit
        kind, symbol = unit.kind or kind, symbol if unit.symbol is None else unit.symbol
        offset = ZEROS[unit.pint] if unit.offset else 0.0
    return Unit(factor, symbol, kind, offset)


def is_unit(text: str) -> bool:
    """Whether a text names a unit that is known."""
    try:
        parse_unit(text)
    except InputError:
        return False
    return True


def _written(powers: tuple[int, ...]) -> str:
    """The SI unit with these powers: kg*m^2, 1/m, kg/(m*s^3)."""
    named = list(zip(_SYMBOLS, powers, strict=True))
    above, below = (
        [symbol if power * sign == 1 else f"{symbol}^{power * sign}" for symbol, power in named if power * sign > 0]
        for sign in (1, -1)
    )
    top = "*".join(above) or "1"
    return top if not below else f"{top}/{below[0]}" if len(below) == 1 else f"{top}/({'*'.join(below)})"


def unit_factor(unit: str) -> tuple[float, str, str]:
    """Factor to SI, SI unit and kind of a unit; InputError for an unknown one, and for one that a factor is not enough.

    >>> unit_factor("cm/s^2")
    (0.01, 'm/s^2', 'acceleration')
    """
    known = parse_unit(unit)
    if known.offset:
        raise InputError(f"'{unit}' has a zero of its own, so numbers are not converted by a factor: use K.")
    return known.factor, known.symbol, known.kind


def unit_for(unit: str, si_unit: str) -> Unit:
    """A unit for numbers that are kept in `si_unit`; InputError where it measures something else.

    >>> unit_for("rpm", "Hz").factor * 60
    1.0
    """
    known, expected = parse_unit(unit), parse_unit(si_unit)
    if known.symbol == expected.symbol:
        return known
    if (known.symbol, expected.symbol) in _ALSO:
        factor = known.factor * _ALSO[known.symbol, expected.symbol]
        return replace(known, factor=factor, symbol=expected.symbol, kind=expected.kind)
    what = known.kind if known.kind not in ("none", "other") else known.symbol or "a pure number"
    raise InputError(
        f"Numbers in {si_unit or 'no unit'} cannot be expressed in {unit or 'no unit'}, which measures {what}."
    )


def to_si(values, unit: str) -> np.ndarray:
    """Numbers in `unit` as SI numbers."""
    return parse_unit(unit).to_si(np.asarray(values, dtype=float))


def from_si(values, unit: str, si_unit: str | None = None) -> np.ndarray:
    """SI numbers expressed in `unit`; InputError when `unit` measures something else than `si_unit`.

    si_unit: the SI unit of the numbers, empty for pure numbers; None leaves it unchecked.
    """
    known = parse_unit(unit) if si_unit is None else unit_for(unit, si_unit)
    return known.from_si(np.asarray(values, dtype=float))


_GROUND = re.compile(r"ground|gnd|base|table|free.?field|\bff\b|quake|\bag\b|\bug\b|\bxg\b", re.I)
_LOAD = re.compile(r"load|input|excit|hammer|shaker|applied", re.I)


def guess_quantity(name: str, unit: str) -> str:
    """The quantity of a channel from its unit and, where the unit leaves a choice, its name.

    An acceleration is `ground_acceleration` when the name contains ground, base or table, relative (`acceleration`)
    when it contains `rel`, and otherwise absolute: what an accelerometer measures.
    """
    kind = parse_unit(unit).kind
    word = name.replace("_", " ").lower()
    ground = bool(_GROUND.search(word))
    if kind == "acceleration":
        relative = re.search(r"\brel", word)
        return "ground_acceleration" if ground else "acceleration" if relative else "absolute_acceleration"
    if kind == "velocity":
        return "ground_velocity" if ground else "drift_velocity" if "drift" in word else "velocity"
    if kind == "length":
        return "ground_displacement" if ground else "drift" if "drift" in word else "displacement"
    if kind == "force":
        return "load" if _LOAD.search(word) else "element_force"
    if kind == "angle":
        return "rotation"
    if kind == "strain" or (kind == "none" and "strain" in word):
        return "strain"
    return "other"
