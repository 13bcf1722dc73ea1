"""`vibrid plugins`: what others added, from where, what was left out and why; and the checks of a plugin file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.trust import PluginFiles

Json = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
PluginFile = Annotated[Path, typer.Argument(metavar="FILE.py", help="A plugin file, which is run.", show_default=False)]

plugins = typer.Typer(invoke_without_command=True, help="Plugins: what was found, from where, and whether it conforms.")


@plugins.callback()
def list_plugins(context: typer.Context, plugin: PluginFiles = None, as_json: Json = False) -> None:
    """List the plugins that were found: from where, which names they registered, what was left out and why.

    Example: vibrid plugins --plugin my_laws.py
    """
    if context.invoked_subcommand is not None:
        return
    import warnings

    from vibrid.commands.delivery import quiet_stdout
    from vibrid.commands.output import print_json

    with quiet_stdout(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what was left out is told below
        found = examine(plugin)
    if as_json:
        print_json(found)
        return
    for one in found:
        typer.echo(f"{one['plugin']} ({one['kind']}, {one['from']})")
        for kind, names in one["registered"].items():
            typer.echo(f"  {kind}: {', '.join(names)}")
        if one["left_out"]:
            typer.echo(f"  left out: {one['left_out']}")
        elif not one["registered"]:
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
            broken.append(_told(path.stem, "file", path.resolve(), [], problem.problem))
    told = [_told(p.entry, p.origin.kind, p.origin, p.registered, p.problem) for p in installed()]
    return [*told, *(_told(p.origin.name, "file", p.origin, p.registered, "") for p in files()), *broken]


def _told(name: str, kind: str, origin, registered: list[tuple[str, str]], problem: str) -> dict:
    kinds = {kind: [n for k, n in registered if k == kind] for kind, _ in registered}
    return {"plugin": name, "kind": kind, "from": str(origin), "registered": kinds, "left_out": problem}


@plugins.command("check")
def check(file: PluginFile, as_json: Json = False) -> None:
    """Run a plugin file and try everything that it registers against the contract: one line a check.

    The exit code is 1 when a promise is broken.

    Example: vibrid plugins check my_laws.py
    """
    from vibrid.commands.delivery import quiet_stdout
    from vibrid.commands.output import print_json

    found = []
    with quiet_stdout(as_json):
        from vibrid.conformance.plugin import check_plugin
        from vibrid.core.plugins import load_file

        for one in check_plugin(load_file(file)):
            found.append(one)
            if not as_json:
                typer.echo(f"{one}")
    if as_json:
        print_json([{**vars(one), "kept": not one.problem} for one in found])
    if any(one.problem for one in found):
        raise typer.Exit(1)
