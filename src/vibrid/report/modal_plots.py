"""Figures of modes, computed or measured: shapes, stabilisation diagram, singular values of the spectra."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from vibrid.core.errors import InputError
from vibrid.modal.measured import MeasuredModes
from vibrid.report.style import (
    CYCLE,
    INK,
    MEASURED,
    PREDICTED,
    RESIDUAL,
    grid_of,
    label,
    legend_above,
    log_axis,
    new_axes,
    styled,
)
from vibrid.structures.base import Structure
from vibrid.structures.modes import Modes, StructureModes
from vibrid.structures.pairing import pair_modes

MOST_SHAPES = 12
"""Shapes that are drawn."""


def degrees_of_freedom(structure: Structure, count: int) -> list[str]:
    """Names of the degrees of freedom; numbers where the structure has none."""
    names = getattr(structure, "degrees_of_freedom", None)
    names = names() if callable(names) else names
    return [str(n) for n in names] if names is not None and len(names) == count else [str(i) for i in range(count)]


def names_of_rows(modes: Modes) -> list[str]:
    """What the rows of the shapes are called."""
    if isinstance(modes, StructureModes):
        return degrees_of_freedom(modes.structure, modes.shapes.shape[0])
    return list(modes.places)


def plot_modes(modes: Modes, other: Modes | None = None) -> Figure:
    """`Modes.plot`: shapes of the first modes, each scaled to 1; measured ones with ± 2σ, paired ones beside them."""
    count = min(len(modes), MOST_SHAPES)
    names = names_of_rows(modes)
    paired, places = {}, None
    if other is not None:
        found = pair_modes(modes, other)
        paired, places = dict(found.pairs), found.places
    rows = np.arange(len(names)) if places is None else np.arange(len(places))
    names = names if places is None else list(places)
    figure, axes = grid_of(count, 3 if count < 5 else 4, width=9.0, height=2.1)
    with styled():
        for i, ax in enumerate(axes):
            shape = modes.shapes[:, i] if places is None else np.array([modes.at(place)[i] for place in places])
            size = np.abs(shape).max()
            words = "measured" if isinstance(modes, MeasuredModes) else "computed"
            if isinstance(modes, MeasuredModes) and len(shape) == len(modes.shapes):
                bars = np.nan_to_num(2 * modes.shape_deviations[:, i] / size)
                ax.errorbar(shape / size, rows, xerr=bars, fmt="o-", markersize=3, label=words, elinewidth=2.2)
            else:
                ax.plot(shape / size, rows, "o-", markersize=3, label=words)
            title = f"{i + 1}: {modes.frequencies[i]:.4g} Hz"
            if i in paired and other is not None and places is not None:
                beside = np.array([other.at(place)[paired[i]] for place in places])
                beside = beside * (beside @ shape) / (beside @ beside)
                ax.plot(beside / size, rows, "s--", markersize=3, color=RESIDUAL, label="paired")
                title += f" / {other.frequencies[paired[i]]:.4g} Hz"
            ax.axvline(0.0, color="#6b7680", linewidth=0.7)
            ax.set_title(title)
            if len(names) <= 12:
                ax.set_yticks(rows, names)
            ax.set_xlim(-1.25, 1.25)
            ax.set_ylabel("degree of freedom" if isinstance(modes, StructureModes) and places is None else "place")
    if paired:
        legend_above(figure, axes[0])
    return figure


def plot_stabilisation(modes: MeasuredModes, ax=None):
    """Poles of all model orders over frequency, as automatic selection sorted them, and the first singular value."""
    diagram = modes.diagram
    if diagram is None:
        raise InputError(f"Modes found by {modes.method} have no stabilisation diagram: it belongs to model orders.")
    with styled():
        ax = new_axes(9.0, 4.2) if ax is None else ax
        kinds = ((0, "x", MEASURED, "spurious"), (1, "o", CYCLE[4], "stable"), (2, "o", PREDICTED, "of a mode"))
        for kind, marker, colour, words in kinds:
            own = diagram.kind == kind
            style = {"color": colour, "markersize": 2.8, "linewidth": 0, "label": words}
            ax.plot(diagram.frequency[own], diagram.order[own], marker, **style)
        for f in modes.frequencies:
            ax.axvline(f, color=RESIDUAL, linewidth=0.7, zorder=0)
        ax.set(xlabel=label("frequency", "Hz"), ylabel="order of the model")
        top = modes.spectra.frequencies[-1] if modes.spectra is not None else float(diagram.frequency.max())
        ax.set_xlim(0.0, top)
        if modes.spectra is not None:
            beside = ax.twinx()
            beside.semilogy(
                modes.spectra.frequencies[1:], modes.spectra.values[1:, 0], color=INK, linewidth=0.6, alpha=0.5
            )
            beside.set_yticks([], [])
            beside.set_yticks([], [], minor=True)
            beside.grid(False)
        legend_above(ax.figure, ax)
    return ax


def plot_singular_values(modes: MeasuredModes, ax=None):
    """Singular values of the cross spectra over frequency; lines at the modes."""
    spectra = modes.spectra
    if spectra is None:
        raise InputError("These modes come without spectra: `ssi` and `fdd` make them.")
    with styled():
        ax = new_axes(9.0, 3.2) if ax is None else ax
        for i, values in enumerate(spectra.values.T[:6]):
            style = {"color": CYCLE[i], "linewidth": 0.6 if i else 0.9, "label": f"singular value {i + 1}"}
            ax.semilogy(spectra.frequencies[1:], np.maximum(values[1:], 1e-300), **style)
        for f in modes.frequencies:
            ax.axvline(f, color=RESIDUAL, linewidth=0.7, zorder=0)
        high = float(spectra.values[1:, 0].max())
        low = max(float(np.quantile(spectra.values[1:, min(5, spectra.values.shape[1] - 1)], 0.05)), 1e-9 * high)
        ax.set_ylim(0.3 * low, 3.0 * high)
        log_axis(ax.yaxis)
        ax.set(xlabel=label("frequency", "Hz"), ylabel="spectral density")
        ax.set_xlim(0.0, spectra.frequencies[-1])
        ax.legend(loc="upper right")
    return ax
