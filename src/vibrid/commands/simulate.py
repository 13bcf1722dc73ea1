"""`vibrid simulate`: the response of a project's structure, and the readings of its sensors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json, TableFile
from vibrid.commands.trust import Trust, consent

Project = Annotated[Path, typer.Argument(metavar="PROJECT.toml", help="Project file.", show_default=False)]
Out = Annotated[Path | None, typer.Option(help="Write the readings: .csv, .h5 or .nc.", show_default=False)]
Plot = Annotated[Path | None, typer.Option(help="Draw them: .png, .pdf or .svg.", show_default=False)]
StepErrorWanted = Annotated[
    bool | None,
    typer.Option(
        "--step-error/--no-step-error",
        help="Simulate again with half the step to estimate its error; by default where that is quick.",
        show_default=False,
    ),
]
MOST_WORK = 1_000_000
"""Steps × degrees of freedom of the second run, above which it is made on request only."""


def simulate(
    project: Project,
    out: Out = None,
    plot: Plot = None,
    csv: TableFile = None,
    step_error: StepErrorWanted = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Simulate a project: the response of its structure to its excitation, and the readings of its sensors.

    Example: vibrid simulate examples/shear-building.toml --out response.csv --plot response.png
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress

    output.check_ending(out, (".csv", ".h5", ".hdf5", ".nc"))
    output.check_ending(plot, (".png", ".pdf", ".svg"))
    output.check_table_file(csv)
    trust = consent(project, trust)
    with terminal_progress(quiet=as_json) as progress:
        progress.stage(f"reading {project.name}")
        from vibrid.project import load_project

        loaded = load_project(project, trust)
        excitation = loaded.excitation()
        progress.stage(f"compiling and simulating {len(excitation)} samples")
        response = loaded.simulate(excitation)
        readings = loaded.measure(response)
        rows = output.peaks(readings, loaded.units)
        error = step_error_of(response, step_error, progress)
    with Delivery(quiet=as_json) as deliver:
        if as_json:
            content = {
                "project": str(project),
                "title": loaded.title,
                "samples": len(readings),
                "rate": readings.rate,
                "channels": rows,
                "step_error": None if error is None else {"exact": bool(error.exact_for), **error.shares},
                "files": [str(f) for f in (out, plot) if f is not None],
                "inputs": output.inputs(*loaded.files, *excitation.files),
            }
            deliver.answer(lambda: output.print_json(content))
        else:
            deliver.answer(lambda: output.print_peaks(loaded.title, rows))
            if error is not None:
                deliver.answer(lambda: typer.echo("; ".join(filter(None, [str(error), error.advice]))))
        output.deliver_table(deliver, csv, rows)
        if out is not None:
            deliver.file(out, lambda: output.write_record(readings, out, loaded.units))
        if plot is not None:
            deliver.file(plot, lambda: draw(response, readings, loaded, plot))


def step_error_of(response, wanted: bool | None, progress):
    """The error of the time step of a response; None where it is not wanted, would take long, or cannot be found."""
    from vibrid.core.errors import Divergence

    if wanted is False or not (wanted or _is_quick(response)):
        return None
    progress.stage("estimating the error of the time step")
    try:
        return response.step_error()
    except Divergence as problem:
        typer.echo(f"The error of the time step is not known, for with half of it: {problem}", err=True)
        return None


def _is_quick(response) -> bool:
    """Whether the error of the time step is known without a second run, or that run costs little."""
    from vibrid.simulation.step_error import course_without_error

    settings = response.settings
    if settings is None:  # by the reference integrator
        return False
    if course_without_error(settings.integrator, settings.hold):
        return True
    heavy = any(group.law.is_heavy for group in response.shape_of_model().groups)
    return not heavy and 2 * settings.substeps * response.displacement.size <= MOST_WORK


def draw(response, readings, loaded, plot: Path) -> None:
    """The figure of a simulated test."""
    from vibrid.commands.figures import response_figure
    from vibrid.report.save import save_figure

    save_figure(response_figure(response, readings, loaded.units, loaded.title), plot)
