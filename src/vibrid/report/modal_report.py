"""The report of measured modes: one self-contained HTML file."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from vibrid.core.files import write_text
from vibrid.core.version import __version__
from vibrid.identification.modal_result import ModalIdentification
from vibrid.modal.geometry import Geometry
from vibrid.modal.measured import MeasuredModes
from vibrid.report.html import document
from vibrid.report.modal_motion import moving_shapes
from vibrid.report.modal_plots import plot_modes, plot_singular_values, plot_stabilisation
from vibrid.report.parameter_plots import plot_intervals
from vibrid.report.sections import Figures, estimates_table
from vibrid.report.words import Html, bullets, counted, escape, number, paragraph, percent, table
from vibrid.structures.modes import StructureModes
from vibrid.structures.modes import modes as modes_of
from vibrid.structures.pairing import mac, pair_modes


def write_modal_report(
    modes: MeasuredModes, path, *, title: str | None = None, computed: StructureModes | None = None,
    geometry: Geometry | None = None,
) -> Path:  # fmt: skip
    """`MeasuredModes.report`; the file is written completely or not at all.

    Arguments
        title: the heading.
        computed: modes of a structure, which are paired with the measured ones and drawn beside them.
        geometry: where the sensors are, such as read_geometry("sensors.csv"): the shapes move there.
    """
    return write_text(path, modal_page(modes, title or "Modal analysis", computed, geometry))


def write_modal_fit_report(
    fit: ModalIdentification, path, *, title: str | None = None, geometry: Geometry | None = None
) -> Path:
    """`ModalIdentification.report`; the file is written completely or not at all."""
    return write_text(path, modal_fit_page(fit, title or "Structure fitted to measured modes", geometry))


def modal_fit_page(fit: ModalIdentification, title: str, geometry: Geometry | None = None) -> str:
    """The text of the page of a fit to modes."""
    assert fit.measured is not None
    figure, computed = Figures(), modes_of(fit.structure)
    lead = f"{counted(len(fit.names), 'unknown')} from {counted(len(fit.measured), 'mode')} by {fit.method}"
    said = "".join(paragraph(sentence) for sentence in fit.judgement)
    head = (
        f"<header><h1>{escape(title)}</h1>{paragraph(lead, 'lead')}</header>\n"
        f'<div class="verdict {"fits" if fit.model_fits else "misses"}">{said}</div>\n'
        f"{bullets(fit.warnings, 'warnings')}\n"
    )
    start = np.asarray(fit.problem.unknowns.start)
    estimates = estimates_table(fit.table(), start, fit.limits.relative_bound)
    drawn = figure(plot_intervals(fit).figure, "Estimates with their 95 % intervals.")
    shapes = figure(plot_modes(fit.measured, computed), "Shapes, measured and of the fitted structure, scaled to 1.")
    sections = [
        ("parameters", "Parameters", estimates + drawn),
        ("pairs", "Modes", _pairs(fit.measured, computed)),
        ("shapes", "Shapes", shapes + moving_shapes(fit.measured, computed, geometry)),
    ]
    return document(title, head, sections, f"Written by vibrid {__version__} on {datetime.now():%Y-%m-%d %H:%M}.")


def plot_modal_fit(fit: ModalIdentification) -> Figure:
    """`ModalIdentification.plot`: shapes, measured and of the fitted structure."""
    assert fit.measured is not None
    return plot_modes(fit.measured, modes_of(fit.structure))


def modal_page(
    modes: MeasuredModes, title: str, computed: StructureModes | None = None, geometry: Geometry | None = None
) -> str:
    """The text of the page."""
    figure = Figures()
    lead = f"{counted(len(modes), 'mode')} from {counted(len(modes.channels), 'channel')} by {modes.method}"
    head = f"<header><h1>{escape(title)}</h1>{paragraph(lead, 'lead')}</header>\n{bullets(modes.notes, 'warnings')}\n"
    sections = [("modes", "Modes", _table(modes))]
    if modes.diagram is not None:
        words = "Poles of all model orders, sorted by clusters; lines are the modes, the thin curve is the spectrum."
        drawn = figure(plot_stabilisation(modes).figure, words)
        sections.append(("stabilisation", "Stabilisation diagram", drawn))
    if modes.spectra is not None:
        drawn = figure(plot_singular_values(modes).figure, "Singular values of the cross spectra; lines are the modes.")
        sections.append(("spectra", "Spectra", drawn))
    bars = "" if np.isnan(modes.shape_deviations).all() else ", with ± 2σ"
    shapes = figure(plot_modes(modes, computed), f"Shapes, each scaled to 1{bars}.")
    sections.append(("shapes", "Shapes", Html(shapes + moving_shapes(modes, computed, geometry))))
    sections.append(("mac", "Likeness of the shapes", _mac(mac(modes.shapes, modes.shapes), modes)))
    if computed is not None:
        sections.append(("pairs", "Beside the structure", _pairs(modes, computed)))
    return document(title, head, sections, f"Written by vibrid {__version__} on {datetime.now():%Y-%m-%d %H:%M}.")


def _table(modes: MeasuredModes) -> Html:
    rows = [
        [r["mode"], number(r["frequency"], 5), _twice(r["frequency_deviation"]), percent(r["damping_ratio"], 4),
         _twice(100 * r["damping_deviation"]), number(r["phase_collinearity"], 4)]
        for r in modes.table()
    ]  # fmt: skip
    headings = ["mode", "frequency [Hz]", "± 2σ [Hz]", "damping ratio", "± 2σ [%]", "phase collinearity"]
    return table(headings, rows, numbers=range(1, 6))


def _twice(deviation: float) -> str:
    return number(2 * deviation, 2) if np.isfinite(deviation) else "–"


def _mac(values: np.ndarray, modes: MeasuredModes) -> Html:
    headings = ["MAC", *(f"{f:.4g} Hz" for f in modes.frequencies)]
    rows = [[heading, *(f"{v:.2f}" for v in row)] for heading, row in zip(headings[1:], values, strict=True)]
    return Html(
        paragraph("1 on the diagonal; large values beside it are shapes that these channels hardly tell apart.")
        + table(headings, rows, numbers=range(1, len(headings)))
    )


def _pairs(modes: MeasuredModes, computed: StructureModes) -> Html:
    found = pair_modes(modes, computed)
    rows = [
        [i + 1, number(modes.frequencies[i], 5), j + 1, number(computed.frequencies[j], 5), percent(away, 3),
         f"{found.mac[i, j]:.4f}"]
        for (i, j), away in zip(found.pairs, found.differences, strict=True)
    ]  # fmt: skip
    headings = ["measured mode", "frequency [Hz]", "computed mode", "frequency [Hz]", "difference", "MAC"]
    return table(headings, rows, numbers=range(1, 6))
