"""Numbers in text: blocks in fixed-width or free columns, fast when clean and exact when not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from vibrid.records.readers import decimal_comma
from vibrid.records.readers.cells import number
from vibrid.records.readers.source import Source

_CHUNK = 100_000  # characters parsed at once: as words they take some seven times their memory


def check_finite(source: Source, values: np.ndarray, first_line: int | None = None) -> None:
    """Refuse infinite numbers; NaN is allowed, it means that a sample is missing."""
    endless = np.isinf(values)
    if endless.any():
        index = np.argwhere(endless)[0]
        line = None if first_line is None or values.ndim != 2 else first_line + int(index[0])
        raise source.problem(f"sample {int(index[0]) + 1} is infinite; a missing sample is written NaN.", line)


def chunks(lines: Iterable[str]) -> Iterator[list[str]]:
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
    for chunk in chunks(lines):
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
    """The message for a text that should be a number."""
    return decimal_comma.refusal(text) if decimal_comma.has_one(text) else f"'{text[:40]}' is not a number."


def fortran_width(text: str) -> int | None:
    """Characters per number from a Fortran format such as (8F10.3) or 5E15.7; None when there is none."""
    match = re.search(r"[FEGDI]\s*(\d{1,2})", text, re.I)
    width = int(match.group(1)) if match else 0
    return width or None
