"""The folder that the studio works in: no name that comes from the page leads out of it."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vibrid.core.errors import FileProblem, InputError
from vibrid.core.file_names import LONGEST, windows_problem
from vibrid.core.files import make_folder, write_text

OWN = ".studio"
"""The folder inside, for the list of jobs and their files."""
LARGEST_PROJECT = 1_000_000
_DRIVE = re.compile(r"[A-Za-z]:")


class Workspace:
    """A folder with measured files and project files.

    Arguments
        folder: it is made where it is not there.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(os.path.realpath(make_folder(folder)))
        self.own = make_folder(self.folder / OWN)

    def path(self, name: object) -> Path:
        """A file directly in the folder, by its name; refused where the name is a path, hidden, or leads elsewhere."""
        if not isinstance(name, str) or not name.strip():
            raise InputError("The name of a file is missing.")
        problem = windows_problem(name)
        if problem or name.startswith(".") or len(name.encode(errors="replace")) > LONGEST or not name.isprintable():
            reason = problem or f"a name has at most {LONGEST} bytes and does not begin with a full stop."
            raise InputError(f"'{name[:80]}' cannot be the name of a file in the workspace: {reason}")
        path = self.folder / name
        self._inside(path, name)
        return path

    def existing(self, name: object) -> Path:
        """A file that is there."""
        path = self.path(name)
        if not path.is_file():
            raise InputError(f"There is no file '{name}' in the workspace.")
        return path

    def files(self) -> list[dict[str, Any]]:
        """Name, size and kind of every file, by name."""
        found = [p for p in sorted(self.folder.iterdir()) if p.is_file() and not p.name.startswith(".")]
        kinds = {".toml": "project", ".html": "report"}
        return [{"name": p.name, "bytes": p.stat().st_size, "kind": kinds.get(p.suffix, "data")} for p in found]

    # -- project files -------------------------------------------------------------------------------------------

    def project_path(self, name: object) -> Path:
        """The path of a project file, which need not be there."""
        path = self.path(name)
        if path.suffix != ".toml":
            raise InputError(f"The name of a project ends in .toml, unlike '{name}'.")
        return path

    def read_project(self, name: object) -> str:
        """The text of a project file."""
        path = self.project_path(self.existing(name).name)
        if path.stat().st_size > LARGEST_PROJECT:
            raise FileProblem(path.name, f"a project file may have at most {LARGEST_PROJECT // 1_000_000} MB.")
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise FileProblem(path.name, "this is not a text file in UTF-8.") from None

    def write_project(self, name: object, text: str, known: str | None) -> str:
        """Write a project file and return its mark; refused where its content is not the one that the page knows.

        known: mark of the content that the page read or wrote last; None for a file that is to be made.
        """
        path = self.project_path(name)
        there = mark(path.read_bytes()) if path.is_file() else None
        if there != known:
            was = "was changed by another program or page" if there and known else "is there already"
            was = was if there else "is no longer there"
            raise Conflict(f"'{path.name}' {was}: open it again before you change it.")
        if len(text.encode(errors="replace")) > LARGEST_PROJECT:
            raise InputError(f"A project file may have at most {LARGEST_PROJECT // 1_000_000} MB.")
        write_text(path, text)
        return mark(text.encode())

    def refuse_outside(self, text: str) -> None:
        """Refuse a project that names a file outside the folder, or plugin files: those are programs."""
        try:
            data = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            return  # whoever reads it says what is wrong
        if data.get("plugins"):
            raise InputError(
                "The project names plugin files, which are programs; the studio runs none. Use installed plugins, or "
                "`vibrid identify --trust` at a terminal."
            )
        for name in texts_of(text):
            self._inside(self.folder / name, name, absolute=False)

    def _inside(self, path: Path, name: str, absolute: bool = True) -> None:
        """Refuse a path that leads out of the folder, by its spelling or by a link."""
        parts = re.split(r"[\\/]", name)
        spelt = ".." in parts or name.startswith(("/", "\\", "~")) or (_DRIVE.match(name) and len(parts) > 1)
        try:
            real = Path(os.path.realpath(path))
            leads_out = real != self.folder and self.folder not in real.parents
        except (OSError, ValueError):  # a text that is no path at all
            leads_out = absolute
        if spelt or leads_out:
            raise InputError(f"'{name[:80]}' lies outside the workspace; bring the file into it.")


class Conflict(InputError):
    """A file that is no longer what the page knows."""


def mark(content: bytes) -> str:
    """A short name of a content."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:16]


def texts_of(project: str) -> list[str]:
    """All texts of a project but its title, any of which may name a file; none where it is no TOML."""
    try:
        data = tomllib.loads(project)
    except (tomllib.TOMLDecodeError, RecursionError):
        return []
    return list(_texts({key: value for key, value in data.items() if key != "title"}))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
