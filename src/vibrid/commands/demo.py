"""`vibrid demo`: simulate, measure, identify and predict, on an embedded example."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json
from vibrid.commands.simulate import draw

DEMO = files("vibrid.commands").joinpath("demo.toml")

TRUTH = {
    "storeys[0].stiffness": 26e6,
    "storeys[1].stiffness": 23e6,
    "storeys[2].stiffness": 17e6,
    "storeys[*].beta": 80.0,
    "storeys[*].gamma": 45.0,
    "damping.initial": 60e3,
}
"""The true values of the shaken building, which differ from the initial values of demo.toml."""

WRITTEN = ("report.html", "demo.toml", "measured.csv", "response.png")

Out = Annotated[Path, typer.Option(help="Folder for the figures and files.")]


def demo(out: Out = Path("vibrid-demo"), as_json: Json = False) -> None:
    """Shake a three-storey hysteretic building, measure it with noise, and identify its parameters.

    All files are written to a folder, with the project file to start from.

    Example: vibrid demo --out my-demo
    """
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.output import print_json
    from vibrid.commands.progress import terminal_progress
    from vibrid.core.files import make_folder, write_text

    make_folder(out)
    with terminal_progress(quiet=as_json) as progress:
        progress.stage("preparing")
        project = embedded()
        progress.stage("compiling and simulating an earthquake")
        response, data = shake(project)
        fit = identify(project, data, progress)
        progress.stage("predicting another earthquake")
        check = fit.validate(another(project))
    with Delivery(quiet=True) as deliver:
        if as_json:
            deliver.answer(lambda: print_json(content(project, fit, check, out)))
        else:
            deliver.answer(lambda: print_answer(project, data, fit, check))
        with terminal_progress(quiet=as_json) as progress:
            progress.stage("drawing and writing the report")
            deliver.file(out / "demo.toml", lambda: write_text(out / "demo.toml", DEMO.read_text(encoding="utf-8")))
            deliver.file(out / "measured.csv", lambda: data.write_csv(out / "measured.csv", units=project.units))
            deliver.file(out / "response.png", lambda: draw(response, data, project, out / "response.png"))
            deliver.file(
                out / "report.html",
                lambda: fit.report(out / "report.html", validation=check, title=project.title),
            )
        if not deliver.failed and not as_json:
            deliver.answer(lambda: print_files(out))


def embedded():
    """The project that comes with the package."""
    from vibrid.project import load_project

    with as_file(DEMO) as path:
        return load_project(path)


def content(project, fit, check, out: Path) -> dict:
    """The result as plain data: the answer of an identification, with the true values and the errors."""
    from vibrid.commands.identify import answer_of

    answer = answer_of(fit, [check])
    for row, (start, true) in zip(answer["parameters"], compared(project, fit), strict=True):
        row |= {"initial_value": start, "true_value": true, "relative_error": abs(row["estimate"] / true - 1)}
    return answer | {"files": [out / name for name in WRITTEN]}


def compared(project, fit) -> list[tuple[float, float]]:
    """(initial value, true value) of every unknown."""
    from vibrid.core import paths

    truth = project.structure.replace(TRUTH)
    first = [name.replace("[*]", "[0]") for name in fit.names]
    return [(float(paths.get(project.structure, name)), float(paths.get(truth, name))) for name in first]


def print_files(out: Path) -> None:
    """What was written, and what to do with it."""
    typer.echo(f"Files are in {out}: {', '.join(WRITTEN)}")
    typer.echo(f"Continue with: vibrid identify {out / 'demo.toml'} {out / 'measured.csv'} --method ukf")


def shake(project):
    """The true building's response to the earthquake, and the noisy readings of its sensors.

    It is computed by another integrator with ten times finer steps than the one that is fitted afterwards.
    """
    response = _true_response(project, project.excitation())
    return response, project.measure(response)


def _true_response(project, motion):
    import vibrid as vb

    fine = 10 * project.simulation.substeps
    return vb.simulate(project.structure.replace(TRUTH), motion, integrator=vb.simulation.RungeKutta3(), substeps=fine)


def another(project):
    """The true building under an earthquake that the identification does not see, read without noise."""
    import vibrid as vb

    motion = project.excitation_table.synthetic
    quake = vb.synthetic_motion(motion.seed + 1, duration=motion.duration, rate=motion.rate, pga=motion.pga)
    return _true_response(project, quake).measure(project.sensors)


def identify(project, data, progress):
    """The unknowns of the project from the measured record."""
    import vibrid as vb

    fit = vb.identify(
        project.structure,
        data,
        project.unknown,
        project.method,
        sensors=project.sensors,
        progress=progress,
        **project.simulation.fitting,
    )
    return fit.replace(display_units=project.given.of(fit.problem.unknowns))


def print_answer(project, data, fit, check) -> None:
    """Estimates and their uncertainty beside the true values, which only a demonstration knows."""
    from vibrid.commands.output import peaks, print_peaks, print_table
    from vibrid.core.digits import with_uncertainty

    print_peaks(f"{project.title}: sensor readings", peaks(data, project.units))
    rows = []
    for row, (start, true) in zip(fit.table(), compared(project, fit), strict=True):
        error, shown = 100 * abs(row["estimate"] / true - 1), row["display"]
        value, band = with_uncertainty(shown["estimate"], 2 * shown["standard_deviation"])
        rows.append(
            [
                row["name"],
                f"{start / shown['si_per_unit']:.4g}",
                value,
                band,
                f"{true / shown['si_per_unit']:.4g}",
                f"{error:.2f} %",
                shown["unit"],
            ]
        )
    print_table(
        f"Estimates of {fit.method} ({fit.seconds:.1f} s)",
        ["parameter", "initial value", "estimate", "± 2σ", "true value", "error", "unit"],
        rows,
        right=("initial value", "estimate", "± 2σ", "true value", "error"),
    )
    typer.echo(fit.verdict)
    worst = max(check.relative_error.values())
    typer.echo(f"Another earthquake, not used above, is predicted within {100 * worst:.2g} % of each signal.")
