"""`vibrid identify` and `vibrid compare`: identification from measured files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json, TableFile
from vibrid.commands.trust import Trust, consent
from vibrid.core.files import write_text
from vibrid.core.writable import check_writable

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
ValidateFile = Annotated[Path | None, typer.Option("--validate", help="Another record, to validate the result.")]
ReportFile = Annotated[Path | None, typer.Option("--report", help="Write the HTML report here.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Print the result as JSON, or write it to FILE.json.")]
SaveFile = Annotated[Path | None, typer.Option("--save", help="Keep the result (.h5) for `vibrid predict`.")]
State = Annotated[
    Path | None,
    typer.Option(
        "--state", help="Keep a training (pidynnet) here (.npz): the same command goes on from it.", show_default=False
    ),
]  # fmt: skip
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Repair = Annotated[
    bool, typer.Option("--repair", help="Fit again with the faults of instruments that are found explained.")
]
Checks = Annotated[str, typer.Option("--checks", help="all, or none: the answer of the method as it is.")]
StartFrom = Annotated[
    str | None,
    typer.Option(
        "--start", help="given, or auto: look for a first guess in the records; by default the project's.",
        show_default=False,
    ),
]  # fmt: skip
HoldOut = Annotated[float, typer.Option(help="Share at the end of each record that is scored instead of fitted.")]
MOST_LINES = 12
"""Unknowns that are listed in the first answer, before its checks."""


def identify(
    project: ProjectFile,
    data: DataFiles = None,
    method: MethodName = None,
    start: StartFrom = None,
    validate: ValidateFile = None,
    report: ReportFile = None,
    json_file: JsonFile = None,
    save: SaveFile = None,
    csv: TableFile = None,
    hold_out: HoldOut = 0.0,
    repair: Repair = False,
    checks: Checks = "all",
    state: State = None,
    seed: Seed = 0,
    trust: Trust = False,
) -> None:
    """Identify the unknowns of a project from measured files, with their uncertainty.

    Ctrl-C keeps the best result so far, marked as cut short.

    Example: vibrid identify frame.toml test.csv --method ukf --validate other.csv --report out.html
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.commands.training_state import kept_in, without_its_file

    output.check_ending(report, (".html", ".htm"))
    output.check_ending(save, (".h5", ".hdf5"))
    output.check_ending(state, (".npz", ".npz"))
    output.check_table_file(csv)
    check_writable(json_file)
    quiet = _on_screen(json_file)
    trust = consent(project, trust)
    with terminal_progress(quiet) as progress:
        loaded, records = _load(project, data, progress, trust)
        others = [loaded.read(validate)] if validate else loaded.validation()
        told = None if quiet else _print_first_answer
        chosen = kept_in(state, _method(loaded, method))
        fit = _identify(loaded, records, chosen, progress, seed, hold_out, checks, told, start)
        fit = _repaired(fit, progress, quiet) if repair else fit
        fit = fit if state is None else without_its_file(fit)
    with Delivery(quiet) as deliver:
        if not quiet:
            deliver.answer(lambda: typer.echo(str(fit)))
            deliver.answer(lambda: typer.echo("\n" + "\n".join(map(str, fit.quantities()))))
        deliver.result(save, fit.save)
        output.deliver_table(deliver, csv, fit.table())
        scored = validations(fit, others, deliver, quiet)
        if quiet:
            deliver.answer(lambda: output.print_json(answer_of(fit, scored)))
        if not quiet and json_file is not None:
            deliver.file(json_file, lambda: write_text(json_file, output.as_json(answer_of(fit, scored)) + "\n"))
        options = {"validation": scored[0] if scored else None, "title": loaded.title or None}
        if report is not None:
            with terminal_progress(quiet) as progress:
                progress.stage("writing the report")
                deliver.file(report, lambda: fit.report(report, **options))


def _repaired(fit, progress, quiet: bool):
    """The result with the faults that were found explained; the same where none was found."""
    from vibrid.core.errors import InputError

    for cause in [] if quiet else fit.checks:
        if cause.verdict == "wrong":
            typer.echo(cause.sentence)
    try:
        return fit.repair(progress)
    except InputError as nothing:
        if not quiet:
            typer.echo(str(nothing))
        return fit


def validations(fit, records, deliver, quiet: bool) -> list:
    """Validations on records that were not used, printed as they are made."""
    from vibrid.commands.delivery import quiet_stdout

    checks: list = []
    for record in records:
        with quiet_stdout(quiet):
            failing = f"The result could not be validated on '{record.name}'"
            succeeded = deliver.work(failing, lambda r=record: checks.append(fit.validate(r)))
        if succeeded and not quiet:
            deliver.answer(lambda: typer.echo(str(checks[-1])))
    return checks


Methods = Annotated[str, typer.Option("--methods", help="Names of methods, separated by commas.")]
PlotFile = Annotated[Path | None, typer.Option("--plot", help="Draw the comparison: .png, .pdf or .svg.")]


def compare(
    project: ProjectFile,
    data: DataFiles = None,
    methods: Methods = "trajectory,ukf,ekf",
    plot: PlotFile = None,
    csv: TableFile = None,
    as_json: Json = False,
    seed: Seed = 0,
    trust: Trust = False,
) -> None:
    """Identify the same unknowns by several methods: estimates with intervals, which methods agree, distance to the
    Cramér–Rao bound, time.

    Two methods agree on a parameter if their estimates differ by less than 2σ, by the larger of their σ.

    Example: vibrid compare frame.toml test.csv --methods trajectory,ukf,bayes --plot compare.png
    """
    import vibrid as vb
    from vibrid.commands import output
    from vibrid.commands.comparison_view import print_comparison
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.report.save import save_figure

    output.check_ending(plot, (".png", ".pdf", ".svg"))
    output.check_table_file(csv)
    trust = consent(project, trust)
    with terminal_progress(quiet=as_json) as progress:
        loaded, records = _load(project, data, progress, trust)
        chosen = {name.strip(): name.strip() for name in methods.split(",") if name.strip()}
        comparison = vb.compare(
            loaded.structure,
            records,
            loaded.unknown,
            chosen,
            sensors=loaded.sensors,
            initial=loaded.initial or None,
            key=seed,
            progress=progress,
            **loaded.simulation.fitting,
        )
    if comparison.results:
        first = next(iter(comparison.results.values()))
        comparison = comparison.with_units(loaded.given.of(first.problem.unknowns))
    with Delivery(quiet=as_json) as deliver:
        answers = {name: answer_of(fit, []) for name, fit in comparison.results.items()}
        read = output.inputs(*loaded.files, *(file for record in records for file in record.files))
        content = {"methods": comparison.rows, "agreement": [vars(a) for a in comparison.agreement], "answers": answers}
        content |= {"refused": comparison.refused, "inputs": read}
        deliver.answer(lambda: output.print_json(content) if as_json else print_comparison(comparison))
        estimates = [{"method": n, **row} for n, fit in comparison.results.items() for row in fit.table()]
        output.deliver_table(deliver, csv, estimates)
        if comparison.results:
            deliver.file(plot, lambda: save_figure(comparison.plot(), plot))
    if not comparison.results:
        raise typer.Exit(1)


def answer_of(fit, checks) -> dict:
    """The documented JSON result: parameters, scores, warnings, provenance."""
    from vibrid.core.device import on_processor
    from vibrid.identification.checks.laws import possible_bias

    with on_processor():
        unseen = possible_bias(fit)
    return {
        "method": fit.method,
        "settings": fit.settings,
        "parameters": fit.table(),
        "quantities": [vars(quantity) for quantity in fit.quantities()],
        "fits": fit.model_fits,
        "findings": [vars(finding) for finding in fit.checks],
        "possible_bias": unseen,
        "verdict": fit.verdict,
        "certificate": fit.certificate or None,
        "started_from": fit.started_from or None,
        "warnings": list(fit.warnings),
        "channels": [vars(f) for f in fit.fits],
        "held_out": fit.held_out,
        "validation": [
            {
                "record": c.record.name,
                "relative_error": c.relative_error,
                "correlation": c.correlation,
                "files": [vars(file) for file in c.record.files],
            }
            for c in checks
        ],
        "seconds": fit.seconds,
        "cut_short": fit.cut_short,
        "seed": fit.seed,
        "versions": fit.versions,
        "files": [vars(file) for file in fit.files],
    }


def _on_screen(json_file: Path | None) -> bool:
    return json_file is not None and str(json_file) == "-"


def _load(project: Path, data: list[Path] | None, progress, trust: bool):
    """The project and its measured records."""
    from vibrid.commands.reading import tell_reading
    from vibrid.core.errors import FileProblem
    from vibrid.project import load_project

    progress.stage(f"reading {project.name}")
    loaded = load_project(project, trust)
    records = [loaded.read(path) for path in data] if data else loaded.records()
    tell_reading(records)
    if not records:
        raise FileProblem(project, "no measured file was given: name one after the project, or under [records] files.")
    if not loaded.unknown:
        raise FileProblem(
            project, 'nothing is unknown: add [[unknown]] with path = "storeys[*].stiffness" or the like.'
        )
    return loaded, records


def _method(loaded, name: str | None):
    """The method asked for, with the project's settings if the project names the same one."""
    import vibrid as vb

    if name is None:
        return loaded.method
    chosen = vb.identification.METHODS[name]
    return loaded.method if type(loaded.method) is chosen else chosen()


def _print_first_answer(fit) -> None:
    """The answer of the method on standard error, above the progress; not where nothing follows it."""
    if fit.cut_short:
        return
    lines = [_first_line(row, fit.display_units) for row in fit.table()]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"  … {len(lines) - MOST_LINES} more"]
    print("\n".join(["First answer, before its checks:", *lines]), file=sys.stderr, flush=True)


def _first_line(row: dict, units: dict[str, str]) -> str:
    """One unknown of the first answer: `name: value ± 2σ unit`."""
    from vibrid.identification.display import displayed

    text = displayed(row, units.get(row["name"]) or row["unit"])["text"]
    return f"  {row['name']}: {text}{', at bound' if row['at_bound'] else ''}"


def _identify(
    loaded, records, method, progress, seed: int, hold_out: float, checks: str = "all", told=None, start=None
):
    """The result in the units of the project; `told` is called with it before it is checked."""
    import vibrid as vb

    def in_units(fit):
        return fit.replace(display_units=loaded.given.of(fit.problem.unknowns))

    fit = vb.identify(
        loaded.structure,
        records,
        loaded.unknown,
        method,
        start=start or loaded.start,
        sensors=loaded.sensors,
        initial=loaded.initial or None,
        hold_out=hold_out,
        checks=checks,
        key=seed,
        progress=progress,
        on_answer=None if told is None else lambda fit: told(in_units(fit)),
        **loaded.simulation.fitting,
    )
    return in_units(fit.replace(files=(*loaded.files, *fit.files)))
