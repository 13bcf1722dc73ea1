"""`vibrid cyclic`: the law of a hinge from cyclic tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vibrid.commands.options import Json, TableFile
from vibrid.commands.trust import PluginFiles, run_plugins

if TYPE_CHECKING:
    from vibrid.identification.cyclic import CyclicFit
    from vibrid.identification.cyclic_comparison import CyclicComparison

Tests = Annotated[
    list[Path],
    typer.Argument(metavar="TEST…", help="Force–deformation records of equal specimens.", show_default=False),
]
Laws = Annotated[
    list[str],
    typer.Option("--law", help="Law by name, imk-pinching; repeat it to compare laws.", show_default=False),
]
Unknowns = Annotated[
    list[str] | None,
    typer.Option(
        "--unknown", help="A parameter to fit; may be repeated. By default those of a hinge.", show_default=False
    ),
]
Deformation = Annotated[
    str, typer.Option(help="Channel of the deformation, where it is not plain.", show_default=False)
]
Force = Annotated[str, typer.Option(help="Channel of the force, where it is not plain.", show_default=False)]
Step = Annotated[
    float | None, typer.Option(help="Seconds between samples, for a file without time.", show_default=False)
]
As = Annotated[str, typer.Option("--as", help="Print the law for: vibrid (a table of a project file), opensees.")]
Figure = Annotated[Path | None, typer.Option(help="Draw loops and cycles: .png, .pdf or .svg.", show_default=False)]
Report = Annotated[Path | None, typer.Option(help="Write the report of the fit (.html).", show_default=False)]
Save = Annotated[Path | None, typer.Option(help="Keep the result (.h5).", show_default=False)]
Hide = Annotated[
    str, typer.Option(help="Compare laws by hidden cycles (every fourth), or by hidden specimens (each in turn).")
]
Offset = Annotated[
    list[str] | None,
    typer.Option(
        "--offset", help="What reads other than zero at rest: force or deformation; fitted too.", show_default=False
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="Without the checks of the answer.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]


def cyclic(
    tests: Tests, law: Laws, unknown: Unknowns = None, deformation: Deformation = "", force: Force = "",
    step: Step = None, form: As = "vibrid", figure: Figure = None, report: Report = None, save: Save = None,
    csv: TableFile = None, hide: Hide = "cycles", offset: Offset = None, quick: Quick = False, as_json: Json = False,
    seed: Seed = 0, plugin: PluginFiles = None,
) -> None:  # fmt: skip
    """Fit a hysteretic law to cyclic tests: its parameters with intervals, and how it meets every cycle.

    What the test shows without any law (protocol, envelope, stiffness, energy, loss of strength) is printed first and
    gives the first guess. Several tests are fitted together; several laws are compared by cycles, or specimens, that
    they were not fitted to. Rotations (rad) and moments (N m) stand for deformations and forces.

    Example: vibrid cyclic column.csv --law imk-peak-oriented --law imk-pinching --figure column.png --as opensees
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.core.errors import InputError

    output.check_ending(figure, (".png", ".pdf", ".svg"))
    output.check_ending(report, (".html", ".htm"))
    output.check_ending(save, (".h5", ".hdf5"))
    output.check_table_file(csv)
    if form not in ("vibrid", "opensees"):
        raise InputError(f"A law can be written as vibrid or opensees, not as '{form}'.")
    if hide != "cycles" and len(law) < 2:
        raise InputError("--hide says how laws are compared: give two --law or more.")
    if unknown and len(law) > 1:
        raise InputError("Laws that are compared have parameters of their own: give --unknown with one law.")
    run_plugins(plugin)
    with terminal_progress(quiet=as_json) as progress:
        progress.stage("reading the tests")
        from vibrid.laws import LAWS

        for name in law:
            LAWS[name.strip()]  # refused before anything is read
        from vibrid.identification.cyclic import fit_cyclic
        from vibrid.identification.cyclic_comparison import CyclicComparison, compare_cyclic
        from vibrid.identification.cyclic_tests import as_cyclic_test
        from vibrid.records.readers import read_record

        records = [as_cyclic_test(read_record(test, step=step), deformation, force) for test in tests]
        checks = "none" if quick else "all"
        if len(law) > 1:
            compared = compare_cyclic(
                records, law, hide, offset=offset or (), checks=checks, key=seed, progress=progress
            )
        else:
            alone = fit_cyclic(
                records, law[0], unknown, offset=offset or (), checks=checks, key=seed, progress=progress
            )
            compared = CyclicComparison((alone,))
    best = compared.best
    with Delivery(quiet=as_json) as deliver:
        deliver.answer(lambda: output.print_json(_answer(compared, form)) if as_json else _show(compared, form))
        rows = [{"law": one.name} | row for one in compared.fits for row in one.calibration.table()]
        output.deliver_table(deliver, csv, rows)
        deliver.result(save, best.calibration.fit.save)
        if report is not None:
            deliver.file(report, lambda: best.report(report, compared))
        if figure is not None:
            from vibrid.report.save import save_figure

            deliver.file(figure, lambda: save_figure(best.plot(), figure))


def _lines(one: CyclicFit, form: str) -> list[str]:
    from vibrid.bridge.law_materials import opensees_lines
    from vibrid.project.law_text import law_text

    return opensees_lines(one.law) if form == "opensees" else [f"law = {law_text(one.law)}"]


def _answer(compared: CyclicComparison, form: str) -> dict[str, Any]:
    from dataclasses import asdict

    made, best = [], compared.best
    for one in compared.fits:
        names, correlations = one.correlations()
        made.append(
            {
                "law": one.name,
                "parameters": one.calibration.table(),
                "not_shown": one.not_shown,
                "correlations": {"names": names, "values": correlations},
                "nrmse": one.calibration.nrmse,
                "held_out": one.held_out,
                "hidden": one.hidden,
                "cycles": [[asdict(cycle) for cycle in cycles] for cycles in one.cycles],
                "warnings": [*one.calibration.warnings, *one.calibration.fit.warnings],
                "model_fits": one.calibration.fit.model_fits,
            }
        )
    shown = [
        {"test": trial.record.name, "protocol": r.protocol, "stiffness": r.stiffness, "yield_force": r.yield_force,
         "peak": r.peak, "peak_at": r.peak_at, "ultimate": r.ultimate, "ductility": r.ductility,
         "strength_loss": r.strength_loss, "energy": r.energy,
         "warnings": r.warnings}
        for trial, r in zip(best.calibration.trials, best.readings, strict=True)
    ]  # fmt: skip
    return {"tests": shown, "laws": made, "refused": compared.refused, "written": _lines(best, form), "as": form}


def _show(compared: CyclicComparison, form: str) -> None:
    """The tests as they are, the laws by their error, the best one with its parameters and cycles."""
    from vibrid.commands import output
    from vibrid.report.cyclic_report import HEADINGS, comparison_rows, cycle_rows

    best = compared.best
    typer.echo(str(best))
    if len(compared.fits) + len(compared.refused) > 1:
        headings, rows = comparison_rows(compared)
        output.print_table("laws, the best first", headings, rows, right=headings[1:])
        for name, why in compared.refused.items():
            typer.echo(f"{name} was not fitted: {why}")
    names, values = best.correlations()
    close = [
        f"{names[i]} and {names[j]} {values[i, j]:+.2f}"
        for i in range(len(names)) for j in range(i) if abs(values[i, j]) > 0.9
    ]  # fmt: skip
    if close:
        typer.echo(f"Correlated estimates: {', '.join(close)}.")
    for trial, cycles in zip(best.calibration.trials, best.cycles, strict=True):
        if cycles:  # a monotonic test has none
            output.print_table(f"{trial.record.name}: cycles", HEADINGS, cycle_rows(cycles), right=HEADINGS)
    for line in _lines(best, form):
        typer.echo(line)
