"""`vibrid hybrid`: hybrid tests, virtual or across a wire."""

from __future__ import annotations

import typer

from vibrid.commands.hybrid_clock import clock
from vibrid.commands.hybrid_run import run
from vibrid.commands.hybrid_serve import serve

hybrid = typer.Typer(no_args_is_help=True, help="Hybrid tests: half a structure computed, half of it tested.")


@hybrid.callback()
def _hybrid() -> None:
    """A group of commands, also while it has one member."""


hybrid.command("run")(run)
hybrid.command("serve")(serve)
hybrid.command("clock")(clock)
