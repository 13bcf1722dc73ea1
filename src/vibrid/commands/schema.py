"""`vibrid schema`: the JSON schema of the project file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json
from vibrid.commands.trust import PluginFiles, run_plugins

Out = Annotated[Path | None, typer.Option(help="Write it to a file.", show_default=False)]


def schema(out: Out = None, plugin: PluginFiles = None, as_json: Json = False) -> None:
    """Print the JSON schema of the project file, with every law, structure, integrator and method and its parameters,
    those of plugins included.

    It is JSON with and without --json; with --out, --json prints the name of the file as JSON.

    Editors use it to complete and check project files as they are typed.

    Example: vibrid schema --out vibrid.schema.json
    """
    from vibrid.commands.output import print_json
    from vibrid.core.files import write_text
    from vibrid.project import json_schema

    run_plugins(plugin)
    if out is None:
        print_json(json_schema())
        return
    write_text(out, json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n")
    if as_json:
        print_json({"files": [out]})
    else:
        typer.echo(f"wrote {out}")
