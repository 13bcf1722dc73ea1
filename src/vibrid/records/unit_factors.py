"""What the units of `unit_vocabulary` are in SI units: factors, and powers of kg, m, s, A and K.

They are those of pint, by whose names they stand here (a test compares all of them); to have them from pint itself
takes as long as a whole identification.
"""

from __future__ import annotations

import math

Powers = tuple[int, int, int, int, int]
"""Powers of kg, m, s, A and K."""

_INCH, _FOOT, _GRAVITY, _POUND = 0.0254, 0.3048, 9.80665, 0.45359237
_POUND_FORCE = 4.4482216152605  # the pound × standard gravity, exact

_BY_POWERS: dict[Powers, dict[str, float]] = {
    (0, 1, 0, 0, 0): {
        "meter": 1.0, "millimeter": 1e-3, "centimeter": 1e-2, "kilometer": 1e3, "micrometer": 1e-6, "nanometer": 1e-9,
        "inch": _INCH, "milliinch": 2.54e-5, "foot": _FOOT,
    },
    (0, 0, 1, 0, 0): {
        "second": 1.0, "millisecond": 1e-3, "microsecond": 1e-6, "nanosecond": 1e-9, "minute": 60.0, "hour": 3600.0,
        "day": 86400.0,
    },
    (0, 1, -1, 0, 0): {"mile/hour": 0.44704, "knot": 1852.0 / 3600.0},
    (0, 1, -2, 0, 0): {
        "standard_gravity": _GRAVITY, "millistandard_gravity": 9.80665e-3, "microstandard_gravity": 9.80665e-6,
        "centimeter/second**2": 1e-2, "millimeter/second**2/100": 1e-5,
    },
    (1, 1, -2, 0, 0): {
        "newton": 1.0, "millinewton": 1e-3, "kilonewton": 1e3, "meganewton": 1e6, "pound_force": _POUND_FORCE,
        "kilopound_force": 1e3 * _POUND_FORCE, "kilogram_force": _GRAVITY, "metric_ton*standard_gravity": 9806.65,
    },
    (1, 0, 0, 0, 0): {
        "gram": 1e-3, "kilogram": 1.0, "metric_ton": 1e3, "pound": _POUND, "slug": _POUND_FORCE / _FOOT,
    },
    (1, 2, -2, 0, 0): {
        "newton*meter": 1.0, "newton*millimeter": 1e-3, "newton*centimeter": 1e-2, "kilonewton*meter": 1e3,
        "kilonewton*millimeter": 1.0, "kilonewton*centimeter": 10.0, "millinewton*meter": 1e-3,
        "meganewton*meter": 1e6, "joule": 1.0, "kilojoule": 1e3, "megajoule": 1e6, "millijoule": 1e-3,
    },
    (1, -1, -2, 0, 0): {
        "pascal": 1.0, "hectopascal": 100.0, "kilopascal": 1e3, "megapascal": 1e6, "gigapascal": 1e9, "bar": 1e5,
        "millibar": 100.0, "psi": _POUND_FORCE / _INCH**2, "kilopound_force/inch**2": 1e3 * _POUND_FORCE / _INCH**2,
        "pound_force/foot**2": _POUND_FORCE / _FOOT**2, "kilopound_force/foot**2": 1e3 * _POUND_FORCE / _FOOT**2,
    },
    (1, 2, -3, -1, 0): {"volt": 1.0, "millivolt": 1e-3, "microvolt": 1e-6},
    (0, 0, 0, 1, 0): {"ampere": 1.0, "milliampere": 1e-3},
    (1, 2, -3, -2, 0): {"ohm": 1.0},
    (1, 2, -3, 0, 0): {"watt": 1.0, "kilowatt": 1e3},
    (0, 0, 0, 0, 0): {
        "dimensionless": 1.0, "1e-6 dimensionless": 1e-6, "1e-3 dimensionless": 1e-3, "percent": 1e-2,
        "radian": 1.0, "milliradian": 1e-3, "microradian": 1e-6, "degree": math.pi / 180.0,
        "arcminute": math.pi / 10_800.0, "arcsecond": math.pi / 648_000.0, "revolution": 2.0 * math.pi,
    },
    (0, 0, -1, 0, 0): {
        "revolution/minute": 2.0 * math.pi / 60.0, "hertz": 1.0, "millihertz": 1e-3, "kilohertz": 1e3, "megahertz": 1e6,
    },
    (0, 0, 0, 0, 1): {"kelvin": 1.0, "degree_Celsius": 1.0, "degree_Fahrenheit": 5.0 / 9.0},
}  # fmt: skip

FACTORS: dict[str, tuple[float, Powers]] = {
    name: (factor, powers) for powers, units in _BY_POWERS.items() for name, factor in units.items()
}
"""Factor to SI, and powers of kg, m, s, A and K, by pint's name."""

ZEROS = {"degree_Celsius": 273.15, "degree_Fahrenheit": 459.67 * 5.0 / 9.0}
"""The zeros of temperatures in K."""
