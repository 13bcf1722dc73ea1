"""Units in universal files: dataset 164, which holds for the whole file, and the labels of the axes of a dataset 58.

Dataset 164 gives factors for length and force; a number of the file divided by them is in SI units. The powers of
length and force in a quantity follow from the type of the data, or, where that is general, from the function's header.
"""

from __future__ import annotations

from typing import NamedTuple

from vibrid.core.errors import InputError
from vibrid.records.readers import numbers
from vibrid.records.readers.source import Source, split_lines
from vibrid.records.units import Unit, parse_unit

# type of data -> powers of length and force
_POWERS = {2: (-2, 1), 3: (0, 0), 8: (1, 0), 9: (0, 1), 11: (1, 0), 12: (1, 0), 13: (0, 1), 15: (-2, 1), 16: (-1, 1)}
_GENERAL, _TIME = (0, 1), 17


class FileUnits(NamedTuple):
    """Dataset 164: its name, and the numbers in the file for one metre and for one newton."""

    name: str
    length: float
    force: float

    def factor(self, powers: tuple[int, int]) -> float:
        """From numbers of the file to SI."""
        return self.length ** -powers[0] * self.force ** -powers[1]


def read_units(source: Source, line: int, body: bytes) -> FileUnits:
    """The units of a dataset 164; `line` is that of its number."""
    lines = split_lines(body.decode("ascii", "replace"))
    factors = [numbers.number(word) for word in " ".join(lines[2:4]).split()[:2]]
    good = [f for f in factors if f is not None and 1e-12 < f < 1e12]
    if len(lines) < 3 or len(good) != 2:
        raise source.problem("dataset 164 does not give the factors of length and force.", line)
    return FileUnits(lines[1][10:30].strip() or lines[1].strip()[:10], good[0], good[1])


def powers_of(code: int, stated: tuple[int, int]) -> tuple[int, int] | None:
    """Powers of length and force of a type of data; None where neither the type nor the header tells them."""
    if code in _POWERS:
        return _POWERS[code]
    return stated if code in _GENERAL and any(stated) else None


def ordinate(unit: str, symbol: str, powers: tuple[int, int] | None, units: FileUnits | None) -> Unit | None:
    """The unit of the ordinate from its label and from dataset 164; None where neither states it.

    unit: the label, empty where there is none; symbol: the SI unit of the quantity, for a function without a label.
    InputError where label and dataset contradict each other.
    """
    whole = None if units is None or powers is None else Unit(units.factor(powers), symbol, "")
    if not unit:
        return whole
    labelled = parse_unit(unit)
    if whole is not None and units is not None and abs(labelled.factor - whole.factor) > 1e-5 * whole.factor:
        raise InputError(
            f"the function is labelled '{unit}', and by dataset 164 ('{units.name}') its numbers times "
            f"{whole.factor:g} are in SI units: one of them is wrong; give `units`, which decides."
        )
    return labelled


def seconds(code: int, label: str) -> float | None:
    """Factor of the abscissa to seconds; None for one that is no time."""
    if code not in (*_GENERAL, _TIME):
        return None
    known = parse_unit("s" if label.upper() in ("", "NONE", "UNKNOWN") else label.strip("[]()"))
    if known.kind != "time":
        raise InputError(f"the abscissa of a time history is in '{label}', which is no unit of time.")
    return known.factor
