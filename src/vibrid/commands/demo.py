"""`vibrid demo`: the main job on an embedded example, step by step."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

TRUTH = {
    "storeys[0].stiffness": 26e6,
    "storeys[1].stiffness": 23e6,
    "storeys[2].stiffness": 17e6,
    "storeys[*].beta": 80.0,
    "storeys[*].gamma": 45.0,
    "damping.initial": 60e3,
}
"""What the shaken building differs in from the first guesses of demo.toml."""

Out = Annotated[Path, typer.Option(help="Folder for the figures and files.")]


def demo(out: Out = Path("vibrid-demo")) -> None:
    """Shake a three-storey hysteretic building, measure it with noise, and find its parameters from the measurements.

    Everything is written to a folder, with the project file to start from.

    Example: vibrid demo --out my-demo
    """
    from vibrid.commands import output
    from vibrid.commands.progress import listening

    with listening() as progress:
        progress.stage("preparing")
        project = prepare(out)
        progress.stage("compiling and simulating an earthquake")
        response, data = shake(project)
        progress.stage("drawing")
        draw(project, response, data, out)
        fit = identify(project, data, progress)
        progress.stage("predicting another earthquake")
        check = fit.validate(another(project))
        progress.stage("writing the report")
        fit.report(out / "report.html", validation=check, title=project.title)
    output.print_peaks(f"{project.title}: what the sensors read", output.peaks(data, project.units))
    print_answer(project, fit)
    worst = max(check.relative_error.values())
    typer.echo(f"Another earthquake, not used above, is predicted within {100 * worst:.2g} % of each signal.")
    typer.echo(f"Files are in {out}: report.html, demo.toml, measured.csv, response.png")
    typer.echo(f"Go on with: vibrid identify {out / 'demo.toml'} {out / 'measured.csv'} --method ukf")


def prepare(out: Path):
    """The project, copied to the folder so that it can be changed and run again."""
    from vibrid.core.errors import FileProblem
    from vibrid.project import load_project
    from vibrid.records.writers import whole_file

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileProblem(out, f"the folder cannot be made ({problem.strerror}).") from None
    text = files("vibrid.commands").joinpath("demo.toml").read_text(encoding="utf-8")
    with whole_file(out / "demo.toml") as temporary:
        temporary.write_text(text, encoding="utf-8")
    return load_project(out / "demo.toml")


def shake(project):
    """The true building's response to the earthquake, and what noisy sensors read of it.

    It is computed by another integrator with ten times finer steps than the one that is fitted afterwards.
    """
    response = _true_response(project, project.excitation())
    return response, project.measure(response)


def _true_response(project, motion):
    import vibrid as vb

    fine = 10 * project.simulation.substeps
    return vb.simulate(project.structure.replace(TRUTH), motion, integrator=vb.RungeKutta3(), substeps=fine)


def another(project):
    """The true building under an earthquake that the identification does not see, read without noise."""
    import vibrid as vb

    motion = project.excitation_table.synthetic
    quake = vb.synthetic_motion(motion.seed + 1, duration=motion.duration, rate=motion.rate, pga=motion.pga)
    return _true_response(project, quake).measure(project.sensors)


def draw(project, response, data, out: Path) -> None:
    """The measured record and a figure of it."""
    from vibrid.commands.figures import response_figure, save_figure
    from vibrid.commands.output import write_record

    write_record(data, out / "measured.csv", project.units)
    save_figure(response_figure(response, data, project.units, project.title), out / "response.png")


def identify(project, data, progress):
    """The unknowns of the project from the measured record."""
    import vibrid as vb

    return vb.identify(
        project.structure,
        data,
        project.unknown,
        project.method,
        sensors=project.sensors,
        progress=progress,
        **project.simulation.arguments,
    )


def print_answer(project, fit) -> None:
    """Estimate and uncertainty beside the truth that only a demonstration knows."""
    from vibrid.commands.output import print_table
    from vibrid.core import paths

    truth = project.structure.replace(TRUTH)
    rows = []
    for row in fit.table():
        true = float(paths.get(truth, row["name"].replace("[*]", "[0]")))
        start = float(paths.get(project.structure, row["name"].replace("[*]", "[0]")))
        error = 100 * abs(row["estimate"] / true - 1)
        rows.append(
            [
                row["name"],
                f"{start:.4g}",
                f"{row['estimate']:.5g}",
                f"{2 * row['standard_deviation']:.2g}",
                f"{true:.4g}",
                f"{error:.2f} %",
                row["unit"],
            ]
        )
    print_table(
        f"What {fit.method} found in {fit.seconds:.1f} s",
        ["parameter", "first guess", "estimate", "± 2σ", "truth", "error", "unit"],
        rows,
        right=("first guess", "estimate", "± 2σ", "truth", "error"),
    )
    typer.echo(fit.verdict)
