"""The command line: `vibrid COMMAND`. Errors become one message and an exit code; a traceback is shown on request."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import traceback
import warnings
from typing import Annotated

import typer

from vibrid.commands.by_name import Commands
from vibrid.commands.delivery import discard_stdout
from vibrid.commands.plain_words import use_plain_words
from vibrid.core.interrupts import Terminated, spoken, stop_requested
from vibrid.core.version import __version__

_GARBAGE = 100_000
"""New objects after which Python looks for garbage; what imports make lives on, and was looked at again and again."""


class Front(Commands):
    """Runs commands and turns errors into messages. Exit codes: 1 for a refusal or a fault, 130 for Ctrl-C, 143 for a
    request to terminate. What a terminal cannot show is written in plain words."""

    def main(self, *args, **kwargs):
        use_plain_words()
        return super().main(*args, **kwargs)

    def invoke(self, ctx):
        from vibrid.core.errors import VibridError

        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as problem:
            raise typer.Exit(_stopped(problem)) from None
        except BrokenPipeError:  # the reader of the output has closed it, as `| head` does
            discard_stdout()
            raise typer.Exit(0) from None
        except VibridError as problem:
            if os.environ.get("VIBRID_DEBUG"):
                traceback.print_exc()
            typer.echo(f"{problem}", err=True)
            raise typer.Exit(1) from None
        except Exception as problem:
            if isinstance(problem, typer.Abort) or hasattr(problem, "exit_code"):
                raise  # the command line's own: wrong usage, help, exit
            if os.environ.get("VIBRID_DEBUG"):
                traceback.print_exc()
            elif isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT):
                typer.echo(
                    "A disk or your quota on it is full (perhaps that of standard output): free space.", err=True
                )
            else:
                typer.echo(
                    f"Unexpected error in vibrid ({type(problem).__name__}: {problem}). "
                    "Set VIBRID_DEBUG=1 to see where.",
                    err=True,
                )
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=Front,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Structural system identification and hybrid simulation: one model of a structure for every job.",
    epilog="Example: vibrid demo",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vibrid {__version__}")
        raise typer.Exit()


Version = Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")]


@app.callback()
def _options(version: Version = False) -> None:
    pass


def _stopped(problem: KeyboardInterrupt) -> int:
    """Says why the command ends, and gives its exit code."""
    said = spoken(problem)
    typer.echo(f"{said[0].upper()}{said[1:]}.", err=True)
    return 143 if isinstance(problem, Terminated) else 130


def main() -> None:
    """The entry point of the `vibrid` command."""
    gc.set_threshold(_GARBAGE)
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as in the background of a shell
            signal.signal(number, stop_requested)
    warnings.formatwarning = lambda message, *_, **__: f"{message}\n"  # the message alone
    try:
        app()
    except KeyboardInterrupt as problem:  # before the command began, or after its end
        sys.exit(_stopped(problem))
    finally:  # all is written: a request to stop ends the process without a word, and nothing is looked for as garbage
        gc.freeze()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    main()
