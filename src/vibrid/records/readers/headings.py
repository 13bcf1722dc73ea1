"""Headings of text tables: the lines that name the columns, a line of units below them, and the width of the rows."""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from typing import NamedTuple

from vibrid.core.errors import InputError
from vibrid.records.readers import decimal_comma
from vibrid.records.readers.cells import is_comment, is_missing, is_value
from vibrid.records.readers.source import Source
from vibrid.records.readers.stamps import looks_like_stamp
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


_PROCESSES = frozenset({"smp", "avg", "max", "min", "std", "tot", "med", "raw", "cov", "win", "txt"})
_MOST_ROWS = 5  # of headings

Body = list[tuple[int, str]]
"""Index and text of the lines that are neither blank nor comments."""


class Heading(NamedTuple):
    """Index of the heading line and of the last line before the numbers, the delimiter, the names and the units.

    rows: of the names, which are joined where there are several.
    """

    first: int
    last: int
    delimiter: str
    cells: list[str]
    units: list[str]
    rows: int = 1


def find_heading(source: Source) -> Heading | None:
    """The heading of a table of numbers; None where no line names columns, an error where it does not fit them."""
    lines = source.head_lines
    body = [(i, line) for i, line in enumerate(lines) if line.strip() and not is_comment(line)]
    if body and any(line.startswith(MARK) for line in lines[: body[0][0]]):  # names may be anything there
        return Heading(body[0][0], body[0][0], ",", cells_of(body[0][1], ","), [])
    misfit = None
    for place, ((index, line), (_, following)) in enumerate(pairwise(body[: _TITLE_LINES + 1])):
        for delimiter in _DELIMITERS:
            cells, values = cells_of(line, delimiter), cells_of(following, delimiter)
            if not _names(cells, line) or not _are_numbers(values):
                continue
            width = _width(cells, values)
            if width is None and len(values) > 1:
                _refuse_commas(source, cells, following, body[place + 1][0] + 1)
                misfit = misfit or (index + 1, len(_trimmed(cells)), len(_trimmed(values)))
            if width is not None:
                return _arranged(source, body, place, delimiter, width)
    if misfit is not None and misfit[1] > 1:
        line, headings, values = misfit
        raise source.problem(
            f"{headings} headings stand above rows of {values} values; name every column, or begin the line with # if "
            "it is a title.",
            line,
        )
    return _beside_words(source, body)


def refuse_alone(source: Source) -> None:
    """Refuse a file that has headings with a time, and no rows of numbers below them."""
    for place, line in enumerate(source.head_lines, 1):
        for delimiter in _DELIMITERS:
            cells = _trimmed(cells_of(line, delimiter))
            if len(cells) > 1 and _names(cells, "") and any(TIME_NAME.match(_bare(cell)) for cell in cells):
                raise source.problem("there are headings and no rows of numbers below: is it the whole file?", place)


def _beside_words(source: Source, body: Body) -> Heading | None:
    """The heading of a table of which some columns are words; it names a time, and three rows are alike."""
    for place in range(min(len(body) - 3, _TITLE_LINES)):
        for delimiter in _DELIMITERS:
            cells = _trimmed(cells_of(body[place][1], delimiter))
            if len(cells) < 2 or not _names(cells, "") or not any(TIME_NAME.match(_bare(cell)) for cell in cells):
                continue
            if _alike(body[place + 1 : place + 4], delimiter, len(cells)):
                return _arranged(source, body, place, delimiter, len(cells))
            below = cells_of(body[place + 1][1], delimiter)
            if (
                _alike(body[place + 2 : place + 5], delimiter, len(cells))
                and _units(source, cells, below, 0) is not None
            ):
                return _arranged(source, body, place + 1, delimiter, len(cells))
    return None


def _alike(lines: Body, delimiter: str, width: int) -> bool:
    """Whether three rows have numbers, or times, in the same columns of so many."""
    rows = [cells_of(line, delimiter) for _, line in lines]
    kinds = [[is_value(cell) or is_missing(cell) or looks_like_stamp(cell) for cell in row] for row in rows]
    return (
        len(rows) == 3
        and all(len(kind) == width for kind in kinds)
        and kinds[0] == kinds[1] == kinds[2]
        and any(kinds[0])
    )


def _arranged(source: Source, body: Body, last: int, delimiter: str, width: int) -> Heading:
    """Names and units from the lines of the same width that end with `last`."""
    rows = [(cells_of(body[last][1], delimiter) + [""] * width)[:width]]
    for place in range(last - 1, max(last - _MOST_ROWS, -1), -1):
        cells = cells_of(body[place][1], delimiter)
        if len(_trimmed(cells)) != len(_trimmed(rows[-1])) or not _names(cells, ""):
            break
        rows.append((cells + [""] * width)[:width])
    rows.reverse()
    index = body[last][0]
    bottom = [cell.lower() for cell in rows[-1] if cell]
    if len(rows) > 1 and all(cell in _PROCESSES for cell in bottom):
        rows.pop()  # Smp, Avg: how a logger sampled
    timed = [i for i, row in enumerate(rows) if any(TIME_NAME.match(_bare(cell)) for cell in row)]
    top = timed[-1] if timed else len(rows) - 1
    if not timed and len(rows) > 1 and _units(source, rows[-2], rows[-1], index + 1) is not None:
        top = len(rows) - 2
    names, units, joined = list(rows[top]), [], 1
    if timed and top == len(rows) - 1 and top > 0 and _units(source, rows[top - 1], names, index + 1) is not None:
        top, names = top - 1, list(rows[top - 1])  # a unit of time can have the name of one: sec
    for below in rows[top + 1 :]:
        found = None if units else _units(source, names, below, index + 1)
        if found is not None:
            units = found
            continue
        named = [bool(TIME_NAME.match(_bare(name))) for name in names]
        names = [n if t else f"{n} {b}".strip() for n, b, t in zip(names, below, named, strict=True)]
        joined += 1
    return Heading(body[last - (len(rows) - 1 - top)][0], index, delimiter, names, units, joined)


def _bare(cell: str) -> str:
    """A heading without brackets."""
    return re.split(r"[\[(]", cell)[0]


def _refuse_commas(source: Source, names: list[str], row: str, line: int) -> None:
    """Refuse a row between commas that has as many numbers as there are headings if its numbers have decimal commas."""
    first = decimal_comma.in_pairs(row)
    if first is not None and row.count(",") + 1 == 2 * len(_trimmed(names)) > 2:
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
    wordy = [not is_value(cell) and not looks_like_stamp(cell) for cell in cells if cell]
    return sum(wordy) >= max(1, len(wordy) - 1) or bool(cells and TIME_NAME.match(_bare(cells[0])))


def _are_numbers(values: list[str]) -> bool:
    """Whether a row holds numbers; dates may stand beside them."""
    known = [cell for cell in values if cell and not looks_like_stamp(cell)]
    return bool(known) and all(is_value(cell) or is_missing(cell) for cell in known)


def _width(cells: list[str], values: list[str]) -> int | None:
    """The number of columns from the heading and the first row, either of which may end with delimiters."""
    named, filled = len(_trimmed(cells)), len(_trimmed(values))
    if filled <= named <= len(values):
        return named
    return filled if named < filled <= len(cells) else None


def _units(source: Source, names: list[str], cells: list[str], line: int) -> list[str] | None:
    """The units in `cells`, when they are a line of units below `names`; None when they are names themselves."""
    if len(_trimmed(names)) != len(_trimmed(cells)) or not _names(names, ""):
        return None
    bare = [re.sub(r"^[\[(](.*)[\])]$", r"\1", cell) for cell in cells]
    bare = ["" if cell in ("TS", "RN") else cell for cell in bare]  # Campbell loggers: time stamp, record number
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
