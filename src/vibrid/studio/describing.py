"""What a page shows of a project: its parameters, a sketch, modes, sensors, what moves it, what is unknown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vibrid as vb
from vibrid.core.errors import VibridError
from vibrid.identification.loads.unknown_load import UnknownLoad
from vibrid.report.inputs import structure_rows
from vibrid.structures import FiberFrame
from vibrid.studio.sketch import sketch

MOST_PARAMETERS = 500
MOST_MODES = 8
MOST_LIGHT = 40
"""Places of a structure that is simulated without being asked for."""


def description(project: Any) -> dict[str, Any]:
    """The content of a project that was read, for JSON."""
    structure, sensors = project.structure, project.sensors or ()
    rows = list(structure_rows(structure, grouped=False))
    unknowns = [paths for paths in map(_paths, project.unknown) if paths]
    return {
        "title": project.title,
        "parameters": [
            {"path": path, "value": _number(value), "unit": unit, "meaning": meaning}
            for path, value, unit, meaning in rows[:MOST_PARAMETERS]
            if not isinstance(value, str)
        ],
        "sketch": sketch(structure, sensors, _loads(project)),
        "places": [str(place) for place in structure.places()],
        "modes": _modes(structure),
        "sensors": [{"label": s.label, "quantity": s.quantity, "place": str(s.place)} for s in sensors],
        "unknown": [path for paths in unknowns for path in paths],
        "unknowns": unknowns,
        "files": [part.file for part in project.records_table.files],
        "hybrid": project.hybrid is not None,
        "drives": project.excitation_table is not None,
        "light": len(structure.places()) <= MOST_LIGHT and not isinstance(structure, FiberFrame),
    }


def _paths(unknown: Any) -> list[str]:
    """The paths of one unknown; a load has none."""
    if isinstance(unknown, UnknownLoad):
        return []
    path = getattr(unknown, "path", unknown)
    return [str(p) for p in path] if isinstance(path, list | tuple) else [str(path)]


def _loads(project: Any) -> list[tuple[str, str, str]]:
    """(quantity, place or direction, label) of what moves the structure: measured, made or unknown."""
    table, found = project.excitation_table, []
    for channel in table.channels if table is not None else ():
        where = channel.place if channel.quantity == "load" else channel.direction
        found.append((channel.quantity, where, channel.column))
    if table is not None and not table.channels and table.free is None:
        made = "synthetic" if table.synthetic else "cyclic" if table.cyclic else table.file
        found.append((table.quantity, table.place if table.quantity == "load" else table.direction, made))
    loads = [u for u in project.unknown if isinstance(u, UnknownLoad)]
    return found + [(load.quantity, str(load.at), "unknown") for load in loads if not load.moves]


def _modes(structure: Any) -> list[dict[str, Any]]:
    """The lowest modes; none where the structure has none."""
    try:
        found = vb.modes(structure)
    except (VibridError, NotImplementedError, np.linalg.LinAlgError):
        return []
    pairs = list(zip(found.frequencies.tolist(), found.ratios.tolist(), strict=True))
    return [{"frequency": _number(f), "ratio": _number(r)} for f, r in pairs[:MOST_MODES]]


def _number(value: Any) -> float | None:
    value = float(value)
    return value if math.isfinite(value) else None
