"""Drawing of a structure: its parts, its unknown parameters, its sensors and its excitation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.patches import FancyBboxPatch, Rectangle

from vibrid.laws.base import Law
from vibrid.report.drawing_symbols import (
    SOLID,
    STEEL,
    UNKNOWN,
    bare,
    dashpot,
    ground,
    law_name,
    legend,
    sensor_marks,
    shake,
    spring,
)
from vibrid.report.nodes_drawing import draw_nodes
from vibrid.report.plan_drawing import draw_plan
from vibrid.report.style import INK, new_axes, styled
from vibrid.structures.assembled import Assembled
from vibrid.structures.damping import Damping
from vibrid.structures.device import ImposedTest
from vibrid.structures.rigid_floors import RigidFloorBuilding
from vibrid.structures.shear import ShearBuilding

GROUND = (("ground_acceleration", ""),)
_PLATE = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}


def draw_structure(structure, ax=None, *, sensors: Iterable = (), unknown: Iterable[str] = (), loads=GROUND):
    """Draw any structure; returns the axes.

    Arguments
        sensors: marked where they measure, one symbol a quantity.
        unknown: paths of unknown parameters; the parts that own them are drawn in another colour.
        loads: (quantity, place or direction) of the inputs, as a model has them.
    """
    sensors = list(sensors)
    unknown = [path.removeprefix("structure.") for path in unknown]
    with styled():
        ax = new_axes(*_size(structure)) if ax is None else ax
        if isinstance(structure, ShearBuilding):
            _shear_building(ax, structure, sensors, unknown, loads)
        elif isinstance(structure, RigidFloorBuilding):
            draw_plan(ax, structure, sensors, owners(unknown, "lines"), unknown, loads)
        elif isinstance(structure, ImposedTest):
            _device(ax, structure, sensors, unknown)
        elif isinstance(structure, Assembled):
            draw_nodes(ax, structure, sensors, unknown, loads)
        else:
            _chain_of_masses(ax, structure, sensors, unknown, loads)
        legend(ax, [s.quantity for s in sensors], bool(unknown))
        bare(ax)
    return ax


def _size(structure) -> tuple[float, float]:
    if isinstance(structure, ShearBuilding):
        return 5.6, min(1.8 + 0.75 * structure.floors, 7.0)
    if isinstance(structure, RigidFloorBuilding):
        return 6.4, 5.2
    return (5.6, 2.4) if isinstance(structure, ImposedTest) else (8.0, 3.4)


def owners(unknown: list[str], root: str) -> set[int]:
    """Indices of the parts of `root` that own an unknown: {0, 2} for storeys[0].stiffness and storeys[2].beta."""
    found = (re.match(rf"{root}\[(\d+)\]", path) for path in unknown)
    return {int(m[1]) for m in found if m}


# -- shear building ------------------------------------------------------------------------------------------------


def _shear_building(ax, building: ShearBuilding, sensors, unknown, loads) -> None:
    n = building.floors
    width, rise = 2.6, 1.0 if n <= 8 else max(8.0 / n, 0.3)
    slab = 0.18 * rise
    free = owners(unknown, "storeys")
    names = [law_name(law) for law in building.storeys]
    damped = isinstance(building.damping, Law | tuple)
    damping_free = any(path.startswith("damping") for path in unknown)
    ground(ax, -0.5, width + 0.5, 0.0, 0.22)
    for i in range(n):
        low, high = i * rise, (i + 1) * rise
        colour = UNKNOWN if i in free else STEEL
        for x in (0.12, width - 0.12):
            ax.plot([x, x], [low, high], color=colour, linewidth=2.2, solid_capstyle="butt")
        heavy: dict[str, Any] = {"facecolor": SOLID, "edgecolor": UNKNOWN if f"masses[{i}]" in unknown else INK}
        ax.add_patch(Rectangle((0, high - 0.5 * slab), width, slab, linewidth=0.9, zorder=3, **heavy))
        if n <= 14 or i == 0 or names[i] != names[i - 1]:
            where = {"x": 0.5 * width, "ha": "center"} if rise > 0.5 else {"x": width + 0.5, "ha": "left"}
            ax.text(
                y=low + 0.64 * rise, s=names[i], va="center", fontsize=8, color=UNKNOWN if i in free else INK, **where
            )
        if damped:
            start, end = (0.12, low + 0.14 * rise), (width - 0.12, low + 0.34 * rise)
            dashpot(ax, start, end, 0.1 * rise, UNKNOWN if damping_free else STEEL)
        if n <= 14 or i in (0, n - 1):
            ax.text(-0.1, high, f"floor {i}", ha="right", va="center", fontsize=7.5, bbox=_PLATE, zorder=4)
    _attached_to_floors(ax, building, width, rise, owners(unknown, "attachments"))
    _sensors_of_floors(ax, building, sensors, width, rise)
    _what_moves_it(ax, loads, (0.0, width), -0.5, lambda place: (building._floor(place) + 1) * rise)
    note = _damping_words(building.damping)
    ax.text(
        0.5 * width, n * rise + 0.12 + slab, note, ha="center", fontsize=8, color=UNKNOWN if damping_free else "#4b5660"
    )


def _damping_words(damping) -> str:
    """The damping of the structure, as text."""
    if damping is None:
        return ""
    if isinstance(damping, Damping):
        return f"{type(damping).__name__} damping"
    each = damping if isinstance(damping, tuple) else (damping,)
    return f"dashpots: {', '.join(dict.fromkeys(law_name(law) for law in each))}"


def _attached_to_floors(ax, building, width, rise, free) -> None:
    for i, a in enumerate(building.attachments):
        top = (building._floor(a.at) + 1) * rise
        foot = 0.0 if a.to is None else (building._floor(a.to) + 1) * rise
        x = -1.25 - 0.65 * i
        colour = UNKNOWN if i in free else STEEL
        ax.plot([0, x], [top, top], color=colour, linewidth=0.8, linestyle=":")
        if a.to is None:
            ground(ax, x - 0.3, x + 0.3, foot, 0.22)
        else:
            ax.plot([0, x], [foot, foot], color=colour, linewidth=0.8, linestyle=":")
        spring(ax, (x, foot), (x, top), 0.12, colour)
        ax.text(
            x - 0.18,
            0.5 * (top + foot),
            law_name(a.law),
            rotation=90,
            ha="right",
            va="center",
            fontsize=8,
            color=colour,
        )


def _sensors_of_floors(ax, building, sensors, width, rise) -> None:
    """Motion is measured at a floor, drift and force within a storey."""
    spots: dict[float, list[str]] = {}
    for s in sensors:
        inside = s.quantity in ("drift", "drift_velocity", "element_force")
        match = re.search(r"(\d+)", s.place)
        floor = int(match[1]) if inside and match else building._floor(s.place)
        spots.setdefault((floor + (0.5 if inside else 1.0)) * rise, []).append(s.quantity)
    for height, quantities in spots.items():
        sensor_marks(ax, (width + 0.2, height), quantities, 0.26)


def _what_moves_it(ax, loads, span, y, height) -> None:
    middle = 0.5 * sum(span)
    for quantity, place in loads:
        if quantity == "load":
            level = height(place)
            ax.annotate(
                "",
                (span[0] - 0.6, level),
                (span[0] - 1.35, level),
                arrowprops={"arrowstyle": "-|>", "color": INK},
                zorder=6,
            )
            ax.text(span[0] - 1.4, level, "load", ha="right", va="center", fontsize=8, bbox=_PLATE, zorder=6)
        else:
            text = " ".join(filter(None, (quantity.replace("_", " "), place)))
            shake(ax, (middle - 0.7, y), (middle + 0.7, y), text, (0, -4))


# -- a device, and structures without a shape ----------------------------------------------------------------------


def _device(ax, device: ImposedTest, sensors, unknown) -> None:
    colour = UNKNOWN if unknown else STEEL
    ax.plot([0, 0], [-0.6, 0.6], color=INK, linewidth=1.6)
    for y in np.arange(-0.6, 0.55, 0.2):
        ax.plot([-0.15, 0], [y, y + 0.15], color=INK, linewidth=0.7)
    ax.plot([0, 0.7], [0, 0], color=colour, linewidth=1.4)
    ax.add_patch(
        FancyBboxPatch(
            (0.7, -0.35), 2.2, 0.7, boxstyle="round,pad=0.02", facecolor="white", edgecolor=colour, linewidth=1.4
        )
    )
    law = getattr(device, "law", None)
    name = device.place if law is None else law_name(law)
    ax.text(1.8, 0.0, name, ha="center", va="center", fontsize=9, color=UNKNOWN if unknown else INK)
    ax.plot([2.92, 3.6], [0, 0], color=colour, linewidth=1.4)
    shake(ax, (3.3, 0.45), (4.3, 0.45), "imposed displacement", (0, 14))
    ax.plot([3.6, 3.6], [-0.3, 0.3], color=INK, linewidth=1.6)
    sensor_marks(ax, (3.85, 0.0), [s.quantity for s in sensors], 0.26)


def _chain_of_masses(ax, structure, sensors, unknown, loads) -> None:
    """Degrees of freedom as boxes in a row, joined where the stiffness couples them."""
    model = structure.model(())
    n = model.size
    names = tuple(getattr(structure, "names", ())) or tuple(map(str, range(n)))
    ground(ax, -0.8, n - 0.2, -1.0, 0.2)
    _couplings(ax, np.abs(np.asarray(model.initial_matrices()[2])))
    free = owners(unknown, "attachments")
    for i, name in enumerate(names[:n]):
        ax.add_patch(Rectangle((i - 0.28, -0.22), 0.56, 0.44, facecolor=SOLID, edgecolor=INK, linewidth=0.9, zorder=3))
        ax.text(i, 0, name, ha="center", va="center", fontsize=8, zorder=4)
    for i, a in enumerate(getattr(structure, "attachments", ())):
        places = np.flatnonzero(np.asarray(structure.row(a.at)))
        x = float(places[0]) if len(places) else 0.0
        colour = UNKNOWN if i in free else STEEL
        spring(ax, (x, -1.0), (x, -0.22), 0.09, colour)
        ax.text(x + 0.14, -0.6, law_name(a.law), va="center", fontsize=7.5, color=colour)
    spots: dict[int, list[str]] = {}
    for s in sensors:
        row = np.flatnonzero(np.asarray(structure.row(s.place)))
        spots.setdefault(int(row[0]) if len(row) else 0, []).append(s.quantity)
    for x, quantities in spots.items():
        sensor_marks(ax, (x, 0.42), quantities, 0.24, (0.0, 1.0))
    text = "; ".join(dict.fromkeys(" ".join(filter(None, (q.replace("_", " "), p))) for q, p in loads))
    shake(ax, (0.5 * n - 1.1, -1.35), (0.5 * n + 0.1, -1.35), text, (0, -4))


def _couplings(ax, stiffness: np.ndarray) -> None:
    """Springs between neighbours, arcs between others, wherever K is not zero beside its diagonal."""
    n = len(stiffness)
    for i in range(n):
        for j in range(i + 1, n):
            if stiffness[i, j] <= 1e-9 * np.sqrt(stiffness[i, i] * stiffness[j, j]):
                continue
            if j == i + 1:
                spring(ax, (i + 0.28, 0), (j - 0.28, 0), 0.07)
            elif n <= 12:
                ax.annotate(
                    "",
                    (j, 0.24),
                    (i, 0.24),
                    arrowprops={"arrowstyle": "-", "color": STEEL, "connectionstyle": "arc3,rad=-0.3"},
                )
