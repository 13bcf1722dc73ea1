"""`vibrid record rotate` and `vibrid record synchronise`: other axes, and several loggers on one time axis."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vibrid.commands.delivery import Delivery, quiet_stdout
from vibrid.commands.output import check_ending, print_json
from vibrid.commands.reading import read_files, tell_reading, with_reading
from vibrid.core.errors import InputError

_ENDINGS = (".csv", ".h5", ".hdf5", ".nc")
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write (.csv, .h5, .nc).", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@with_reading
def rotate(
    file: Annotated[Path, typer.Argument(help="File of any known format.", show_default=False)],
    output: Output,
    axis: Annotated[list[str], typer.Option(help="NAME=AZIMUTH of an axis, degrees clockwise from north.")],
    azimuth: Annotated[
        list[str] | None, typer.Option(help="CHANNEL=AZIMUTH, if its direction does not say it.")
    ] = None,
    as_json: Json = False,
    reading: Any = None,
) -> None:
    """Turn the horizontal channels of each place to the axes of a structure.

    Example: vibrid record rotate bridge.mseed -o bridge.h5 --axis x=30 --axis y=120 --azimuth BRDG.HN1=28
    """
    check_ending(output, _ENDINGS)
    axes, azimuths = _angles(axis, "--axis"), _angles(azimuth or [], "--azimuth")
    with quiet_stdout(as_json):
        records = read_files(file, reading)
    if len(records) != 1:
        raise InputError(f"'{file}' holds {len(records)} records of different sampling; convert it to several first.")
    _write(records[0].rotate(axes, azimuths), output, as_json, {})


@with_reading
def synchronise(
    files: Annotated[list[Path], typer.Argument(help="Files of several loggers, one or more.", show_default=False)],
    output: Output,
    rate: Annotated[
        float | None, typer.Option(help="Samples per second of the result; the highest by default.")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Keep the time that any covers, with gaps.")] = False,
    correlate: Annotated[
        str | None, typer.Option(help="Channels that move alike, one of each file by commas: clocks are set by them.")
    ] = None,
    largest: Annotated[float | None, typer.Option(help="Of --correlate: largest error of a clock in s.")] = None,
    as_json: Json = False,
    reading: Any = None,
) -> None:
    """Put the records of several loggers on one time axis, by their clocks, or by channels that move alike.

    With --correlate the error of each clock against the first one, and how alike the channels are, are printed.

    Example: vibrid record synchronise tower.h5 ground.mseed -o both.h5 --correlate base,HNE --largest 2
    """
    from vibrid.records import synchronise as together

    check_ending(output, _ENDINGS)
    with quiet_stdout(as_json):
        records = [record for file in files for record in read_files(file, reading)]
    lags = {}
    if correlate is not None:
        channels = [name.strip() for name in correlate.split(",")]
        if len(channels) != len(records):
            raise InputError(f"--correlate names {len(channels)} channels, and there are {len(records)} records.")
        records, lags = _set_clocks(records, channels, largest)
    tell_reading(records)
    joined = together(records, rate, "whole" if whole else "common")
    _write(joined, output, as_json, {"lags": lags})


def _set_clocks(records: list, channels: list[str], largest: float | None) -> tuple[list, dict[str, dict[str, float]]]:
    """Records shifted so that their channels agree with the first one's, and what was found."""
    from vibrid.records.align import likeness

    first, found = records[0], {}
    moved = [first]
    for record, channel in zip(records[1:], channels[1:], strict=True):
        same = record if abs(record.rate / first.rate - 1) < 1e-9 else record.resample(first.rate)
        seconds, alike = likeness(same, first, channel, channels[0], largest)
        found[record.name] = {"late_by": seconds, "correlation": alike}
        typer.echo(f"{record.name}: late by {seconds:.6g} s against {first.name} (correlation {alike:.3f})", err=True)
        if abs(alike) < 0.5:
            raise InputError(
                f"'{channel}' of {record.name} and '{channels[0]}' of {first.name} do not move alike (correlation "
                f"{alike:.2f}): a clock cannot be set by them."
            )
        moved.append(record.shift(-seconds))
    return moved, found


def _angles(pairs: list[str], option: str) -> dict[str, float]:
    angles = {}
    for pair in pairs:
        name, _, number = pair.rpartition("=")
        try:
            angles[name.strip()] = float(number)
        except ValueError:
            name = ""
        if not name.strip():
            raise InputError(f"{option} is written NAME=DEGREES, as in x=30, not '{pair}'.")
    return angles


def _write(record, output: Path, as_json: bool, more: dict[str, Any]) -> None:
    write = record.write_csv if output.suffix.lower() == ".csv" else record.write_hdf5
    with Delivery(quiet=as_json) as deliver:
        if deliver.work(f"'{output}' was not written", lambda: write(output)):
            row = {"file": output, "samples": len(record), "step": record.step, "channels": list(record.names)}
            if as_json:
                deliver.answer(lambda: print_json(row | more))
            else:
                typer.echo(f"wrote {output}: {len(record)} samples of {', '.join(record.names)}")
