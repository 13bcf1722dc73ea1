"""Figures of a fibre frame: moment over curvature, stress over strain, drifts and base shear."""

from __future__ import annotations

import numpy as np

from vibrid.report.style import CYCLE, INK, PREDICTED, RESIDUAL, grid_of, label, new_axes, styled
from vibrid.simulation.fiber_response import base_shear, fibre_history, section_history


def plot_moment_curvature(response, member: int, section: int = 0, ax=None):
    """Moment over curvature of one section of a member (0 at its first node, −1 at its last)."""
    with styled():
        ax = new_axes(3.8, 3.2) if ax is None else ax
        history = section_history(response, member, section)
        ax.plot(history.curvature, history.moment / 1e3, color=PREDICTED, linewidth=0.7)
        ax.set_xlabel(label("curvature", "1/m"))
        ax.set_ylabel(label("moment", "kN m"))
        ax.set_title(f"member {member}, section {section}")
    return ax


def plot_fibre(response, member: int, section: int = 0, height: float = 0.0, kind: str = "concrete", ax=None):
    """Stress over strain of the fibre of "concrete" or "steel" nearest a height (m above mid-depth)."""
    with styled():
        ax = new_axes(3.8, 3.2) if ax is None else ax
        history = fibre_history(response, member, section, height, kind)
        colour = RESIDUAL if kind == "steel" else INK
        ax.plot(1e3 * history.strain, history.stress / 1e6, color=colour, linewidth=0.7)
        ax.set_xlabel(label("strain", "‰"))
        ax.set_ylabel(label("stress", "MPa"))
        ax.set_title(f"{kind} {1e3 * history.height:.0f} mm, member {member}, section {section}")
    return ax


def plot_drifts(response, ax=None):
    """Drift of every storey over time, as a share of its height."""
    frame = response.structure
    with styled():
        ax = new_axes(8.0, 2.6) if ax is None else ax
        levels: dict[float, int] = {}
        for i, (_, y) in enumerate(frame.nodes):
            levels.setdefault(y, i)
        below = None
        for storey, (y, node) in enumerate(sorted(levels.items())):
            moves = f"{node}.x" in frame.degrees_of_freedom
            x = response.displacement @ frame.row(f"{node}.x") if moves else np.zeros(len(response.displacement))
            if below is not None:
                drift = 100 * (x - below[1]) / (y - below[0])
                ax.plot(response.time, drift, color=CYCLE[storey - 1], linewidth=0.8, label=f"storey {storey - 1}")
            below = y, x
        ax.set_xlim(response.time[0], response.time[-1])
        ax.set_xlabel(label("time", "s"))
        ax.set_ylabel(label("drift", "%"))
        ax.legend(loc="upper right", ncols=4)
    return ax


def plot_base_shear(response, place: str, ax=None):
    """Base shear over the displacement of a place: the loop, or the pushover curve, of the whole frame."""
    with styled():
        ax = new_axes(4.6, 3.2) if ax is None else ax
        x = response.displacement @ response.structure.row(place)
        ax.plot(1e3 * x, -base_shear(response) / 1e3, color=PREDICTED, linewidth=0.8)
        ax.set_xlabel(label(f"displacement of {place}", "mm"))
        ax.set_ylabel(label("base shear", "kN"))
    return ax


def frame_figure(response, member: int = 0, section: int = 0):
    """One section of a member: its moment over curvature, and the stress over strain of its outer fibres."""
    cross_section = response.structure.section_of(response.structure.members[member])
    figure, axes = grid_of(4, 2, height=2.9)
    edge = 0.5 * float(cross_section.depth)
    plot_moment_curvature(response, member, section, axes[0])
    plot_fibre(response, member, section, edge, "steel", axes[1])
    plot_fibre(response, member, section, edge, "concrete", axes[2])
    plot_fibre(response, member, section, 0.98 * (edge - float(cross_section.cover)), "concrete", axes[3])
    return figure
