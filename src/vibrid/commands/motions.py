"""Commands about ground motions: `vibrid motions`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.delivery import Delivery, quiet_stdout
from vibrid.commands.options import TableFile
from vibrid.commands.output import check_table_file, deliver_table, print_json
from vibrid.commands.reading import Quantities, Step, Units, read_files
from vibrid.commands.records import Band, Files, Json, Output, period_range
from vibrid.core.errors import InputError
from vibrid.core.file_names import portable_name
from vibrid.core.files import make_folder

motions = typer.Typer(no_args_is_help=True, help="Select, scale and synthesise ground motions.")

Folder = Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the scaled motions, as CSV files.")]
Limit = Annotated[str, typer.Option(help="Smallest and largest factor, LOW:HIGH.")]
Measure = Annotated[str | None, typer.Option(help="Spectrum of a pair: geometric, rotd50 or rotd100.")]
TargetText = Annotated[
    str,
    typer.Option(
        "--target",
        help="asce7:SDS,SD1 | ec8:AG,SOIL | a CSV file of period [s], sa [unit] and perhaps deviation.",
        show_default=False,
    ),
]


def _target(text: str):
    from vibrid.records.motions import asce7_target, eurocode8_target
    from vibrid.records.motions.tables import read_target

    kind, _, rest = text.partition(":")
    words = [w.strip() for w in rest.split(",")]
    try:
        if kind == "asce7" and len(words) == 2:
            return asce7_target(float(words[0]), float(words[1]))
        if kind == "ec8" and len(words) == 2:
            return eurocode8_target(float(words[0]), words[1])
    except ValueError:
        raise InputError(f"'{text}' is not a target; write asce7:1.0,0.6 or ec8:0.3,C or the name of a file.") from None
    return read_target(text)


@motions.command("scale")
def motions_scale(
    files: Files,
    target: TargetText,
    periods: Band = "0.1:2",
    limit: Limit = "0.25:4",
    pair: Annotated[bool, typer.Option(help="The two files are components of one motion.")] = False,
    measure: Measure = None,
    output: Folder = None,
    csv: TableFile = None,
    step: Step = None,
    units: Units = None,
    quantities: Quantities = None,
    as_json: Json = False,
):
    """Scale motions to a target spectrum over a range of periods, by least squares in logarithms.

    Example: vibrid motions scale a.AT2 b.AT2 --target asce7:1.0,0.6 --periods 0.2:1.5
    """
    from vibrid.records.motions import scale_to_target

    check_table_file(csv)
    with quiet_stdout(as_json):
        records = _accelerations(files, step, units, quantities)
        if pair and len(records) != 2:
            raise InputError("--pair needs exactly two files.")
        wanted, band, factors = _target(target), period_range(periods), period_range(limit)
        groups = [records] if pair else records
        found = [scale_to_target(g, wanted, band, limit=factors, measure=measure or "geometric") for g in groups]
    with Delivery(quiet=True) as deliver:
        _deliver(deliver, found, output, {}, as_json, csv)


@motions.command("select")
def motions_select(
    files: Files,
    target: TargetText,
    count: Annotated[int | None, typer.Option(help="Motions to choose; 7, or 11 with --rules asce7.")] = None,
    periods: Annotated[
        str | None, typer.Option(help="Period range in s, LOW:HIGH; 0.1:2, or that of the rules.")
    ] = None,
    limit: Limit = "0.25:4",
    rules: Annotated[str | None, typer.Option(help="Check the rules of a code: ec8 or asce7.")] = None,
    period: Annotated[float | None, typer.Option(help="Fundamental period T1 in s, for --rules.")] = None,
    pairs: Annotated[
        bool | None, typer.Option("--pairs/--single", help="Pairs of horizontal components, or single ones.")
    ] = None,
    measure: Measure = None,
    any_event: Annotated[bool, typer.Option("--any-event", help="Allow several motions of one event.")] = False,
    key: Annotated[int, typer.Option(help="Seed.")] = 0,
    output: Folder = None,
    plot: Annotated[Path | None, typer.Option(help="Picture of the suite.")] = None,
    csv: TableFile = None,
    step: Step = None,
    units: Units = None,
    quantities: Quantities = None,
    as_json: Json = False,
):
    """Choose a suite from many files that matches a target in mean and, where it has one, in scatter.

    Vertical components are left out, and so is a recording that occurs again under another name; at most one motion of
    an event is chosen. With --rules all factors are raised together until the rules on the mean spectrum hold.

    Examples: vibrid motions select *.AT2 --target ec8:0.3,C --count 7 --plot suite.png
              vibrid motions select *.AT2 --target asce7:1.0,0.6 --rules asce7 --period 0.8 --output suite
    """
    from vibrid.records.motions import candidates_from, check_rules, select_suite
    from vibrid.records.motions.rules import raised, range_of
    from vibrid.report.record_plots import save

    check_table_file(csv)
    if rules is not None and period is None:
        raise InputError("--rules needs the fundamental period of the structure: --period 0.8.")
    pairs = rules == "asce7" if pairs is None else pairs
    measure = measure or ("rotd100" if rules == "asce7" else "geometric")
    count = (11 if rules == "asce7" else 7) if count is None else count
    band = period_range(periods or "0.1:2") if rules is None or periods else range_of(rules, period or 0.0)
    with quiet_stdout(as_json):
        known = candidates_from(_accelerations(files, step, units, quantities), pairs)
        chosen = [c.records if pairs else c.records[0] for c in known.candidates]
        events = None if any_event else [c.event for c in known.candidates]
        wanted = _target(target)
        suite = select_suite(chosen, wanted, count, band, period_range(limit), key=key, measure=measure, events=events)
        checks, more = [], 1.0
        if rules is not None and period is not None:
            suite, more = raised(suite, rules, period)
            checks = check_rules(suite, rules, period)
    content = {
        "notes": list(known.notes),
        "mean_error": suite.mean_error,
        "deviation_error": suite.deviation_error if math.isfinite(suite.deviation_error) else None,
        "common_factor": more,
        "rules": [{**vars(check), "met": check.met} for check in checks],
    }
    with Delivery(quiet=True) as deliver:
        _deliver(deliver, suite.motions, output, content, as_json, csv)
        if not as_json:
            deliver.answer(lambda: _print_suite(content, checks, len(suite.motions)))
        deliver.file(plot, lambda: save(suite.plot(), plot))


def _accelerations(files: list[Path], step, units, quantities) -> list:
    """Every record of the files; a quantity that is not stated is that of the option."""
    reading = {"step": step, "units": units, "quantities": quantities}
    return [record for path in files for record in read_files(path, reading)]


def _deliver(deliver: Delivery, scalings, output: Path | None, content: dict, as_json: bool, csv: Path | None) -> None:
    """Print factors and misfits, then write the scaled motions to a folder, as ground accelerations."""
    rows = [{"name": s.name, "factor": s.factor, "misfit": s.misfit, "limited": s.limited} for s in scalings]
    deliver.answer(lambda: print_json({"motions": rows, **content}) if as_json else _print_scalings(rows))
    deliver_table(deliver, csv, rows)
    if output is None or not deliver.work(f"'{output}' was not made", lambda: make_folder(output)):
        return
    names: list[str] = []
    for number, s in enumerate(scalings, 1):
        for r in s.records:
            names.append(portable_name(f"{number:02d}_{Path(r.name).name or 'motion'}", ".csv", taken=names))
            path = output / names[-1]
            deliver.file(path, lambda r=r, path=path: as_ground(r).write_csv(path))


def as_ground(record):
    """The record with its accelerations as those of the ground, so that it excites a structure."""
    from dataclasses import replace

    def ground(channel):
        if channel.quantity != "absolute_acceleration":
            return channel
        return replace(channel, quantity="ground_acceleration", location="ground")

    return record.replace(channels=tuple(ground(c) for c in record.channels))


def _print_scalings(rows: list[dict]) -> None:
    for row in rows:
        at_limit = " (at the limit)" if row["limited"] else ""
        typer.echo(f"{row['name']}: factor {row['factor']:.4g}{at_limit}, misfit {row['misfit']:.3f} in ln Sa")


def _print_suite(content: dict, checks: list, count: int) -> None:
    text = f"largest error of the mean {content['mean_error']:.3f}"
    if content["deviation_error"] is not None:
        text += f", of the deviation {content['deviation_error']:.3f}"
    typer.echo(f"suite of {count}: {text} (ln Sa)")
    if content["common_factor"] > 1.0:
        typer.echo(f"all factors include {content['common_factor']:.4g}, so that the rules on the mean spectrum hold")
    for check in checks:
        typer.echo(str(check))
    for note in content["notes"]:
        typer.echo(note)


@motions.command("synthesise")
def motions_synthesise(
    output: Output,
    key: Annotated[int, typer.Option(help="Seed of the first motion.")] = 0,
    count: Annotated[int, typer.Option(help="How many motions.")] = 1,
    duration: Annotated[float, typer.Option(help="Length in s.")] = 30.0,
    rate: Annotated[float, typer.Option(help="Samples per second.")] = 200.0,
    pga: Annotated[float, typer.Option(help="Peak acceleration in g.")] = 0.3,
    frequency: Annotated[float, typer.Option(help="Predominant frequency in Hz.")] = 4.0,
    bandwidth: Annotated[float, typer.Option(help="Damping ratio of the filter.")] = 0.25,
    as_json: Json = False,
):
    """Write synthetic ground motions as CSV (Rezaeian–Der Kiureghian 2010); the same seed gives the same motion.

    Example: vibrid motions synthesise -o motion.csv --key 1 --pga 0.4
    """
    from vibrid.records import STANDARD_GRAVITY, synthetic_motion

    if not 1 <= count <= 10_000:
        raise InputError(f"Between 1 and 10000 motions can be made, not {count}.")
    written = []
    for number in range(count):
        motion = synthetic_motion(
            key + number, duration, rate, pga=pga * STANDARD_GRAVITY, frequency=frequency, bandwidth=bandwidth
        )
        path = output if count == 1 else output.with_stem(f"{output.stem}_{number + 1:03d}")
        motion.write_csv(path)  # where one cannot be written, the next cannot either
        written.append({"file": path, "samples": len(motion), "seed": key + number})
        if not as_json:
            typer.echo(f"wrote {path}: {len(motion)} samples, seed {key + number}")
    if as_json:
        print_json({"motions": written, "files": [row["file"] for row in written]})
