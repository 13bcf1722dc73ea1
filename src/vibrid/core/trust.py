"""Which plugin files may run: those whose content was agreed to, remembered by its SHA-256.

One line a content in `trusted-plugins` of the user's state folder (`$XDG_STATE_HOME/vibrid`, else
`~/.local/state/vibrid`): the SHA-256, and the file it was read from at the time, for people. A file that changes has
another SHA-256, and is asked for again.
"""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from vibrid.core.errors import FileProblem
from vibrid.core.files import make_folder, write_text
from vibrid.core.plugins import fingerprint

_agreed: set[str] = set()
"""Contents agreed to in this process, also where they cannot be remembered."""


def memory() -> Path | None:
    """The file with the agreed contents; None where this user has no home folder."""
    try:
        states = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    except RuntimeError:
        return None
    return states / "vibrid" / "trusted-plugins"


def is_trusted(content: bytes) -> bool:
    """Whether a content was agreed to, now or earlier."""
    return fingerprint(content) in _agreed | _remembered()


def agree(path: str | PathLike[str], content: bytes) -> None:
    """Remember that a content may run; a `FileProblem` when that cannot be written (it may run in this process)."""
    mark = fingerprint(content)
    _agreed.add(mark)
    if mark in _remembered():
        return
    file = memory()
    if file is None:
        raise FileProblem("~", "there is no home folder to remember the answer in; it will be asked again.")
    make_folder(file.parent)
    write_text(file, "".join(f"{line}\n" for line in [*_lines(file), f"{mark}  {_printable(path)}"]))


def _printable(path) -> str:
    """The file in one line, whatever its name holds."""
    return str(Path(path).resolve()).encode("unicode_escape").decode()


def _remembered() -> set[str]:
    file = memory()
    return set() if file is None else {line.split()[0] for line in _lines(file)}


def _lines(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError):
        return []
