"""The page of a watched structure: one self-contained HTML file."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from pathlib import Path

from vibrid.core.files import write_text
from vibrid.core.version import __version__
from vibrid.monitor.state import MonitorState
from vibrid.monitor.tracker import Watch
from vibrid.records.clock import utc_text
from vibrid.report.html import document
from vibrid.report.monitor_plots import plot_chart, plot_location, plot_series
from vibrid.report.sections import Figures
from vibrid.report.words import Html, bullets, counted, escape, number, paragraph, table

_MOST_NOTES = 50


def write_monitor_report(found: Watch, path, state: MonitorState | None = None, *, title: str = "Monitoring") -> Path:
    """Write the page; the file is written completely or not at all.

    Arguments
        found: a judged series.
        state: where notes on windows and files are.
    """
    return write_text(path, monitor_page(found, state, title))


def monitor_page(found: Watch, state: MonitorState | None, title: str) -> str:
    """The text of the page."""
    figure, series = Figures(), found.series
    span = f"{utc_text(series.starts[0])} to {utc_text(series.starts[-1])}" if len(series) else "no window yet"
    lead = f"{counted(len(series), 'window')} of {counted(len(series.names), 'quantity')}, {span}"
    if found.baseline is None:
        said = f"Training: {min(len(series), found.training)} of {found.training} windows."
    elif found.alarm is None:
        said = "No alarm: what is seen is explained by the environment and by chance."
    else:
        said = f"ALARM since the window of {utc_text(found.alarm)}: the structure changed."
    place = [] if found.location is None else str(found.location).split("\n")
    kind = "fits" if found.alarm is None else "misses"
    head = (
        f"<header><h1>{escape(title)}</h1>{paragraph(lead, 'lead')}</header>\n"
        f'<div class="verdict {kind}">{paragraph(said)}{"".join(paragraph(line) for line in place)}</div>\n'
        f"{bullets(() if found.baseline is None else found.baseline.notes, 'warnings')}\n"
    )
    caption = (
        "Quantities with ± 2σ and what the environment explains; the dotted line ends the training, the red one is the "
        "alarm."
    )
    sections = [("series", "Series", figure(plot_series(found), caption) + _last(found))]
    if found.reading is not None:
        words = f"An alarm is raised where a chance is below {found.reading.level:.2g}."
        sections.append(("chart", "Chart", figure(plot_chart(found), "Chance of each mean.") + paragraph(words)))
    if found.location is not None:
        sections.append(("place", "Where it changed", figure(plot_location(found), "Changes, all parameters free.")))
    if state is not None:
        sections.append(("notes", "Windows and files", _notes(state)))
    return document(title, head, sections, f"Written by vibrid {__version__} on {datetime.now():%Y-%m-%d %H:%M}.")


def _last(found: Watch) -> Html:
    series = found.series
    if not len(series):
        return Html("")
    rows = zip(series.names, series.values[-1], series.deviations[-1], strict=True)
    cells = [(name, number(v), number(2 * s)) for name, v, s in rows]
    return table(("quantity", "last window", "± 2σ"), cells, numbers=(1, 2))


def _notes(state: MonitorState) -> Html:
    refused = [f"{file.name}: {file.note}" for file in state.files().values() if file.note]
    windows = [f"{utc_text(start)}: {' '.join(words)}" for start, words in islice(state.notes().items(), _MOST_NOTES)]
    if not refused and not windows:
        return paragraph("Every file could be read and every window was complete.")
    return Html(bullets(refused) + bullets(windows))
