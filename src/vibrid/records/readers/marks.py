"""The decimal mark of a text table, from all of its numbers or from the caller.

Where `1,234` is all that a file shows, it may be 1.234 or 1234: such a file is refused with the option that decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vibrid.records.readers.cells import mark_in
from vibrid.records.readers.source import Source

Row = tuple[int, Sequence[str]]
"""Number of a line, and its cells."""

CHOICE = "give `decimal`: --decimal , or --decimal . (`decimal` under [records] of a project, or in a sidecar)"
"""How the caller decides the decimal mark."""


def decimal_mark(source: Source, head: Iterable[Row], whole: Iterable[Row], given: str | None) -> str:
    """The decimal mark of a table: as given, as its first rows show, or as all of its rows show."""
    if given is not None:
        return given
    for rows in (head, whole):
        sure: dict[str, tuple[int, str]] = {}
        unsure: tuple[int, str] | None = None
        for line, cells in rows:
            for cell in cells:
                found = mark_in(cell.strip().strip('"')) if "," in cell or "." in cell else None
                if found is not None and found[1]:
                    sure.setdefault(found[0], (line, cell.strip()))
                elif found is not None and found[0] == ",":
                    unsure = unsure or (line, cell.strip())
            if len(sure) == 2:
                (_, point), (line, comma) = sure["."], sure[","]
                raise source.problem(
                    f"'{comma[:40]}' has a decimal comma and '{point[:40]}' a decimal point; save the file with one of "
                    "them.",
                    line,
                )
        if sure:
            return next(iter(sure))
    if unsure is not None:
        line, cell = unsure
        without, point = cell.strip('"').replace(",", ""), cell.strip('"').replace(",", ".", 1)
        raise source.problem(f"'{cell.strip(chr(34))}' may be {point} or {without}; {CHOICE}.", line)
    return "."
