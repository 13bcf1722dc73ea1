"""`vibrid studio`: the whole job in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[
    Path, typer.Argument(metavar="[FOLDER]", help="Workspace: measured files, projects, results.", show_default=False)
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")]
Host = Annotated[str, typer.Option(help="Address to listen on; another than this machine needs --token.")]
Token = Annotated[str | None, typer.Option(help="A token of your own, letters and digits.", show_default=False)]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")]
AtOnce = Annotated[int, typer.Option("--jobs", min=1, max=64, help="Jobs that run at the same time; others wait.")]
Json = Annotated[bool, typer.Option("--json", help="Announce the address as a line of JSON.")]


def studio(
    folder: Folder = Path("vibrid-studio"),
    port: Port = 8420,
    host: Host = "127.0.0.1",
    token: Token = None,
    open_page: Open = True,
    at_once: AtOnce = 1,
    as_json: Json = False,
) -> None:
    """Open a local web page on which the whole job is done: bring data, describe, ask, run, look.

    It listens on this machine only, and its address holds a random token. Ctrl-C ends the server; jobs go on.

    Example: vibrid studio tower-test
    """
    from vibrid.studio.serving import serve

    serve(folder, host, port, token, at_once=at_once, open_page=open_page, as_json=as_json)
