"""`vibrid hybrid run`: the hybrid test of a project file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.hybrid_serve import Cores, LockMemory, Priority
from vibrid.commands.trust import Trust, consent

Project = Annotated[Path, typer.Argument(metavar="PROJECT.toml", help="Project file.", show_default=False)]
Out = Annotated[Path | None, typer.Option(help="Folder for structure.h5 and devices.h5.", show_default=False)]
Report = Annotated[Path | None, typer.Option(help="Write a report: .html.", show_default=False)]
RealTimeWanted = Annotated[bool, typer.Option("--real-time", help="Keep wall-clock time; misses are counted.")]
NoC = Annotated[bool, typer.Option("--no-c", help="Leave steps to JAX even where they could be compiled as C.")]
Json = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]


def run(
    project: Project,
    out: Out = None,
    report: Report = None,
    real_time: RealTimeWanted = False,
    priority: Priority = None,
    core: Cores = None,
    lock_memory: LockMemory = False,
    no_c: NoC = False,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Run the hybrid test that a project file describes.

    With every device computed it is one compiled program; a device behind a wire is asked step by step. Ctrl-C stops a
    test with a device outside safely, and what was done up to there is kept.

    Example: vibrid hybrid run examples/hybrid.toml --out test --report test.html
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery, quiet_stdout
    from vibrid.commands.hybrid_view import watching
    from vibrid.commands.progress import listening
    from vibrid.core.errors import FileProblem, InputError
    from vibrid.core.files import make_folder
    from vibrid.core.loops import compile_whole_loops

    compile_whole_loops()
    output.check_ending(report, (".html",))
    trust = consent(project, trust)
    with listening(quiet=as_json) as progress:
        progress.stage(f"reading {project.name}")
        from vibrid.project import load_project

        loaded = load_project(project, trust)
        if loaded.hybrid is None:
            raise FileProblem(project, "it describes no hybrid test; add a [hybrid] table with devices.")
        excitation = loaded.excitation()
        progress.stage("compiling")
    test, place = loaded.hybrid.test, loaded.hybrid.watch
    if out is not None:
        make_folder(out)
    if test.is_numerical and (real_time or no_c):
        named = "--real-time" if real_time else "--no-c"
        raise InputError(f"{named} is for tests with a device outside; here all is computed, as fast as it goes.")
    settings = (priority, tuple(core or ()), lock_memory)
    kept: list = []
    outside = {} if test.is_numerical else _outside(loaded.hybrid, out, real_time, settings, kept)
    with quiet_stdout(as_json), watching(test, place, loaded.title, as_json) as view:
        result = test.run(excitation, view, **outside, **{"in_c": False} if no_c else {})
    answer = result.summary(place)
    wanted = [] if out is None else [out / "structure.h5", kept[0].path if kept else out / "devices.h5"]
    files = [str(f) for f in (*wanted, report) if f is not None]
    with Delivery(quiet=as_json) as deliver:
        if as_json:
            found = {"project": str(project), "title": loaded.title, **answer, "files": files}
            deliver.answer(lambda: output.print_json(found))
        else:
            deliver.answer(lambda: print_summary(loaded.title, place, answer))
        if out is not None:
            deliver.file(wanted[0], lambda: output.write_record(_readings(loaded, result), wanted[0]))
            deliver.file(wanted[1], lambda: _kept(kept[0]) if kept else output.write_record(result.devices, wanted[1]))
        deliver.file(report, lambda: _report(loaded, result, report))


def _readings(loaded, result):
    """What the project's sensors read of the structure; its motion where it has none."""
    return loaded.measure(result.response) if loaded.sensors else result.motion()


def _kept(recorder) -> None:
    """The recorder wrote its file while the test ran; what it could not write is told."""
    from vibrid.core.errors import VibridError

    if recorder.problem and (recorder.lost or recorder.path == recorder.journal):
        raise VibridError(recorder.problem)
    if recorder.problem:
        typer.echo(recorder.problem, err=True)


def _report(loaded, result, path: Path) -> None:
    from vibrid.report.hybrid_report import write_hybrid_report

    write_hybrid_report(result, path, title=loaded.title, place=loaded.hybrid.watch)


def _outside(plan, out: Path | None, real_time: bool, settings: tuple, kept: list) -> dict:
    """What a test with a device outside has: limits, a pace, and a recorder (put in `kept` when it is made)."""
    from vibrid.hybrid import RealTime, Recorder, WallClock

    made = {"limits": plan.limits}
    if real_time:
        made["clock"] = WallClock(1.0 / plan.test.rate, RealTime(*settings))

    def record(channels, step):
        path, clock = out / "devices.h5", made.get("clock")
        kept.append(Recorder(path, channels, step, when_full=plan.when_full, clock=clock))
        return kept[-1]

    return made | {"record": record} if out is not None else made


def print_summary(title: str, place: str, answer: dict) -> None:
    """The numbers of a test as a table and sentences."""
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
