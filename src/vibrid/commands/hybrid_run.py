"""`vibrid hybrid run`: the hybrid test of a project file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.hybrid_serve import Cores, LockMemory, Priority

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
    as_json: Json = False,
) -> None:
    """Run the hybrid test that a project file describes.

    With every device computed it is one compiled program; a device behind a wire is asked step by step. Ctrl-C stops a
    test with a device outside safely, and what was done up to there is kept.

    Example: vibrid hybrid run examples/hybrid.toml --out test --report test.html
    """
    from vibrid.commands import output
    from vibrid.commands.hybrid_view import watching
    from vibrid.commands.progress import listening
    from vibrid.core.errors import FileProblem, InputError
    from vibrid.core.loops import compile_whole_loops

    compile_whole_loops()
    output.check_ending(report, (".html",))
    with listening(quiet=as_json) as progress:
        progress.stage(f"reading {project.name}")
        from vibrid.project import load_project

        loaded = load_project(project)
        if loaded.hybrid is None:
            raise FileProblem(project, "it describes no hybrid test; add a [hybrid] table with devices.")
        excitation = loaded.excitation()
        progress.stage("compiling")
    test, place = loaded.hybrid.test, loaded.hybrid.watch
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    if test.is_numerical and (real_time or no_c):
        named = "--real-time" if real_time else "--no-c"
        raise InputError(f"{named} is for tests with a device outside; here all is computed, as fast as it goes.")
    settings = (priority, tuple(core or ()), lock_memory)
    kept: list = []
    outside = {} if test.is_numerical else _outside(loaded.hybrid, out, real_time, settings, kept)
    with watching(test, place, loaded.title, as_json) as view:
        result = test.run(excitation, view, **outside, **{"in_c": False} if no_c else {})
    files = []
    if out is not None:
        structure = loaded.measure(result.response) if loaded.sensors else result.motion()
        files.append(output.write_record(structure, out / "structure.h5"))
        devices = kept[0].path if kept else output.write_record(result.devices, out / "devices.h5")
        files.append(devices)
    if report is not None:
        from vibrid.report.hybrid_report import write_hybrid_report

        files.append(write_hybrid_report(result, report, title=loaded.title, place=place))
    answer = result.summary(place)
    if as_json:
        output.print_json({"project": str(project), "title": loaded.title, **answer, "files": [str(f) for f in files]})
        return
    print_summary(loaded.title, place, answer)
    for file in files:
        typer.echo(f"wrote {file}")
    for recorder in kept:
        if recorder.problem:
            typer.echo(recorder.problem, err=True)


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
