"""`vibrid init`: a commented project file for one's own data, that runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from vibrid.commands.asking import answer
from vibrid.commands.init_shapes import Given, shape_of
from vibrid.commands.init_text import DraftChannel, ProjectDraft, Shape, project_text
from vibrid.commands.options import Json
from vibrid.commands.reading import decided, read_files, with_reading
from vibrid.commands.trust import at_terminal
from vibrid.core.errors import FileProblem, InputError, VibridError, nearest

DataFiles = Annotated[
    list[Path] | None, typer.Argument(metavar="[DATA…]", help="Measured files of one test set-up.", show_default=False)
]
OutputFile = Annotated[Path, typer.Option("--output", "-o", help="Project file to write.")]
Kind = Annotated[
    str | None, typer.Option("--structure", help="Kind of structure: shear-building or beam.", show_default=False)
]
Storeys = Annotated[int | None, typer.Option(help="Number of storeys.", show_default=False)]
Length = Annotated[str | None, typer.Option(help='Length of a cantilever beam, as "12 m".', show_default=False)]
Elements = Annotated[int, typer.Option(help="Number of elements of a beam.")]
Mass = Annotated[
    str | None,
    typer.Option(help='Mass of a floor, as "20 t", or of each by commas, lowest first; of a beam, as "300 kg/m".'),
]
Stiffness = Annotated[
    str | None,
    typer.Option(help='First guess: of a storey, as "20 MN/m", or of each by commas; of a beam EI, as "5e6 N*m^2".'),
]
Frequency = Annotated[
    float | None, typer.Option(help="First natural frequency in Hz, roughly: another way to guess the stiffness.")
]
Damping = Annotated[float, typer.Option(help="First guess of the damping ratio of every mode.")]
SensorPlaces = Annotated[
    list[str] | None,
    typer.Option("--sensor", help="A channel and its place, CHANNEL=PLACE, as 'roof acc X=roof'; may be repeated."),
]
Ground = Annotated[str | None, typer.Option(help="Channel of the ground motion.", show_default=False)]
Title = Annotated[str, typer.Option(help="Name of the project in tables and reports.")]


@with_reading
def init(
    data: DataFiles = None,
    output: OutputFile = Path("project.toml"),
    structure: Kind = None,
    storeys: Storeys = None,
    length: Length = None,
    elements: Elements = 10,
    mass: Mass = None,
    stiffness: Stiffness = None,
    frequency: Frequency = None,
    damping: Damping = 0.02,
    sensor: SensorPlaces = None,
    ground: Ground = None,
    title: Title = "",
    as_json: Json = False,
    reading: Any = None,
) -> None:
    """Write a commented project file for your own data; asks at a terminal for what the options do not say.

    A building has floors, numbered from 0, the lowest, to the roof; a beam is a cantilever from its support to its tip.
    Accelerometers measure absolute acceleration.

    Example: vibrid init test.csv --storeys 2 --mass "20 t" --frequency 3 --sensor "A1=0" --sensor "A2=roof" --ground A0
    """
    from vibrid.commands.output import print_json
    from vibrid.core.files import write_text

    if output.suffix != ".toml":
        raise InputError(f"'{output}' should end in .toml.")
    if output.exists():
        raise FileProblem(output, "it exists already and is not overwritten; give another name with --output.")
    if not data:
        raise InputError("Name your measured files: vibrid init test.csv; `examples/` has project files to read.")
    for key in ("columns", "quantities", "sidecar"):
        if reading[key] is not None:
            raise InputError(f"A project has no --{key}; describe the columns in a sidecar, {data[0]}.toml.")
    records = [r for path in data for r in read_files(path, reading)]
    _same_channels(data, records)
    if not as_json:
        _show(records)
    given = Given(storeys, mass, stiffness, frequency, damping, length, elements)
    shape = shape_of(structure, given)
    moving, places = _places(records[0], sensor or [], ground, shape)
    draft = ProjectDraft(
        title=title or data[0].stem,
        shape=shape,
        sensors=[_sensor(records[0], name, place, reading) for name, place in places.items()],
        ground=_sensor(records[0], moving, "", reading),
        files=[Path(os.path.relpath(path, output.parent or ".")).as_posix() for path in data],
        reading=reading,
        rate=None if records[0].step is not None else _rate(records[0]),
    )
    write_text(output, project_text(draft))
    try:
        _check(output, data)
    except VibridError:
        output.unlink()
        raise
    quoted = f'"{output}"' if " " in str(output) else str(output)
    following = [f"vibrid check {quoted}", f"vibrid identify {quoted} --report {output.stem}.html"]
    if as_json:
        print_json({"files": [output], "next": following})
        return
    typer.echo(f"wrote {output}")
    for command in following:
        typer.echo(f"Next: {command}")


def _same_channels(files: list[Path], records: list) -> None:
    if len(records) > len(files):
        raise InputError("A file holds several samplings; convert it first: vibrid record convert FILE -o test.csv.")
    for path, record in zip(files, records, strict=True):
        if set(record.names) != set(records[0].names):
            raise FileProblem(
                path,
                f"its channels ({', '.join(record.names)}) are not those of {files[0]} "
                f"({', '.join(records[0].names)}); write one project for each set-up.",
            )


def _show(records: list) -> None:
    """What the files hold: lengths, rates, channels, and what was decided when they were read."""
    for record in records:
        rate = f"{record.rate:g} Hz" if record.step is not None else "uneven sampling"
        typer.echo(f"{record.name}: {len(record)} samples, {rate}, {record.duration:g} s")
        for line in decided(record):
            typer.echo(f"  - {line}")
    for channel in records[0].channels:
        typer.echo(f"  {channel.name}: {channel.quantity.replace('_', ' ')} [{channel.unit or 'no unit'}]")


def _places(record, given: list[str], ground: str | None, shape: Shape) -> tuple[str, dict[str, str]]:
    """The channel of the ground motion, and the places of the others."""
    named = dict(_place(record, text, shape) for text in given)
    moving = [c.name for c in record.channels if c.quantity == "ground_acceleration"]
    if ground is not None:
        ground = _channel(record, ground, "--ground")
    elif len(moving) == 1 and moving[0] not in named:
        ground = moving[0]
        typer.echo(f"The ground motion is '{ground}', by its name and unit; --ground chooses another.")
    rest = [c.name for c in record.channels if c.name not in named and c.name != ground]
    if ground is None:
        words = f"Channel of the ground motion ({', '.join(rest)})"
        ground = str(answer(None, "--ground", words, None, lambda text: _channel(record, text, "--ground")))
        rest = [name for name in rest if name != ground]
    if at_terminal() and not given:
        for name in rest:
            words = f"Place of '{name}' ({shape.places}; - if it is not used)"
            place = answer(None, "--sensor", words, "-", lambda text: text if text == "-" else shape.check(text))
            if place != "-":
                named[name] = place
    if not named:
        example = f"{rest[0] if rest else 'A1'}={shape.top}"
        raise InputError(
            f"Give --sensor: the place of at least one channel, as --sensor '{example}'; the channels "
            f"are {', '.join(rest) or 'none but the ground motion'}."
        )
    unused = [name for name in rest if name not in named]
    if unused:
        typer.echo(f"Not used, because they have no place: {', '.join(unused)}.")
    return ground, named


def _channel(record, name: str, option: str) -> str:
    """A channel by its name or by its heading with the unit."""
    from vibrid.records.readers.assemble import split_unit

    for candidate in (name.strip(), split_unit(name)[0]):
        if candidate in record.names:
            return candidate
    raise InputError(f"{option}: there is no channel '{name}'; {nearest(name, record.names)}")


def _place(record, text: str, shape: Shape) -> tuple[str, str]:
    for channel in sorted(record.names, key=len, reverse=True):
        if text.startswith(f"{channel}="):
            return channel, shape.check(text[len(channel) + 1 :])
    name, equal, place = text.partition("=")
    if not equal:
        raise InputError(f"--sensor is written CHANNEL=PLACE, as 'roof acc X={shape.top}', not '{text}'.")
    return _channel(record, name, "--sensor"), shape.check(place)


def _sensor(record, name: str, place: str, reading: dict) -> DraftChannel:
    """A channel for the project file; an acceleration is absolute unless its name says relative."""
    channel = record.channel(name)
    if channel.quantity == "other" or not channel.unit:
        raise InputError(
            f"The file does not say what '{name}' measures; give the units of its columns, as --units g or --units "
            "g,mm,g (one for each, in their order)."
        )
    units = reading.get("units")
    parts = [part.strip() for part in units.split(",")] if units else []
    unit = "" if not parts else parts[0] if len(parts) == 1 else parts[record.index(name)]
    return DraftChannel(name, channel.quantity, place, unit)


def _rate(record) -> float:
    """Samples per second of an uneven record, in round numbers."""
    import numpy as np

    return float(f"{1.0 / float(np.median(np.diff(record.time))):.3g}")


def _check(output: Path, data: list[Path]) -> None:
    """Load the project and read its files; every sensor must have its channel."""
    from vibrid.identification.problem_data import channel_of
    from vibrid.project import load_project

    project = load_project(output)
    for path in data:
        record = project.read(path)
        for sensor in project.sensors or ():
            channel_of(record, sensor)
