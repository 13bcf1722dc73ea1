"""`vibrid hybrid fit-law`: the parameters of a law from tests of a device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vibrid.commands.options import Json, TableFile
from vibrid.commands.trust import PluginFiles, Trust, consent, run_plugins

if TYPE_CHECKING:
    from vibrid.identification.calibrate import Calibration
    from vibrid.records.record import Record

Tests = Annotated[
    list[str],
    typer.Argument(
        metavar="[SET-UP=]TEST…",
        help="Tests of the device, each of a set-up that is named before it; or a training file (.toml).",
        show_default=False,
    ),
]
LawName = Annotated[
    str, typer.Option("--law", help="Law by name, bouc-wen; two in parallel, bouc-wen+viscous.", show_default=False)
]
Unknowns = Annotated[
    list[str] | None,
    typer.Option("--unknown", help="A parameter to fit; all by default. May be repeated.", show_default=False),
]
Follows = Annotated[
    list[str] | None,
    typer.Option("--follows", help="A parameter that follows the command; may be repeated.", show_default=False),
]
Powers = Annotated[int, typer.Option(help="Powers of the command in what follows it.", min=1)]
LeftOut = Annotated[
    list[str] | None,
    typer.Option("--left-out", help="[SET-UP=]TEST to predict, not to fit; may be repeated.", show_default=False),
]
Offset = Annotated[bool, typer.Option("--offset", help="A constant of the measured force is unknown too.")]
Rate = Annotated[float | None, typer.Option(help="Hz of the fit; the tests' own by default.", show_default=False)]
Starts = Annotated[int, typer.Option(help="First guesses that are tried at once.")]
Substeps = Annotated[int | None, typer.Option(help="Steps per sample; chosen by default.", show_default=False)]
Figure = Annotated[Path | None, typer.Option(help="Draw the loops: .png, .pdf or .svg.", show_default=False)]
Save = Annotated[
    Path | None, typer.Option(help="Keep the result (.h5); with several set-ups a file for each.", show_default=False)
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]


def fit_law(
    tests: Tests, law: LawName, unknown: Unknowns = None, follows: Follows = None, powers: Powers = 1,
    offset: Offset = False, left_out: LeftOut = None,
    rate: Rate = None, starts: Starts = 8, substeps: Substeps = None, figure: Figure = None, save: Save = None,
    csv: TableFile = None, as_json: Json = False, seed: Seed = 0, plugin: PluginFiles = None, trust: Trust = False,
) -> None:  # fmt: skip
    """Fit a law to tests of a device: its parameters with intervals for every set-up, and its error in every test.

    A test is a record with channels of quantity imposed_displacement and element_force; imposed_velocity is used if
    present. Tests of one set-up (one capacity, one gap) are fitted together. In a training file a set-up is what tests
    with the same `setup`, or else the same capacity, have in common; its validation tests are left out. Tests of a
    semi-active device have a channel of quantity command, and --follows names the parameters that follow it.

    Example: vibrid hybrid fit-law "36 lb=sine.csv" "36 lb=kobe.csv" "80 lb=slow.csv" --law backlash --figure loops.png
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress

    output.check_ending(figure, (".png", ".pdf", ".svg"))
    output.check_ending(save, (".h5", ".hdf5"))
    output.check_table_file(csv)
    run_plugins(plugin)
    with terminal_progress(quiet=as_json) as progress:
        progress.stage("reading the tests")
        from vibrid.identification.calibrate import calibrate

        setups = _read(tests, left_out or [], trust)
        made: dict[str, Calibration] = {}
        for name, (fitted, others) in setups.items():
            progress.stage(f"fitting {law} to {name}")
            made[name] = calibrate(
                fitted, law, unknown, follows=follows or (), powers=powers, offset=offset, left_out=others, rate=rate,
                starts=starts, substeps=substeps or "auto", key=seed, progress=progress,
            )  # fmt: skip
    rows = [{"set_up": name} | row for name, one in made.items() for row in one.table()]
    with Delivery(quiet=as_json) as deliver:
        answer = {"law": law, "set_ups": {name: _answer(one) for name, one in made.items()}}
        deliver.answer(lambda: output.print_json(answer) if as_json else _show(law, made))
        output.deliver_table(deliver, csv, rows)
        for name, one in made.items():
            deliver.result(_file(save, name, len(made)), one.fit.save)
        if figure is not None:
            from vibrid.report.device_plots import plot_calibrations
            from vibrid.report.save import save_figure

            deliver.file(figure, lambda: save_figure(plot_calibrations(made), figure))


def _read(tests: list[str], left_out: list[str], trust: bool) -> dict[str, tuple[list[Record], list[Record]]]:
    """The tests of every set-up that are fitted, and those that are left out."""
    from vibrid.core.errors import InputError
    from vibrid.records.readers import read_record

    setups: dict[str, tuple[list[Record], list[Record]]] = {}
    for place, given in ((0, tests), (1, left_out)):
        for text in given:
            name, file = _named(text)
            if file.suffix.lower() == ".toml":
                from vibrid.project.training import load_setups

                for setup, groups in load_setups(file, consent(file, trust)).items():
                    for own, more in zip(setups.setdefault(setup, ([], [])), groups, strict=True):
                        own.extend(more)
            else:
                setups.setdefault(name, ([], []))[place].append(read_record(file))
    for name, (fitted, _) in setups.items():
        if not fitted:
            raise InputError(f"Set-up '{name}' has tests that are left out, but none to fit.")
    return setups


def _named(text: str) -> tuple[str, Path]:
    """(set-up, file) of an argument; a file of this name goes before a set-up."""
    name, equals, file = text.partition("=")
    return (name.strip(), Path(file)) if equals and not Path(text).exists() else ("tests", Path(text))


def _file(save: Path | None, setup: str, count: int) -> Path | None:
    """The file for the result of a set-up."""
    if save is None or count == 1:
        return save
    plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in setup)
    return save.with_name(f"{save.stem}-{plain}{save.suffix}")


def _answer(one: Calibration) -> dict[str, Any]:
    """A calibration as JSON holds it."""
    from dataclasses import asdict

    from vibrid.project.law_text import law_table

    fit = one.fit
    return {
        "parameters": one.table(),
        "law": law_table(one.law),
        "tests": [_row(trial) | asdict(trial.scores) | {"zero": trial.zero} for trial in one.trials],
        "substeps": fit.problem.substeps,
        "step_error": one.step_error,
        "model_fits": fit.model_fits,
        "checks": list(fit.judgement),
        "convergence": fit.certificate,
        "warnings": [*one.warnings, *fit.warnings],
        "inputs": [vars(file) for file in fit.files],
    }


def _row(trial) -> dict[str, Any]:
    return {"test": trial.record.name, "use": "fitted" if trial.fitted else "left out"}


def _show(law: str, made: dict[str, Calibration]) -> None:
    """Parameters and errors of every set-up as tables, and the law as project files write it."""
    from vibrid.commands import output
    from vibrid.project.law_text import law_text

    for name, one in made.items():
        typer.echo(f"{law}, {name}" if len(made) > 1 else law)
        typer.echo(str(one.fit))
        for warning in one.warnings:
            typer.echo(warning)
        headings = ["test", "use", "NRMSE, %", "strong part, %", "energy", "peak", "zero force, %"]
        rows = [
            [*_row(t).values(), f"{100 * t.scores.nrmse:.3g}", f"{100 * t.scores.strong:.3g}",
             f"{t.scores.energy:.3g}", f"{t.scores.peak:.3g}", f"{100 * t.zero:.3g}"]
            for t in one.trials
        ]  # fmt: skip
        output.print_table(f"{name}: force of the law and measured force", headings, rows, right=headings[2:])
        typer.echo(f"law = {law_text(one.law)}")
