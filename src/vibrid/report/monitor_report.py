"""The page of a watched structure: one self-contained HTML file."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from pathlib import Path

from vibrid.core.files import write_text
from vibrid.core.version import __version__
from vibrid.monitor.event_fits import EventEstimate, event_series
from vibrid.monitor.state import MonitorState
from vibrid.monitor.tracker import Watch
from vibrid.records.clock import utc_text
from vibrid.report.change_drawing import plot_changed
from vibrid.report.html import document
from vibrid.report.monitor_plots import plot_chart, plot_events, plot_location, plot_series
from vibrid.report.sections import Figures
from vibrid.report.words import Html, bullets, counted, escape, number, paragraph, table
from vibrid.structures.base import Structure

_MOST_NOTES = 50
_SELDOM = 60.0  # s after which a browser loads the page again, at least


def write_monitor_report(
    found: Watch,
    path,
    state: MonitorState | None = None,
    *,
    title: str = "Monitoring",
    structure: Structure | None = None,
    again: float | None = None,
) -> Path:
    """Write the page; the file is written completely or not at all.

    Arguments
        found: a judged series.
        state: where events, and notes on windows and files, are.
        structure: drawn, coloured by what changed.
        again: s after which a browser loads the page again, while it is written anew.
    """
    return write_text(path, monitor_page(found, state, title, structure, again))


def monitor_page(
    found: Watch, state: MonitorState | None, title: str, structure: Structure | None = None, again: float | None = None
) -> str:
    """The text of the page."""
    figure, series = Figures(), found.series
    span = f"{utc_text(series.starts[0])} to {utc_text(series.starts[-1])}" if len(series) else "no window yet"
    many = len(series.names)
    lead = f"{counted(len(series), 'window')} of {many} {'quantity' if many == 1 else 'quantities'}, {span}"
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
        f"{bullets(found.notes, 'warnings')}\n"
    )
    caption = (
        "Quantities with ± 2σ and what the environment explains; the dotted line ends the training, the red one is the "
        "alarm."
    )
    sections = [("series", "Series", figure(plot_series(found), caption) + _last(found))] if series.names else []
    if found.reading is not None:
        words = f"An alarm is raised where a chance is below {found.reading.level:.2g}."
        sections.append(("chart", "Chart", figure(plot_chart(found), "Chance of each mean.") + paragraph(words)))
    if found.location is not None:
        sections.append(("place", "Where it changed", figure(plot_location(found), "Changes, all parameters free.")))
        if structure is not None:
            words = "What explains the change, coloured by how much; where it may be instead is marked."
            sections[-1] = (*sections[-1][:2], sections[-1][2] + figure(plot_changed(structure, found.location), words))
    if state is not None and (events := state.events()):
        sections.append(("events", "Events", _events(events, figure)))
    if state is not None:
        sections.append(("notes", "Windows and files", _notes(state)))
    page = document(title, head, sections, f"Written by vibrid {__version__} on {datetime.now():%Y-%m-%d %H:%M}.")
    if again is None:
        return page
    return page.replace("<head>\n", f'<head>\n<meta http-equiv="refresh" content="{max(again, _SELDOM):.0f}">\n', 1)


def _events(events: list[EventEstimate], figure: Figures) -> Html:
    """A row for each event, the parameters over time, and what was said of them."""
    rows = []
    for event in events:
        worst = max(event.drifts, key=lambda drift: drift.value, default=None)
        drift = "" if worst is None else f"{1e3 * worst.value:.3g} ± {2e3 * worst.deviation:.2g} ({worst.place})"
        chance = "" if event.chance is None else f"{100 * event.chance:.3g} %"
        fits = {None: "", True: "yes", False: "no"}[event.fits]
        rows.append((utc_text(event.at), number(event.ratio), drift, chance, fits))
    head = ("begins", "ratio to the usual", "largest drift / mm ± 2σ", "chance that it passed the limit", "model fits")
    series = event_series(events)
    drawn = figure(plot_events(series), "Parameters of events with ± 2σ.") if len(series) else Html("")
    notes = [f"{utc_text(event.at)}: {' '.join(event.notes)}" for event in events if event.notes]
    return Html(table(head, rows) + drawn + bullets(notes[-_MOST_NOTES:]))


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
