"""The report of a rehearsal: its tables, and one self-contained HTML file."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vibrid.core.files import write_text
from vibrid.core.version import __version__
from vibrid.hybrid.limits import NO_LIMIT
from vibrid.hybrid.rehearsal import Rehearsal, Scatter, input_energy
from vibrid.hybrid.rehearsal.demands import SHOWN
from vibrid.hybrid.result import HybridResult
from vibrid.report.html import document
from vibrid.report.response_plots import kept_samples
from vibrid.report.sections import Figures
from vibrid.report.style import CYCLE, label, new_axes, readable_unit, styled
from vibrid.report.words import bullets, escape, paragraph, percent, table


class Table(NamedTuple):
    """A table of a rehearsal; the first column names the row."""

    caption: str
    headings: list[str]
    rows: list[list[str]]


def tables(result: Rehearsal) -> list[Table]:
    """Responses, delays, modes, tracking, limits, and the tests with uncertain parameters."""
    made = [_responses(result)]
    if result.margins:
        made.append(_delays(result))
    if result.poles:
        made.append(_modes(result))
    if result.judgement.devices:
        made.append(_tracking(result))
    limited = [row for row in result.judgement.demands if row.limit < NO_LIMIT]
    if limited:
        made.append(_limits(limited))
    return made


def _responses(result: Rehearsal) -> Table:
    rows = []
    for v in result.variants:
        sizes = [f"{1e3 * v.peak:.2f}", f"{100 * v.peak_change:+.1f} %", f"{100 * v.difference:.1f} %"]
        rows.append([v.name, *(sizes if math.isfinite(v.peak) else ["diverges", "–", "–"])])
    return Table(
        f"displacement of {result.place}",
        ["test", "largest [mm]", "beside exact motion", "rms of the difference"],
        rows,
    )


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return "none" if math.isinf(seconds) else f"{1e3 * seconds:.3g}"


def _delays(result: Rehearsal) -> Table:
    rows = [
        [
            m.device,
            _milliseconds(m.critical.delay),
            "–" if math.isnan(m.critical.frequency) else f"{m.critical.frequency:.3g}",
            _milliseconds(m.simulated),
            _milliseconds(m.further.delay),
        ]
        for m in result.margins
    ]
    headings = ["device", "critical [ms]", "at [Hz]", "simulated [ms]", "margin as planned [ms]"]
    return Table("delay at which small motions grow", headings, rows)


def _modes(result: Rehearsal) -> Table:
    rows = [
        [str(i + 1), f"{p.frequency:.3g}", f"{100 * p.damping_exact:.2f} %", f"{100 * p.damping:.2f} %"]
        for i, p in enumerate(result.poles[:6])
    ]
    return Table("modes of small motions", ["mode", "frequency [Hz]", "damping, exact", "damping, as planned"], rows)


def _tracking(result: Rehearsal) -> Table:
    rows = [
        [d.name, f"{1e3 * d.tracking.delay:.2f}", percent(d.tracking.error), percent(d.energy_share)]
        for d in result.judgement.devices
    ]
    return Table("tracking as planned", ["device", "delay [ms]", "error (rms)", "energy / input energy"], rows)


def _limits(limited) -> Table:
    rows = []
    for d in limited:
        factor, unit = SHOWN[d.quantity]
        when = "–" if d.beyond_at is None else f"{d.beyond_at:.4g}"
        name, sizes = f"{d.device}, {d.quantity} [{unit}]", (factor * d.largest, factor * d.limit)
        rows.append([name, *(f"{size:.4g}" for size in sizes), f"{100 * d.share:.0f} %", when])
    return Table("limits", ["device", "largest", "limit", "use", "beyond at [s]"], rows)


def write_rehearsal_report(result: Rehearsal, path, *, title: str = "Hybrid test") -> Path:
    """Write the report of a rehearsal; the file is written completely or not at all."""
    return write_text(path, rehearsal_page(result, title))


def rehearsal_page(result: Rehearsal, title: str) -> str:
    """The text of the page."""
    figure = Figures()
    reasons = [f"{reason}." for reason in result.reasons] or ["Nothing was found against the test."]
    judgement = paragraph(f"Judgement: {result.level}.", "lead") + bullets(reasons, "warnings" if result.level else "")
    histories = figure(plot_variants(result).figure, "The displacement of interest in each way of running the test.")
    sections = [("judgement", "Judgement", judgement), ("responses", "Responses", histories)]
    planned = result.variant("as planned")
    if result.judgement.devices and planned is not None and planned.result is not None:
        energy = figure(
            plot_energy(result, planned.result).figure, "Energy that tracking errors bring in, beside the input energy."
        )
        sections.append(("energy", "Energy", energy))
    if result.scatter is not None and np.isfinite(result.scatter.peaks).any():
        peaks = figure(
            plot_peaks(result, result.scatter).figure, "Largest displacements with uncertain actuators and specimens."
        )
        sections.append(("scatter", "Uncertain actuators and specimens", peaks))
    numbers = "".join(
        f"<h3>{escape(t.caption.capitalize())}</h3>" + table(t.headings, t.rows, numbers=range(1, len(t.headings)))
        for t in tables(result)
    )
    sections.append(("numbers", "Numbers", numbers))
    head = f"<header><h1>{escape(title)}: rehearsal</h1></header>\n"
    return document(title, head, sections, f"Written by vibrid {__version__} on {datetime.now():%Y-%m-%d %H:%M}.")


def plot_variants(result: Rehearsal, ax=None):
    """The displacement of interest over time, in each way of running the test."""
    with styled():
        ax = new_axes(8.6, 3.0) if ax is None else ax
        finite = [(v.name, v.peak, v.result) for v in result.variants if v.result is not None]
        factor, unit = readable_unit("m", max(peak for _, peak, _ in finite))
        for i, (name, _, test) in enumerate(finite):
            x = test.displacement(result.place)
            kept = kept_samples(x, most=1600)
            ax.plot(test.response.time[kept], factor * x[kept], color=CYCLE[i], linewidth=0.8, label=name)
        ax.set_xlabel(label("time", "s"))
        ax.set_ylabel(label(f"displacement of {result.place}", unit))
        ax.legend(loc="upper right", ncols=2)
    return ax


def plot_energy(result: Rehearsal, planned: HybridResult, ax=None):
    """Energy of the tracking errors and of the excitation over time, of the test as planned."""
    given = input_energy(planned)
    with styled():
        ax = new_axes(8.6, 2.6) if ax is None else ax
        scale = 100.0 / np.abs(given).max()
        ax.plot(planned.response.time, scale * given, color=CYCLE[0], linewidth=1.0, label="input energy")
        for i, d in enumerate(result.judgement.devices):
            words = f"tracking error of {d.name.replace('_', ' ')}"
            ax.plot(planned.devices.time, scale * d.energy, color=CYCLE[i + 1], linewidth=1.0, label=words)
        ax.set_xlabel(label("time", "s"))
        ax.set_ylabel("energy / largest input energy [%]")
        ax.legend(loc="center right")
    return ax


def plot_peaks(result: Rehearsal, scatter: Scatter, ax=None):
    """Histogram of the largest displacements of the tests with uncertain parameters."""
    peaks = scatter.peaks[np.isfinite(scatter.peaks)]
    exact = result.variants[0].peak
    with styled():
        ax = new_axes(5.0, 2.8) if ax is None else ax
        factor, unit = readable_unit("m", max(peaks.max(), exact))
        ax.hist(factor * peaks, bins=min(20, max(5, len(peaks) // 4)), color=CYCLE[0], alpha=0.7, label="tests")
        ax.axvline(factor * exact, color=CYCLE[1], label="moved exactly")
        ax.set_xlabel(label(f"largest displacement of {result.place}", unit))
        ax.set_ylabel("number of tests")
        ax.legend()
    return ax
