"""Errors whose messages state what was wrong, where, and what to do about it."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Iterable
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from vibrid.core.version import __version__


class VibridError(Exception):
    """Base of every error a user can cause or cure; its message can be shown alone."""


class InputError(VibridError, ValueError):
    """A value, name or shape that cannot be used as given."""


class FileProblem(VibridError):
    """A file that cannot be read or written; names the file and, where it is known, the line."""

    def __init__(self, path: str | os.PathLike[str], problem: str, line: int | None = None) -> None:
        self.path: str | os.PathLike[str] = path
        self.line: int | None = line
        self.problem: str = problem
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {problem}")


class Refusal(VibridError):
    """A request that is understood and cannot be fulfilled; states why and what to do instead."""


class Divergence(VibridError):
    """A computation that stopped being finite; states when and where."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint for a mistyped name: the closest valid one, or the whole list when nothing is close."""
    valid = [str(v) for v in valid]
    close = difflib.get_close_matches(str(name), valid, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"valid names are {', '.join(sorted(valid))}." if valid else "there are no valid names here."


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> InputError:
    """The error for a name that does not exist, with the nearest one that does."""
    return InputError(f"There is no {kind} called '{name}'; {nearest(name, valid)}")


def missing_file(path: str | PathLike[str]) -> FileProblem:
    """The error for a file that is not there: the nearest name in its folder, or where it was looked for."""
    path = Path(path)
    folder = path.parent
    try:
        there = {entry.name.lower(): entry.name for entry in islice(folder.iterdir(), 10_000)}
    except OSError:
        return FileProblem(path, f"there is no such file: there is no folder '{folder.absolute()}'.{_where(path)}")
    close = difflib.get_close_matches(path.name.lower(), there, n=1, cutoff=0.6)
    if close:
        return FileProblem(path, f"there is no such file; did you mean '{folder / there[close[0]]}'?")
    return FileProblem(path, f"there is no such file in the folder '{folder.absolute()}'.{_where(path)}")


def _where(path: Path) -> str:
    """The folder that a relative path starts from."""
    if path.is_absolute():
        return " Name it with its folder, and check how it is spelt."
    return (
        " A path in a command is taken from the folder in which the command is started; one inside a project file, "
        "from the folder of that file."
    )


def newer_format(
    path: str | PathLike[str], what: str, found: int, known: str, writer: str = "a later version of vibrid"
) -> FileProblem:
    """The error for a file of vibrid's own in a format that is not known yet; `known`: "format 1", "formats 2 to 3"."""
    return FileProblem(
        path,
        f"this {what} has format {found} and was written by {writer}; vibrid {__version__} reads {known}. Read it with "
        "that version or a later one (pip install --upgrade vibrid).",
    )


def require(module: str, extra: str, purpose: str) -> Any:
    """Import an optional package, or state which extra of vibrid installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        raise VibridError(
            f"{purpose} needs the package '{module}', which is not installed: pip install 'vibrid[{extra}]'."
        ) from problem
