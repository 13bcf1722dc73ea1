"""`vibrid modal`: modes from measurements, beside those of a structure, and a structure fitted to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vibrid.commands.options import Json, TableFile
from vibrid.commands.reading import listed, read_files, tell_reading, with_reading
from vibrid.commands.trust import Trust, consent

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification
    from vibrid.modal.measured import MeasuredModes
    from vibrid.records.record import Record

METHODS = ("ssi", "fdd", "era", "frf")
_UNIVERSAL = (".uff", ".unv", ".uf")

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA…", help="Measured files of the same channels, of any known format.", show_default=False
    ),
]
MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        help="ssi (ambient, with uncertainty), fdd (ambient), era (free decay), frf (loads measured).",
    ),
]
Channels = Annotated[str | None, typer.Option(help="Channels used, by commas; all that measure a motion by default.")]
References = Annotated[str | None, typer.Option(help="Reference channels of ssi, by commas; all by default.")]
Highest = Annotated[float | None, typer.Option(help="Highest frequency of interest in Hz: slows fast records down.")]
Order = Annotated[int | None, typer.Option(help="Highest order of the models of ssi, era and frf.", show_default=False)]
Lags = Annotated[int | None, typer.Option(help="Block rows of ssi and era.", show_default=False)]
Merge = Annotated[
    str | None,
    typer.Option(help="Each file is a set-up with roving sensors: poser or preger, with --references (ssi)."),
]
Estimator = Annotated[str | None, typer.Option(help="H1 (noise in the motions) or H2 (noise in the load) of frf.")]
Peaks = Annotated[str | None, typer.Option(help="Where fdd takes modes, in Hz, by commas; found by default.")]
ProjectOption = Annotated[
    Path | None,
    typer.Option("--project", help="Project file: places of the sensors, and a structure to compare with."),
]
Update = Annotated[bool, typer.Option("--update", help="Fit the unknowns of the project to the modes (ModalFit).")]
Error = Annotated[float, typer.Option("--model-error", help="Share by which a right model may miss a mode (--update).")]
SensorsAt = Annotated[
    Path | None,
    typer.Option(
        "--geometry", help="Where the sensors are: a table (.csv) or a universal file (.uff), for the report."
    ),
]
Save = Annotated[
    Path | None, typer.Option(help="Keep the fit of --update (.h5) for `vibrid predict`.", show_default=False)
]
Report = Annotated[Path | None, typer.Option(help="Write the report (.html).", show_default=False)]
Figure = Annotated[Path | None, typer.Option(help="Draw the stabilisation diagram or the spectra: .png, .pdf, .svg.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]


@with_reading
def modal(
    files: Files, method: MethodName = "ssi", channels: Channels = None, references: References = None,
    highest: Highest = None, order: Order = None, lags: Lags = None, peaks: Peaks = None,
    merge: Merge = None, estimator: Estimator = None,
    project: ProjectOption = None, update: Update = False, model_error: Error = 0.0, save: Save = None,
    geometry: SensorsAt = None, report: Report = None, figure: Figure = None, csv: TableFile = None,
    as_json: Json = False, seed: Seed = 0, trust: Trust = False, reading: Any = None,
) -> None:  # fmt: skip
    """Find the modes of a structure in measurements: frequencies, damping ratios and shapes.

    With a project, its sensors say where the channels are, and its modes are paired with the measured ones; with
    --update its unknowns are fitted to them.

    Example: vibrid modal ambient.csv --highest 15 --project tower.toml --report modes.html
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.core.errors import InputError
    from vibrid.modal import frf

    output.check_ending(report, (".html", ".htm"))
    output.check_ending(figure, (".png", ".pdf", ".svg"))
    output.check_ending(save, (".h5", ".hdf5"))
    output.check_table_file(csv)
    if method not in METHODS:
        raise InputError(f"The methods are {', '.join(METHODS)}, not '{method}'.")
    if update and project is None:
        raise InputError("--update fits the unknowns of a project: name it with --project.")
    if save is not None and not update:
        raise InputError("--save keeps the fit of a project: ask for it with --update.")
    given = {"references": listed(references), "order": order, "lags": lags, "peaks": _numbers(peaks)}
    given |= {"merge": merge, "estimator": estimator}
    _refuse_settings(method, given)
    if geometry is not None and report is None:
        raise InputError("--geometry is where the shapes of the report are drawn: ask for one with --report.")
    drawn_on = _geometry(geometry)
    trust = consent(project, trust) if project is not None else trust
    with terminal_progress(quiet=as_json) as progress:
        progress.stage("reading")
        responses = _responses(method, files)
        records = [] if responses is not None else [record for path in files for record in read_files(path, reading)]
        loaded = _loaded(project, trust)
        if loaded is not None and loaded.sensors is not None:
            from vibrid.identification.modal_records import placed

            records = [placed(record, loaded.sensors) for record in records]
        settings = {"channels": listed(channels), "highest": highest} | {
            k: v for k, v in given.items() if v is not None
        }
        if method == "frf":  # channels and resampling belong to the frequency responses
            settings = {name: value for name, value in settings.items() if name in ("order", "estimator")}
            _refuse_settings(method, given | {"channels": channels, "highest": highest})
        if responses is not None and "estimator" in settings:
            raise InputError("--estimator belongs to records: the file holds frequency responses already.")
        found = _analysed(method, records, settings, progress) if responses is None else frf(responses, **settings)
        fit = _updated(loaded, found, model_error, seed, progress) if update else None
    tell_reading(records)
    computed = None
    if loaded is not None:
        from vibrid.structures.modes import modes

        computed = modes(loaded.structure if fit is None else fit.structure)
    with Delivery(quiet=as_json) as deliver:
        deliver.answer(
            lambda: output.print_json(_answer(found, computed, fit)) if as_json else _show(found, computed, fit)
        )
        output.deliver_table(deliver, csv, found.table())
        if fit is not None:
            deliver.result(save, fit.save)
        if report is not None:
            page = fit if fit is not None else found
            more = ({} if fit is not None else {"computed": computed}) | {"geometry": drawn_on}
            deliver.file(report, lambda: page.report(report, **more))
        if figure is not None:
            deliver.file(figure, lambda: _draw(found, figure))


def _geometry(path: Path | None):
    from vibrid.core.errors import FileProblem
    from vibrid.modal import read_geometry, read_uff

    if path is None or path.suffix.lower() not in _UNIVERSAL:
        return None if path is None else read_geometry(path)
    found = read_uff(path).geometry
    if found is None:
        raise FileProblem(path, "it holds no nodes (dataset 15).")
    return found


def _responses(method: str, files: list[Path]):
    """The frequency responses of a universal file; None for files of records."""
    from vibrid.modal import read_uff

    if method != "frf" or len(files) != 1 or files[0].suffix.lower() not in _UNIVERSAL:
        return None
    return read_uff(files[0]).response


def _numbers(text: str | None) -> list[float] | None:
    from vibrid.core.errors import InputError

    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--peaks has frequencies in Hz, as in 1.2,3.6; not '{text}'.") from None


def _refuse_settings(method: str, given: dict[str, Any]) -> None:
    """Refuse options that the method has no use for."""
    from vibrid.core.errors import InputError

    known = {
        "ssi": ("references", "order", "lags", "merge"),
        "fdd": ("peaks",),
        "era": ("order", "lags"),
        "frf": ("order", "estimator"),
    }[method]
    for name, value in given.items():
        if value is not None and name not in known:
            raise InputError(f"--{name} is no option of the method {method}.")


def _loaded(project: Path | None, trust: bool):
    if project is None:
        return None
    from vibrid.project import load_project

    return load_project(project, trust=trust)


def _analysed(method: str, records: list[Record], settings: dict[str, Any], progress: Progress) -> MeasuredModes:
    from vibrid import modal as room

    if method == "ssi" and "merge" in settings:
        return _merged(records, settings, progress)
    if method == "ssi":
        return room.ssi(records, progress=progress, **settings)
    if method == "frf" and "estimator" in settings:
        response = room.frequency_response(records, estimator=settings.pop("estimator"))
        return room.frf(response, **settings)
    return {"fdd": room.fdd, "era": room.era, "frf": room.frf}[method](records, **settings)


def _merged(records: list[Record], settings: dict[str, Any], progress: Progress) -> MeasuredModes:
    """The modes of several set-ups, one file each."""
    from vibrid.core.errors import InputError
    from vibrid.modal import merged_ssi

    if not settings.get("references"):
        raise InputError("--merge needs --references: the channels that stayed in place in all set-ups.")
    if settings.pop("channels") is not None:
        raise InputError("--channels is no option of --merge: every set-up is used with all its channels of motion.")
    return merged_ssi(records, settings.pop("references"), merging=settings.pop("merge"), progress=progress, **settings)


def _updated(loaded, found: MeasuredModes, error: float, seed: int, progress: Progress) -> Identification:
    from vibrid.identification import ModalFit, identify

    method = ModalFit(frequency_error=error, shape_error=error)
    return identify(loaded.structure, found, loaded.unknown, method, key=seed, progress=progress)


def _answer(found: MeasuredModes, computed, fit: Identification | None) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "method": found.method,
        "modes": [
            row | {"shape": dict(zip(found.places, map(float, found.shapes[:, i]), strict=True))}
            for i, row in enumerate(found.table())
        ],
        "notes": list(found.notes),
    }
    if computed is not None:
        from vibrid.structures.pairing import pair_modes

        pairs = pair_modes(found, computed)
        answer["pairs"] = [
            {"measured": i + 1, "computed": j + 1, "frequency": float(computed.frequencies[j]),
             "difference": float(away), "mac": float(pairs.mac[i, j])}
            for (i, j), away in zip(pairs.pairs, pairs.differences, strict=True)
        ]  # fmt: skip
    if fit is not None:
        answer["parameters"] = fit.table()
        answer["model_fits"] = fit.model_fits
        answer["verdict"] = fit.verdict
        answer["warnings"] = list(fit.warnings)
    return answer


def _show(found: MeasuredModes, computed, fit: Identification | None) -> None:
    typer.echo(str(found))
    if fit is not None:
        typer.echo(f"\n{fit}")
    if computed is not None:
        from vibrid.structures.pairing import pair_modes

        words = "of the structure" if fit is None else "of the fitted structure"
        typer.echo(f"\nMeasured modes beside those {words}\n{pair_modes(found, computed)}")


def _draw(found: MeasuredModes, path: Path) -> None:
    from matplotlib.figure import Figure as Drawing

    from vibrid.report.modal_plots import plot_singular_values, plot_stabilisation
    from vibrid.report.save import save_figure

    drawn = plot_singular_values(found) if found.diagram is None else plot_stabilisation(found)
    assert isinstance(drawn.figure, Drawing)
    save_figure(drawn.figure, path)
