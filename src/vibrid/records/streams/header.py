"""The first line of a stream of text: names of the columns, with units as in a CSV file (`time [s],a1 [g]`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from vibrid.core.errors import InputError
from vibrid.records.readers.assemble import split_unit
from vibrid.records.units import parse_unit, unit_for


class ExpectedUnit(NamedTuple):
    """stated: the unit of a column as the project states it, empty where it states none; si: of its quantity."""

    stated: str = ""
    si: str | None = None


class LineLayout(NamedTuple):
    """How a line is read: seconds of a unit of time, the index of every column, its conversion (None where none is)."""

    seconds: float
    order: Sequence[int]
    convert: Sequence[Callable[[float], float] | None]


def plain_layout(count: int) -> LineLayout:
    """Time, then the columns in order, in the units of the project."""
    return LineLayout(1.0, range(1, count + 1), [None] * count)


def read_header(cells: Sequence[str], names: Sequence[str], units: Sequence[ExpectedUnit]) -> LineLayout | None:
    """The layout that a first line describes; None where it is a line of numbers or no header.

    InputError where a column is missing, or where its unit is unknown, measures something else, or is not the one that
    the project states: the numbers would be read in a wrong unit.
    """
    if len(cells) < 2 or any(not cell or _is_number(cell) for cell in cells):
        return None
    titles = [split_unit(cell) for cell in cells]
    found = [name for name, _ in titles]
    if found[0] in names:
        raise InputError(f"The first column of the lines must be the time; the header line begins with '{found[0]}'.")
    missing = [name for name in names if name not in found]
    if missing:
        raise InputError(
            f"The header line names no column {', '.join(missing)}; it names {', '.join(found[:8])}. Name the columns "
            f"{', '.join(names)}, or send no header line."
        )
    order = [found.index(name) for name in names]
    convert = [_conversion(name, titles[i][1], unit) for name, i, unit in zip(names, order, units, strict=True)]
    return LineLayout(_seconds(*titles[0]), order, convert)


def _conversion(name: str, unit: str | None, expected: ExpectedUnit) -> Callable[[float], float] | None:
    if not unit:
        return None
    try:
        known = parse_unit(unit) if expected.si is None else unit_for(unit, expected.si)
    except InputError as problem:
        raise InputError(f"Header line, column '{name}': {problem}") from None
    if not expected.stated:
        return known.to_si
    if parse_unit(expected.stated) != parse_unit(unit):
        raise InputError(
            f"Column '{name}' is in {unit} by the header line, and in {expected.stated} by the project; one is wrong."
        )
    return None


def _seconds(name: str, unit: str | None) -> float:
    known = parse_unit(unit or "s")
    if known.kind != "time":
        raise InputError(
            f"Header line: the time column '{name}' is in '{unit}', which is no unit of time; write s or ms."
        )
    return known.factor


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
