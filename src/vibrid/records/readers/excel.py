"""Excel workbooks (.xlsx): the values of one sheet, read as a table of text is (`csv.py`, `columns.py`).

Formulas count with the values that were stored last; macros, links to other files and pictures are not opened. The
sizes of the parts are checked before they are expanded. Needs the extra `vibrid[excel]` (openpyxl).
"""

from __future__ import annotations

import datetime
import io
import warnings

from vibrid.core.errors import VibridError, unknown_name
from vibrid.records.readers import columns, csv
from vibrid.records.readers.archive import open_zip, read_member
from vibrid.records.readers.cells import is_value
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.record import Record

NAME = "Excel"
_PROLOGUE = 4096  # bytes in which a document type may be declared


def recognises(source: Source) -> bool:
    return source.head.startswith(b"PK\x03\x04") and b"xml" in source.head and b"xl/workbook.xml" in source.content


def read(source: Source, layout: Layout) -> list[Record]:
    try:
        import openpyxl
    except ImportError:
        raise source.problem(
            "a workbook is read with openpyxl, which is not installed: pip install 'vibrid[excel]', or save the sheet "
            "as CSV."
        ) from None
    _check_parts(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and validations, which are not read
            book = openpyxl.load_workbook(io.BytesIO(source.content), read_only=True, data_only=True, keep_links=False)
            title, text = _chosen(source, book.worksheets, layout)
    except VibridError:
        raise
    except Exception as problem:  # damaged parts end in errors of many kinds
        raise source.problem(f"the workbook is damaged ({type(problem).__name__}: {str(problem)[:100]}).") from None
    inner = Source(source.path, text.encode(), source.limits)
    reader = csv if csv.recognises(inner) else columns
    records = reader.read(inner, layout)
    how = f"read from {source.name} ({NAME}, sheet '{title}')"
    return [record.replace(history=(how, *record.history[1:])) for record in records]


def _check_parts(source: Source) -> None:
    """Refuse archives that expand too much, and parts that declare a document type, which no workbook needs."""
    with open_zip(source) as archive:
        for member in archive.infolist():
            xml = member.filename.endswith((".xml", ".rels"))
            if xml and b"<!DOCTYPE" in read_member(source, archive, member)[:_PROLOGUE].upper():
                raise source.problem(f"its part '{member.filename[:60]}' declares a document type.")


def _chosen(source: Source, sheets: list, layout: Layout) -> tuple[str, str]:
    """Title and text of the sheet that was asked for, or of the only one with numbers."""
    titles = [sheet.title for sheet in sheets]
    if layout.sheet is not None:
        if layout.sheet not in titles:
            raise source.problem(str(unknown_name("sheet", layout.sheet, titles)))
        return layout.sheet, "\n".join(_lines(source, sheets[titles.index(layout.sheet)]))
    found = []
    for sheet in sheets:
        lines = _lines(source, sheet)
        if sum(any(is_value(cell) for cell in line.split("\t")) for line in lines[:200]) >= 2:
            found.append((sheet.title, lines))
    if len(found) != 1:
        named = " and ".join(f"'{title}'" for title, _ in found) or "none"
        raise source.problem(
            f"of its sheets ({', '.join(titles)}), {named} have rows of numbers; give `sheet`: --sheet "
            f"'{(found[0][0] if found else titles[0])}' (`sheet` under [records] of a project, or in a sidecar)."
        )
    return found[0][0], "\n".join(found[0][1])


def _lines(source: Source, sheet) -> list[str]:
    """The rows of a sheet as lines with tabs, the first line the first row; empty outer columns are left out."""
    sheet.reset_dimensions()
    rows, total = [], 0
    for row in sheet.iter_rows(values_only=True):
        total += len(row)
        if total > source.limits.numbers:
            raise source.problem(f"more than {source.limits.numbers} cells; pass larger `limits` to read it.")
        texts = [_text(value) for value in row]
        while texts and not texts[-1]:
            texts.pop()
        rows.append(texts)
    used = [i for row in rows for i, cell in enumerate(row) if cell]
    first, end = min(used, default=0), max(used, default=-1) + 1
    return ["\t".join((row + [""] * end)[first:end]) for row in rows]


def _text(value) -> str:
    """A cell as text: numbers with all digits, dates as ISO 8601."""
    if value is None:
        return ""
    if isinstance(value, datetime.timedelta):
        return repr(value.total_seconds())
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bool | int | float):
        return repr(float(value)) if isinstance(value, float) else str(int(value))
    return " ".join(str(value).replace('"', "'").split())


@READERS.register(NAME)
class Excel(Reader):
    """Excel workbooks (.xlsx): the values of one sheet."""

    particularity = 105

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
