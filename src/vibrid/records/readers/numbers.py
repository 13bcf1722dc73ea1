"""Numbers in text: blocks in fixed-width or free columns, and rows of a table, fast when clean and exact when not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from vibrid.records.readers import decimal_comma
from vibrid.records.readers.source import Source

_CHUNK = 100_000  # characters parsed at once: as words they take some seven times their memory
MISSING = frozenset({"", "nan", "na", "n/a", "null", "none", "-", "#n/a"})
"""Texts for a missing sample, in small letters."""

DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b.*|\d{1,2}:\d{2}\b.*")
"""The beginning of a date or a time of day."""


def number(text: str) -> float | None:
    """A number as Fortran or C write it, without decimal commas; None when it is none."""
    text = text.strip()
    if len(text) > 60 or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        try:
            return float(re.sub(r"(?<=[\d.])[dD](?=[-+\d])", "e", text))
        except ValueError:
            return None


def check_finite(source: Source, values: np.ndarray, first_line: int | None = None) -> None:
    """Refuse infinite numbers; NaN is allowed, it means that a sample is missing."""
    endless = np.isinf(values)
    if endless.any():
        index = np.argwhere(endless)[0]
        line = None if first_line is None or values.ndim != 2 else first_line + int(index[0])
        raise source.problem(f"sample {int(index[0]) + 1} is infinite; a missing sample is written NaN.", line)


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Lines in lists of about `_CHUNK` characters."""
    chunk, size = [], 0
    for line in lines:
        chunk.append(line)
        size += len(line) + 50  # an empty line takes memory too
        if size >= _CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def block(
    source: Source, lines: Iterable[str], first_line: int, width: int | None = None, count: int = 0
) -> np.ndarray:
    """All numbers of a block of text, read row by row.

    lines: the block; first_line: number of its first line in the file (from 1); width: characters per number when the
    columns are fixed and may touch; count: of the numbers, as far as it is known. Memory stays at the result plus one
    chunk of lines.
    """
    result, total = np.empty(min(count, source.size)), 0
    for chunk in _chunks(lines):
        text = " ".join(chunk)
        try:
            values = np.array(text.split(), dtype=np.float64) if "_" not in text else None
        except ValueError:
            values = None
        if values is None:
            values = np.array(list(_one_by_one(source, chunk, first_line, width)), dtype=np.float64)
        first_line, total = first_line + len(chunk), total + values.size
        if total > source.limits.numbers:
            raise source.problem(f"more than {source.limits.numbers} numbers.")
        if total > result.size:
            result = np.concatenate([result, np.empty(max(total - result.size, result.size // 2))])
        result[total - values.size : total] = values
    check_finite(source, result[:total])
    return result[:total]


def counted(source: Source, values: np.ndarray, count: int, line: int) -> np.ndarray:
    """The values of a block, where they are as many as the line above them announces."""
    if values.size != count:
        why = "it is cut short" if values.size < count else "the count is wrong"
        raise source.problem(f"{count} values are announced and {values.size} follow: {why}.", line)
    return values


def _one_by_one(source, lines, first_line, width) -> Iterator[float]:
    for offset, line in enumerate(lines):
        words = line.split()
        values = [number(word) for word in words]
        if None in values and width:
            pieces = [line[i : i + width] for i in range(0, len(line.rstrip()), width)]
            fixed = [number(piece) for piece in pieces]
            if None not in fixed:
                words, values = pieces, fixed
        for word, value in zip(words, values, strict=True):
            if value is None:
                raise source.problem(_not_a_number(word.strip()), first_line + offset)
            yield value


def _not_a_number(text: str) -> str:
    """The message for a cell that should be a number."""
    if decimal_comma.has_one(text):
        return decimal_comma.refusal(text)
    what = "a date; write the time in seconds from the start" if DATE.match(text) else "not a number"
    return f"'{text[:40]}' is {what}."


def fortran_width(text: str) -> int | None:
    """Characters per number from a Fortran format such as (8F10.3) or 5E15.7; None when there is none."""
    match = re.search(r"[FEGDI]\s*(\d{1,2})", text, re.I)
    width = int(match.group(1)) if match else 0
    return width or None


def table(
    source: Source, lines: Iterable[str], first_line: int, delimiter: str | None, columns: int | None = None
) -> np.ndarray:
    """Rows of numbers, (rows, columns); empty cells and NaN are missing samples.

    delimiter: the character between cells, or None for white space. Blank lines and lines that start with # are
    skipped. Memory stays at the result plus one chunk of lines.
    """
    chunks, line_number, total = [], first_line, 0
    for chunk in _chunks(lines):
        values = _fast(chunk, delimiter, columns)
        if values is None:
            values = _careful(source, chunk, line_number, delimiter, columns)
        if values.size:
            columns = values.shape[1]
            total += values.size
            if total > source.limits.numbers:
                raise source.problem(f"more than {source.limits.numbers} numbers; pass larger `limits` to read it.")
            chunks.append(values)
        line_number += len(chunk)
    if not chunks:
        return np.empty((0, columns or 0))
    return np.concatenate(chunks) if len(chunks) > 1 else chunks[0]


def _fast(chunk: list[str], delimiter: str | None, columns: int | None) -> np.ndarray | None:
    """NumPy's own parser; None where it would not report exactly what is wrong."""
    if all(not line.strip() or line.lstrip().startswith("#") for line in chunk):
        return None  # it warns where there is nothing to read
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


def _careful(source, chunk, first_line, delimiter, columns) -> np.ndarray:
    rows = []
    for offset, line in enumerate(chunk):
        text = line.split("#", 1)[0]
        if not text.strip():
            continue
        cells = text.split(delimiter) if delimiter else text.split()
        while columns and len(cells) > max(columns, 1) and not cells[-1].strip():
            cells.pop()  # delimiters at the end of the line
        if columns is None:
            columns = len(cells)
        if len(cells) != columns:
            raise source.problem(f"{len(cells)} values where the lines before have {columns}.", first_line + offset)
        row = []
        for cell in cells:
            bare = cell.strip().strip('"')
            value = np.nan if bare.lower() in MISSING else number(bare)
            if value is None:
                raise source.problem(_not_a_number(bare), first_line + offset)
            if np.isinf(value):
                raise source.problem("a value is infinite; a missing sample is written NaN.", first_line + offset)
            row.append(value)
        rows.append(row)
    return np.array(rows, dtype=np.float64).reshape(len(rows), columns or 0)
