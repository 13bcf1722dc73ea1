"""`vibrid plugins`: the plugins, their origin, those left out and why; and the checks of a plugin file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.trust import PluginFiles

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
PluginFile = Annotated[Path, typer.Argument(metavar="FILE.py", help="Plugin file; it is run.", show_default=False)]

plugins = typer.Typer(invoke_without_command=True, help="List plugins with their origin, and check a plugin file.")


@plugins.callback()
def list_plugins(context: typer.Context, plugin: PluginFiles = None, as_json: Json = False) -> None:
    """List the plugins: their origin, the names they registered, those left out and why.

    Example: vibrid plugins --plugin my_laws.py
    """
    if context.invoked_subcommand is not None:
        return
    import warnings

    from vibrid.commands.delivery import quiet_stdout
    from vibrid.commands.output import print_json

    with quiet_stdout(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # plugins left out are listed below
        rows = examine(plugin)
    if as_json:
        print_json(rows)
        return
    for row in rows:
        typer.echo(f"{row['plugin']} ({row['kind']}, {row['from']})")
        for kind, names in row["registered"].items():
            typer.echo(f"  {kind}: {', '.join(names)}")
        if row["left_out"]:
            typer.echo(f"  left out: {row['left_out']}")
        elif not row["registered"]:
            typer.echo("  registers nothing")


def examine(named: list[Path] | None = None) -> list[dict]:
    """Every plugin as plain data; `named` are plugin files to run first."""
    import vibrid.hybrid
    import vibrid.identification  # noqa: F401
    from vibrid.core.errors import FileProblem
    from vibrid.core.plugins import files, installed, load_file

    broken = []
    for path in named or ():
        try:
            load_file(path)
        except FileProblem as problem:
            broken.append(_row(path.stem, "file", path.resolve(), [], problem.problem))
    rows = [_row(p.entry, p.origin.kind, p.origin, p.registered, p.problem) for p in installed()]
    return [*rows, *(_row(p.origin.name, "file", p.origin, p.registered, "") for p in files()), *broken]


def _row(name: str, kind: str, origin, registered: list[tuple[str, str]], problem: str) -> dict:
    kinds = {kind: [n for k, n in registered if k == kind] for kind, _ in registered}
    return {"plugin": name, "kind": kind, "from": str(origin), "registered": kinds, "left_out": problem}


@plugins.command("check")
def check_file(file: PluginFile, as_json: Json = False) -> None:
    """Run a plugin file and check everything that it registers against the requirements: one line per check.

    The exit code is 1 when a check fails.

    Example: vibrid plugins check my_laws.py
    """
    from vibrid.commands.delivery import quiet_stdout
    from vibrid.commands.output import print_json

    checks = []
    with quiet_stdout(as_json):
        from vibrid.conformance.plugin import check_plugin
        from vibrid.core.plugins import load_file

        for check in check_plugin(load_file(file)):
            checks.append(check)
            if not as_json:
                typer.echo(f"{check}")
    if as_json:
        print_json([{**vars(check), "kept": not check.problem} for check in checks])
    if any(check.problem for check in checks):
        raise typer.Exit(1)
