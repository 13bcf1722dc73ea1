"""Rows of a text table as numbers, fast where they are clean and exact where they are not."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.readers import cells, decimal_comma
from vibrid.records.readers.numbers import chunks
from vibrid.records.readers.source import Source
from vibrid.records.readers.stamps import StampColumn, looks_like_stamp


@dataclass(frozen=True)
class Form:
    """How the cells of a table are written.

    delimiter: the character between cells, None for white space; mark: the decimal mark; stamps: the columns with dates
    or times of day, by index; left_out: the indices of columns that are not read; names: of the columns, for messages;
    grouped: the first number with separators of thousands, once one is found.
    """

    delimiter: str | None = ","
    mark: str = "."
    stamps: Mapping[int, StampColumn] = field(default_factory=dict)
    left_out: Collection[int] = ()
    names: tuple[str, ...] = ()
    grouped: set[str] = field(default_factory=set)

    def split(self, line: str) -> list[str]:
        """The cells of a line; quotes may hold the delimiter."""
        if self.delimiter is None:
            return line.split()
        if '"' not in line:
            return line.split(self.delimiter)
        try:
            return next(csv.reader([line.strip(" ")], delimiter=self.delimiter, skipinitialspace=True))
        except (csv.Error, StopIteration):
            return line.split(self.delimiter)


def data_rows(form: Form, lines: Iterable[str], skip: int) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of the rows after the first `skip` lines; blank lines and comments are left out,
    and cells of columns that are not read are empty."""
    for number, line in enumerate(lines, 1):
        if number > skip and line.strip() and not cells.is_comment(line):
            row = form.split(cells.without_comment(line))
            yield number, ["" if i in form.left_out else cell for i, cell in enumerate(row)]


def table(source: Source, lines: Iterable[str], first_line: int, form: Form, columns: int | None = None) -> np.ndarray:
    """Rows of numbers, (rows, columns); empty cells, NaN and errors of spreadsheets are missing samples.

    Blank lines and comments are skipped. Dates go into the form's stamps and are NaN here, as are columns left out.
    Memory stays at the result plus one chunk of lines.
    """
    found, line_number, total = [], first_line, 0
    for chunk in chunks(lines):
        values = None if form.stamps or form.left_out else _fast(chunk, form, columns)
        if values is None:
            values = _careful(source, chunk, line_number, form, columns)
        if values.size:
            columns = values.shape[1]
            total += values.size
            if total > source.limits.numbers:
                raise source.problem(f"more than {source.limits.numbers} numbers; pass larger `limits` to read it.")
            found.append(values)
        line_number += len(chunk)
    if not found:
        return np.empty((0, columns or 0))
    return np.concatenate(found) if len(found) > 1 else found[0]


def _fast(chunk: list[str], form: Form, columns: int | None) -> np.ndarray | None:
    """NumPy's own parser; None where it would not report exactly what is wrong."""
    delimiter = form.delimiter
    if all(not line.strip() or line.lstrip().startswith("#") for line in chunk):
        return None  # it warns where there is nothing to read
    if any(cells.has_errors(line) for line in chunk):
        return None
    if form.mark == ",":
        if any("." in line for line in chunk):
            return None
        chunk = [line.replace(",", ".") for line in chunk]
    if delimiter and columns and chunk[0].count(delimiter) == columns and chunk[0].rstrip(" ").endswith(delimiter):
        trimmed = [line.rstrip(" ") for line in chunk]  # a delimiter at the end of every line
        if not all(line.endswith(delimiter) for line in trimmed):
            return None
        chunk = [line[: -len(delimiter)] for line in trimmed]
    try:
        values = np.loadtxt(chunk, delimiter=delimiter, comments="#", ndmin=2, dtype=np.float64)
    except Exception:
        return None
    bad = values.size == 0 or (columns is not None and values.shape[1] != columns) or np.isinf(values).any()
    return None if bad else values


def _careful(source: Source, chunk: list[str], first_line: int, form: Form, columns: int | None) -> np.ndarray:
    rows = []
    for offset, line in enumerate(chunk):
        text = "" if cells.is_comment(line) else cells.without_comment(line)
        if not text.strip():
            continue
        row = form.split(text)
        while columns and len(row) > max(columns, 1) and not row[-1].strip():
            row.pop()  # delimiters at the end of the line
        if columns is None:
            columns = len(row)
        if len(row) != columns:
            raise source.problem(f"{len(row)} values where the lines before have {columns}.", first_line + offset)
        try:
            rows.append([_cell(cell, index, form) for index, cell in enumerate(row)])
        except InputError as problem:
            raise source.problem(str(problem), first_line + offset) from None
    return np.array(rows, dtype=np.float64).reshape(len(rows), columns or 0)


def notes_on(form: Form) -> list[str]:
    """What was decided about the numbers of a table that was read, where it is not the usual."""
    notes = ["decimal commas"] if form.mark == "," else []
    return notes + [f"separators of thousands ({example})" for example in sorted(form.grouped)]


def _cell(cell: str, index: int, form: Form) -> float:
    if index in form.stamps:
        form.stamps[index].add(cell)
        return np.nan
    if index in form.left_out:
        return np.nan
    bare = cell.strip().strip('"')
    value = np.nan if cells.is_missing(bare) else cells.value(bare, form.mark)
    if value is None:
        raise InputError(_not_a_number(bare, index, form))
    if not form.grouped and cells.is_grouped(bare, form.mark):
        form.grouped.add(f"{bare} is {value:.15g}")
    if np.isinf(value):
        raise InputError("a value is infinite; a missing sample is written NaN.")
    return value


def _not_a_number(text: str, index: int, form: Form) -> str:
    """The message for a cell that should be a number."""
    if form.mark == "." and decimal_comma.has_one(text):
        return f"'{text[:40]}' has a decimal comma and other numbers decimal points; save the file with one of them."
    if form.mark == "," and cells.value(text, ".") is not None:
        return f"'{text[:40]}' has a decimal point and other numbers decimal commas; save the file with one of them."
    if looks_like_stamp(text):
        return f"'{text[:40]}' is a date; write the time in seconds from the start."
    if index < len(form.names):
        return f"'{text[:40]}' is not a number; leave the column out with --drop or `drop`: '{form.names[index]}'."
    return f"'{text[:40]}' is not a number."
