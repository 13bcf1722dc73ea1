"""`vibrid online`: parameters from samples as they arrive."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.trust import Trust, consent

Project = Annotated[Path, typer.Argument(metavar="PROJECT.toml", help="Project file.", show_default=False)]
Source = Annotated[str, typer.Option("--from", help="A record file, udp://HOST:PORT, or - for lines on stdin.")]
MethodName = Annotated[str | None, typer.Option("--method", help="By default the project's, else online-masing.")]
Rate = Annotated[float | None, typer.Option(help="Samples per second; not needed for a file.", show_default=False)]
Speed = Annotated[str, typer.Option(help="Speed at which a file is replayed: full, real, or a factor such as 4.")]
Out = Annotated[Path | None, typer.Option(help="Record the run: .csv with time, estimates and deviations.")]
State = Annotated[Path | None, typer.Option("--state", help="Keep the state here (.npz), to resume from.")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume from the file of --state.")]
Timeout = Annotated[float, typer.Option(help="Stop after this many seconds without a sample.")]
Every = Annotated[int, typer.Option(help="Samples between recorded estimates.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]


def online(
    project: Project,
    source: Source,
    method: MethodName = None,
    rate: Rate = None,
    speed: Speed = "full",
    out: Out = None,
    state: State = None,
    resume: Resume = False,
    timeout: Timeout = 10.0,
    every: Every = 10,
    seed: Seed = 0,
    trust: Trust = False,
) -> None:
    """Identify while the test runs: reads samples, shows the parameters with ± 2σ, and saves its state.

    The columns are the project's excitation channels, then its sensors. Ctrl-C ends the run and saves it.

    Example: vibrid online damper.toml --from test.csv --speed real --out run.csv --state run.npz
    """
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.online_channels import columns_of
    from vibrid.commands.online_run import OnlineSession
    from vibrid.commands.output import check_ending
    from vibrid.core.errors import InputError
    from vibrid.project import load_project

    check_ending(out, (".csv", ".csv"))
    check_ending(state, (".npz", ".npz"))
    if resume and state is None:
        raise InputError("--resume needs --state FILE, the file to resume from.")
    if timeout <= 0 or every < 1 or (rate is not None and rate <= 0):
        raise InputError("--timeout and --rate must be positive, and --every at least 1.")
    loaded = load_project(project, consent(project, trust))
    columns = columns_of(loaded)
    refused: list[str] = []
    arrivals, step = _source(source, loaded, columns, rate, speed, timeout, refused)
    session = OnlineSession(loaded, columns, step, _method(loaded, method), seed, out, state, resume, every)
    ended = session.run(arrivals)
    with Delivery() as deliver:
        deliver.answer(lambda: typer.echo("\n".join(session.summary(ended, refused))))
        for message in session.problems.values():
            deliver.fail(message)


def _method(loaded, name: str | None):
    import vibrid as vb

    if name is None:
        return loaded.method or vb.OnlineMasing()
    chosen = vb.identification.METHODS[name]
    return loaded.method if type(loaded.method) is chosen else chosen()


def _source(source: str, loaded, columns, rate, speed: str, timeout: float, refused: list[str]):
    """The iterator of arrivals and the step in seconds."""
    import numpy as np

    from vibrid.core.errors import InputError
    from vibrid.records import streams

    def refuse(reason: str) -> None:
        if len(refused) < 10_000:
            refused.append(reason)

    if "://" in source and not source.startswith("udp://"):
        raise InputError(f"'{source}' is not a known source: give a record file, udp://HOST:PORT, or - for stdin.")
    if source != "-" and not source.startswith("udp://"):
        record = loaded.read(Path(source))
        if record.step is None:
            raise InputError(f"Record '{record.name}' is not sampled uniformly; resample it first.")
        missing = [n for n in columns.names if n not in record.names]
        if missing:
            names = ", ".join(record.names)
            raise InputError(f"'{source}' has no column {', '.join(missing)}; its columns are {names}.")
        data = np.stack([record[n] for n in columns.names], axis=1)
        return _in_si(streams.replay(data, record.step, _factor(speed)), None), record.step
    rate = rate or loaded.records_table.rate
    if rate is None:
        raise InputError("The sampling rate of a live source is not known: give --rate, in samples per second.")
    if source == "-":
        return _in_si(streams.lines(sys.stdin, columns.names, 1.0 / rate, refuse), columns), 1.0 / rate
    host, port = _address(source)

    def opened(port: int) -> None:
        typer.echo(f"listening on udp://{host}:{port} for {', '.join(columns.names)}", err=True)

    packets = streams.udp(host, port, len(columns.names), timeout, refuse, opened)
    return _in_si(streams.in_background(packets), columns), 1.0 / rate


def _in_si(arrivals, columns):
    """Values in SI units; those of a file already are."""
    for arrival in arrivals:
        yield arrival if columns is None else arrival._replace(values=columns.in_si(arrival.values))


def _factor(speed: str) -> float:
    from vibrid.core.errors import InputError

    try:
        factor = {"full": math.inf, "real": 1.0}.get(speed) or float(speed)
    except ValueError:
        factor = 0.0
    if not factor > 0:
        raise InputError(f"--speed must be full, real or a positive factor, not '{speed}'.")
    return factor


def _address(source: str) -> tuple[str, int]:
    """Host and port of udp://HOST:PORT; this computer only when no host is named."""
    from vibrid.core.errors import InputError

    host, _, port = source.removeprefix("udp://").rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise InputError(f"'{source}' names no port; write udp://127.0.0.1:5005.")
    return host.strip("[]") or "127.0.0.1", int(port)
