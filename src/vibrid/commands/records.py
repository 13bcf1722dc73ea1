"""Commands about records: `vibrid record`, `vibrid spectrum`.

Thin: every command reads its arguments, calls the library and prints. Errors are `VibridError`s, which the main program
prints as one message.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vibrid.commands.delivery import Delivery, quiet_stdout
from vibrid.commands.options import TableFile
from vibrid.commands.output import check_ending, check_table_file, deliver_table, print_json
from vibrid.commands.reading import decided, read_files, with_reading
from vibrid.commands.receive import receive
from vibrid.commands.records_events import events
from vibrid.commands.records_together import rotate, synchronise
from vibrid.core.errors import InputError

record = typer.Typer(no_args_is_help=True, help="Show, convert, plot and receive measured records.")
record.command("events")(events)
record.command("receive")(receive)
record.command("rotate")(rotate)
record.command("synchronise")(synchronise)

Files = Annotated[list[Path], typer.Argument(help="Files of any known format.", show_default=False)]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Reading = Any
Band = Annotated[str, typer.Option("--periods", help="Period range in s, as LOW:HIGH.")]


def period_range(text: str) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in text.split(":"))
    except ValueError:
        raise InputError(f"A range is written LOW:HIGH, as in 0.1:2, not '{text}'.") from None
    return low, high


def _summary(r) -> dict:
    import numpy as np

    from vibrid.records.clock import utc_text
    from vibrid.records.intensity import intensity

    channels = []
    for c in r.channels:
        values = r[c.name]
        known = np.isfinite(values)
        entry = {
            "name": c.name,
            "quantity": c.quantity,
            "unit": c.unit,
            "location": c.location,
            "direction": c.direction,
            "peak": float(np.abs(values[known]).max()) if known.any() else None,
            "missing": int((~known).sum()),
        }
        if c.quantity == "ground_acceleration" and r.step is not None and known.sum() > 1:
            part = _trimmed(r.select([c.name]))
            if np.isfinite(part.data).all():
                entry["intensity"] = intensity(part).as_dict()
                moved = part.integrate().integrate()
                entry["drifts"] = bool(abs(moved.data[-1, 0]) > 0.5 * entry["intensity"]["pgd"] > 0)
        channels.append(entry)
    return {
        "name": r.name,
        "samples": len(r),
        "step": r.step,
        "duration": r.duration,
        "start": None if r.utc is None else utc_text(r.utc),
        "clock": None if r.clock is None else r.clock.as_dict(),
        "channels": channels,
        "history": list(r.history),
    }


@record.command("info")
@with_reading
def record_info(
    files: Files,
    csv: TableFile = None,
    as_json: Json = False,
    reading: Reading = None,
):
    """Show the content of a file: sampling, channels, peaks, and the intensity of ground accelerations.

    Example: vibrid record info RSN1106_KOBE_KJM000.AT2
    """
    check_table_file(csv)
    with quiet_stdout(as_json):
        found = [_summary(r) for path in files for r in read_files(path, reading)]
    with Delivery(quiet=as_json) as deliver:
        deliver.answer(lambda: print_json(found) if as_json else _print_summaries(found))
        sampling = [{"record": e["name"]} | {k: e[k] for k in ("samples", "step", "duration")} for e in found]
        rows = [about | channel for about, e in zip(sampling, found, strict=True) for channel in e["channels"]]
        deliver_table(deliver, csv, rows)


def _print_summaries(found: list[dict]) -> None:
    for entry in found:
        rate = f"{1 / entry['step']:g} Hz" if entry["step"] else "uneven sampling"
        typer.echo(f"{entry['name']}: {entry['samples']} samples, {rate}, {entry['duration']:g} s")
        if entry["start"] is not None:
            source, known = entry["clock"]["source"], entry["clock"]["uncertainty"]
            within = "" if known is None else f" ± {known:g} s"
            typer.echo(f"  from {entry['start']}{within}{f' ({source})' if source else ''}")
        for c in entry["channels"]:
            peak = "no values" if c["peak"] is None else f"peak {c['peak']:.4g} {c['unit']}".rstrip()
            gaps = f", {c['missing']} missing" if c["missing"] else ""
            typer.echo(f"  {c['name']}: {c['quantity']} {c['location']} {c['direction']}".rstrip() + f", {peak}{gaps}")
            if "intensity" in c:
                i = c["intensity"]
                typer.echo(
                    f"    PGA {i['pga'] / 9.80665:.4f} g, PGV {i['pgv']:.3g} m/s, PGD {i['pgd']:.3g} m, "
                    f"Arias {i['arias']:.3g} m/s, D5-95 {i['significant_duration']:.2f} s"
                )
                if c["drifts"]:
                    typer.echo("    its integral does not come to rest: correct the baseline before using PGV and PGD")
        for line in entry["history"]:
            typer.echo(f"  - {line}")


@record.command("convert")
@with_reading
def record_convert(
    file: Annotated[Path, typer.Argument(help="File of any known format.", show_default=False)],
    output: Output,
    start: Annotated[float | None, typer.Option(help="Beginning of the part that is kept, in s.")] = None,
    end: Annotated[float | None, typer.Option(help="End of the part that is kept, in s.")] = None,
    fill: Annotated[float | None, typer.Option(help="Longest gap in s that is bridged by a straight line.")] = None,
    baseline: Annotated[str | None, typer.Option(help="Remove: mean, line, parabola, velocity.")] = None,
    band: Annotated[str | None, typer.Option("--filter", help="Band kept in Hz, as LOW:HIGH, 0.1: or :25.")] = None,
    rate: Annotated[float | None, typer.Option(help="New rate in samples per second.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the channels before and after: .png, .pdf, .svg.")] = None,
    as_json: Json = False,
    reading: Reading = None,
):
    """Write a record as CSV (.csv) or HDF5/netCDF (.h5, .hdf5, .nc), in SI units, prepared if asked.

    The steps are done in this order: window, filled gaps, baseline, filter, rate; the effect on every channel is
    printed. A file with several sampling rates gives several numbered files.

    Example: vibrid record convert test.mat -o test.csv --start 2 --baseline line --filter 0.1:25 --rate 200
    """
    from vibrid.records.prepare import EFFECT, Preparation

    check_ending(output, (".csv", ".h5", ".hdf5", ".nc"))
    check_ending(plot, (".png", ".pdf", ".svg"))
    write = "write_csv" if output.suffix.lower() == ".csv" else "write_hdf5"
    prepare = Preparation(start, end, fill, baseline, *_band(band), rate=rate)
    with quiet_stdout(as_json):
        records = read_files(file, reading)
    written = []
    with Delivery(quiet=True) as deliver:
        for number, r in enumerate(records, 1):
            prepared = prepare(r)
            steps = [
                part for line in prepared.history[len(r.history) :] for part in line.removeprefix(EFFECT).split("; ")
            ]
            notes = [*decided(r), *steps]
            path, picture = (numbered(name, number, len(records)) for name in (output, plot))
            for note in [] if as_json else notes:
                typer.echo(f"{r.name}: {note}")
            if deliver.work(f"'{path}' was not written", lambda p=prepared, path=path: getattr(p, write)(path)):
                row = {"file": path, "samples": len(prepared), "step": prepared.step, "channels": list(prepared.names)}
                written.append(row | {"notes": notes})
                if not as_json:
                    typer.echo(f"wrote {path}: {len(prepared)} samples, {len(prepared.channels)} channels")
            draw_prepared(deliver, r, prepared, picture)
        if as_json:
            deliver.answer(lambda: print_json({"records": written, "files": [row["file"] for row in written]}))


def numbered(path: Path | None, number: int, count: int) -> Path | None:
    """The name of one of several files: `test_2.csv`."""
    return path if path is None or count == 1 else path.with_stem(f"{path.stem}_{number}")


def draw_prepared(deliver: Delivery, before, after, path: Path | None) -> None:
    """Draw a record before and after its preparation, where a picture is wanted."""
    from vibrid.report.record_plots import plot_prepared, save

    if path is not None:
        deliver.file(path, lambda: save(plot_prepared(before, after), path))


def _band(text: str | None) -> tuple[float | None, float | None]:
    """The corners of a filter from LOW:HIGH, of which one may be left out."""
    if text is None:
        return None, None
    try:
        low, high = (float(part) if part.strip() else None for part in text.split(":"))
    except ValueError:
        raise InputError(f"A band is written LOW:HIGH in Hz, as in 0.1:25, 0.1: or :25, not '{text}'.") from None
    return low, high


@record.command("plot")
@with_reading
def record_plot(
    files: Files,
    output: Output = Path("record.png"),
    as_json: Json = False,
    reading: Reading = None,
):
    """Plot records over time (PNG, PDF or SVG, by the ending of the output).

    Example: vibrid record plot RSN1106_KOBE_KJM000.AT2 -o kobe.png
    """
    from vibrid.report.record_plots import plot_record, save

    records = [r for path in files for r in read_files(path, reading)]
    pictures = [
        output.with_stem(f"{output.stem}_{n}") if len(records) > 1 else output for n in range(1, len(records) + 1)
    ]
    with Delivery(quiet=as_json) as deliver:
        if as_json:
            content = [{"record": r.name, "file": path} for r, path in zip(records, pictures, strict=True)]
            deliver.answer(lambda: print_json({"records": content, "files": pictures}))
        for r, path in zip(records, pictures, strict=True):
            deliver.file(path, lambda r=r, path=path: save(plot_record(r), path))


@with_reading
def spectrum(
    files: Files,
    damping: Annotated[float, typer.Option(help="Ratio to critical damping.")] = 0.05,
    periods: Band = "0.01:10",
    count: Annotated[int, typer.Option(help="Number of periods.")] = 200,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Picture or .csv to write.")] = None,
    as_json: Json = False,
    reading: Reading = None,
):
    """Compute response spectra of accelerations.

    Example: vibrid spectrum RSN1106_KOBE_KJM000.AT2 --damping 0.05 -o kobe.png
    """
    import numpy as np

    from vibrid.records.motions.tables import write_spectra
    from vibrid.report.record_plots import plot_spectrum, save

    low, high = period_range(periods)
    if not (0 < low < high and 2 <= count <= 10_000):
        raise InputError("The periods must rise from a positive value, and there must be 2 to 10000 of them.")
    axis = np.geomspace(low, high, count)
    found = []
    with quiet_stdout(as_json):
        for path in files:
            for r in read_files(path, reading):
                for c in r.channels:
                    if c.quantity in ("ground_acceleration", "absolute_acceleration"):
                        part = r.select([c.name]).replace(name=r.name if len(r.channels) == 1 else f"{r.name} {c.name}")
                        found.append(_trimmed(part).spectrum(axis, damping))
    if not found:
        raise InputError(
            "There is no acceleration in these files. If a file does not state its quantity, give it: "
            "--units g --quantities ground_acceleration."
        )
    with Delivery(quiet=as_json) as deliver:
        deliver.answer(lambda: print_json(_spectra(found)) if as_json else _print_spectra(found, low, high))
        table = output is not None and output.suffix.lower() == ".csv"
        deliver.file(output, lambda: write_spectra(found, output) if table else save(plot_spectrum(found), output))


def _spectra(found) -> list[dict]:
    return [
        {
            "name": s.name,
            "damping": s.damping,
            "period": s.periods,
            "pseudo_acceleration": s.pseudo_acceleration,
            "displacement": s.displacement,
        }
        for s in found
    ]


def _print_spectra(found, low: float, high: float) -> None:
    for s in found:
        top = int(s.pseudo_acceleration.argmax())
        values = [f", Sa({t:g} s) {float(s.at(t)) / 9.80665:.4g} g" for t in (0.2, 1.0, 2.0) if low <= t <= high]
        peak = s.pseudo_acceleration[top] / 9.80665
        typer.echo(f"{s.name}: largest Sa {peak:.4g} g at {s.periods[top]:.3g} s" + "".join(values))


def _trimmed(r):
    """A channel without the missing samples at its ends."""
    import numpy as np

    known = np.flatnonzero(np.isfinite(r.data[:, 0]))
    return r if not known.size else r.cut(float(r.time[known[0]]), float(r.time[known[-1]]))
