"""Units: every number that enters or leaves a record is converted here.

Inside a record all numbers are SI. Files use g, gal, inches and kips; `to_si` and `from_si` convert with pint.
pint reads `g` as gram. In a file of accelerations `g` is always standard gravity (9.80665 m/s², exact), so the symbol
alone is taken as gravity here; a mass in grams must be written `gram`.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from vibrid.core.errors import InputError

STANDARD_GRAVITY = 9.80665
"""Standard gravity in m/s² (exact by definition)."""

_SPELLINGS = {
    "g": "standard_gravity",
    "g's": "standard_gravity",
    "gs": "standard_gravity",
    "g_n": "standard_gravity",
    "mg": "millistandard_gravity",
    "gal": "cm/s^2",
    "gals": "cm/s^2",
    "lb": "pound_force",  # a load cell's "lb" is a force
    "lbs": "pound_force",
    "lbf": "pound_force",
    "kip": "kilopound_force",
    "kips": "kilopound_force",
    "kgf": "kilogram_force",
    "tf": "metric_ton*standard_gravity",
    "in": "inch",
    "m": "meter",  # capitals too: old files write CM/SEC2
    "cm": "centimeter",
    "mm": "millimeter",
    "s": "second",
    "n": "newton",
    "kn": "kilonewton",
    "hz": "hertz",
    "kpa": "kilopascal",
    "mpa": "megapascal",
    "sec": "second",
    "secs": "second",
    "v": "volt",
    "deg": "degree",
    "microstrain": "1e-6",
    "ustrain": "1e-6",
    "µε": "1e-6",
    "με": "1e-6",
    "-": "",
    "1": "",
}

# powers of length, mass and time -> name of the quantity, and its SI unit
_DIMENSIONS: dict[tuple[object, ...], tuple[str, str]] = {
    (1, 0, 0): ("length", "m"),
    (1, 0, -1): ("velocity", "m/s"),
    (1, 0, -2): ("acceleration", "m/s^2"),
    (1, 1, -2): ("force", "N"),
    (2, 1, -2): ("moment", "N*m"),
    (-1, 1, -2): ("stress", "Pa"),
    (0, 0, 1): ("time", "s"),
    (0, 0, -1): ("frequency", "Hz"),
    (0, 1, 0): ("mass", "kg"),
    (0, 0, 0): ("none", ""),
}

_UNIT_TEXT = re.compile(r"[A-Za-z0-9µμε_'. */^()²³·\-]*")
_LARGE_POWER = re.compile(r"\*\*|\^\s*\d{2,}")


@lru_cache(maxsize=1)
def _registry():
    import pint

    return pint.UnitRegistry(cache_folder=None)


def _spelling(unit: str) -> str:
    """The unit as pint spells it: engineers' abbreviations replaced, `/sec/sec` and `s2` understood."""
    text = unit.strip().replace("²", "^2").replace("·", "*").replace("³", "^3")
    if text.lower() in _SPELLINGS:
        return _SPELLINGS[text.lower()]
    text = re.sub(r"(?<![A-Za-z_])([A-Za-z_]+)([23])(?![0-9A-Za-z])", r"\1^\2", text)  # sec2 -> sec^2
    words = re.split(r"([A-Za-zµμ_']+)", text)
    return "".join(
        _SPELLINGS.get(word.lower(), word.lower() if word.isupper() and len(word) > 2 else word) for word in words
    )


@lru_cache(maxsize=512)
def unit_factor(unit: str) -> tuple[float, str, str]:
    """Factor to SI, SI unit and kind ('acceleration', 'force', ...) of a unit; InputError when it is unknown.

    >>> unit_factor("cm/s^2")
    (0.01, 'm/s^2', 'acceleration')
    """
    text = unit.strip()
    if len(text) > 60 or not _UNIT_TEXT.fullmatch(text) or _LARGE_POWER.search(text):
        raise InputError(f"'{unit[:60]}' is not a unit.")
    spelled = _spelling(text)
    if not spelled:
        return 1.0, "", "none"
    if spelled == "1e-6":
        return 1e-6, "", "none"
    try:
        quantity = _registry()(spelled)
        quantity = quantity if hasattr(quantity, "dimensionality") else _registry().Quantity(quantity)
        base = quantity.to_base_units()
        factor = float(base.magnitude)
    except Exception as problem:  # pint raises its own errors, tokenizer errors, ZeroDivisionError...
        raise InputError(
            f"'{unit}' is not a unit that is known here; write for example m/s^2, g, cm/s^2, mm, kN or kip."
        ) from problem
    if not np.isfinite(factor) or factor <= 0:
        raise InputError(f"'{unit}' is not a unit that numbers can be measured in.")
    if str(quantity.units) in ("degree", "radian"):
        return factor, "rad", "angle"
    powers = dict(base.dimensionality)
    key = tuple(powers.pop(name, 0) for name in ("[length]", "[mass]", "[time]"))
    if powers or key not in _DIMENSIONS:
        return factor, f"{base.units:~C}".replace("**", "^"), "other"
    kind, symbol = _DIMENSIONS[key]
    return factor, symbol, kind


def to_si(values, unit: str) -> np.ndarray:
    """Numbers in `unit` as SI numbers."""
    return np.asarray(values, dtype=float) * unit_factor(unit)[0]


def from_si(values, unit: str, si_unit: str = "") -> np.ndarray:
    """SI numbers expressed in `unit`; InputError when `unit` measures something else than `si_unit`."""
    factor, symbol, kind = unit_factor(unit)
    if si_unit and unit_factor(si_unit)[1] != symbol:
        raise InputError(f"Numbers in {si_unit} cannot be expressed in {unit}, which measures {kind}.")
    return np.asarray(values, dtype=float) / factor


_GROUND = re.compile(r"ground|gnd|base|table|free.?field|\bff\b|quake|\bag\b|\bug\b|\bxg\b", re.I)
_LOAD = re.compile(r"load|input|excit|hammer|shaker|applied", re.I)


def guess_quantity(name: str, unit: str) -> str:
    """The quantity of a channel from its unit and, where the unit leaves a choice, its name.

    An acceleration is `ground_acceleration` when the name contains ground, base or table, relative (`acceleration`)
    when it contains `rel`, and otherwise absolute: what an accelerometer measures.
    """
    kind = unit_factor(unit)[2]
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
    if "strain" in word or unit.strip().lower() in ("microstrain", "ustrain", "µε", "με", "strain"):
        return "strain"
    return "other"
