"""Figures of a watched structure: series with bands, the chart, changes of parameters."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from vibrid.monitor.series import Series
from vibrid.monitor.tracker import Watch
from vibrid.report.style import INK, PREDICTED, RESIDUAL, grid_of, log_axis, new_axes, styled

MOST_PANELS = 16


def plot_series(found: Watch) -> Figure:
    """Every quantity over time with ± 2σ, what the environment explains, the training, and the alarm."""
    series = found.series
    names = series.names[:MOST_PANELS]
    with styled():
        figure, panels = grid_of(len(names), 2, sharex=True)
        explained = _explained(found)
        for i, (ax, name) in enumerate(zip(panels, names, strict=False)):
            y, s = series.values[:, i], 2 * np.nan_to_num(series.deviations[:, i])
            ax.fill_between(series.starts, y - s, y + s, color=PREDICTED, alpha=0.25, lw=0)
            ax.plot(series.starts, y, ".", ms=2.5, color=INK)
            if explained is not None:
                ax.plot(series.starts, explained[:, i], color=PREDICTED, lw=0.8)
            _marks(ax, found)
            ax.set_title(name, fontsize=9)
            ax.tick_params(axis="x", rotation=30)
    return figure


def plot_chart(found: Watch) -> Figure:
    """The chance of what each span shows, were nothing changed, and the level of an alarm."""
    with styled():
        ax = new_axes(8.5, 2.8)
        if found.reading is not None:
            starts = found.series.starts[found.training :]
            for column, span in enumerate(found.reading.spans):
                chances = found.reading.chances[:, column]
                known = np.isfinite(chances)
                label = f"mean of {span} windows" if span > 1 else "single windows"
                ax.plot(starts[known], np.maximum(chances[known], 1e-30), ".", ms=3, label=label)
            ax.axhline(found.reading.level, color=RESIDUAL, lw=1.0, label="alarm below")
            log_axis(ax.yaxis)
            ax.legend(fontsize=8)
        ax.set_ylabel("chance if sound")
        _marks(ax, found)
    assert isinstance(ax.figure, Figure)
    return ax.figure


def plot_location(found: Watch) -> Figure:
    """The change of every parameter in %, with ± 2σ, all of them free; those that explain the change are coloured."""
    location = found.location
    assert location is not None
    with styled():
        ax = new_axes(7.5, 1.1 + 0.3 * len(location.names))
        rows = np.arange(len(location.names))
        colours = [RESIDUAL if i in location.chosen else INK for i in rows]
        ax.barh(rows, 100 * np.nan_to_num(location.all_changes), color=colours, alpha=0.6)
        ax.errorbar(
            100 * location.all_changes, rows, xerr=200 * location.all_deviations, fmt="none", ecolor=INK, lw=1.0
        )
        ax.axvline(0.0, color=INK, lw=0.8)
        ax.set_yticks(rows, location.names)
        ax.invert_yaxis()
        ax.set_xlabel("change / %")
    assert isinstance(ax.figure, Figure)
    return ax.figure


def plot_events(series: Series) -> Figure:
    """Every parameter that events gave, over time, with ± 2σ."""
    names = series.names[:MOST_PANELS]
    with styled():
        figure, panels = grid_of(len(names), 2, sharex=True)
        for i, (ax, name) in enumerate(zip(panels, names, strict=False)):
            error = 2 * np.nan_to_num(series.deviations[:, i])
            ax.errorbar(series.starts, series.values[:, i], yerr=error, fmt="o", ms=3.5, color=INK, ecolor=PREDICTED)
            ax.set_title(name, fontsize=9)
            ax.tick_params(axis="x", rotation=30)
    return figure


def _explained(found: Watch) -> np.ndarray | None:
    """(w, q) what the regression expects, where all quantities are watched."""
    base = found.baseline
    if base is None or base.slow.shape[1]:
        return None
    return np.exp(base.regressors(found.series.environment) @ base.coefficients)


def _marks(ax, found: Watch) -> None:
    """The end of the training and the first alarm."""
    if found.baseline is not None:
        ax.axvline(found.series.starts[found.training], color=INK, lw=0.6, ls=":")
    if found.alarm is not None:
        ax.axvline(found.alarm, color=RESIDUAL, lw=1.2)
