"""`vibrid import opensees` and `vibrid export opensees`: a model of OpenSees in and out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json
from vibrid.core.errors import FileProblem, InputError, VibridError

import_group = typer.Typer(no_args_is_help=True, help="Read a model of another program.")
export_group = typer.Typer(no_args_is_help=True, help="Write a model for another program.")


@import_group.callback()
def _import() -> None:
    """A group of commands, even while it has only one."""


@export_group.callback()
def _export() -> None:
    """A group of commands, even while it has only one."""


Script = Annotated[Path, typer.Argument(metavar="SCRIPT", help="An OpenSees script, .py or .tcl.", show_default=False)]
Data = Annotated[list[Path] | None, typer.Argument(metavar="[DATA…]", help="Measured files.", show_default=False)]
Units = Annotated[
    str, typer.Option(help='Units of force, length and time in the script, as "kN, m, s".', show_default=False)
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Project file to write.")]
SensorPlaces = Annotated[
    list[str] | None, typer.Option("--sensor", help="An accelerometer, CHANNEL=PLACE, as A1=3.x; may be repeated.")
]
Ground = Annotated[str, typer.Option(help="Channel of the ground motion.", show_default=False)]
UnknownPaths = Annotated[
    list[str] | None,
    typer.Option("--unknown", help="Path to be identified, or several by commas with one value; may be repeated."),
]
Condense = Annotated[bool, typer.Option(help="Make matrices; nonlinear parts keep their first slope and are listed.")]
PDelta = Annotated[str, typer.Option(help="P-Δ that has no counterpart, and large displacements: refuse or ignore.")]
Number = Annotated[int | None, typer.Option("--model", help="Which of several models of the script, from 1.")]
Limit = Annotated[float, typer.Option(help="Seconds after which the script is stopped.")]
Beside = Annotated[str, typer.Option(help="Compare with OpenSees: auto (where it runs), need or off.")]
Tangent = Annotated[
    str | None, typer.Option(help="Matrices of OpenSees itself: rest, or loaded by what the script holds.")
]
Writing = Annotated[bool, typer.Option("--allow-writing", help="Let the script write files and start programs.")]


@import_group.command("opensees")
def import_opensees(
    script: Script,
    units: Units,
    data: Data = None,
    out: Out = Path("project.toml"),
    sensor: SensorPlaces = None,
    ground: Ground = "",
    unknown: UnknownPaths = None,
    condense: Condense = False,
    p_delta: PDelta = "refuse",
    model: Number = None,
    limit: Limit = 60.0,
    allow_writing: Writing = False,
    opensees: Beside = "auto",
    tangent: Tangent = None,
    as_json: Json = False,
) -> None:
    """Write a project file from an OpenSees script. The script is code: it is run, in a process of its own.

    It runs against a stand-in that writes its commands down; OpenSees is not needed and no analysis is made. Masses,
    stiffness, damping and periods are assembled from the commands separately and compared before anything is written.

    Example: vibrid import opensees portal.py --units "N, m, s" --out portal.toml
    """
    from vibrid.bridge import from_opensees
    from vibrid.bridge.project_text import project_of
    from vibrid.commands import output
    from vibrid.commands.delivery import quiet_stdout
    from vibrid.core.files import write_text
    from vibrid.project import load_project

    if out.suffix != ".toml":
        raise InputError(f"'{out}' should end in .toml.")
    if out.exists():
        raise FileProblem(out, "it exists already and is not overwritten; give another name with --out.")
    output.check_ending(out, (".toml", ".toml"))
    sensors = []
    for text in sensor or []:
        channel, equal, place = text.partition("=")
        if not equal:
            raise InputError(f"--sensor is written CHANNEL=PLACE, as A1=3.x, not '{text}'.")
        sensors.append((channel.strip(), place.strip()))
    with quiet_stdout(as_json):
        found = from_opensees(
            script, units, condense=condense, p_delta=p_delta, model=model, seconds=limit, allow_writing=allow_writing,
            opensees=opensees, tangent=tangent,
        )  # fmt: skip
    comments = [f'Written by `vibrid import opensees {script.name} --units "{units}"`.', *found.notes]
    if found.became:
        comments.append("What parts of the script became:")
        comments += [f"  {old}: {new}" for old, new in found.became.items()]
    files = [Path(os.path.relpath(path, out.parent or ".")).as_posix() for path in data or []]
    write_text(out, project_of(found.structure, script.stem, comments, sensors, ground, unknown or [], files))
    try:
        with quiet_stdout(as_json):
            load_project(out)
    except VibridError:
        out.unlink()
        raise
    rows = [{"what": r.what, "script": r.script, "structure": r.structure, "unit": r.unit} for r in found.compared]
    kind = type(found.structure).__name__
    if as_json:
        told = {"files": [out], "structure": kind, "native": found.native, "notes": found.notes, "became": found.became}
        output.print_json(told | {"compared": rows})
        return
    output.print_table(
        f"{kind}{'' if found.native else ', condensed to matrices'}",
        ["", "script", "structure", "unit"],
        [[r["what"], f"{r['script']:.6g}", f"{r['structure']:.6g}", r["unit"]] for r in rows],
        right=("script", "structure"),
    )
    for note in found.notes:
        typer.echo(f"Note: {note}.")
    typer.echo(f"wrote {out}")


Source = Annotated[
    Path,
    typer.Argument(metavar="PROJECT.toml|RESULT.h5", help="A project, or a result of identify.", show_default=False),
]
Written = Annotated[Path, typer.Argument(metavar="OUT.py|OUT.tcl", help="The script to write.", show_default=False)]


@export_group.command("opensees")
def export_opensees(source: Source, out: Written, as_json: Json = False) -> None:
    """Write the structure of a project, or of a result with its identified values, as an OpenSees script (N, m, s).

    Example: vibrid export opensees examples/shear-building.toml building.py
    """
    from vibrid.bridge import to_opensees
    from vibrid.commands import output
    from vibrid.commands.delivery import quiet_stdout

    output.check_ending(out, (".py", ".tcl"))
    with quiet_stdout(as_json):
        if source.suffix.lower() in (".h5", ".hdf5"):
            from vibrid.identification import load_identification

            structure = load_identification(source).structure
        else:
            from vibrid.project import load_project

            structure = load_project(source).structure
        to_opensees(structure, out)
    if as_json:
        output.print_json({"files": [out], "structure": type(structure).__name__})
        return
    typer.echo(f"wrote {out}")
