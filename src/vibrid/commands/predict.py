"""`vibrid predict`: the response of an identified structure to another excitation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.identify import validations
from vibrid.commands.options import Json, TableFile
from vibrid.commands.trust import PluginFiles, run_plugins

ResultFile = Annotated[
    Path, typer.Argument(metavar="RESULT.h5", help="Result file of `vibrid identify --save`.", show_default=False)
]
MotionFile = Annotated[Path, typer.Argument(metavar="RECORD", help="Excitation to predict for.", show_default=False)]
Out = Annotated[Path | None, typer.Option(help="Write the predicted readings: .csv, .h5 or .nc.", show_default=False)]


PredictionPlot = Annotated[
    Path | None, typer.Option("--plot", help="Draw the prediction with its band: .png, .pdf or .svg.")
]
Drive = Annotated[
    str, typer.Option("--drive", help="Excitation channels of a record with several: NS, or with directions NS=x,UD=y.")
]


def predict(
    result: ResultFile,
    record: MotionFile,
    out: Out = None,
    plot: PredictionPlot = None,
    csv: TableFile = None,
    drive: Drive = "",
    plugin: PluginFiles = None,
    as_json: Json = False,
) -> None:
    """Predict the response of an identified structure to another excitation; compared with the record's own readings
    where it has some.

    The ± 2σ of a peak, and the band of the picture, come from the uncertainty of the identified parameters.

    Example: vibrid predict frame.h5 RSN182.AT2 --out predicted.csv --plot predicted.png
    """
    import vibrid as vb
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.core.inputs import InputFile
    from vibrid.report.save import save_figure

    output.check_ending(out, (".csv", ".h5", ".hdf5", ".nc"))
    output.check_ending(plot, (".png", ".pdf", ".svg"))
    output.check_table_file(csv)
    with terminal_progress(quiet=as_json) as progress:
        progress.stage("reading")
        run_plugins(plugin)
        fit, motion = vb.load_identification(result), vb.read_record(record)
        read = output.inputs(InputFile.at(result, "result"), *motion.files)
        if drive:
            pairs = (channel.partition("=") for channel in drive.split(","))
            motion = motion.driven_by({name: direction for name, _, direction in pairs})
        progress.stage("compiling and predicting")
        readings = fit.predict(motion).measure(vb.Sensors(fit.experiment.sensors).noiseless())
        measured = set(readings.names) & set(motion.names) - {
            c.name for c in motion.channels if c.quantity in vb.records.EXCITATIONS
        }
        prediction = fit.predict_readings(motion)
        rows = output.peaks(readings, {})
        for row, more in zip((r for r in rows if r["name"] in prediction.names), prediction.table(), strict=True):
            row |= {key: more[key] for key in ("standard_deviation", "measured_peak", "relative_error")}
    with Delivery(quiet=as_json) as deliver:
        if not as_json:
            deliver.answer(lambda: _print_prediction(motion.name, rows))
        checks = validations(fit, [motion] if measured else [], deliver, as_json)
        if as_json:
            scores = [{"relative_error": c.relative_error, "correlation": c.correlation} for c in checks]
            files = [str(file) for file in (out, plot, csv) if file is not None]
            content = {"channels": rows, "validation": scores[0] if scores else None, "files": files}
            content["inputs"] = read
            deliver.answer(lambda: output.print_json(content))
        deliver.result(out, lambda path: output.write_record(readings, path))
        output.deliver_table(deliver, csv, rows)
        deliver.file(plot, lambda: save_figure(prediction.plot(), plot))


def _print_prediction(name: str, rows: list[dict]) -> None:
    """The peaks of the predicted readings, with ± 2σ from the parameters, beside the measured ones."""
    from vibrid.commands.output import print_table
    from vibrid.core.digits import with_uncertainty

    shown = []
    for r in rows:
        value, band = with_uncertainty(r["peak"], 2 * r.get("standard_deviation", float("nan")))
        measured, error = r.get("measured_peak"), r.get("relative_error")
        shown.append(
            [
                r["name"],
                value,
                band or "-",
                f"{r['time_of_peak']:.2f} s",
                "-" if measured is None else f"{measured:.4g}",
                "-" if error is None else f"{100 * error:.2g} %",
                r["unit"] or "-",
            ]
        )
    headings = ["channel", "peak", "± 2σ", "at", "measured peak", "error / signal", "unit"]
    print_table(f"Prediction for '{name}'", headings, shown, right=headings[1:-1])
