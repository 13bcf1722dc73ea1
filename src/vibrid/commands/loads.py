"""`vibrid loads`: the histories of unknown loads on a known structure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json, TableFile
from vibrid.commands.trust import Trust, consent

ProjectFile = Annotated[Path, typer.Argument(metavar="PROJECT.toml", help="Project file.", show_default=False)]
DataFile = Annotated[
    Path | None,
    typer.Argument(metavar="DATA", help="Measured file; by default the first the project names.", show_default=False),
]
Out = Annotated[Path | None, typer.Option(help="Write the loads: .csv, .h5 or .nc.", show_default=False)]
Plot = Annotated[Path | None, typer.Option(help="Draw them: .png, .pdf or .svg.", show_default=False)]
Penalty = Annotated[str, typer.Option(help="Regularised quantity: size, difference or second-difference.")]
Weight = Annotated[str, typer.Option(help="Its weight: evidence, gcv, l-curve, or a standard deviation in N.")]


def loads(
    project: ProjectFile,
    data: DataFile = None,
    out: Out = None,
    plot: Plot = None,
    penalty: Penalty = "size",
    weight: Weight = "evidence",
    trust: Trust = False,
    csv: TableFile = None,
    as_json: Json = False,
) -> None:
    """Identify the unknown loads of a project whose structure is known; every load with its uncertainty band.

    To identify parameters of the structure as well, use `vibrid identify --method joint`.

    Example: vibrid loads bridge.toml crossing.csv --out axle.csv --plot axle.png
    """
    import vibrid as vb
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.commands.reading import tell_reading
    from vibrid.core.errors import FileProblem
    from vibrid.project import load_project
    from vibrid.report.save import save_figure

    output.check_ending(out, (".csv", ".h5", ".hdf5", ".nc"))
    output.check_ending(plot, (".png", ".pdf", ".svg"))
    output.check_table_file(csv)
    trust = consent(project, trust)
    with terminal_progress(quiet=as_json) as progress:
        progress.stage(f"reading {project.name}")
        loaded = load_project(project, trust)
        wanted = [u for u in loaded.unknown if isinstance(u, vb.UnknownLoad)]
        if not wanted:
            raise FileProblem(project, "no load is unknown: add [[unknown_loads]] with the place where it acts.")
        record = loaded.read(data) if data else next(iter(loaded.records()), None)
        if record is None:
            raise FileProblem(project, "no measured file was given: name one after the project, or under [records].")
        tell_reading([record])
        identified = vb.find_loads(
            loaded.structure,
            record,
            wanted,
            sensors=loaded.sensors,
            penalty=penalty,
            weight=_weight(weight),
            integrator=loaded.simulation.integrator,
            hold=loaded.simulation.hold,
            progress=progress,
        )
    files = [str(f) for f in (out, plot) if f is not None]
    content = {"record": identified.record, "loads": identified.table(), "files": files}
    content["inputs"] = output.inputs(*loaded.files, *record.files)
    with Delivery(quiet=as_json) as deliver:
        deliver.answer(lambda: output.print_json(content) if as_json else typer.echo(str(identified)))
        output.deliver_table(deliver, csv, content["loads"])
        deliver.result(out, lambda path: output.write_record(identified.as_record(), path))
        deliver.file(plot, lambda: save_figure(identified.plot(), plot))


def _weight(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
