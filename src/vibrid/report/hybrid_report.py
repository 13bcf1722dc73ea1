"""The report of a hybrid test: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from vibrid.core.files import write_text
from vibrid.core.inputs import InputFile
from vibrid.core.version import __version__
from vibrid.hybrid.result import HybridResult
from vibrid.report import hybrid_plots as plots
from vibrid.report.device_drawing import DrawnDevice, draw_devices
from vibrid.report.html import document
from vibrid.report.sections import Figures, files_table
from vibrid.report.structure_drawing import draw_structure
from vibrid.report.words import bullets, counted, escape, facts, number, paragraph, percent, table
from vibrid.structures.fiber_frame import FiberFrame


def write_hybrid_report(
    result: HybridResult, path, *, title: str = "Hybrid test", place: str, files: Sequence[InputFile] = ()
) -> Path:
    """Write the report of a hybrid test; the file is written completely or not at all.

    Arguments
        title: the heading.
        place: the place of the structure whose displacement is shown, e.g. "roof".
        files: the files that were read, listed with their SHA-256.
    """
    return write_text(path, hybrid_page(result, title, place, files))


def hybrid_page(result: HybridResult, title: str, place: str, files: Sequence[InputFile] = ()) -> str:
    """The text of the page."""
    figure = Figures()
    sections = [
        ("test", "The test", _test_section(result, figure)),
        ("histories", "Histories", _histories_section(result, figure, place)),
        ("loops", "Loops of the devices", _loops_section(result, figure)),
    ]
    if isinstance(result.test.structure, FiberFrame):
        sections.append(("members", "Moment and curvature", _members_section(result, figure)))
    if any(p.is_outside or p.actuator is not None for p in result.test.experimental):
        sections.append(("tracking", "Tracking", _tracking_section(result, figure)))
    if result.timing is not None:
        sections.append(("timing", "Timing", _timing_section(result, figure)))
    if files:
        sections.append(("files", "Files", files_table(files)))
    test, time = result.test, result.response.time
    lead = (
        f"{counted(len(test.experimental), 'tested device')} and {counted(len(test.modelled), 'modelled device')} "
        f"with a {type(test.structure).__name__}; {time[-1] - time[0]:.4g} s in steps of {1e3 * test.step:.4g} ms, "
        f"actuators at {test.rate:g} Hz"
    )
    stopped = bullets([f"The test was stopped: {result.stopped}."] if result.stopped else [], "warnings")
    head = f"<header><h1>{escape(title)}</h1>{paragraph(lead, 'lead')}</header>\n{stopped}\n"
    footer = f"Written by vibrid {__version__} on {datetime.now():%Y-%m-%d %H:%M}."
    return document(title, head, sections, footer)


def _test_section(result: HybridResult, figure: Figures) -> str:
    test = result.test
    rows = []
    for part in test.parts:
        f, x = (result.devices[f"{part.name}.{what}"] for what in ("force", "displacement"))
        rows.append(
            [
                part.name,
                "tested" if part in test.experimental else "modelled",
                type(part.device).__name__,
                f"{part.at} – {part.to or 'ground'}",
                number(float(part.count)),
                number(1e3 * float(np.abs(x).max()), 4),
                number(1e-3 * float(np.abs(f).max()), 4),
                number(1e-3 * result.energy(part.name), 4),
            ]
        )
    headings = ["device", "", "kind", "between", "in parallel", "peak [mm]", "peak [kN]", "dissipated [kJ]"]
    scale = test.scaling
    settings = [
        ("integrator", type(test.integrator).__name__),
        ("step of the structure", f"{1e3 * test.step:.5g} ms"),
        ("substeps", f"{test.substeps}, {test.interpolation}"),
        ("structure / device", f"length {scale.length:g}, force {scale.force:g}, time {scale.time:g}"),
        ("excitation", result.response.excitation.name),
    ]
    return (
        figure(test_drawing(result), "The computed structure with the devices of the test.")
        + facts(settings)
        + table(headings, rows, numbers=(4, 5, 6, 7))
        + paragraph("Numbers are for one device, at its own scale.", "note")
    )


def test_drawing(result: HybridResult):
    """The structure with its tested and modelled devices."""
    test = result.test
    devices = [DrawnDevice(p.name, p.at, p.to or None, p in test.experimental) for p in test.parts]
    ax = draw_structure(test.structure)
    return draw_devices(ax, test.structure, devices).figure


def _histories_section(result: HybridResult, figure: Figures, place: str) -> str:
    x = result.displacement(place)
    numbers = [
        (f"largest displacement of {place}", f"{number(1e3 * float(np.abs(x).max()))} mm"),
        ("at the end", f"{number(1e3 * float(x[-1]), 3)} mm"),
    ]
    return facts(numbers) + figure(
        plots.history_figure(result, place), "Displacement, and the force of one device of each kind."
    )


def _loops_section(result: HybridResult, figure: Figures) -> str:
    return figure(plots.loops_figure(result), "Force over deformation of one device of each kind.")


def column_base_and_beam_end(frame: FiberFrame) -> list[tuple[int, int, str]]:
    """(member, section, name): the base of the first column, and the end at a column of the first beam."""
    held = {frame.nodes_and_supports().number(node) for node, _ in frame.supports}
    places = []
    fibre = [i for i, m in enumerate(frame.members) if m.formulation != "elastic"]
    for i in fibre:
        ends = frame.members[i].nodes
        if ends[0] in held or ends[1] in held:
            places.append((i, 0 if ends[0] in held else -1, f"base of column (member {i})"))
            break
    xy = frame.coordinates()
    uprights = {
        n
        for i in fibre
        for n in frame.members[i].nodes
        if abs(np.diff(xy[list(frame.members[i].nodes)], axis=0)[0, 0]) < 1e-9
    }
    for i in fibre:
        a, b = frame.members[i].nodes
        if abs(xy[a, 1] - xy[b, 1]) < 1e-9 and (a in uprights or b in uprights):
            places.append((i, 0 if a in uprights else -1, f"end of beam (member {i})"))
            break
    return places


def _members_section(result: HybridResult, figure: Figures) -> str:
    places = column_base_and_beam_end(result.test.structure)
    if not places:
        return paragraph("The frame has no fibre members.", "note")
    return figure(
        plots.moment_curvature_figure(result.response, places), "Moment over curvature, permanent loads included."
    )


def _tracking_section(result: HybridResult, figure: Figures) -> str:
    rows, text = [], ""
    for part in result.test.experimental:
        if part.actuator is None and not part.is_outside:
            continue
        if not np.abs(result.devices[f"{part.name}.target"]).max() > 0:
            continue
        tracking = result.tracking(part.name)
        compensator = "none" if part.compensator is None else type(part.compensator).__name__
        numbers = f"{1e3 * tracking.delay:.2f}", percent(tracking.error), percent(tracking.peak_error)
        rows.append([part.name, compensator, *numbers])
        text += figure(
            plots.tracking_figure(result, part.name), f"Tracking of the target by the actuator of {part.name}."
        )
    headings = ["device", "compensation", "J₁ delay [ms]", "J₂ rms error", "J₃ peak error"]
    note = "Errors of the measured displacement, including the noise of its sensor, relative to the target."
    return table(headings, rows, numbers=(2, 3, 4)) + paragraph(note, "note") + text


def _timing_section(result: HybridResult, figure: Figures) -> str:
    timing = result.timing
    text = paragraph(str(timing))
    durations = {"work of a step": timing.step.values, "late wake-up": timing.wake.values}
    durations = {name: seconds for name, seconds in durations.items() if len(seconds)}
    if durations:
        text += figure(plots.timing_figure(durations, 1.0 / result.test.rate), "Durations in all substeps.")
    return text
