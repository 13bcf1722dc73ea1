"""Commands about many runs: `vibrid study`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.fits_view import fitted, print_fits
from vibrid.commands.options import Json
from vibrid.commands.trust import Trust, consent

study = typer.Typer(no_args_is_help=True, help="Thousands of runs or fits of a project, in one dataset.")

ProjectFile = Annotated[Path, typer.Argument(metavar="PROJECT.toml", help="Project file.", show_default=False)]
Folder = Annotated[Path, typer.Option("--out", "-o", help="Folder of the dataset; gone on with where it is there.")]
Where = Annotated[str, typer.Option(help="here, processes, tcp://host:port of a dask scheduler, slurm or pbs.")]
Jobs = Annotated[int | None, typer.Option(help="Processes, or jobs of a queue.", show_default=False)]
Skip = Annotated[bool, typer.Option(help="Leave out motions that cannot be read.")]


@study.command("run")
def study_run(
    project: ProjectFile,
    out: Folder,
    on: Where = "here",
    jobs: Jobs = None,
    skip_unreadable: Skip = False,
    report: Annotated[
        Path | None, typer.Option(help="Of a study of a fit: write the report of the fit with its response bands.")
    ] = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Compute the runs, or the fits, of a project's [study] that are not in the folder yet.

    Example: vibrid study run examples/study.toml --out ida
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.core.writable import check_folder

    check_folder(out)
    output.check_ending(report, (".html", ".htm"))
    trust = consent(project, trust)
    with terminal_progress(quiet=as_json) as progress:
        progress.stage(f"reading {project.name}")
        from vibrid.project import load_project
        from vibrid.studies import engine_for

        loaded = load_project(project, trust)
        made, problems = loaded.study(skip_unreadable)
        fit = None if report is None else _fit_of(loaded)
        for problem in problems:
            typer.echo(f"left out: {problem}", err=True)
        try:
            data = made.run(out, engine_for(on, jobs), progress)
        except KeyboardInterrupt:
            typer.echo(f"What was computed is kept in '{out}': run it again to go on.", err=True)
            raise
    content = summary(data, project, out)
    with Delivery(quiet=as_json) as deliver:
        if as_json:
            deliver.answer(lambda: output.print_json(content | {"left_out": list(problems)}))
        elif "estimates" in content:
            deliver.answer(lambda: print_fits(loaded.title, content))
        else:
            deliver.answer(lambda: _print(loaded.title, content))
        if fit is not None and report is not None:
            deliver.file(report, lambda: fit.report(report, bands=data, title=loaded.title))


def _fit_of(loaded):
    """The fit from whose uncertainty the parameters of a study are drawn."""
    from vibrid.core.errors import FileProblem
    from vibrid.identification.archive import load_identification

    if not loaded.study_plan.table.fit:
        raise FileProblem(loaded.path, 'response bands are those of a fit: name its file, [study] fit = "RESULT.h5".')
    return load_identification(loaded.beside(loaded.study_plan.table.fit))


@study.command("fragility")
def study_fragility(
    folder: Annotated[Path, typer.Argument(help="Folder of a study.", show_default=False)],
    of: Annotated[str | None, typer.Option(help="Variable such as peak_storey_drift; by default collapse.")] = None,
    above: Annotated[float | None, typer.Option(help="The value that the variable passes, in SI units.")] = None,
    at: Annotated[
        list[str] | None, typer.Option(help="One tick of a dimension, such as law=bilinear; repeatable.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw stripes and curve: .png, .pdf or .svg.")] = None,
    as_json: Json = False,
) -> None:
    """Fit a fragility curve to a study with levels, or to one that hunted for collapse; also while it runs.

    Example: vibrid study fragility ida --plot fragility.png
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.studies import fragility, open_study

    output.check_ending(plot, (".png", ".pdf", ".svg"))
    data = _chosen(open_study(folder), at or [])
    curve = fragility(data, of, above)
    log_median, dispersion = curve.deviations
    content = {
        "folder": str(folder),
        "event": curve.event,
        "measure": curve.measure,
        "unit": curve.unit,
        "median": curve.median,
        "standard_deviation_of_log_median": log_median,
        "dispersion": curve.dispersion,
        "standard_deviation_of_dispersion": dispersion,
        "levels": curve.levels,
        "events": curve.events,
        "counts": curve.counts,
        "left_out": curve.left_out,
    }
    with Delivery(quiet=as_json) as deliver:
        deliver.answer(lambda: output.print_json(content) if as_json else typer.echo(str(curve)))
        deliver.file(plot, lambda: _draw(data, curve, of or "peak_storey_drift", plot))


def _chosen(data, at: list[str]):
    """The dataset at one tick of some dimensions."""
    import numpy as np

    from vibrid.core.errors import InputError, unknown_name

    for entry in at:
        name, _, given = entry.rpartition("=")
        dims = [str(dim) for dim in data.outcome.dims if dim not in ("level", "trial")]
        if name not in dims:
            raise unknown_name("dimension of the study to choose from", name or entry, dims)
        ticks = data[name].values
        try:
            number = ticks.dtype.kind in "fiu"
            same = np.isclose(ticks, float(given)) if number else np.array([str(tick) == given for tick in ticks])
        except ValueError:  # no number
            same = np.zeros(len(ticks), bool)
        if not same.any():
            raise InputError(f"The dimension '{name}' has no '{given}'; it has {', '.join(map(str, ticks[:20]))}.")
        data = data.isel({name: int(np.flatnonzero(same)[0])})
    return data


def _draw(data, curve, variable: str, path) -> None:
    from vibrid.report.save import save_figure
    from vibrid.report.study_plots import fragility_figure

    save_figure(fragility_figure(data, curve, variable), path)


def summary(data, project: Path, out: Path) -> dict:
    """What a study found, in a few numbers."""
    import numpy as np

    outcomes, known = np.asarray(data.outcome), data.outcome.attrs["flag_meanings"].split()
    counts = {name.replace("_", " "): int((outcomes == code).sum()) for code, name in enumerate(known)}
    dims = {name: int(data.sizes[name]) for name in data.outcome.dims}
    content = {"project": str(project), "out": str(out), "dimensions": dims, "outcomes": counts}
    if "sentence" in data:
        return content | {"estimates": fitted(data)}
    rows = []
    for name in data.data_vars:
        if str(name).startswith("peak_"):
            unit, laws = data[name].attrs.get("units", ""), data["law"].values if "law" in dims else [None]
            for law in laws:
                values = np.asarray(data[name] if law is None else data[name].sel(law=law))
                known = values[np.isfinite(values)]
                if known.size:
                    low, middle, high = (float(v) for v in np.percentile(known, [16, 50, 84]))
                    found = {"percentile_16": low, "median": middle, "percentile_84": high}
                    own = {} if law is None else {"law": str(law)}
                    rows.append({"name": str(name), **own, "unit": unit, **found})
    return content | {"peaks": rows}


def _print(title: str, content: dict) -> None:
    from vibrid.commands import output

    shape = " × ".join(f"{size} {name}" for name, size in content["dimensions"].items())
    outcomes = dict(content["outcomes"])
    if "trial" in content["dimensions"]:
        del outcomes["waiting"]  # trials that were not needed
    ended = ", ".join(f"{count} {name}" for name, count in outcomes.items() if count)
    rows = [
        [
            r["name"].replace("_", " ") + (f", {r['law']}" if "law" in r else ""),
            *(f"{r[k]:.4g}" for k in ("percentile_16", "median", "percentile_84")),
            r["unit"] or "-",
        ]
        for r in content["peaks"]
    ]
    output.print_table(title, ["of all runs", "16 %", "median", "84 %", "unit"], rows, right=("16 %", "median", "84 %"))
    typer.echo(f"{shape}: {ended}")
    typer.echo(f"dataset {content['out']}/results.zarr")
