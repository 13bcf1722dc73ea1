"""What a notebook shows of structures, records and results: a picture and a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure, SubFigure

from vibrid.core.errors import VibridError
from vibrid.hybrid.result import HybridResult
from vibrid.identification.compare import Comparison
from vibrid.identification.prediction import Prediction
from vibrid.identification.result import Identification, Validation
from vibrid.modal.measured import MeasuredModes
from vibrid.records.record import Record
from vibrid.report.embed import png_html
from vibrid.report.hybrid_plots import history_figure
from vibrid.report.identification_plots import plot_comparison, plot_intervals, plot_validation
from vibrid.report.inputs import structure_rows
from vibrid.report.modal_plots import degrees_of_freedom, plot_modes
from vibrid.report.prediction_plots import plot_prediction
from vibrid.report.record_plots import plot_record
from vibrid.report.sections import agreement_table, estimates_table
from vibrid.report.structure_drawing import draw_structure
from vibrid.report.style import label, new_figure, readable_unit, styled
from vibrid.report.words import Html, badge, bullets, escape, number, paragraph, percent, table, unit
from vibrid.simulation.response import Response
from vibrid.structures.base import Structure
from vibrid.structures.modes import StructureModes

MOST_ROWS = 20
MOST_PANELS = 6

Shown = tuple[str, Callable[[], Figure | SubFigure], str]
"""Title, a function that draws the picture, and the HTML below it."""


def repr_html(thing: Any) -> str:
    """The HTML of a thing that a notebook shows; a picture that cannot be drawn is left out, with the reason."""
    for kind, show in _KINDS.items():
        if isinstance(thing, kind):
            title, draw, text = show(thing)
            return f'<div class="vibrid"><p><b>{escape(title)}</b></p>{_picture(draw)}{text}</div>'
    return f"<pre>{escape(repr(thing))}</pre>"


def _picture(draw: Callable[[], Figure | SubFigure]) -> Html:
    try:
        drawn = draw()
        return png_html(drawn if isinstance(drawn, Figure) else drawn.figure, dpi=90)
    except (VibridError, ValueError) as problem:
        return paragraph(f"No picture: {problem}")


def _first(headings, rows, **options) -> Html:
    """A table of the first rows; how many more there are is said."""
    rows = list(rows)
    left = len(rows) - MOST_ROWS
    more = paragraph(f"… and {left} more rows") if left > 0 else Html("")
    return Html(table(headings, rows[:MOST_ROWS], **options) + more)


def _structure(structure: Structure) -> Shown:
    rows = [
        [name, number(v, 6) if isinstance(v, float) else v, unit(u), why]
        for name, v, u, why in structure_rows(structure)
    ]
    text = _first(["parameter", "value", "unit", "meaning"], rows, numbers=(1,))
    return type(structure).__name__, lambda: draw_structure(structure).figure, text


def _record(record: Record) -> Shown:
    rows = []
    for c in record.channels:
        values = record[c.name]
        known = values[np.isfinite(values)]
        peak = float(known[np.argmax(np.abs(known))]) if known.size else float("nan")
        rows.append([c.name, c.quantity.replace("_", " "), c.location, c.direction, number(peak), unit(c.unit),
                     len(values) - len(known)])  # fmt: skip
    rate = f"{1 / record.step:g} Hz" if record.step else "uneven sampling"
    title = f"Record {record.name}: {len(record)} samples, {rate}, {record.duration:g} s"
    headings = ["channel", "quantity", "place", "direction", "peak", "unit", "missing"]
    shown = record.names[:MOST_PANELS]
    return title, lambda: _figure(plot_record(record, channels=shown)), _first(headings, rows, numbers=(4, 6))


def _figure(axes) -> Figure:
    """The figure of axes, of a list of them, or the figure itself."""
    if isinstance(axes, Figure):
        return axes
    return np.atleast_1d(np.asarray(axes, dtype=object)).ravel()[0].figure


def _response(response: Response) -> Shown:
    names = degrees_of_freedom(response.structure, response.displacement.shape[1])
    peaks = [
        np.abs(np.asarray(a)).max(axis=0) for a in (response.displacement, response.velocity, response.acceleration)
    ]
    rows = [[name, *(number(float(p[i])) for p in peaks)] for i, name in enumerate(names)]
    title = (
        f"Response of a {type(response.structure).__name__} to {response.excitation.name or 'an excitation'}: "
        f"{len(response.time)} samples, {len(names)} degrees of freedom"
    )
    headings = ["degree of freedom", "largest displacement", "velocity", "acceleration (SI, relative to the ground)"]
    return title, lambda: response_figure(response, names), _first(headings, rows, numbers=(1, 2, 3))


def response_figure(response: Response, names: list[str]) -> Figure:
    """Displacements over time of the degrees of freedom that move most, in their order."""
    size = np.abs(np.asarray(response.displacement)).max(axis=0)
    chosen = np.sort(np.argsort(-size)[:MOST_PANELS])
    figure = new_figure(8.0, 0.4 + 1.2 * len(chosen))
    with styled():
        axes = np.atleast_1d(figure.subplots(len(chosen), 1, sharex=True))
        for ax, i in zip(axes, chosen, strict=True):
            factor, symbol = readable_unit("m", float(size[i]), "displacement")
            ax.plot(response.time, factor * np.asarray(response.displacement[:, i]), linewidth=0.8)
            ax.set_title(names[i])
            ax.set_ylabel(label("x", symbol))
        axes[-1].set_xlabel("time [s]")
    return figure


def _identification(fit: Identification) -> Shown:
    start = np.asarray(fit.problem.unknowns.start)
    text = estimates_table(fit.table(), start, fit.limits.relative_bound) + paragraph(fit.verdict)
    if fit.warnings:
        text += bullets(fit.warnings)
    return f"{fit.method}, {fit.seconds:.3g} s", lambda: plot_intervals(fit).figure, text


def _comparison(comparison: Comparison) -> Shown:
    rows = [[r["method"], number(r["mean_ratio_to_bound"], 3), number(r["seconds"], 3), badge(r["fits"])]
            for r in comparison.rows]  # fmt: skip
    text = table(["method", "distance to the bound", "time [s]", "fits"], rows, numbers=(1, 2))
    text += agreement_table(comparison) + bullets(f"{name}: {why}" for name, why in comparison.refused.items())
    return f"{len(comparison.results)} methods on the same data", lambda: plot_comparison(comparison), text


def _modes(modes: StructureModes) -> Shown:
    share = modes.effective_mass / (modes.moving_mass or 1.0)
    columns = zip(modes.frequencies, modes.periods, modes.ratios, share, strict=True)
    rows = [[i, number(f), number(t), percent(z, 3), percent(m, 3)] for i, (f, t, z, m) in enumerate(columns, 1)]
    headings = ["mode", "frequency [Hz]", "period [s]", "damping ratio", "effective mass"]
    title = f"{len(modes)} modes of a {type(modes.structure).__name__}"
    return title, lambda: plot_modes(modes), _first(headings, rows, numbers=(1, 2, 3, 4))


def _measured_modes(modes: MeasuredModes) -> Shown:
    rows = [
        [r["mode"], number(r["frequency"], 5), number(2 * r["frequency_deviation"], 2), percent(r["damping_ratio"], 3),
         percent(2 * r["damping_deviation"], 2)]
        for r in modes.table()
    ]  # fmt: skip
    headings = ["mode", "frequency [Hz]", "± 2σ", "damping ratio", "± 2σ"]
    title = f"{len(modes)} modes from {len(modes.channels)} channels by {modes.method}"
    return title, lambda: plot_modes(modes), _first(headings, rows, numbers=(1, 2, 3, 4))


def _hybrid(result: HybridResult) -> Shown:
    rows = []
    tested = {part.name for part in result.test.experimental}
    for part in result.test.parts:
        x, f = (result.devices[f"{part.name}.{key}"] for key in ("displacement", "force"))
        peak = [number(1e3 * float(np.abs(x).max())), number(1e-3 * float(np.abs(f).max()))]
        role = "tested" if part.name in tested else "modelled"
        rows.append([part.name, role, *peak, number(1e-3 * result.energy(part.name))])
    headings = ["device", "", "displacement [mm]", "force [kN]", "dissipated [kJ]"]
    text = table(headings, rows, numbers=(2, 3, 4))
    stopped = f"; stopped: {result.stopped}" if result.stopped else ""
    time = result.response.time
    title = f"Hybrid test of {time[-1] - time[0]:.4g} s{stopped}"
    names = degrees_of_freedom(result.test.structure, result.response.displacement.shape[1])
    top = int(np.argmax(np.abs(result.response.displacement).max(axis=0)))
    return title, lambda: history_figure(result, _place(result, names[top])), text


def _place(result: HybridResult, name: str) -> str:
    """A place whose displacement can be drawn: the degree of freedom that moves most, or a device's."""
    try:
        result.displacement(name)
    except VibridError:
        return result.test.parts[0].at
    return name


def _validation(check: Validation) -> Shown:
    rows = [[c, percent(check.relative_error[c]), number(check.correlation[c], 5)] for c in check.channels]
    text = table(["sensor", "error / signal", "correlation"], rows, numbers=(1, 2))
    return f"Validation on {check.record.name}", lambda: plot_validation(check, MOST_PANELS), text


def _prediction(found: Prediction) -> Shown:
    rows = [
        [
            r["name"],
            number(r["peak"]),
            number(2 * r["standard_deviation"], 2),
            number(r["measured_peak"]),
            unit(r["unit"]),
        ]
        for r in found.table()
    ]
    text = _first(["sensor", "peak", "± 2σ", "measured peak", "unit"], rows, numbers=(1, 2, 3))
    return f"Prediction for {found.record.name}", lambda: plot_prediction(found, MOST_PANELS), text


_KINDS: dict[type, Callable[[Any], Shown]] = {
    Structure: _structure,
    Record: _record,
    Response: _response,
    Identification: _identification,
    Comparison: _comparison,
    StructureModes: _modes,
    MeasuredModes: _measured_modes,
    HybridResult: _hybrid,
    Validation: _validation,
    Prediction: _prediction,
}
