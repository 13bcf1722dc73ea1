"""`vibrid check`: everything that is wrong or odd in a project and its measured files, in one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.trust import Trust, consent

Files = Annotated[
    list[Path],
    typer.Argument(metavar="[PROJECT.toml] [DATA…]", help="Project file, measured files, or both.", show_default=False),
]
Plot = Annotated[
    Path | None,
    typer.Option(help="Draw the channels before and after their preparation: .png, .pdf, .svg.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def check(files: Files, plot: Plot = None, as_json: Json = False, trust: Trust = False) -> None:
    """Say everything that is wrong or odd in a project and its measured files, before anything is fitted.

    Exit code 0: nothing; 1: something is odd; 2: something is wrong.

    Example: vibrid check frame.toml test.csv
    """
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.output import check_ending, print_json
    from vibrid.commands.progress import terminal_progress
    from vibrid.commands.records import draw_prepared, numbered
    from vibrid.core.errors import InputError
    from vibrid.project.check import check_files

    check_ending(plot, (".png", ".pdf", ".svg"))
    projects = [file for file in files if file.suffix.lower() == ".toml"]
    if len(projects) > 1:
        raise InputError(f"One project is checked at a time; {', '.join(map(str, projects))} were given.")
    project, data = next(iter(projects), None), [file for file in files if file not in projects]
    trust = consent(project, trust) if project is not None else trust
    with terminal_progress(quiet=as_json) as progress:
        found = check_files(project, data, trust, progress)
    with Delivery(quiet=as_json) as deliver:
        deliver.answer(lambda: print_json(_content(found)) if as_json else _show(found))
        for number, (before, after) in enumerate(found.records if plot else [], 1):
            draw_prepared(deliver, before, after, numbered(plot, number, len(found.records)))
    raise typer.Exit(found.exit_code)


def _content(found) -> dict:
    """The check as JSON holds it."""
    ahead = found.forecast
    return {
        "verdict": ("clean", "odd", "wrong")[found.exit_code],
        "findings": [vars(finding) for finding in found.findings],
        "channels": found.rows,
        "expected": ahead.table() if ahead else [],
        "inseparable": list(ahead.limits.inseparable) if ahead else [],
        "seconds_of_a_fit": ahead.seconds if ahead else None,
        "seconds_of_an_evaluation": ahead.evaluation if ahead else None,
        "looked_for_faults": bool(ahead and ahead.looked),
        "next": found.next,
    }


def _show(found) -> None:
    from vibrid.commands.output import print_table

    if found.rows:
        headings = ["channel", "taken for", "why", "rate", "length", "missing", "peak", "noise", "unit"]
        print_table("Channels", headings, [_cells(row) for row in found.rows], headings[3:8])
    number = 0
    for verdict in ("wrong", "odd"):
        findings = found.of(verdict)
        if findings:
            typer.echo(f"{verdict.capitalize()}:")
        for finding in findings:
            number += 1
            typer.echo(f"  {number}. {finding.sentence}")
    if not number:
        typer.echo("Nothing wrong or odd was found.")
    if found.forecast is not None:
        _show_forecast(found.forecast, found.display_units)
    typer.echo(f"Next: {found.next}")


def _cells(row: dict) -> list[str]:
    rate = "uneven" if row["rate"] != row["rate"] else f"{row['rate']:g} Hz"
    peak = "-" if row["peak"] != row["peak"] else f"{row['peak']:.3g}"
    noise = f"{100 * row['noise'] / row['rms']:.2g} %" if row["rms"] and row["noise"] == row["noise"] else "-"
    missing = str(row["missing"]) if row["missing"] else "-"
    taken = row["taken_for"] or "-"
    return [
        row["channel"],
        taken,
        row["why"],
        rate,
        f"{row['seconds']:.4g} s",
        missing,
        peak,
        noise,
        row["unit"] or "-",
    ]


def _show_forecast(ahead, units: dict[str, str]) -> None:
    """What can be expected of a fit, in the units of the project."""
    from vibrid.commands.output import print_table
    from vibrid.identification.display import factor_of

    rows = []
    for row in ahead.table():
        unit = str(units.get(row["name"], row["unit"]))
        factor = factor_of(unit, row["unit"]) or 1.0
        rows.append(
            [
                row["name"],
                f"{row['first_guess'] / factor:.4g}",
                f"{2 * row['expected_standard_deviation'] / factor:.2g}",
                _percent(row["relative"]),
                "yes" if row["identifiable"] else "no",
                unit or "-",
            ]
        )
    headings = ["unknown", "first guess", "± 2σ", "± 2σ in %", "can be found", "unit"]
    print_table("Expected from this excitation and these sensors, before a fit", headings, rows, headings[1:4])
    if not ahead.looked:
        typer.echo("Signs, delays and units of the channels were not compared with the model.")
    typer.echo(f"A fit (trajectory) will take {about(ahead.seconds)} on this machine.")


def _percent(relative: float) -> str:
    """± 2σ of a relative standard deviation."""
    return "-" if relative == float("inf") else f"{200 * relative:.2g} %"


def about(seconds: float) -> str:
    """A time as an order: "about 20 s", "about 5 min"."""
    if seconds < 1:
        return "about a second"
    unit, size = ("s", 1.0) if seconds < 90 else ("min", 60.0) if seconds < 5400 else ("h", 3600.0)
    value = seconds / size
    power = 10 ** int(f"{value:e}".split("e")[1])
    return f"about {min((1, 2, 5, 10), key=lambda n: abs(n * power - value)) * power:g} {unit}"
