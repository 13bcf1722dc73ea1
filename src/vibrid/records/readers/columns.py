"""Plain columns of numbers, without headings: one number a line, or several separated by white space, comma, semicolon.

What the columns are is said by the caller or a sidecar TOML. An unnamed first column that rises in equal steps from
about zero is the time. Lines before the first row of numbers, up to forty, are taken as a title.
"""

from __future__ import annotations

from vibrid.records.readers import numbers
from vibrid.records.readers.assemble import assemble
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.source import Source
from vibrid.records.record import Record

NAME = "columns"
_TITLE_LINES = 40


def _first_row(lines: list[str]) -> tuple[int, str | None, int] | None:
    """Index, delimiter and width of the first row of numbers, whose follower has as many."""
    body = [(i, line) for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(("#", "%"))]
    for place, (index, line) in enumerate(body[: _TITLE_LINES + 1]):
        for delimiter in (None, ",", ";"):
            cells = line.split(delimiter)
            cells = cells[:-1] if delimiter and len(cells) > 1 and not cells[-1].strip() else cells
            if not cells or any(numbers.number(cell) is None for cell in cells):
                continue
            following = body[place + 1][1].split(delimiter) if place + 1 < len(body) else cells
            alike = len(following) in (len(cells), len(cells) + 1) or place + 2 >= len(body)
            if alike:
                return index, delimiter, len(cells)
    return None


def recognises(source: Source) -> bool:
    return source.encoding is not None and _first_row(source.head_lines) is not None


def read(source: Source, layout: Layout) -> list[Record]:
    found = _first_row(source.head_lines)
    if found is None:
        raise source.problem("no rows of numbers were found.")
    index, delimiter, width = found
    lines = source.lines()
    for _ in range(index):
        next(lines, None)
    lines = (line if not line.lstrip().startswith("%") else "" for line in lines)
    data = numbers.table(source, lines, index + 1, delimiter, width)
    names = [f"column_{i}" for i in range(1, width + 1)]
    return [assemble(source, data, names, [None] * width, layout, kind=NAME, named=False)]
