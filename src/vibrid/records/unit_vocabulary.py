"""The units that are read, as the field writes them: every spelling, the unit of pint behind it, and its kind.

The list is closed. pint knows thousands of units from every field, and reads `Nm` as a textile number, `ue` as an
elementary charge and `mil` as an angle; here a spelling is known, or it can be read in two ways, or it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KnownUnit:
    """One unit. pint: its expression there; kind: of the numbers, where the dimension does not decide it.

    symbol: the SI symbol of those numbers, where the dimension does not decide it; angle, count: powers of an angle and
    of a count, which pint takes as pure numbers; offset: whether its zero differs from the SI unit's.
    """

    pint: str
    kind: str = ""
    symbol: str | None = None
    angle: int = 0
    count: int = 0
    offset: bool = False


_BY_DIMENSION = {
    # length
    "meter": "m meter meters metre metres",
    "millimeter": "mm millimeter millimeters millimetre millimetres",
    "centimeter": "cm centimeter centimeters centimetre centimetres",
    "kilometer": "km",
    "micrometer": "um µm micron microns micrometer micrometers micrometre micrometres",
    "nanometer": "nanometer nanometre",
    "inch": "in inch inches",
    "milliinch": "thou",
    "foot": "ft foot feet",
    # time
    "second": "s sec secs second seconds",
    "millisecond": "ms msec millisecond milliseconds",
    "microsecond": "us µs usec microsecond microseconds",
    "nanosecond": "ns nanosecond nanoseconds",
    "minute": "min minute minutes",
    "hour": "h hr hour hours",
    "day": "day days",
    # velocity
    "mile/hour": "mph",
    "knot": "knot knots",
    # acceleration; g is standard gravity, never gram
    "standard_gravity": "g g's gs g_n gravity standard_gravity",
    "millistandard_gravity": "mg",
    "microstandard_gravity": "ug µg",
    "centimeter/second**2": "gal gals",
    "millimeter/second**2/100": "mgal mgals",
    # force; a load cell's lb is a force
    "newton": "N newton newtons",
    "millinewton": "mN",
    "kilonewton": "kN kilonewton kilonewtons",
    "meganewton": "MN meganewton meganewtons",
    "pound_force": "lb lbs lbf",
    "kilopound_force": "kip kips klb klbf",
    "kilogram_force": "kgf",
    "metric_ton*standard_gravity": "tf",
    # mass
    "gram": "gram grams",
    "kilogram": "kg kilogram kilograms",
    "metric_ton": "t tonne tonnes",
    "pound": "lbm",
    "slug": "slug slugs",
    # moment and torque
    "newton*meter": "Nm",
    "newton*millimeter": "Nmm",
    "newton*centimeter": "Ncm",
    "kilonewton*meter": "kNm",
    "kilonewton*millimeter": "kNmm",
    "kilonewton*centimeter": "kNcm",
    "millinewton*meter": "mNm",
    "meganewton*meter": "MNm",
    # stress and pressure
    "pascal": "Pa pascal pascals",
    "hectopascal": "hPa",
    "kilopascal": "kPa",
    "megapascal": "MPa MPA Mpa megapascal",
    "gigapascal": "GPa",
    "bar": "bar",
    "millibar": "mbar",
    "psi": "psi",
    "kilopound_force/inch**2": "ksi",
    "pound_force/foot**2": "psf",
    "kilopound_force/foot**2": "ksf",
    # electricity
    "volt": "V volt volts",
    "millivolt": "mV millivolt millivolts",
    "microvolt": "uV µV",
    "ampere": "A amp amps ampere amperes",
    "milliampere": "mA",
    "ohm": "ohm ohms Ω",
    "watt": "W watt watts",
    "kilowatt": "kW",
}

_OF_A_KIND = [
    (
        KnownUnit("", "energy", "J"),
        {"joule": "J joule joules", "kilojoule": "kJ", "megajoule": "MJ", "millijoule": "mJ"},
    ),
    (
        KnownUnit("", "strain", ""),
        {
            "dimensionless": "strain ε",
            "1e-6 dimensionless": "microstrain microstrains ustrain µstrain uε µε ue µe ustr",
            "1e-3 dimensionless": "millistrain",
        },
    ),
    (KnownUnit(""), {"percent": "% percent pct", "1e-6 dimensionless": "ppm"}),
    (
        KnownUnit("", angle=1),
        {
            "radian": "rad rads radian radians",
            "milliradian": "mrad",
            "microradian": "urad µrad",
            "degree": "deg degs degree degrees ° degrees_north degrees_east degree_north degree_east",
            "arcminute": "arcmin",
            "arcsecond": "arcsec",
            "revolution": "rev revs revolution revolutions",
            "revolution/minute": "rpm",
        },
    ),
    (
        KnownUnit("", "frequency", "Hz"),
        {"hertz": "Hz hertz cps", "millihertz": "mHz", "kilohertz": "kHz", "megahertz": "MHz"},
    ),
    (KnownUnit("", count=1), {"dimensionless": "count counts cts"}),
    (KnownUnit("", "temperature", "K"), {"kelvin": "K kelvin"}),
    (
        KnownUnit("", "temperature", "K", offset=True),
        {
            "degree_Celsius": "degC deg_C °C ℃ celsius Celsius degree_Celsius degrees_Celsius",
            "degree_Fahrenheit": "degF deg_F °F ℉ fahrenheit Fahrenheit",
        },
    ),
]

IN_TWO_WAYS = {
    "mPa": "MPa, or Pa for small pressures",
    "nm": "N*m for a moment, or um for a length",
    "Mg": "t for a mass, or mg for an acceleration of g/1000",
    "MV": "mV, or V",
    "MA": "mA, or A",
    "mil": "thou (0.001 in) for a length, or mrad for an angle",
    "mils": "thou (0.001 in) for a length, or mrad for an angle",
    "ton": "t (1000 kg), or lbm",
    "tons": "t (1000 kg), or lbm",
    "tonf": "tf (9.80665 kN), or kip",
    "T": "t for a mass, or tf for a force",
    "C": "degC for a temperature",
    "F": "degF for a temperature, or N for a force",
    "k": "kip for a force, or K for a temperature",
    "oz": "lbf for a force, or lbm for a mass",
}
"""Spellings that two units of the field share, and what to write instead."""


def _all() -> dict[str, KnownUnit]:
    entries = {word: KnownUnit(name) for name, words in _BY_DIMENSION.items() for word in words.split()}
    for pattern, units in _OF_A_KIND:
        for name, words in units.items():
            for word in words.split():
                entries[word] = KnownUnit(
                    name, pattern.kind, pattern.symbol, pattern.angle, pattern.count, pattern.offset
                )
    return entries


UNITS = _all()
"""Every spelling, with its unit."""

_FOLDED: dict[str, set[str]] = {}
for _spelling in (*UNITS, *IN_TWO_WAYS):
    _FOLDED.setdefault(_spelling.lower(), set()).add(_spelling)


def look_up(word: str) -> tuple[KnownUnit | None, str]:
    """The unit of a spelling, or None and what to write instead (empty when the spelling is not known at all).

    Old files write everything in capitals, so another case is accepted where it leads to one unit only.
    """
    if word in UNITS:
        return UNITS[word], ""
    if word in IN_TWO_WAYS:
        return None, IN_TWO_WAYS[word]
    alike = sorted(_FOLDED.get(word.lower(), ()))
    advice = next((IN_TWO_WAYS[spelling] for spelling in alike if spelling in IN_TWO_WAYS), "")
    if advice:
        return None, advice
    units = {UNITS[spelling] for spelling in alike}
    if len(units) != 1 or _another_prefix(word, next(iter(units))):
        return None, " or ".join(alike)
    return units.pop(), ""


def _another_prefix(word: str, unit: KnownUnit) -> bool:
    """Whether M stands for milli or m for mega, as in Mrad; in a word of capitals alone (MM) it does not matter."""
    milli = unit.pint.startswith("milli") and word[0] == "M" and not word.isupper()
    mega = unit.pint.startswith("mega") and word[0] == "m"
    return (milli or mega) and not word.lower().startswith(("milli", "mega"))
