"""`vibrid record receive`: a stream from the network as files in a folder."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vibrid.commands.output import print_json
from vibrid.commands.reading import arguments, with_reading
from vibrid.core.errors import InputError

if TYPE_CHECKING:
    from vibrid.records.readers import Layout
    from vibrid.records.streams.received import Message, Received

_ADDRESS = re.compile(r"(seedlink|mqtts?)://(\[[0-9A-Fa-f:]+\]|[^/:@\s]+)(?::(\d{1,5}))?/(\S+)")

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="seedlink://HOST:PORT/NET_STA:CHANNELS,… or mqtt://HOST:PORT/TOPIC (mqtts:// encrypted).",
        show_default=False,
    ),
]


@with_reading
def receive(
    source: Source,
    to: Annotated[Path, typer.Option("--to", help="Folder of the files.", show_default=False)],
    span: Annotated[float, typer.Option(help="Seconds of a file; files begin at multiples of it in UTC.")] = 300.0,
    patience: Annotated[float, typer.Option(help="Seconds by which a channel may be behind the newest.")] = 60.0,
    seconds: Annotated[float | None, typer.Option(help="End after so long; at Ctrl-C by default.")] = None,
    client: Annotated[str, typer.Option(help="MQTT: name by which the broker keeps what comes meanwhile.")] = "vibrid",
    user: Annotated[str | None, typer.Option(help="MQTT: user; the password stands in VIBRID_PASSWORD.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print, at the end, what was received as JSON.")] = False,
    reading: Any = None,
) -> None:
    """Write what a server of seismic data (SeedLink) or a broker (MQTT) sends as files of equal spans, for
    `vibrid track` to follow.

    Every MQTT message is a small file of any known format, with a clock. --sidecar describes channels by their names.
    The command may be killed at any moment: it goes on where it was, and what had come is not lost.

    Example: vibrid record receive seedlink://server:18000/XX_BRDG:00HN? --to records/ --sidecar channels.toml
    """
    from vibrid.records.streams.received import Received

    kind, host, port, path = _address(source)
    received = Received(to, span, patience, _layout(reading), lambda words: typer.echo(words, err=True))
    end = None if seconds is None else time.monotonic() + seconds
    try:
        for message in _messages(kind, host, port, path, received, client, user):
            if message is not None:
                received.add(message)
            if end is not None and time.monotonic() >= end:
                break
    except KeyboardInterrupt:
        typer.echo("Ended. What is in no file yet is kept; the same command goes on.", err=True)
    finally:
        received.close()
    if as_json:
        print_json(
            {
                "folder": to,
                "files": received.written,
                "messages": received.messages,
                "unfinished": received.unfinished,
                "late": received.late,
            }
        )


def _messages(kind: str, host: str, port: int | None, path: str, received: Received, client: str,
              user: str | None) -> Iterator[Message | None]:  # fmt: skip
    import os

    from vibrid.records.streams import mqtt, seedlink

    def tell(words: str) -> None:
        typer.echo(words, err=True)

    if kind == "seedlink":
        wanted = seedlink.wanted_of(path)
        return seedlink.packets(host, port or seedlink.PORT, wanted, received.sequences, tell)
    secret = os.environ.get("VIBRID_PASSWORD")
    number = port or (8883 if kind == "mqtts" else mqtt.PORT)
    return mqtt.messages(host, number, path, tell, client, user, secret, tls=kind == "mqtts")


def _address(source: str) -> tuple[str, str, int | None, str]:
    found = _ADDRESS.fullmatch(source)
    if found is None or (found[3] and not 0 < int(found[3]) < 65536):
        raise InputError(
            f"'{source[:100]}' is no source: write seedlink://HOST:PORT/NETWORK_STATION or mqtt://HOST:PORT/TOPIC."
        )
    return found[1], found[2].strip("[]"), int(found[3]) if found[3] else None, found[4]


def _layout(reading: dict[str, Any]) -> Layout:
    """How messages are read: channels are described by name, since a message may hold some of them only."""
    from dataclasses import replace

    from vibrid.records.readers.layout import make_layout

    layout = make_layout("message", **arguments(reading))
    if layout.columns is None:
        return layout
    if not all(column.name for column in layout.columns):
        raise InputError("A description of messages gives the `name` of every channel: a message may hold one of them.")
    known = {column.name: replace(column, name=None) for column in layout.columns}
    return replace(layout, columns=None, known=known, sidecar=None)
