"""`vibrid hybrid serve`: a device that OpenSees, OpenFresco or vibrid moves over a network connection."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.limits import Limit, Unlimited, limits_from
from vibrid.commands.options import Json
from vibrid.commands.trust import Trust, consent

SpecimenFile = Annotated[Path, typer.Argument(metavar="SPECIMEN.toml", help="The device.", show_default=False)]
Host = Annotated[str | None, typer.Option(help="Address to listen on; by default this computer only.")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one; by default 8090.")]
Protocol = Annotated[str | None, typer.Option(help="tcp or udp; by default tcp.")]
Allow = Annotated[list[str] | None, typer.Option(help="Client or network that may connect; may be repeated.")]
Idle = Annotated[float | None, typer.Option(help="Seconds without a message after which a client is disconnected.")]
RecordFile = Annotated[Path | None, typer.Option("--record", help="Keep each test in this HDF5 file.")]
LogFile = Annotated[Path | None, typer.Option("--log", help="Write the log to this file as well.")]
Priority = Annotated[int | None, typer.Option(help="Real-time priority, 1 to 99; needs the permission.")]
Cores = Annotated[list[int] | None, typer.Option("--core", help="A core to run on; may be repeated.")]
LockMemory = Annotated[bool, typer.Option("--lock-memory", help="Keep memory from being swapped out.")]
Keep = Annotated[bool, typer.Option("--keep", help="Serve test after test; by default one.")]


def serve(
    specimen: SpecimenFile,
    host: Host = None,
    port: Port = None,
    protocol: Protocol = None,
    allow: Allow = None,
    idle: Idle = None,
    record: RecordFile = None,
    log: LogFile = None,
    priority: Priority = None,
    core: Cores = None,
    lock_memory: LockMemory = False,
    limit: Limit = None,
    unlimited: Unlimited = False,
    keep: Keep = False,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Serve a device to OpenSees' genericClient, or to vibrid, over TCP or UDP.

    The file has the limits of the device; a test that exceeds them is stopped, and the device is not moved again until
    the stop is cleared by `vibrid hybrid clear`. Ctrl-C stops a running test in the same way; a second Ctrl-C exits.

    With --json the address goes to standard error, and the tests are printed when the server ends.

    Example: vibrid hybrid serve examples/specimens/friction-damper.toml --port 8090 --record test.h5
    """
    from vibrid.commands.output import check_ending, print_json
    from vibrid.core.errors import Refusal
    from vibrid.hybrid import DeviceServer, DeviceSubstructure, RealTime, Recorder
    from vibrid.hybrid.latch import StopLatch
    from vibrid.hybrid.recorder import check_recordable
    from vibrid.hybrid.wire.record import channels_of
    from vibrid.project.specimen import load_specimen

    check_ending(record, (".h5", ".hdf5", ".nc"))
    described = load_specimen(specimen, consent(specimen, trust))
    table = described.table
    address = described.listener(host=host, port=port, protocol=protocol, allow=allow or None, idle=idle)
    file = record or (described.record and described.path.parent / described.record.file)
    full = described.record.when_full if described.record else "continue"
    if file is not None:
        check_recordable(file)
    limits = described.limits.combined(limits_from(limit))
    latch = StopLatch(described.stops)
    if latch.standing is not None:
        raise Refusal(
            f"'{described.title}' was {latch.standing}. Inspect the device and bring it back to zero, then clear the "
            f'stop: vibrid hybrid clear {specimen} --by "your name"'
        )

    def make():
        return DeviceSubstructure(described.device, table.step, table.direction)

    def recorder(device):
        return Recorder(file, channels_of(device), name=described.title, when_full=full)

    with _log_to(log):
        server = DeviceServer(
            make, address, limits, unlimited=unlimited, watchdog=described.watchdog, latch=latch,
            step=table.step, recorder=recorder if file else None, damping=table.damping, after_stop=table.after_stop,
        )  # fmt: skip
        where = "[{}]:{}" if ":" in server.address[0] else "{}:{}"
        served = f"{address.protocol}://{where.format(*server.address)}"
        typer.echo(f"serving '{described.title}' on {served}", err=as_json)
        settings = RealTime(priority, tuple(core or ()), lock_memory)
        settings.apply()
        for note in settings.notes:
            typer.echo(note, err=True)
        tests: list[dict] = []
        try:
            while True:
                ending = server.serve()
                if ending is None:  # closed
                    return
                tests.append({"ending": f"{ending}", "well": bool(ending.well)})
                if not as_json:
                    typer.echo(f"{ending}")
                if not keep:
                    raise typer.Exit(0 if ending.well else 1)
        finally:
            settings.restore()
            if as_json:
                print_json(
                    {"title": described.title, "address": served, "tests": tests, "files": [file] if file else []}
                )


@contextlib.contextmanager
def _log_to(file: Path | None):
    """The server's log on standard error, and in a file if one is given."""
    from vibrid.core.errors import FileProblem

    log = logging.getLogger("vibrid.hybrid.wire")
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if file is not None:
        try:
            handlers.append(logging.FileHandler(file, encoding="utf-8"))
        except OSError as problem:
            raise FileProblem(file, f"it cannot be written ({problem.strerror}).") from None
    for handler in handlers:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
    before, raising = log.level, logging.raiseExceptions
    log.setLevel(logging.INFO)
    logging.raiseExceptions = False  # a log on a full disk must not fill the terminal
    try:
        yield
    finally:
        log.setLevel(before)
        logging.raiseExceptions = raising
        for handler in handlers:
            log.removeHandler(handler)
            handler.close()
