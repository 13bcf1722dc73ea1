"""`vibrid identify`, `vibrid compare` and `vibrid predict`: answers from measured files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

ProjectFile = Annotated[Path, typer.Argument(metavar="PROJECT.toml", help="Project file.", show_default=False)]
DataFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="DATA…", help="Measured files; by default those that the project names.", show_default=False
    ),
]
MethodName = Annotated[
    str | None, typer.Option("--method", help="Method by name; by default the project's.", show_default=False)
]
ValidateFile = Annotated[Path | None, typer.Option("--validate", help="A record not used, to check the answer on.")]
ReportFile = Annotated[Path | None, typer.Option("--report", help="Write the HTML report here.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the answer as JSON; - prints it.")]
SaveFile = Annotated[Path | None, typer.Option("--save", help="Keep the result (.h5) for `vibrid predict`.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
HoldOut = Annotated[float, typer.Option(help="Share at the end of each record that is scored instead of fitted.")]


def identify(
    project: ProjectFile,
    data: DataFiles = None,
    method: MethodName = None,
    validate: ValidateFile = None,
    report: ReportFile = None,
    json_file: JsonFile = None,
    save: SaveFile = None,
    hold_out: HoldOut = 0.0,
    seed: Seed = 0,
) -> None:
    """Find the unknowns of a project from measured files, and say how sure the answer is.

    Ctrl-C keeps the best answer so far, marked as cut short.

    Example: vibrid identify frame.toml test.csv --method ukf --validate other.csv --report out.html
    """
    from vibrid.commands import output
    from vibrid.commands.progress import listening

    output.check_ending(report, (".html", ".htm"))
    output.check_ending(save, (".h5", ".hdf5"))
    with listening(quiet=_on_screen(json_file)) as progress:
        loaded, records = _load(project, data, progress)
        fit = _identify(loaded, records, _method(loaded, method), progress, seed, hold_out)
        checks = [fit.validate(loaded.read(validate))] if validate else [fit.validate(r) for r in loaded.validation()]
        if save is not None:
            fit.save(save)
        if report is not None:
            progress.stage("writing the report")
            fit.report(report, validation=checks[0] if checks else None, title=loaded.title or None)
    answer = answer_of(fit, checks)
    if json_file is not None and str(json_file) != "-":
        _write_json(answer, json_file)
    if _on_screen(json_file):
        output.print_json(answer)
        return
    typer.echo(str(fit))
    for check in checks:
        typer.echo(str(check))
    for file in (report, save, json_file):
        if file is not None:
            typer.echo(f"wrote {file}")


Methods = Annotated[str, typer.Option("--methods", help="Names of methods, separated by commas.")]
PlotFile = Annotated[Path | None, typer.Option("--plot", help="Draw the comparison: .png, .pdf or .svg.")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]


def compare(
    project: ProjectFile,
    data: DataFiles = None,
    methods: Methods = "trajectory,ukf,ekf",
    plot: PlotFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
) -> None:
    """Answer the same question by several methods: estimates, distance to the bound, time.

    Example: vibrid compare frame.toml test.csv --methods trajectory,ukf,bayes --plot compare.png
    """
    import vibrid as vb
    from vibrid.commands import output
    from vibrid.commands.progress import listening

    output.check_ending(plot, (".png", ".pdf", ".svg"))
    with listening(quiet=as_json) as progress:
        loaded, records = _load(project, data, progress)
        chosen = {name.strip(): vb.METHODS[name.strip()]() for name in methods.split(",") if name.strip()}
        made = vb.compare(
            loaded.structure,
            records,
            loaded.unknown,
            chosen,
            sensors=loaded.sensors,
            key=seed,
            progress=progress,
            **loaded.simulation.arguments,
        )
        if plot is not None and made.results:
            from vibrid.commands.figures import save_figure

            save_figure(made.plot(), plot)
    if as_json:
        answers = {name: answer_of(fit, []) for name, fit in made.results.items()}
        output.print_json({"methods": made.rows, "answers": answers, "refused": made.refused})
    else:
        typer.echo(str(made))
        if plot is not None and made.results:
            typer.echo(f"wrote {plot}")
    if not made.results:
        raise typer.Exit(1)


ResultFile = Annotated[
    Path, typer.Argument(metavar="RESULT.h5", help="What `vibrid identify --save` wrote.", show_default=False)
]
MotionFile = Annotated[Path, typer.Argument(metavar="RECORD", help="Excitation to predict for.", show_default=False)]
Out = Annotated[Path | None, typer.Option(help="Write the predicted readings: .csv, .h5 or .nc.", show_default=False)]


Drive = Annotated[
    str, typer.Option("--drive", help="Channels that drive, of several: NS, or with directions NS=x,UD=y.")
]


def predict(
    result: ResultFile, record: MotionFile, out: Out = None, drive: Drive = "", as_json: AsJson = False
) -> None:
    """Predict how an identified structure moves under another excitation; compare where the record has its sensors.

    Example: vibrid predict frame.h5 RSN182.AT2 --out predicted.csv
    """
    import vibrid as vb
    from vibrid.commands import output
    from vibrid.commands.progress import listening

    output.check_ending(out, (".csv", ".h5", ".hdf5", ".nc"))
    with listening(quiet=as_json) as progress:
        progress.stage("reading")
        fit, motion = vb.load_identification(result), vb.read_record(record)
        if drive:
            motion = motion.driven_by(dict((*c.split("=", 1), "")[:2] for c in drive.split(",")))
        progress.stage("compiling and predicting")
        readings = fit.predict(motion).measure(vb.Sensors(fit.experiment.sensors).noiseless())
        measured = set(readings.names) & set(motion.names) - {
            c.name for c in motion.channels if c.quantity in vb.EXCITATIONS
        }
        check = fit.validate(motion) if measured else None
        if out is not None:
            output.write_record(readings, out)
    rows = output.peaks(readings, {})
    if as_json:
        scores = {"relative_error": check.relative_error, "correlation": check.correlation} if check else None
        output.print_json({"channels": rows, "validation": scores, "files": [str(out)] if out else []})
        return
    output.print_peaks(f"Prediction for '{motion.name}'", rows)
    if check:
        typer.echo(str(check))
    if out is not None:
        typer.echo(f"wrote {out}")


def answer_of(fit, checks) -> dict:
    """The documented JSON answer: parameters, scores, warnings, provenance."""
    return {
        "method": fit.method,
        "settings": fit.settings,
        "parameters": fit.table(),
        "fits": fit.model_fits,
        "verdict": fit.verdict,
        "warnings": list(fit.warnings),
        "channels": [vars(f) for f in fit.fits],
        "held_out": fit.held_out,
        "validation": [
            {"record": c.record.name, "relative_error": c.relative_error, "correlation": c.correlation} for c in checks
        ],
        "seconds": fit.seconds,
        "cut_short": fit.cut_short,
        "seed": fit.seed,
        "versions": fit.versions,
    }


def _on_screen(json_file: Path | None) -> bool:
    return json_file is not None and str(json_file) == "-"


def _load(project: Path, data: list[Path] | None, progress):
    """The project and its measured records."""
    from vibrid.core.errors import FileProblem
    from vibrid.project import load_project

    progress.stage(f"reading {project.name}")
    loaded = load_project(project)
    records = [loaded.read(path) for path in data] if data else loaded.records()
    if not records:
        raise FileProblem(project, "no measured file was given: name one after the project, or under [records] files.")
    if not loaded.unknown:
        raise FileProblem(
            project, 'nothing is unknown: add [[unknown]] with path = "storeys[*].stiffness" or the like.'
        )
    return loaded, records


def _method(loaded, name: str | None):
    """The method asked for; the project's own settings are kept when it names the same one."""
    import vibrid as vb

    if name is None:
        return loaded.method
    chosen = vb.METHODS[name]
    return loaded.method if type(loaded.method) is chosen else chosen()


def _identify(loaded, records, method, progress, seed: int, hold_out: float):
    import vibrid as vb

    return vb.identify(
        loaded.structure,
        records,
        loaded.unknown,
        method,
        sensors=loaded.sensors,
        hold_out=hold_out,
        key=seed,
        progress=progress,
        **loaded.simulation.arguments,
    )


def _write_json(answer: dict, path: Path) -> None:
    from vibrid.commands.output import finite
    from vibrid.records.writers import whole_file

    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(finite(answer), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
