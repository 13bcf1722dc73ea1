"""Decimal commas, as in 0,01, where they cannot be read: they are reported as such, and never read as two columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vibrid.records.readers.source import Source

_NUMBER = re.compile(r"[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+([eEdD][-+]?\d+)?")
_WHOLE, _PART = re.compile(r"\s*[-+]?\d+"), re.compile(r"\d+([eE][-+]?\d+)?\s*")
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?|nan", re.IGNORECASE)
_LONGEST = 60  # characters of a number


def has_one(text: str) -> bool:
    """Whether a text is one number with a decimal comma."""
    return _NUMBER.fullmatch(text.strip().strip('"').strip()) is not None


def _is_plain(text: str) -> bool:
    text = text.strip()
    return len(text) <= _LONGEST and _PLAIN.fullmatch(text) is not None


def refusal(example: str) -> str:
    """The message for a number with a decimal comma."""
    example = example.strip().strip('"').strip()[:40]
    return (
        f"'{example}' has a decimal comma; save the file again with decimal points, such as 0.5 for 0,5 (where "
        "semicolons, tabs or spaces stand between the columns, it is enough to replace every comma by a point)."
    )


def in_pairs(line: str) -> str | None:
    """The first number of a line of integers between commas that may as well be half as many with decimal commas."""
    cells = line.split(",")
    pairs = list(zip(cells[::2], cells[1::2], strict=False))
    if len(cells) % 2 or not all(_WHOLE.fullmatch(whole) and _PART.fullmatch(part) for whole, part in pairs):
        return None
    return ",".join(pairs[0]).strip()


def refuse(source: Source) -> None:
    """Refuse a text with a row of numbers of which some have decimal commas; nothing happens where there is none."""
    for place, line in enumerate(source.head_lines, 1):
        for separator in (";", "\t", None):
            cells = [cell for cell in line.split(separator) if cell.strip()]
            commas = [cell for cell in cells if has_one(cell)]
            if commas and all(has_one(cell) or _is_plain(cell) for cell in cells):
                raise source.problem(refusal(commas[0]), place)


def refuse_pairs(source: Source, lines: Sequence[str], first_line: int) -> None:
    """Refuse unnamed columns of integers between commas where every row may also hold numbers with decimal commas."""
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith(("#", "%"))]
    pairs = [in_pairs(row) for row in rows]
    if not pairs or None in pairs:
        return
    raise source.problem(
        f"'{pairs[0]}' may be one number with a decimal comma or two columns; give `decimal`: --decimal , or "
        "--decimal . (`decimal` under [records] of a project, or in a sidecar), or name the columns in a first line.",
        first_line,
    )
