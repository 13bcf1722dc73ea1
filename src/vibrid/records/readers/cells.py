"""Cells of text tables: numbers with either decimal mark and separators of thousands, missing samples, comments."""

from __future__ import annotations

import re

MISSING = frozenset(
    {"", "nan", "na", "n/a", "n.a.", "null", "none", "missing", "-", "--", "---", "1.#qnan", "1.#ind", "-1.#ind"}
)
"""Texts for a missing sample, in small letters, besides the errors of spreadsheets."""

_WORDS = r"#(?:n/a|nv|div/0!|[a-z]{2,12}[!?])"  # #N/A, #DIV/0!, #VALUE!, #NAME?, #WERT!
_END = r"(?=\s*(?:[,;\s\"]|$))"
_ERROR, _ERROR_CELL = re.compile(_WORDS, re.I), re.compile(_WORDS + _END, re.I)
_COMMENT = re.compile(rf"(?<![.\w])(?!{_WORDS}{_END})#", re.I)
_SPACES = "'’\u00a0\u202f"  # between thousands, whichever the decimal mark
_EXPONENT = r"(?:[eEdD][-+]?\d{1,3})?"
_GROUPED = {
    mark: re.compile(rf"[-+]?[1-9]\d{{0,2}}(?:([{other}{_SPACES}])\d{{3}})(?:\1\d{{3}})*(?:{re.escape(mark)}\d*)?")
    for mark, other in ((".", ","), (",", "."))
}
_PLAIN = {
    mark: re.compile(rf"[-+]?(?:\d+{re.escape(mark)}\d*|{re.escape(mark)}\d+){_EXPONENT}|[-+]?\d+{_EXPONENT}")
    for mark in ".,"
}
_FORTRAN = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))(?:[dD]([-+]?\d{1,3})|([-+]\d{3}))")  # 1.5D+03, 1.5-101
_LONGEST = 60  # characters of a number


def number(text: str) -> float | None:
    """A number as Fortran or C write it, without decimal commas; None when it is none."""
    text = text.strip()
    if len(text) > _LONGEST or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        parts = _FORTRAN.fullmatch(text)
        return None if parts is None else float(f"{parts[1]}e{parts[2] or parts[3]}")


def is_comment(line: str) -> bool:
    """Whether a line is a comment; one that begins with #N/A is a row."""
    return line.lstrip().startswith("#") and _ERROR_CELL.match(line.lstrip()) is None


def without_comment(line: str) -> str:
    """A row without the comment at its end; errors of spreadsheets such as #DIV/0! are cells."""
    if "#" not in line:
        return line
    found = _COMMENT.search(line)
    return line if found is None else line[: found.start()]


def is_missing(text: str) -> bool:
    """Whether a cell says that its sample is missing."""
    text = text.strip()
    return text.lower() in MISSING or _ERROR.fullmatch(text) is not None


def has_errors(text: str) -> bool:
    """Whether a text may have cells with the errors of spreadsheets."""
    return "#" in text and _ERROR.search(text) is not None


def value(text: str, mark: str = ".") -> float | None:
    """The number in a cell, with this decimal mark; None where it is none.

    The other mark, an apostrophe or a space may stand between thousands: value("1,234.5") is 1234.5.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    if is_grouped(text, mark):
        text = re.sub(rf"[{',' if mark == '.' else '.'}{_SPACES}]", "", text)
    elif ("," if mark == "." else ".") in text:
        return None
    return number(text.replace(",", ".") if mark == "," else text)


def is_grouped(text: str, mark: str) -> bool:
    """Whether a number has separators of thousands."""
    return len(text) <= _LONGEST and _GROUPED[mark].fullmatch(text) is not None


def is_value(text: str) -> bool:
    """Whether a cell is a number with either decimal mark."""
    return value(text, ".") is not None or value(text, ",") is not None


def mark_in(text: str) -> tuple[str, bool] | None:
    """The decimal mark that a cell shows, and whether it can be nothing else; None where it shows none.

    mark_in("0,5") is (",", True); mark_in("1,234") is (",", False), because a comma may stand between thousands.
    """
    text = text.strip()
    points, commas = text.count("."), text.count(",")
    if len(text) > _LONGEST or not points + commas:
        return None
    grouped = {mark: _GROUPED[mark].fullmatch(text) is not None for mark in ".,"}
    plain = {mark: _PLAIN[mark].fullmatch(text) is not None for mark in ".,"}
    readings = [mark for mark in ".," if grouped[mark] or plain[mark]]
    if not readings:
        return None
    if len(readings) == 1:
        return readings[0], True
    return ("," if commas else "."), False
