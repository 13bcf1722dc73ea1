"""Buildings with rigid floors, drawn in plan: frame lines, centres of mass, sensors and the motion of the ground."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from vibrid.core.errors import VibridError
from vibrid.report.drawing_symbols import SOLID, STEEL, UNKNOWN, law_name, sensor_marks, shake, spring
from vibrid.report.style import INK
from vibrid.structures.rigid_floors import RigidFloorBuilding


def draw_plan(ax, building: RigidFloorBuilding, sensors, free: set[int], unknown: list[str], loads) -> None:
    """Draw a building in plan, all floors above each other; `free` are the lines that own an unknown."""
    n = building.floors
    centres = [np.broadcast_to(np.asarray(v), (n,)) for v in (building.centre_x, building.centre_y)]
    spots: dict[tuple[float, float], list[str]] = {}
    for sensor in sensors:
        try:
            spots.setdefault(building.split(sensor.place)[1], []).append(sensor.quantity)
        except VibridError:
            continue  # the force of a line: it has no point of its own
    points = np.array([*(line.at for line in building.lines), *zip(*centres, strict=True), *spots])
    low, high = points.min(axis=0), points.max(axis=0)
    unit = max(float((high - low).max()), 1e-9) / 10.0
    low, high = low - unit, high + unit
    ax.add_patch(Rectangle(tuple(low), *(high - low), facecolor=SOLID, edgecolor=INK, alpha=0.35, linewidth=0.9))
    for i, line in enumerate(building.lines):
        at, along = np.array(line.at), np.array(line.along)
        colour = UNKNOWN if i in free else STEEL
        ends = np.stack([at - 0.9 * unit * along, at + 0.9 * unit * along])
        ax.plot(*ends.T, color=colour, linewidth=3.4, solid_capstyle="butt", zorder=3)
        laws = ", ".join(dict.fromkeys(law_name(law) for law in line.storeys))
        text = f"line {i}: {laws}" if len(building.lines) <= 8 else f"line {i}"
        ax.annotate(text, ends[1], (4, 4), textcoords="offset points", fontsize=7.5, color=colour, zorder=4)
    moved = any(path.startswith(("masses", "rotary", "centre")) for path in unknown)
    for floor, (x, y) in enumerate(zip(*centres, strict=True)):
        ax.plot(x, y, "P", color=UNKNOWN if moved else INK, markersize=8, zorder=5)
        if floor == 0 or (x, y) != (centres[0][floor - 1], centres[1][floor - 1]):
            ax.annotate(f"mass of floor {floor}", (x, y), (6, -9), textcoords="offset points", fontsize=7.5, zorder=5)
    for i, attachment in enumerate(building.attachments):
        colour = UNKNOWN if any(path.startswith(f"attachments[{i}]") for path in unknown) else STEEL
        _, point, direction = building.split(attachment.at)
        start = np.array(point)
        end = start + unit * np.array({"x": (-1.6, 0.0), "y": (0.0, -1.6), "rotation": (-1.1, -1.1)}[direction])
        spring(ax, end, start, 0.16 * unit, colour)
        ax.annotate(law_name(attachment.law), end, (3, 3), textcoords="offset points", fontsize=7.5, color=colour)
    for (x, y), quantities in spots.items():
        sensor_marks(ax, (x, y + 0.35 * unit), quantities, 0.45 * unit)
    _motions(ax, building, loads, low, high, unit)


def _motions(ax, building, loads, low, high, unit) -> None:
    middle = 0.5 * (low + high)
    for quantity, place in loads:
        if quantity == "load":
            _, point, direction = building.split(place)
            head = np.array(point)
            tail = head - 1.3 * unit * np.array((1.0, 0.0) if direction == "x" else (0.0, 1.0))
            ax.annotate("", head, tail, arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.3})
            ax.annotate("load", tail, (3, 3), textcoords="offset points", fontsize=8)
        elif building.ground_axis(place) == "x":
            y = low[1] - 0.8 * unit
            shake(ax, (middle[0] - unit, y), (middle[0] + unit, y), "ground acceleration x", (0, -4))
        else:
            x = low[0] - 0.8 * unit
            shake(ax, (x, middle[1] - unit), (x, middle[1] + unit), "", (0, 0))
            ax.text(x - 0.3 * unit, middle[1], "ground acceleration\ny", ha="right", va="center", fontsize=8)
