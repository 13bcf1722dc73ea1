"""CSV with a heading line; units in the headings: `time [s], roof_acc [m/s^2], force (kN)`.

Cells are separated by comma, semicolon or tab. Empty cells are missing samples. Lines that start with # are comments;
vibrid's own writer keeps quantity, location and history of every channel in one of them (`# vibrid: {...}`), so that
what it writes is read back as it was.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.readers import numbers
from vibrid.records.readers.assemble import assemble, build, split_unit
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.source import Source
from vibrid.records.record import Channel, Record
from vibrid.records.units import unit_factor

NAME = "CSV"
MARK = "# vibrid: "


def recognises(source: Source) -> bool:
    return _heading(source.head_lines) is not None


def _heading(lines: list[str]) -> tuple[int, str, list[str]] | None:
    """Index, delimiter and cells of the heading line: the first line that is not a comment, followed by numbers."""
    body = [(i, line) for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")]
    for (index, line), (_, following) in pairwise(body[:41]):
        for delimiter in (",", ";", "\t"):
            cells, values = _cells(line, delimiter), following.split(delimiter)
            if len(cells) < 2 and not re.search(r"\[.*\]", line):
                continue
            wordy = sum(numbers.number(cell) is None and bool(cell.strip()) for cell in cells)
            numeric = [numbers.number(v.strip().strip('"')) is not None for v in values if v.strip()]
            if wordy >= max(1, len(cells) - 1) and numeric and all(numeric) and len(values) == len(cells):
                return index, delimiter, cells
    return None


def _cells(line: str, delimiter: str) -> list[str]:
    """Cells of the heading; quotes may hold the delimiter."""
    pieces = re.findall(
        rf'\s*"((?:[^"]|"")*)"\s*(?:{re.escape(delimiter)}|$)|([^{re.escape(delimiter)}]*)'
        rf"(?:{re.escape(delimiter)}|$)",
        line,
    )
    cells = [(quoted or bare).strip().replace('""', '"') for quoted, bare in pieces]
    return cells[:-1] if len(cells) > 1 and cells[-1] == "" else cells


def read(source: Source, layout: Layout) -> list[Record]:
    found = _heading(source.head_lines)
    if found is None:
        raise source.problem("no line of headings followed by numbers was found.")
    index, delimiter, cells = found
    lines = source.lines()
    own = None
    for _ in range(index + 1):
        line = next(lines, "")
        if line.startswith(MARK):
            own = _metadata(source, line)
    names, units = map(list, zip(*(split_unit(cell) for cell in cells), strict=True))
    names = [name or f"column_{i}" for i, name in enumerate(names, 1)]
    for name, unit in zip(names, units, strict=True):
        try:
            unit_factor(unit or "")
        except InputError as problem:
            raise source.problem(f"column '{name}': {problem}", index + 1) from None
    data = numbers.table(source, lines, index + 2, delimiter, len(cells))
    if not len(data):
        raise source.problem("there are headings and no numbers.", index + 1)
    if own is not None and layout == Layout():
        return [_own(source, own, data, names, units)]
    return [assemble(source, data, names, units, layout, kind=NAME, unit_line=index + 1)]


def _metadata(source: Source, line: str) -> dict | None:
    """The writer's own line; None when it was damaged, in which case the headings have to do."""
    try:
        own = json.loads(line[len(MARK) :])
    except (ValueError, RecursionError):
        return None
    good = isinstance(own, dict) and isinstance(own.get("channels"), list) and isinstance(own.get("history"), list)
    return own if good else None


def _own(source: Source, own: dict, data: np.ndarray, names, units) -> Record:
    """A record written by vibrid, restored with its metadata; the headings decide where they disagree with it."""
    described = [c for c in own["channels"] if isinstance(c, dict)]
    if not names or names[0] != "time" or [c.get("name") for c in described] != names[1:]:
        return assemble(source, data, names, units, Layout(), kind=NAME)
    try:
        channels = [
            Channel(
                name,
                str(c.get("quantity", "other")),
                unit_factor(unit or "")[1],
                str(c.get("location", "")),
                str(c.get("direction", "")),
            )
            for name, unit, c in zip(names[1:], units[1:], described, strict=True)
        ]
    except InputError as problem:
        raise source.problem(str(problem)) from None
    factors = np.array([unit_factor(unit or "")[0] for unit in units])
    step, start = own.get("step"), own.get("start", 0.0)
    plain = all(isinstance(v, float | int) and not isinstance(v, bool) and np.isfinite(v) for v in (step, start))
    time = data[:, 0]
    if plain and step > 0 and np.all(np.abs(time - start - step * np.arange(len(data))) <= 0.01 * step):
        axis = {"step": float(step), "start": float(start)}
    else:
        axis = {"times": time}
    history = [str(h) for h in own["history"]]
    return build(source, data[:, 1:] * factors[1:], channels, axis, str(own.get("name", "")), history)
