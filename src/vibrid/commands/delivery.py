"""Handing an answer over: standard output is for the answer alone, and it is printed before anything is saved."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import typer

from vibrid.core.errors import VibridError


@contextlib.contextmanager
def quiet_stdout(wanted: bool = True) -> Iterator[None]:
    """Send what libraries print, from Python or from C, to standard error: standard output is for the answer."""
    if not wanted:
        yield
        return
    with contextlib.redirect_stdout(sys.stderr), _pointed_at_stderr():
        yield


@contextlib.contextmanager
def _pointed_at_stderr() -> Iterator[None]:
    """File 1 of the process stands for file 2 meanwhile."""
    try:
        own = os.dup(1)
    except OSError:  # there is no standard output
        yield
        return
    try:
        if sys.__stdout__ is not None:
            sys.__stdout__.flush()
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(own, 1)
        os.close(own)


class Delivery:
    """Hands an answer over: it is printed first and files are written after it. What fails is told and does not stop
    the rest; the exit code is 1 then.

    Example
        >>> with Delivery() as deliver:
        ...     deliver.answer(lambda: print(fit))
        ...     deliver.file("fit.h5", lambda: fit.save("fit.h5"))
    """

    def __init__(self, quiet: bool = False):
        """`quiet`: say nothing of files that were written (standard output holds JSON)."""
        self.quiet, self.failed = quiet, False

    def answer(self, tell: Callable[[], object]) -> None:
        """Print. A reader that has left, as `| head` does, is no failure; a standard output that is full is one."""
        try:
            tell()
        except BrokenPipeError:
            deaf_stdout()
        except OSError as problem:
            self.fail(f"The answer could not be printed ({problem.strerror}); point standard output elsewhere.")
            deaf_stdout()

    def file(self, path: Path | str | None, write: Callable[[], object]) -> None:
        """Write one file, where one is wanted."""
        if path is not None and self.work(f"'{path}' was not written", write) and not self.quiet:
            self.answer(lambda: typer.echo(f"wrote {path}"))

    def work(self, otherwise: str, do: Callable[[], object]) -> bool:
        """Do something that the answer does not depend on; whether it went well. `otherwise`: what is missing then."""
        try:
            do()
        except VibridError as problem:
            self.fail(f"{problem}")
        except Exception as problem:
            why = f"an error that was not expected ({type(problem).__name__}: {problem})"
            self.fail(f"{otherwise}: {why}. Set VIBRID_DEBUG=1 to see where.")
        else:
            return True
        return False

    def fail(self, sentence: str) -> None:
        """Tell what is missing; the exit code will be 1."""
        if os.environ.get("VIBRID_DEBUG") and sys.exc_info()[0] is not None:
            traceback.print_exc()
        self.failed = True
        typer.echo(sentence, err=True)

    def __enter__(self) -> Delivery:
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is None and self.failed:
            raise typer.Exit(1)


def deaf_stdout() -> None:
    """Standard output that goes nowhere, for the rest of the process."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
