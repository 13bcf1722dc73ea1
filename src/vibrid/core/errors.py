"""Errors that speak in sentences: what was wrong, where, and what to do about it."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable


class VibridError(Exception):
    """Base of every error a user can cause or cure; its text is a sentence fit to be shown alone."""


class InputError(VibridError, ValueError):
    """A value, name or shape that cannot be used as given."""


class FileProblem(VibridError):
    """A file that cannot be read or written; names the file and, where it is known, the line."""

    def __init__(self, path, problem: str, line: int | None = None):
        self.path, self.line, self.problem = path, line, problem
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {problem}")


class Refusal(VibridError):
    """A request that is understood and cannot be answered; says why and what could be asked instead."""


class Divergence(VibridError):
    """A computation that stopped being finite; says when and where."""


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


def require(module: str, extra: str, purpose: str):
    """Import an optional package, or say which extra of vibrid brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        raise VibridError(
            f"{purpose} needs the package '{module}', which is not installed: pip install 'vibrid[{extra}]'."
        ) from problem
