"""Options that many commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
TableFile = Annotated[Path | None, typer.Option("--csv", help="Write the table as CSV.", show_default=False)]


class JsonMayNameAFile(TyperCommand):
    """A command whose `--json` prints, and writes a file where one is named: `--json result.json`."""

    def parse_args(self, ctx, args):
        return super().parse_args(ctx, with_json_file(args))


def with_json_file(arguments: list[str]) -> list[str]:
    """The arguments with `-` (print it) after every `--json` that no file follows.

    Example
        >>> with_json_file(["--json", "project.toml"]), with_json_file(["project.toml", "--json", "result.json"])
        (['--json', '-', 'project.toml'], ['project.toml', '--json', 'result.json'])
    """
    made: list[str] = []
    for number, argument in enumerate(arguments):
        made.append(argument)
        if argument == "--json":
            following = arguments[number + 1 : number + 2]
            if not following or not (following[0] == "-" or following[0].lower().endswith(".json")):
                made.append("-")
    return made
