"""Consent to plugin files: asked for once at a terminal, or given with --trust; never assumed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

Trust = Annotated[bool, typer.Option("--trust", help="Run the plugin files that the project names.")]
PluginFiles = Annotated[
    list[Path] | None, typer.Option("--plugin", help="A plugin file to run first; may be repeated.", show_default=False)
]


def consent(project: Path, trust: bool) -> bool:
    """Ask for each plugin file of a project that is not trusted yet, where there is a terminal; returns `trust`.

    A yes is remembered by the content of the file. After a no, or without a terminal, loading the project refuses the
    file, with a message that names the remedy.
    """
    if trust or not at_terminal():
        return trust
    from vibrid.core.errors import FileProblem
    from vibrid.core.trust import agree
    from vibrid.project.plugins import untrusted

    for file, content in untrusted(project):
        lines = len(content.splitlines())
        question = f"{project} wants to run the Python program {file} ({lines} lines). Do you trust it?"
        if typer.confirm(question, default=False, err=True):
            try:
                agree(file, content)
            except FileProblem as problem:
                typer.echo(f"{problem}", err=True)
    return trust


def at_terminal() -> bool:
    """Whether a user can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()


def run_plugins(files: list[Path] | None) -> None:
    """Run plugin files that were named on the command line, which implies consent."""
    from vibrid.core.plugins import load_file

    for file in files or ():
        load_file(file)
