"""`vibrid hybrid run`: the hybrid test of a project file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.hybrid_serve import Cores, LockMemory, Priority
from vibrid.commands.limits import Limit, Unlimited, limits_from
from vibrid.commands.options import TableFile
from vibrid.commands.trust import Trust, consent

Project = Annotated[Path, typer.Argument(metavar="PROJECT.toml", help="Project file.", show_default=False)]
Out = Annotated[Path | None, typer.Option(help="Folder for structure.h5 and devices.h5.", show_default=False)]
Report = Annotated[Path | None, typer.Option(help="Write a report: .html.", show_default=False)]
RealTimeWanted = Annotated[bool, typer.Option("--real-time", help="Run in real time; late steps are counted.")]
NoC = Annotated[bool, typer.Option("--no-c", help="Compute steps with JAX even where they could be compiled as C.")]
Accept = Annotated[bool, typer.Option("--accept", help="Run a network that is not fit for a closed loop.")]
Watch = Annotated[bool, typer.Option("--watch", help="Show the test live on a local page, with a stop button.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def run(
    project: Project,
    out: Out = None,
    report: Report = None,
    real_time: RealTimeWanted = False,
    priority: Priority = None,
    core: Cores = None,
    lock_memory: LockMemory = False,
    no_c: NoC = False,
    limit: Limit = None,
    unlimited: Unlimited = False,
    accept: Accept = False,
    trust: Trust = False,
    watch: Watch = False,
    csv: TableFile = None,
    as_json: Json = False,
) -> None:
    """Run the hybrid test that a project file describes.

    If all devices are computed, the test is one compiled program; an external device is moved step by step. A device
    that leaves its limits, a test that diverges, and Ctrl-C in a test with an external device end the test: the record
    up to there is kept, the reason is printed, and the exit code is 1. A network that gives energy in cycles, whose
    force grows at rest, or that answers wildly beyond its training is refused unless --accept is given.

    Example: vibrid hybrid run examples/hybrid.toml --out test --report test.html
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery, quiet_stdout
    from vibrid.commands.hybrid_view import watching
    from vibrid.commands.progress import terminal_progress
    from vibrid.core.errors import InputError
    from vibrid.core.files import make_folder
    from vibrid.core.loops import compile_whole_loops
    from vibrid.hybrid.learned.conduct import refuse_unfit
    from vibrid.hybrid.stopping import DivergedTest
    from vibrid.studio.beside import shown_in_browser

    compile_whole_loops()
    output.check_ending(report, (".html",))
    output.check_table_file(csv)
    trust = consent(project, trust)
    with terminal_progress(quiet=as_json) as progress:
        progress.stage(f"reading {project.name}")
        loaded, plan = load_hybrid(project, trust)
        excitation = loaded.excitation()
        progress.stage("compiling")
        if not accept:
            refuse_unfit(plan.test.parts)
    test, place = plan.test, plan.watch
    limits = plan.limits.combined(limits_from(limit))
    if out is not None:
        make_folder(out)
    if test.is_numerical and (real_time or no_c or unlimited):
        option = "--real-time" if real_time else "--no-c" if no_c else "--unlimited"
        raise InputError(f"{option} is for tests with an external device; all devices of this test are computed.")
    if test.is_numerical and watch:
        raise InputError("--watch is for tests with an external device; this one is computed faster than one can look.")
    settings = (priority, tuple(core or ()), lock_memory)
    kept: list = []
    outside = {} if test.is_numerical else _outside(plan, out, real_time, settings, kept, limits)
    if no_c:
        outside["in_c"] = False
    if not test.is_numerical:
        outside["unlimited"] = unlimited
    page = shown_in_browser("hybrid", project, out, watch)
    with quiet_stdout(as_json), page, watching(test, place, loaded.title, as_json) as view:
        try:
            result = test.run(excitation, view, limits=limits, **outside)
        except DivergedTest as diverged:
            if diverged.result is None:
                raise
            result = diverged.result
    answer = result.summary(place)
    judgement = _judgement(result, limits)
    answer |= {"judgement": str(judgement.level), "reasons": judgement.reasons}
    wanted = [] if out is None else [out / "structure.h5", kept[0].path if kept else out / "devices.h5"]
    files = [str(f) for f in (*wanted, report, csv) if f is not None]
    with Delivery(quiet=as_json) as deliver:
        if as_json:
            content = {"project": str(project), "title": loaded.title, **answer, "files": files}
            content["inputs"] = output.inputs(*loaded.files, *excitation.files)
            deliver.answer(lambda: output.print_json(content))
        else:
            deliver.answer(lambda: print_summary(loaded.title, place, answer))
            print_judgement(str(judgement.level), judgement.reasons)
        if out is not None:
            deliver.file(wanted[0], lambda: output.write_record(_readings(loaded, result), wanted[0]))
            deliver.file(wanted[1], lambda: _kept(kept[0]) if kept else output.write_record(result.devices, wanted[1]))
        output.deliver_table(deliver, csv, answer["devices"])
        deliver.file(report, lambda: _report(loaded, result, report, (*loaded.files, *excitation.files)))
    if result.stopped:
        raise typer.Exit(1)


def _readings(loaded, result):
    """Readings of the project's sensors; the motion of the structure where there are none."""
    return loaded.measure(result.response) if loaded.sensors else result.motion()


def load_hybrid(project: Path, trust: bool):
    """The project and its hybrid test; refused if it describes none."""
    from vibrid.core.errors import FileProblem
    from vibrid.project import load_project

    loaded = load_project(project, trust)
    if loaded.hybrid is None:
        raise FileProblem(project, "it describes no hybrid test; add a [hybrid] table with devices.")
    return loaded, loaded.hybrid


def _judgement(result, limits):
    from vibrid.hybrid.rehearsal import judge

    return judge(result, limits)


def _kept(recorder) -> None:
    """The recorder wrote its file while the test ran; samples that could not be written are reported."""
    from vibrid.core.errors import VibridError

    if recorder.problem and (recorder.lost or recorder.path == recorder.journal):
        raise VibridError(recorder.problem)
    if recorder.problem:
        typer.echo(recorder.problem, err=True)


def _report(loaded, result, path: Path | None, files) -> None:
    from vibrid.report.hybrid_report import write_hybrid_report

    write_hybrid_report(result, path, title=loaded.title, place=loaded.hybrid.watch, files=files)


def _outside(plan, out: Path | None, real_time: bool, settings: tuple, kept: list, limits) -> dict:
    """Arguments of a test with an external device: clock, and a recorder (added to `kept` when it is made)."""
    from vibrid.hybrid import RealTime, Recorder, WallClock

    arguments: dict = {}
    if real_time:
        arguments["clock"] = WallClock(1.0 / plan.test.rate, RealTime(*settings))
    if out is None:
        return arguments
    path, known = out / "devices.h5", _limits_of_channels(plan.test, limits)

    def record(channels, step):
        clock = arguments.get("clock")
        kept.append(Recorder(path, channels, step, when_full=plan.when_full, clock=clock, limits=known))
        return kept[-1]

    return arguments | {"record": record}


def _limits_of_channels(test, limits) -> dict[str, float]:
    """The limits of displacement and force of every tested device, by the channels that they bound."""
    from vibrid.hybrid.limits import NO_LIMIT
    from vibrid.hybrid.stopping import limits_of

    known = {}
    for part, own in zip(test.parts, limits_of(test, limits), strict=True):
        for what in ("displacement", "force") if own is not None else ():
            known[f"{part.name}.{what}"] = getattr(own, what)
    return {name: value for name, value in known.items() if value < NO_LIMIT}


def print_summary(title: str, place: str, answer: dict) -> None:
    """The numbers of a test as a table and lines of text."""
    from vibrid.commands import output

    rows = []
    for d in answer["devices"]:
        followed = d["tracking"]
        text = "exact" if followed is None else f"{1e3 * followed['delay']:.2f} ms, {100 * followed['error']:.2f} %"
        sizes = f"{1e3 * d['displacement']:.2f} mm", f"{1e-3 * d['force']:.2f} kN", f"{1e-3 * d['energy']:.3g} kJ"
        rows.append([d["name"], d["role"], *sizes, text])
    headings = ["device", "", "displacement", "force", "dissipated", "tracking: delay, error"]
    output.print_table(title, headings, rows, right=headings[2:])
    typer.echo(
        f"largest displacement of {place}: {1e3 * answer['peak']:.2f} mm; at the end {1e3 * answer['end']:.2f} mm"
    )
    if answer["timing"]:
        typer.echo(f"{answer['timing']}\nsteps were computed by {answer['computed_by']}")
    if answer["stopped"]:
        typer.echo(f"The test was stopped at {answer['seconds']:.4g} s: {answer['stopped']}")


def print_judgement(level: str, reasons: list[str]) -> None:
    """The judgement of a test and its reasons, one line each."""
    typer.echo(f"Judgement: {level}." + ("" if reasons else " Nothing was found against the test."))
    for reason in reasons:
        typer.echo(f"  - {reason.rstrip('.')}.")
