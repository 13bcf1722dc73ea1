"""`vibrid hybrid rehearse`: the virtual rehearsal of the hybrid test of a project file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vibrid.commands.hybrid_run import Json, Project, Report, load_hybrid, print_judgement
from vibrid.commands.trust import Trust, consent

if TYPE_CHECKING:
    from vibrid.hybrid.rehearsal import Rehearsal

Runs = Annotated[int, typer.Option(min=0, max=100_000, help="Tests with uncertain actuators and specimens; 0: none.")]
Uncertainty = Annotated[float, typer.Option(min=0.0, max=0.99, help="Relative uncertainty of their parameters.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the uncertain parameters.")]


def rehearse(
    project: Project,
    report: Report = None,
    runs: Runs = 32,
    scatter: Uncertainty = 0.1,
    seed: Seed = 0,
    trust: Trust = False,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the table of tests as CSV.")] = None,
    as_json: Json = False,
) -> None:
    """Rehearse a hybrid test with virtual devices, and judge: go, go with care, or no go, with the reasons.

    Shows the critical delay and its margin, tracking and energy errors, the effect of delay and noise with and without
    compensation, the use of stroke, velocity and force, and the probability that the test stops. An external device
    needs a `rehearsal` table with a virtual device and its actuator.

    Example: vibrid hybrid rehearse examples/hybrid.toml --report rehearsal.html
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.core.loops import compile_whole_loops

    compile_whole_loops()
    output.check_ending(report, (".html",))
    output.check_table_file(csv)
    trust = consent(project, trust)
    with terminal_progress(quiet=as_json) as progress:
        progress.stage(f"reading {project.name}")
        from vibrid.hybrid.rehearsal import rehearse as run_rehearsal

        loaded, plan = load_hybrid(project, trust)
        result = run_rehearsal(
            plan.test,
            loaded.excitation(),
            plan.watch,
            plan.limits,
            runs=runs,
            scatter=scatter,
            seed=seed,
            progress=progress,
        )
    found = as_dict(result)
    with Delivery(quiet=as_json) as deliver:
        if as_json:
            content = {"project": str(project), "title": loaded.title, **found}
            deliver.answer(lambda: output.print_json(content))
        else:
            deliver.answer(lambda: print_rehearsal(loaded.title, result))
        output.deliver_table(deliver, csv, found["tests"])
        deliver.file(report, lambda: _report(loaded, result, report))


def _report(loaded, result: Rehearsal, path: Path | None) -> None:
    from vibrid.report.rehearsal_report import write_rehearsal_report

    write_rehearsal_report(result, path, title=loaded.title)


def print_rehearsal(title: str, result: Rehearsal) -> None:
    """The rehearsal as tables, and the judgement with its reasons."""
    from vibrid.commands import output
    from vibrid.report.rehearsal_report import tables

    for table in tables(result):
        output.print_table(f"{title}: {table.caption}", table.headings, table.rows, right=table.headings[1:])
    print_judgement(str(result.level), result.reasons)


def as_dict(result: Rehearsal) -> dict:
    """The numbers of a rehearsal in SI units; null where there is no finite number."""

    def finite(value):
        return value if value is not None and math.isfinite(value) else None

    return {
        "judgement": str(result.level),
        "reasons": result.reasons,
        "place": result.place,
        "tests": [
            {
                "name": v.name,
                "peak": finite(v.peak),
                "peak_change": finite(v.peak_change),
                "difference": finite(v.difference),
                "problem": v.problem,
            }
            for v in result.variants
        ],
        "delays": [
            {
                "device": m.device,
                "critical": finite(m.critical.delay),
                "critical_simulated": finite(m.simulated),
                "frequency": finite(m.critical.frequency),
                "margin": finite(m.further.delay),
            }
            for m in result.margins
        ],
        "small_motions_unstable": result.unstable,
        "modes": [vars(pole) for pole in result.poles],
        "devices": [
            {
                "name": d.name,
                "delay": d.tracking.delay,
                "tracking_error": d.tracking.error,
                "energy_error": finite(d.energy_share),
            }
            for d in result.judgement.devices
        ],
        "demands": [
            {
                "device": d.device,
                "quantity": d.quantity,
                "largest": d.largest,
                "limit": finite(d.limit) if d.limit < 1e300 else None,
                "beyond_at": d.beyond_at,
            }
            for d in result.judgement.demands
        ],
        "scatter": None
        if result.scatter is None
        else {
            "runs": result.scatter.runs,
            "stops": result.scatter.stops,
            "probability": result.scatter.probability,
            "at_most": result.scatter.at_most,
            "first": result.scatter.first,
        },
    }
