"""Headings of text tables: the line that names the columns, a line of units below it, and the width of the rows."""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from typing import NamedTuple

from vibrid.core.errors import InputError
from vibrid.records.readers import decimal_comma, numbers
from vibrid.records.readers.source import Source
from vibrid.records.readers.time_axis import TIME_NAME
from vibrid.records.units import parse_unit

MARK = "# vibrid: "
"""The beginning of the writer's own line."""

_TITLE_LINES = 40
_DELIMITERS = (",", ";", "\t")
_MEASURED = (
    "length",
    "velocity",
    "acceleration",
    "force",
    "moment",
    "stress",
    "time",
    "frequency",
    "angle",
    "strain",
    "temperature",
    "voltage",
)


class Heading(NamedTuple):
    """Index of the heading line and of the last line before the numbers, the delimiter, the names and the units."""

    first: int
    last: int
    delimiter: str
    cells: list[str]
    units: list[str]


def find_heading(source: Source) -> Heading | None:
    """The heading of a table of numbers; None where no line names columns, an error where it does not fit them."""
    lines = source.head_lines
    body = [(i, line) for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")]
    if body and any(line.startswith(MARK) for line in lines[: body[0][0]]):  # names may be anything there
        return Heading(body[0][0], body[0][0], ",", cells_of(body[0][1], ","), [])
    misfit = None
    for place, ((index, line), (_, following)) in enumerate(pairwise(body[: _TITLE_LINES + 1])):
        for delimiter in _DELIMITERS:
            cells, values = cells_of(line, delimiter), following.split(delimiter)
            if not _names(cells, line) or not _are_numbers(values):
                continue
            width = _width(cells, values)
            if width is None and len(values) > 1:
                _refuse_commas(source, cells, following, body[place + 1][0] + 1)
                misfit = misfit or (index + 1, len(_trimmed(cells)), len(_trimmed(values)))
            if width is None:
                continue
            cells = (cells + [""] * width)[:width]
            above = cells_of(body[place - 1][1], delimiter) if place else []
            units = _units(source, _trimmed(above), cells, index + 1)
            if units is not None:
                return Heading(body[place - 1][0], index, delimiter, _trimmed(above), units)
            return Heading(index, index, delimiter, cells, [])
    if misfit is not None and misfit[1] > 1:
        line, headings, values = misfit
        raise source.problem(
            f"{headings} headings stand above rows of {values} values; name every column, or begin the line with # if "
            "it is a title.",
            line,
        )
    return None


def _refuse_commas(source: Source, names: list[str], row: str, line: int) -> None:
    """Refuse a row between commas that has as many numbers as there are headings if its numbers have decimal commas."""
    quoted = cells_of(row, ",")
    if all(decimal_comma.has_one(cell) for cell in quoted):
        raise source.problem(decimal_comma.refusal(quoted[0]), line)
    first = decimal_comma.in_pairs(row)
    if first is not None and row.count(",") + 1 == 2 * len(_trimmed(names)):
        raise source.problem(decimal_comma.refusal(first), line)


def cells_of(line: str, delimiter: str) -> list[str]:
    """Cells of a line; quotes may hold the delimiter."""
    try:
        return [
            cell.strip() for cell in next(csv.reader([line.strip(" ")], delimiter=delimiter, skipinitialspace=True))
        ]
    except (csv.Error, StopIteration):
        return [cell.strip().strip('"') for cell in line.split(delimiter)]


def _trimmed(cells: list[str]) -> list[str]:
    """Without the empty cells that delimiters at the end of a line make."""
    count = len(cells)
    while count and not cells[count - 1].strip():
        count -= 1
    return cells[:count]


def _names(cells: list[str], line: str) -> bool:
    """Whether cells name columns: words, numbers perhaps beside a time, or one name with its unit."""
    cells = _trimmed(cells)
    if len(cells) < 2 and not 0 <= line.find("[") < line.rfind("]"):
        return False
    wordy = [numbers.number(cell) is None for cell in cells if cell]
    first = re.split(r"[\[(]", cells[0])[0] if cells else ""
    return sum(wordy) >= max(1, len(cells) - 1) or bool(TIME_NAME.match(first))


def _are_numbers(values: list[str]) -> bool:
    """Whether a row holds numbers; a date may stand first, so that the reader can report what is wrong with it."""
    bare = [value.strip().strip('"') for value in values]
    known = [v for i, v in enumerate(bare) if v and not (i == 0 and len(bare) > 1 and numbers.DATE.match(v))]
    return bool(known) and all(numbers.number(v) is not None or v.lower() in numbers.MISSING for v in known)


def _width(cells: list[str], values: list[str]) -> int | None:
    """The number of columns from the heading and the first row, either of which may end with delimiters."""
    named, filled = len(_trimmed(cells)), len(_trimmed(values))
    if filled <= named <= len(values):
        return named
    return filled if named < filled <= len(cells) else None


def _units(source: Source, names: list[str], cells: list[str], line: int) -> list[str] | None:
    """The units in `cells`, when they are a line of units below `names`; None when they are names themselves."""
    if len(names) != len(_trimmed(cells)) or not _names(names, ""):
        return None
    bare = [re.sub(r"^[\[(](.*)[\])]$", r"\1", cell) for cell in cells]
    measured = [cell in ("", "-") or _kind(cell) in _MEASURED for cell in bare]
    if all(measured):
        return bare
    for name, cell in zip(names, bare, strict=True):
        if TIME_NAME.match(name) and _kind(cell) == "time":
            wrong = bare[measured.index(False)]
            try:
                parse_unit(wrong)
            except InputError as problem:
                raise source.problem(f"in the line of units: {problem}", line) from None
            return bare
    return None


def _kind(unit: str) -> str:
    try:
        return parse_unit(unit).kind
    except InputError:
        return ""
