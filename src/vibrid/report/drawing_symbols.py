"""The symbols of structural drawings: springs, dashpots, supports, masses, sensors, ground. In data coordinates."""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Polygon, Rectangle

from vibrid.report.style import INK, RESIDUAL, TRUTH

STEEL = "#5a6672"
SOLID = "#c9d1d8"
UNKNOWN = RESIDUAL
SENSOR = TRUTH
MARKERS = {
    "acceleration": ">",
    "absolute_acceleration": "D",
    "velocity": "s",
    "displacement": "o",
    "rotation": "P",
    "drift": "^",
    "drift_velocity": "v",
    "strain": "h",
    "element_force": "X",
}


def _between(start, end):
    """A function that maps (fraction of the length, distance across) to points."""
    start, end = np.asarray(start, float), np.asarray(end, float)
    along = end - start
    across = np.array([-along[1], along[0]])
    across /= max(np.hypot(*across), 1e-300)
    return lambda s, n: start + np.multiply.outer(s, along) + np.multiply.outer(n, across)


def spring(ax, start, end, size: float, colour: str = STEEL, turns: int = 4) -> None:
    """A zigzag; `size` is half its width."""
    at = _between(start, end)
    s = np.concatenate([[0.0], np.linspace(0.25, 0.75, 2 * turns + 1), [1.0]])
    n = np.concatenate([[0.0, 0.0], size * np.resize([1.0, -1.0], 2 * turns - 1), [0.0, 0.0]])
    ax.plot(*at(s, n).T, color=colour, linewidth=1.1, solid_joinstyle="round")


def dashpot(ax, start, end, size: float, colour: str = STEEL) -> None:
    """A cylinder with a piston; `size` is half its width."""
    at = _between(start, end)
    for s, n in (
        ([0.0, 0.42], [0.0, 0.0]),
        ([0.62, 0.42, 0.42, 0.62], [size, size, -size, -size]),
        ([0.53, 0.53], [0.75 * size, -0.75 * size]),
        ([0.53, 1.0], [0.0, 0.0]),
    ):
        ax.plot(*at(np.array(s), np.array(n)).T, color=colour, linewidth=1.1)


def ground(ax, left: float, right: float, y: float, size: float) -> None:
    """A line with hatching below."""
    ax.plot([left, right], [y, y], color=INK, linewidth=1.4)
    for x in np.arange(left, right - 0.4 * size, 0.8 * size):
        ax.plot([x, x + 0.5 * size], [y - 0.5 * size, y], color=INK, linewidth=0.7)


def support(ax, point, held: set[str], size: float) -> None:
    """A block where rotation is held too, a triangle for a pin, a wheel for a roller, a cross for anything else."""
    x, y = point
    moves = {"x", "y", "axial", "lateral", "z"}
    if "rotation" in held and len(held & moves) >= 1:
        ax.add_patch(
            Rectangle(
                (x - size, y - size),
                2 * size,
                2 * size,
                facecolor=SOLID,
                edgecolor=INK,
                linewidth=0.8,
                hatch="////",
                zorder=1,
            )
        )
    elif len(held & moves) >= 2:
        ax.add_patch(
            Polygon(
                [(x, y), (x - size, y - 1.6 * size), (x + size, y - 1.6 * size)],
                facecolor=SOLID,
                edgecolor=INK,
                linewidth=0.9,
                zorder=1,
            )
        )
        ground(ax, x - 1.4 * size, x + 1.4 * size, y - 1.6 * size, 0.8 * size)
    elif held:
        ax.add_patch(Circle((x, y - 0.8 * size), 0.8 * size, facecolor="white", edgecolor=INK, linewidth=0.9, zorder=1))
        ground(ax, x - 1.4 * size, x + 1.4 * size, y - 1.6 * size, 0.8 * size)


def shake(ax, start, end, text: str, offset=(0, -9)) -> None:
    """A double arrow: the ground moves, a machine moves, a load acts."""
    ax.annotate(
        "", end, start, arrowprops={"arrowstyle": "<->", "color": INK, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
    )
    ax.update_datalim([start, end])
    middle = (0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1]))
    ax.annotate(text, middle, offset, textcoords="offset points", ha="center", va="top", fontsize=8)


def sensor_marks(ax, point, quantities: list[str], spacing: float, direction=(1.0, 0.0)) -> None:
    """One marker per quantity, in a row from a point."""
    for i, quantity in enumerate(quantities):
        x, y = point[0] + spacing * i * direction[0], point[1] + spacing * i * direction[1]
        ax.plot(
            x,
            y,
            MARKERS.get(quantity, "o"),
            color=SENSOR,
            markersize=7,
            markeredgecolor="white",
            markeredgewidth=0.5,
            zorder=5,
        )


def legend(ax, quantities, has_unknown: bool) -> None:
    """A legend of the markers, below the drawing."""
    handles = [
        Line2D(
            [], [], linestyle="", marker=MARKERS.get(q, "o"), color=SENSOR, markersize=6.5, label=q.replace("_", " ")
        )
        for q in dict.fromkeys(quantities)
    ]
    if has_unknown:
        handles.append(Line2D([], [], color=UNKNOWN, linewidth=2.0, label="with unknown parameters"))
    if handles:
        ax.legend(
            handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3, fontsize=8, handletextpad=0.4
        )


def bare(ax) -> None:
    """A drawing has no axes."""
    ax.set_aspect("equal")
    ax.margins(0.06)
    ax.axis("off")


def law_name(law) -> str:
    """`BoucWen`, or the laws of a `Parallel` joined by a plus."""
    inside = getattr(law, "laws", None)
    return " + ".join(law_name(own) for own in inside) if inside else type(law).__name__
