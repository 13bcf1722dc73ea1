"""Figures of identified loads."""

from __future__ import annotations

import numpy as np

from vibrid.core.moved import renamed_arguments
from vibrid.identification.loads.estimate import LoadEstimate
from vibrid.report import style


@renamed_arguments(truth="reference")
def plot_loads(found: LoadEstimate, ax=None, reference=None):
    """Every load over time with ± 2σ; `reference`: true values (samples,) or (samples, loads). Returns figure or axes.

    With axes given, the first load is drawn on them.
    """
    if ax is not None:
        return _one(found, 0, ax, reference)
    figure, axes = style.grid_of(len(found.names), 1, width=8.0, height=2.8)
    for i, panel in enumerate(axes):
        _one(found, i, panel, reference)
    return figure


def _one(found: LoadEstimate, i: int, ax, reference):
    kind = "load" if found.units[i] == "N" else "ground acceleration"
    factor, unit = style.readable_unit(found.units[i], float(np.max(np.abs(found.values[:, i]))), kind)
    value, band = factor * found.values[:, i], 2.0 * factor * found.deviation[:, i]
    if reference is not None:
        true = factor * np.asarray(reference, float).reshape(len(found.time), -1)[:, i]
        ax.plot(found.time, true, color=style.TRUTH, lw=2.2, label="true")
    if np.isfinite(band).all():
        ax.fill_between(found.time, value - band, value + band, color=style.PREDICTED, alpha=0.25, lw=0, label="± 2σ")
    ax.plot(found.time, value, color=style.PREDICTED, lw=1.0, label="estimate")
    ax.set(
        xlabel="time [s]", ylabel=style.label(f"{kind} at {found.names[i]}", unit), xlim=(found.time[0], found.time[-1])
    )
    ax.legend(loc="upper right", ncols=3)
    return ax
