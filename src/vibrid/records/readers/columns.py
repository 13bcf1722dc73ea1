"""Plain columns of numbers, without headings: one number a line, or several separated by white space, comma, semicolon.

Numbers have decimal points or commas, as all of them show; `1,5` alone may be one number or two and is refused.
The caller or a sidecar TOML describes the columns. An unnamed first column that rises in equal steps from
about zero is the time. Lines before the first row of numbers, up to forty, are taken as a title; the last of them names
the columns where it has as many words and among them a time, or units in brackets.
"""

from __future__ import annotations

from dataclasses import replace

from vibrid.core.errors import InputError
from vibrid.records.readers import decimal_comma
from vibrid.records.readers.assemble import assemble, split_unit
from vibrid.records.readers.cells import is_comment, is_value, number
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.marks import decimal_mark
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.rows import Form, data_rows, notes_on, table
from vibrid.records.readers.source import Source
from vibrid.records.readers.time_axis import TIME_NAME
from vibrid.records.record import Record
from vibrid.records.units import parse_unit

NAME = "columns"
_TITLE_LINES = 40


def _first_row(lines: list[str], mark: str | None) -> tuple[int, str | None, int] | None:
    """Index, delimiter and width of the first row of numbers that the next row equals in width."""
    body = [(i, line) for i, line in enumerate(lines) if line.strip() and not _is_comment(line)]
    for place, (index, line) in enumerate(body[: _TITLE_LINES + 1]):
        for delimiter in (None, ",", ";") if mark != "," else (None, ";"):
            row = line.split(delimiter)
            row = row[:-1] if delimiter and len(row) > 1 and not row[-1].strip() else row
            alone = delimiter is None and len(row) == 1 and mark != ","  # 1,5 in a line may be two columns
            if not row or any((number(cell) is None if alone else not is_value(cell)) for cell in row):
                continue
            following = body[place + 1][1].split(delimiter) if place + 1 < len(body) else row
            alike = len(following) in (len(row), len(row) + 1) or place + 2 >= len(body)
            if alike:
                return index, delimiter, len(row)
    return None


def _is_comment(line: str) -> bool:
    return is_comment(line) or line.lstrip().startswith("%")


def recognises(source: Source) -> bool:
    return source.encoding is not None and _first_row(source.head_lines, None) is not None


def read(source: Source, layout: Layout) -> list[Record]:
    first_row = _first_row(source.head_lines, layout.decimal)
    if first_row is None:
        decimal_comma.refuse(source)
        raise source.problem("no rows of numbers were found.")
    index, delimiter, width = first_row
    lines = source.lines()
    title = [next(lines, "").strip() for _ in range(index)]
    lines = (line if not line.lstrip().startswith("%") else "" for line in lines)
    names, units = _named(source, title, delimiter, width, index)
    if delimiter == "," and layout.columns is None and not names and layout.decimal is None:
        decimal_comma.refuse_pairs(source, _whole(source, source.head_lines[index:]), index + 1)
    form = Form(delimiter, names=tuple(names))
    if delimiter != ",":
        head, whole = (data_rows(form, part, index) for part in (source.head_lines, source.lines()))
        form = replace(form, mark=decimal_mark(source, head, whole, layout.decimal))
    data = table(source, lines, index + 1, form, width)
    notes = notes_on(form)
    if names:
        return [assemble(source, data, names, units, layout, kind=NAME, unit_line=index, notes=notes)]
    names = [f"column_{i}" for i in range(1, width + 1)]
    record = assemble(source, data, names, [None] * width, layout, kind=NAME, named=False, notes=notes)
    above = [line for line in title if line]
    return [record.replace(f"text above the numbers: {' | '.join(above)[:200]}") if above else record]


def _whole(source: Source, lines: list[str]) -> list[str]:
    """The first lines of a file, without the last one where it is cut."""
    return lines[:-1] if source.size > len(source.head) and len(lines) > 1 else lines


def _named(source: Source, title: list[str], delimiter: str | None, width: int, line: int):
    """Names and units in the line above the numbers, where it is one of headings: a time, or units in brackets."""
    words = title[-1].lstrip("#% ").split(delimiter) if title else []
    split = [split_unit(word) for word in words]
    headings = any(unit is not None for _, unit in split) or any(TIME_NAME.match(name) for name, _ in split)
    if len(split) != width or not headings or all(number(name) is not None for name, _ in split):
        return [], []
    for name, unit in split:
        try:
            parse_unit(unit or "")
        except InputError as problem:
            raise source.problem(f"column '{name}': {problem}", line) from None
    return [name for name, _ in split], [unit for _, unit in split]


@READERS.register(NAME)
class PlainColumns(Reader):
    """Plain columns of numbers, without headings: one number a line, or several."""

    particularity = 10

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
