"""Devices of a hybrid test, drawn into the structure that they belong to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from matplotlib.lines import Line2D

from vibrid.report.drawing_symbols import dashpot, ground
from vibrid.report.nodes_drawing import DrawingSheet
from vibrid.structures.assembled import Assembled
from vibrid.structures.shear import ShearBuilding

TESTED, MODELLED = "#0072b2", "#009e73"
_COLOURS = {True: TESTED, False: MODELLED}


class DrawnDevice(NamedTuple):
    """A device between a place and another one, or the ground; in the laboratory or computed."""

    name: str
    at: str
    to: str | None
    tested: bool


def draw_devices(ax, structure, devices: Iterable[DrawnDevice]):
    """Draw devices into the drawing of a structure (`draw_structure`): blue in the laboratory, green computed."""
    devices = list(devices)
    for number, device in enumerate(devices):
        if isinstance(structure, ShearBuilding):
            _beside_floors(ax, structure, device, number + len(structure.attachments))
        elif isinstance(structure, Assembled):
            _between_nodes(ax, DrawingSheet(structure), device)
        else:
            _below_masses(ax, structure, device, number)
    kinds = [(True, "in the laboratory"), (False, "computed")]
    handles = [
        Line2D([], [], color=_COLOURS[tested], linewidth=2.0, label=f"device {words}")
        for tested, words in kinds
        if any(d.tested == tested for d in devices)
    ]
    if handles:
        ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, frameon=False, fontsize=8)
    ax.margins(0.08)
    ax.autoscale_view()
    return ax


def _beside_floors(ax, building: ShearBuilding, device: DrawnDevice, column: int) -> None:
    n = building.floors
    rise = 1.0 if n <= 8 else max(8.0 / n, 0.3)
    top = (building._floor(device.at) + 1) * rise
    foot = 0.0 if device.to is None else (building._floor(device.to) + 1) * rise
    x, colour = -1.25 - 0.75 * column, _COLOURS[device.tested]
    for level in (top, foot) if device.to is not None else (top,):
        ax.plot([0, x], [level, level], color=colour, linewidth=0.9, linestyle=":")
    if device.to is None:
        ground(ax, x - 0.3, x + 0.3, foot, 0.22)
    dashpot(ax, (x, foot), (x, top), 0.16, colour)
    words = {"rotation": 90, "ha": "right", "va": "center", "fontsize": 8, "color": colour}
    ax.text(x - 0.24, 0.5 * (top + foot), device.name, **words)


def _between_nodes(ax, paper: DrawingSheet, device: DrawnDevice) -> None:
    colour = _COLOURS[device.tested]
    start = paper.at(device.at)
    end = start - np.array([0.0, 1.4]) if device.to is None else paper.at(device.to)
    if np.allclose(start, end):
        end = start - np.array([0.0, 1.4])
    dashpot(ax, tuple(end), tuple(start), 0.3, colour)
    if device.to is None:
        ground(ax, end[0] - 0.35, end[0] + 0.35, end[1], 0.22)
    middle = 0.5 * (start + end)
    style = {"textcoords": "offset points", "va": "center", "fontsize": 8, "color": colour}
    ax.annotate(device.name, tuple(middle), (9, 0), **style)


def _below_masses(ax, structure, device: DrawnDevice, number: int) -> None:
    def mass(place: str) -> float:
        found = np.flatnonzero(np.asarray(structure.row(place)))
        return float(found[0]) if len(found) else 0.0

    x, colour = mass(device.at), _COLOURS[device.tested]
    other = None if device.to is None else mass(device.to)
    if other is None or other == x:
        start, end = (x - 0.18, -1.0), (x - 0.18, -0.22)
    else:
        level = 0.55 + 0.25 * number
        start, end = (min(x, other), level), (max(x, other), level)
    dashpot(ax, start, end, 0.1, colour)
    ax.text(0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1]) + 0.12, device.name, fontsize=7.5, color=colour)
