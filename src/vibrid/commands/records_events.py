"""`vibrid record events`: earthquakes and trucks cut out of long records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vibrid.commands.delivery import Delivery, quiet_stdout
from vibrid.commands.output import print_json
from vibrid.commands.reading import listed, read_files, tell_reading, with_reading
from vibrid.core.errors import InputError


@with_reading
def events(
    files: Annotated[
        list[Path], typer.Argument(help="Files of one logger that follow each other.", show_default=False)
    ],
    to: Annotated[Path | None, typer.Option("--to", help="Write each event as a file into this folder.")] = None,
    channels: Annotated[str | None, typer.Option(help="Channels that are watched, by commas; all motions.")] = None,
    on: Annotated[float, typer.Option(help="Ratio to the usual mean square that begins an event.")] = 20.0,
    off: Annotated[float, typer.Option(help="Ratio that ends it.")] = 3.0,
    short: Annotated[float, typer.Option(help="Short time in s.")] = 1.0,
    long: Annotated[float, typer.Option(help="Long time in s, of the usual motion.")] = 60.0,
    before: Annotated[float, typer.Option(help="s kept before an event.")] = 10.0,
    after: Annotated[float, typer.Option(help="s kept after it.")] = 20.0,
    together: Annotated[float, typer.Option(help="Share of the channels that must show it.")] = 0.5,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    reading: Any = None,
) -> None:
    """Find events in long records: the mean square over a short time, over the usual one before it.

    Files with clocks are put together first, so that an event may begin in one and end in the next.

    Example: vibrid record events records/*.h5 --to events/
    """
    from vibrid.core.files import make_folder
    from vibrid.records import join
    from vibrid.records.events import Trigger, find_events

    trigger = Trigger(short, long, on, off, before, after, together)
    with quiet_stdout(as_json):
        records = [record for file in files for record in read_files(file, reading)]
    if len(records) > 1:
        records = join(records)
    if len(records) != 1:
        raise InputError(f"The files hold {len(records)} samplings; give those of one logger.")
    whole = records[0]
    tell_reading([whole])
    found = find_events(whole, trigger, listed(channels))
    rows = []
    with Delivery(quiet=as_json) as deliver:
        for number, event in enumerate(found, 1):
            stamp = None if whole.clock is None else str(whole.clock.at(event.at))[:23] + "Z"
            row = {"at": event.at, "utc": stamp, "begin": event.begin, "end": event.end, "ratio": event.ratio,
                   "peaks": event.peaks, "file": None}  # fmt: skip
            if to is not None:
                name = f"event-{number:03d}" if stamp is None else stamp.replace("-", "").replace(":", "")
                path = make_folder(to) / f"{name}.h5"
                part = whole.cut(event.begin, event.end).replace(name=name)
                if deliver.work(f"'{path}' was not written", lambda p=part, path=path: p.write_hdf5(path)):
                    row["file"] = path
            rows.append(row)
            if not as_json:
                largest = max(event.peaks, key=lambda name: event.peaks[name])
                size = f"{event.peaks[largest]:.3g} {whole.channel(largest).unit} ({largest})"
                kept = f", {row['file']}" if row["file"] else ""
                typer.echo(
                    f"{stamp or f'{event.at:.2f} s'}: {event.end - event.begin:.0f} s, ratio {event.ratio:.3g}, "
                    f"largest {size}{kept}"
                )
        if as_json:
            deliver.answer(lambda: print_json({"events": rows}))
        elif not rows:
            typer.echo(f"no event in {len(whole) * (whole.step or 0.0):.0f} s")
