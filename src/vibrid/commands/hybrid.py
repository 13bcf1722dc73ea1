"""`vibrid hybrid`: hybrid tests, virtual or with a device behind a network connection."""

from __future__ import annotations

import typer

from vibrid.commands.hybrid_clear import clear
from vibrid.commands.hybrid_clock import clock
from vibrid.commands.hybrid_evaluate import evaluate
from vibrid.commands.hybrid_export import export
from vibrid.commands.hybrid_fit_law import fit_law
from vibrid.commands.hybrid_pairs import pairs
from vibrid.commands.hybrid_rehearse import rehearse
from vibrid.commands.hybrid_run import run
from vibrid.commands.hybrid_serve import serve
from vibrid.commands.hybrid_train import train

hybrid = typer.Typer(no_args_is_help=True, help="Hybrid tests: part of a structure is computed, part is tested.")


@hybrid.callback()
def _hybrid() -> None:
    """A group of commands, even while it has only one."""


hybrid.command("rehearse")(rehearse)
hybrid.command("run")(run)
hybrid.command("serve")(serve)
hybrid.command("clear")(clear)
hybrid.command("clock")(clock)
hybrid.command("fit-law")(fit_law)
hybrid.command("pairs")(pairs)
hybrid.command("train")(train)
hybrid.command("evaluate")(evaluate)
hybrid.command("export")(export)
