"""`vibrid hybrid`: hybrid tests, virtual or across a wire."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.hybrid_clock import clock
from vibrid.commands.hybrid_serve import serve

hybrid = typer.Typer(no_args_is_help=True, help="Hybrid tests: half a structure computed, half of it tested.")

Project = Annotated[Path, typer.Argument(metavar="PROJECT.toml", help="Project file.", show_default=False)]


@hybrid.callback()
def _hybrid() -> None:
    """A group of commands, also while it has one member."""


@hybrid.command("run")
def run(project: Project) -> None:
    """Run the hybrid test that a project file describes.

    Example: vibrid hybrid run examples/hybrid.toml
    """
    from vibrid.core.errors import Refusal

    raise Refusal("Hybrid tests cannot be run yet.")


hybrid.command("serve")(serve)
hybrid.command("clock")(clock)
