"""Where `vibrid online` takes its samples from: a record, lines on standard input, or packets on the network."""

from __future__ import annotations

import hashlib
import io
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer

from vibrid.commands.online_channels import Columns
from vibrid.core.errors import InputError
from vibrid.core.inputs import InputFile
from vibrid.records import streams


class Refusals:
    """Lines or packets that were refused: how many, and the first reason."""

    def __init__(self):
        self.count, self.first = 0, ""

    def __call__(self, reason: str) -> None:
        self.first = self.first or reason
        self.count += 1


@dataclass(frozen=True)
class LiveSource:
    """A source of samples that is not opened yet.

    kind: "file", "pipe" or "udp"; step: seconds between samples; open: the arrivals, called with the count of arrivals
    that were used before and the time of sample 0 (None in a new run), and a function that keeps each arrival as it is
    received; in_si: values of an arrival in SI units; used: hash of the first arrivals, where they can be read again;
    files: those that were read.
    """

    kind: str
    step: float
    open: Callable[[int, float | None, Callable], Iterator[streams.Arrival]]
    in_si: Callable[[np.ndarray], np.ndarray]
    used: Callable[[int], str]
    files: tuple[InputFile, ...] = ()


def live_source(
    source: str, loaded, columns: Columns, rate, speed: str, timeout: float, refuse: Refusals, wait: float | None = None
) -> LiveSource:
    """The source that `--from` names; nothing is opened yet except a file, which is read."""
    if wait is not None and not source.startswith("udp://"):
        raise InputError("--wait is for udp://HOST:PORT: a file is read at once, and standard input until it ends.")
    if "://" in source and not source.startswith("udp://"):
        raise InputError(f"'{source}' is not a known source: give a record file, udp://HOST:PORT, or - for stdin.")
    if source != "-" and not source.startswith("udp://"):
        return _file(source, loaded, columns, factor_of(speed))
    rate = rate or loaded.records_table.rate
    if rate is None:
        raise InputError("The sampling rate of a live source is not known: give --rate, in samples per second.")
    if source == "-":

        def read_lines(taken: int, origin: float | None, keep) -> Iterator[streams.Arrival]:
            if isinstance(sys.stdin, io.TextIOWrapper):
                sys.stdin.reconfigure(errors="replace")  # a line that is not text is refused like any other
            return keep(streams.lines(sys.stdin, columns.names, 1.0 / rate, refuse, origin, columns.units))

        return LiveSource("pipe", 1.0 / rate, read_lines, columns.in_si, lambda _: "")
    host, port = _address(source)

    def opened(port: int) -> None:
        typer.echo(f"listening on udp://{host}:{port} for {', '.join(columns.names)}", err=True)
        if wait is not None:
            how_long = "without limit (Ctrl-C ends it)" if math.isinf(wait) else f"up to {wait:g} s"
            typer.echo(f"waiting {how_long} for the first sample", err=True)

    def waiting(seconds: float) -> None:
        if wait is not None:
            typer.echo(f"no sample yet, {seconds:.0f} s", err=True)

    def listen(taken: int, origin: float | None, keep) -> Iterator[streams.Arrival]:
        return streams.in_background(
            keep(streams.udp(host, port, len(columns.names), timeout, refuse, opened, wait, waiting))
        )

    return LiveSource("udp", 1.0 / rate, listen, columns.in_si, lambda _: "")


def _file(source: str, loaded, columns: Columns, speed: float) -> LiveSource:
    record = loaded.read(Path(source))
    if record.step is None:
        raise InputError(f"Record '{record.name}' is not sampled uniformly; resample it first.")
    missing = [n for n in columns.names if n not in record.names]
    if missing:
        names = ", ".join(record.names)
        raise InputError(f"'{source}' has no column {', '.join(missing)}; its columns are {names}.")
    data, step = np.stack([record[n] for n in columns.names], axis=1), record.step

    def play(taken: int, origin: float | None, keep) -> Iterator[streams.Arrival]:
        return keep(streams.replay(data, step, speed, taken))

    def used(count: int) -> str:
        return hashlib.sha256(np.ascontiguousarray(data[:count], "<f8").tobytes()).hexdigest()

    return LiveSource("file", step, play, np.asarray, used, record.files)


def factor_of(speed: str) -> float:
    """The speed of a replay as a factor."""
    try:
        factor = {"full": math.inf, "real": 1.0}.get(speed) or float(speed)
    except ValueError:
        factor = 0.0
    if not factor > 0:
        raise InputError(f"--speed must be full, real or a positive factor, not '{speed}'.")
    return factor


def _address(source: str) -> tuple[str, int]:
    """Host and port of udp://HOST:PORT; this computer only when no host is named."""
    host, _, port = source.removeprefix("udp://").rpartition(":")
    if not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > 65535:
        raise InputError(f"'{source}' names no port; write udp://127.0.0.1:5005.")
    return host.strip("[]") or "127.0.0.1", int(port)
