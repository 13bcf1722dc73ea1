"""The inputs as tables: the structure's parameters, the records, the sensors, the method."""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from vibrid.core import paths
from vibrid.core.missing import missing_in
from vibrid.identification.display import factor_of
from vibrid.identification.result import Identification
from vibrid.records.record import QUANTITIES
from vibrid.records.units import STANDARD_GRAVITY
from vibrid.report.words import Html, counted, facts, number, percent, rounded, table, unit
from vibrid.structures.base import Structure
from vibrid.structures.device import ImposedTest
from vibrid.structures.modes import modes

MOST_MODES = 6


def missing_message(fit: Identification) -> str:
    """The message about a missing plugin of the result, or ""; sections that need it are left out of a report."""
    missing = next(missing_in((fit.problem.experiment.structure, fit.problem.integrator)), None)
    return "" if missing is None else missing.message()


def structure_text(fit: Identification) -> str:
    """The structure, its size and its laws."""
    structure = fit.problem.experiment.structure
    if lacking := missing_message(fit):
        return f"{lacking} {counted(len(fit.names), 'parameter')} unknown."
    model = structure.model(fit.problem.data[0].loads)
    laws = ", ".join(f"{group.count} × {type(group.law).__name__}" for group in model.groups)
    return (
        f"{type(structure).__name__} with {counted(model.size, 'degree')} of freedom"
        + (f"; laws: {laws}" if laws else "")
        + f". {counted(len(fit.names), 'parameter')} unknown."
    )


def structure_rows(structure: Structure, grouped: bool = True) -> list[tuple[str, float | str, str, str]]:
    """(path, value, SI unit, meaning) of every parameter of a structure; equal ones of one pattern share a row."""
    groups: dict[tuple, list[str]] = {}
    sizes: dict[str, int] = {}
    for path, value in _leaves(structure):
        pattern = re.sub(r"\[\d+\]", "[*]", path)
        sizes[pattern] = sizes.get(pattern, 0) + 1
        groups.setdefault((pattern, value) if grouped else (path,), []).append(path)
    values = dict(_leaves(structure))
    rows = []
    for key, members in groups.items():
        about = paths.info(structure, members[0])
        name = _group_name(key[0], members, sizes[key[0]]) if grouped else members[0]
        rows.append((name, values[members[0]], about.unit, about.meaning))
    return rows


def parameter_table(fit: Identification) -> Html:
    """All parameters with units; equal ones share a row, unknown ones show the initial value and the estimate."""
    before = fit.problem.experiment.structure
    owner = {p.removeprefix("structure."): i for i, group in enumerate(fit.problem.unknowns.places) for p in group}
    groups: dict[tuple, list[str]] = {}
    sizes: dict[str, int] = {}
    for path, value in _leaves(before):
        pattern = re.sub(r"\[\d+\]", "[*]", path)
        sizes[pattern] = sizes.get(pattern, 0) + 1
        groups.setdefault((pattern, value, owner.get(path)), []).append(path)
    rows, order = [], list(sizes)
    for (pattern, value, unknown), members in sorted(groups.items(), key=lambda item: order.index(item[0][0])):
        about = paths.info(before, members[0])
        factor, shown_unit = _display(fit, about.unit, unknown)
        estimate = ""
        if unknown is not None:
            estimate = rounded(float(fit.estimate[unknown]) / factor, float(fit.deviation[unknown]) / factor)
        shown = value if isinstance(value, str) else number(value / factor, 6)
        mark = "" if unknown is None else Html('<span class="bad">unknown</span>')
        rows.append(
            [_group_name(pattern, members, sizes[pattern]), about.meaning, shown, estimate, unit(shown_unit), mark]
        )
    return table(["parameter", "meaning", "given", "estimate", "unit", ""], rows, numbers=(2, 3))


def _display(fit: Identification, si_unit: str, unknown: int | None) -> tuple[float, str]:
    """SI number per number in the unit of display, and that unit: the unknown's own, else that of unknowns alike."""
    own = None if unknown is None else fit.display_units.get(fit.names[unknown])
    alike = (fit.display_units.get(n) for n, u in zip(fit.names, fit.units, strict=True) if u == si_unit)
    shown = own or next(filter(None, alike), si_unit)
    return factor_of(shown, si_unit) or 1.0, shown


def _leaves(node, path: str = ""):
    """(path, value) of every number of a structure; matrices are named by their size."""
    if dataclasses.is_dataclass(node):
        for f in dataclasses.fields(node):
            if not f.metadata.get("static", False):
                yield from _leaves(getattr(node, f.name), f"{path}.{f.name}" if path else f.name)
    elif isinstance(node, list | tuple):
        for i, item in enumerate(node):
            yield from _leaves(item, f"{path}[{i}]")
    elif hasattr(node, "shape"):
        values = np.asarray(node)
        if values.ndim >= 2:
            yield path, f"{' × '.join(map(str, values.shape))} matrix"
        else:
            for index, value in np.ndenumerate(values):
                yield path + "".join(f"[{i}]" for i in index), float(value)


def _group_name(pattern: str, members: list[str], size: int) -> str:
    """`storeys[*].beta` for all, `storeys[0, 2].beta` for some."""
    if len(members) == 1:
        return members[0]
    if len(members) == size:
        return pattern
    indices = [re.findall(r"\[(\d+)\]", m) for m in members]
    if pattern.count("[*]") == 1:
        listed = ", ".join(i[0] for i in indices[:8]) + (", …" if len(indices) > 8 else "")
        return pattern.replace("[*]", f"[{listed}]")
    return f"{members[0]} and {len(members) - 1} more"


def modes_table(fit: Identification) -> Html:
    """Frequencies of small motions, initial and identified; nothing for a device."""
    before, after = fit.problem.experiment.structure, fit.structure
    if isinstance(before, ImposedTest) or missing_message(fit):
        return Html("")
    count = min(MOST_MODES, before.model(()).size)
    initial, identified = modes(before, count), modes(after, count)
    rows = [
        [
            i + 1,
            number(initial.frequencies[i]),
            number(identified.frequencies[i]),
            number(identified.periods[i]),
            percent(identified.ratios[i], 3),
        ]
        for i in range(count)
    ]
    headings = ["mode", "initial [Hz]", "identified [Hz]", "period [s]", "damping ratio"]
    caption = "Modes of small motions about rest, with the initial stiffness of every law"
    return table(headings, rows, numbers=(1, 2, 3, 4), caption=caption)


def records_table(fit: Identification) -> Html:
    """Sampling, length, excitation and gaps of every record."""
    rows = []
    for data, held in zip(fit.problem.data, fit.problem.held_out, strict=True):
        samples = np.asarray(data.drive.samples)
        peaks = [_peak(quantity, place, samples[:, i]) for i, (quantity, place) in enumerate(data.loads)]
        used, kept = np.asarray(data.present).sum(), np.asarray(held).sum()
        total = data.readings.size
        rows.append(
            [
                data.name or "record",
                number(1 / data.step, 6),
                number(data.step * (data.samples - 1), 5),
                data.samples,
                "; ".join(peaks),
                percent(1 - (used + kept) / total, 3),
                percent(kept / total, 3),
            ]
        )
    headings = ["record", "rate [Hz]", "length [s]", "samples", "excitation, peak", "missing", "held out"]
    return table(headings, rows, numbers=(1, 2, 3, 5, 6))


def _peak(quantity: str, place: str, values: np.ndarray) -> str:
    peak = float(np.max(np.abs(values)))
    words = " ".join(filter(None, (quantity.replace("_", " "), place)))
    gravity = f" ({number(peak / STANDARD_GRAVITY, 3)} g)" if quantity == "ground_acceleration" else ""
    return f"{words}: {number(peak, 4)} {unit(QUANTITIES[quantity])}{gravity}"


def sensors_table(fit: Identification) -> Html:
    """Quantity, place and noise of each sensor."""
    given = np.isfinite(fit.problem.given_deviations())
    rows = [
        [
            s.label,
            s.quantity.replace("_", " "),
            s.place,
            unit(QUANTITIES[s.quantity]),
            number(fit.noise[i], 3),
            "given" if given[i] else "estimated",
            number(float(s.gain)),
            number(float(s.delay)),
            number(float(s.offset)),
        ]
        for i, s in enumerate(fit.experiment.sensors)
    ]
    headings = ["sensor", "quantity", "place", "unit", "noise σ", "", "gain", "delay [s]", "offset"]
    return table(headings, rows, numbers=(4, 6, 7, 8))


def method_facts(fit: Identification) -> Html:
    """The method, its settings, and how the structure was simulated."""
    settings = ", ".join(f"{k} = {v}" for k, v in fit.settings.items())
    p = fit.problem
    return facts(
        [
            ("method", fit.method),
            ("settings", settings or "none"),
            ("integrator", f"{type(p.integrator).__name__}, {counted(p.substeps, 'step')} per sample"),
            ("excitation between samples", p.hold),
        ]
    )
