"""Delivery of results: standard output is for the result alone, and it is printed before any file is written."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import typer

from vibrid.core.errors import VibridError
from vibrid.core.interrupts import spoken


@contextlib.contextmanager
def quiet_stdout(wanted: bool = True) -> Iterator[None]:
    """Redirect the output of libraries, from Python or from C, to standard error: standard output is for the result."""
    if not wanted:
        yield
        return
    with contextlib.redirect_stdout(sys.stderr), _pointed_at_stderr():
        yield


@contextlib.contextmanager
def _pointed_at_stderr() -> Iterator[None]:
    """File descriptor 1 of the process points to that of standard error meanwhile."""
    try:
        saved = os.dup(1)
    except OSError:  # there is no standard output
        yield
        return
    try:
        if sys.__stdout__ is not None:
            sys.__stdout__.flush()
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


class Delivery:
    """Prints a result first and writes its files after it. A failure is reported and does not stop the rest; the exit
    code is 1 then, and that of the request (130, 143) where Ctrl-C or SIGTERM ended the writing of a file.

    Example
        >>> with Delivery() as deliver:
        ...     deliver.answer(lambda: print(fit))
        ...     deliver.file("fit.h5", lambda: fit.save("fit.h5"))
    """

    def __init__(self, quiet: bool = False):
        """`quiet`: do not list the files that were written (standard output holds JSON)."""
        self.quiet, self.failed = quiet, False
        self.failures: list[Path | str] = []  # files that were not written
        self.request: KeyboardInterrupt | None = None  # to stop, while a file was written

    def answer(self, show: Callable[[], object]) -> None:
        """Print. A closed pipe, as `| head` leaves it, is no failure; a full disk behind standard output is one."""
        try:
            show()
        except BrokenPipeError:
            discard_stdout()
        except OSError as problem:
            self.fail(f"The result could not be printed ({problem.strerror}); redirect standard output elsewhere.")
            discard_stdout()

    def file(self, path: Path | str | None, write: Callable[[], object]) -> None:
        """Write one file, where one is wanted."""
        if path is None:
            return
        if not self.work(f"'{path}' was not written", write):
            self.failures.append(path)
        elif not self.quiet:
            self.answer(lambda: typer.echo(f"wrote {path}"))

    def result(self, path: Path | str | None, write: Callable[[Path], object]) -> None:
        """Write the file that holds a long computation, where one is wanted; where that fails, to another place."""
        if path is None:
            return
        self.file(path, lambda: write(Path(path)))
        if path not in self.failures:
            return
        for folder in (Path.cwd(), Path(tempfile.gettempdir())):
            other = folder / f"{Path(path).stem}-{secrets.token_hex(4)}{Path(path).suffix}"
            with contextlib.suppress(VibridError, OSError):
                write(other)
                self.fail(f"The result was kept in '{other}' instead.")
                return

    def work(self, otherwise: str, do: Callable[[], object]) -> bool:
        """Do work that the result does not depend on; returns whether it succeeded. `otherwise`: message if not.

        Ctrl-C and SIGTERM end this work alone, so that the files after it are still written.
        """
        try:
            do()
        except KeyboardInterrupt as request:
            self.request = request
            self.fail(f"{otherwise}: {spoken(request)}.")
        except VibridError as problem:
            self.fail(f"{problem}")
        except Exception as problem:
            why = f"unexpected error ({type(problem).__name__}: {problem})"
            self.fail(f"{otherwise}: {why}. Set VIBRID_DEBUG=1 to see where.")
        else:
            return True
        return False

    def fail(self, message: str) -> None:
        """Report what is missing; the exit code will be 1."""
        if os.environ.get("VIBRID_DEBUG") and sys.exc_info()[0] is not None:
            traceback.print_exc()
        self.failed = True
        typer.echo(message, err=True)

    def __enter__(self) -> Delivery:
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is None and self.request is not None:
            raise self.request
        if kind is None and self.failed:
            raise typer.Exit(1)


def discard_stdout() -> None:
    """Discard standard output for the rest of the process."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
