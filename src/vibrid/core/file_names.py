"""Names of files that vibrid makes itself: such that Windows, macOS and Linux all accept them and keep them apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

LONGEST = 120
"""Bytes of a name; disks allow 255, and folders above it need some where the whole path is limited."""
_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)


def portable_name(text: str, ending: str = "", taken: Iterable[str] = (), otherwise: str = "file") -> str:
    """A name for a file after a text such as the name of a record, with its ending.

    Characters that Windows forbids become `_`, and so do blanks; letters are composed (NFC), as macOS may spell them
    otherwise; names of Windows' devices such as CON get a `_` in front. A name that another one in `taken` equals but
    for capitals is numbered, since disks of Windows and macOS hold only one of them.

    Example
        >>> portable_name("test: 1/2 ", ".csv"), portable_name("con", ".csv"), portable_name("A", "", taken=["a"])
        ('test_1_2.csv', '_con.csv', 'A_2')
    """
    name = _FORBIDDEN.sub("_", unicodedata.normalize("NFC", text))
    name = "".join(c if c.isprintable() and not 0xD800 <= ord(c) < 0xE000 else "_" for c in name)
    name = re.sub(r"[_\s]*_[_\s]*|\s+", "_", name).strip("_. ") or otherwise
    if windows_reserves(name):
        name = f"_{name}"
    others = {unicodedata.normalize("NFC", other).casefold() for other in taken}
    stem, number = name, 1
    while (made := f"{_shortened(name, LONGEST - len(ending.encode()))}{ending}").casefold() in others:
        number += 1
        name = f"{_shortened(stem, LONGEST - len(ending.encode()) - len(f'_{number}'))}_{number}"
    return made


def windows_reserves(name: str) -> bool:
    """Whether Windows takes a name, whatever its ending, for a device such as CON or COM1."""
    return _RESERVED.fullmatch(name.partition(".")[0].rstrip()) is not None


def windows_problem(name: str) -> str:
    """Why Windows would not write a file of this name as asked; empty where it would.

    Example
        >>> windows_problem("nul.csv")
        "'nul' is the name of a device on Windows; choose another name."
    """
    if windows_reserves(name):
        return f"'{name.partition('.')[0]}' is the name of a device on Windows; choose another name."
    if found := _FORBIDDEN.search(name):
        return f"a name on Windows cannot have the character {found[0]!r}; choose another name."
    if name != name.rstrip(". "):
        return "Windows drops a full stop or a blank at the end of a name; leave it out."
    return ""


def as_on_disk(folder: Path, name: str) -> Path:
    """A file that another file in `folder` names, as this disk spells it.

    A file written on Windows may separate folders by a backslash, and one that comes from macOS may spell ü as u and
    two dots (NFD). Where nothing of the name is there, the path is as it was written.
    """
    path = folder / name
    if path.exists():
        return path
    for written in (path, folder / name.replace("\\", "/")):
        wanted = unicodedata.normalize("NFC", written.name)
        try:
            there = [p for p in written.parent.iterdir() if unicodedata.normalize("NFC", p.name) == wanted]
        except OSError:
            continue
        if len(there) == 1:
            return there[0]
    return path


def _shortened(name: str, most: int) -> str:
    """The beginning of a name that needs at most so many bytes, no character cut in two."""
    return name.encode()[:most].decode(errors="ignore").rstrip("_. ") if len(name.encode()) > most else name
