"""Figures of a hybrid test: displacements and forces over time, loops, tracking, and timing."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import MaxNLocator

from vibrid.report.frame_plots import plot_moment_curvature
from vibrid.report.response_plots import kept_samples
from vibrid.report.style import (
    BOUND,
    CYCLE,
    INK,
    MEASURED,
    PREDICTED,
    RESIDUAL,
    grid_of,
    label,
    log_axis,
    new_axes,
    new_figure,
    readable_unit,
    styled,
)

_MOST = 1600  # points of a line over time


def plot_place(result, place: str, ax=None):
    """Displacement of one place of the structure over time."""
    with styled():
        ax = new_axes(8.0, 2.2) if ax is None else ax
        x = result.displacement(place)
        factor, unit = readable_unit("m", np.abs(x).max())
        kept = kept_samples(x, most=_MOST)
        ax.plot(result.response.time[kept], factor * x[kept], color=PREDICTED, linewidth=0.8)
        _over_time(ax, result.response.time, f"displacement of {place}", unit)
    return ax


def plot_force(result, name: str, ax=None):
    """Force of one device over time."""
    with styled():
        ax = new_axes(8.0, 2.2) if ax is None else ax
        f = result.devices[f"{name}.force"]
        factor, unit = readable_unit("N", np.abs(f).max())
        kept = kept_samples(f, most=_MOST)
        ax.plot(result.devices.time[kept], factor * f[kept], color=RESIDUAL, linewidth=0.7)
        _over_time(ax, result.devices.time, "force", unit)
        ax.set_title(name.replace("_", " "))
    return ax


def plot_loop(result, name: str, ax=None):
    """Force over measured displacement of one device."""
    with styled():
        ax = new_axes(3.8, 3.2) if ax is None else ax
        x, f = result.devices[f"{name}.displacement"], result.devices[f"{name}.force"]
        (long, length), (strong, force) = readable_unit("m", np.abs(x).max()), readable_unit("N", np.abs(f).max())
        tested = name in [p.name for p in result.test.experimental]
        ax.plot(long * x, strong * f, color=INK if tested else PREDICTED, linewidth=0.6)
        ax.set_xlabel(label("deformation", length))
        ax.set_ylabel(label("force", force))
        ax.set_title(f"{name.replace('_', ' ')} ({'tested' if tested else 'modelled'})")
    return ax


def history_figure(result, place: str):
    """Displacement of a place, and the force of every device, over time."""
    names = [p.name for p in result.test.parts]
    figure = new_figure(8.6, 1.7 * (1 + len(names)) + 0.4)
    with styled():
        axes = figure.subplots(1 + len(names), 1, sharex=True, squeeze=False)[:, 0]
        plot_place(result, place, axes[0])
        for name, ax in zip(names, axes[1:], strict=True):
            plot_force(result, name, ax)
        for ax in axes[:-1]:
            ax.set_xlabel("")
    return figure


def loops_figure(result):
    """The loop of every device."""
    names = [p.name for p in result.test.parts]
    figure, axes = grid_of(len(names), 3, width=10.5, height=3.0)
    for name, ax in zip(names, axes, strict=True):
        plot_loop(result, name, ax)
    return figure


def tracking_figure(result, name: str, seconds: float = 2.0):
    """Target, command and measured displacement about the strongest motion; the error over the whole test; measured
    over target (a straight line where tracking is perfect)."""
    target, command, measured = (result.devices[f"{name}.{what}"] for what in ("target", "command", "displacement"))
    time = result.devices.time
    middle = time[int(np.argmax(np.abs(target)))]
    near = (time > middle - 0.5 * seconds) & (time < middle + 0.5 * seconds)
    factor, unit = readable_unit("m", np.abs(target).max())
    figure = new_figure(9.6, 4.6)
    with styled():
        grid = figure.add_gridspec(2, 3)
        ax = figure.add_subplot(grid[0, :2])
        ax.plot(time[near], factor * target[near], color=MEASURED, linewidth=2.6, label="target")
        ax.plot(time[near], factor * command[near], color=BOUND, linewidth=0.9, linestyle="--", label="command")
        ax.plot(time[near], factor * measured[near], color=PREDICTED, linewidth=0.9, label="measured")
        _over_time(ax, time[near], "displacement", unit)
        ax.set_ylim(top=1.35 * ax.get_ylim()[1])  # room for the legend
        ax.legend(loc="upper right", ncols=3)
        ax.set_title(f"{name.replace('_', ' ')}, about the strongest motion")
        error = measured - target
        error_factor, error_unit = readable_unit("m", np.abs(error).max())
        ax = figure.add_subplot(grid[1, :2])
        kept = kept_samples(error, most=_MOST)
        ax.plot(time[kept], error_factor * error[kept], color=RESIDUAL, linewidth=0.6)
        _over_time(ax, time, "measured − target", error_unit)
        ax = figure.add_subplot(grid[:, 2])
        ax.plot(factor * target, factor * measured, color=PREDICTED, linewidth=0.6)
        ax.set_xlabel(label("target", unit))
        ax.set_ylabel(label("measured", unit))
        ax.set_title("synchronisation")
    return figure


def moment_curvature_figure(response, places: list[tuple[int, int, str]]):
    """Moment over curvature of sections (member, section, title) of a fibre frame."""
    figure, axes = grid_of(len(places), 3, width=10.5, height=3.0)
    for (member, section, title), ax in zip(places, axes, strict=True):
        plot_moment_curvature(response, member, section, ax)
        name_section(ax, title)
    return figure


def name_section(ax, title: str) -> None:
    """Set the title of a plot of moment and curvature, and a few ticks."""
    with styled():
        ax.set_title(title)
        ax.xaxis.set_major_locator(MaxNLocator(5))


def timing_figure(seconds: dict[str, np.ndarray], due: float | None = None):
    """Histograms of durations (s) on logarithmic axes, one panel each; `due` (s) marks the time available."""
    figure, axes = grid_of(len(seconds), 2, width=9.6, height=2.6)
    with styled():
        for (name, values), ax in zip(seconds.items(), axes, strict=True):
            micro = np.maximum(1e6 * np.asarray(values), 0.1)
            edges = np.geomspace(0.9 * micro.min(), 1.1 * max(micro.max(), 2 * micro.min()), 50)
            ax.hist(micro, edges, color=CYCLE[0])
            if due is not None:
                ax.axvline(1e6 * due, color=RESIDUAL, linewidth=1.0, label="time available")
                ax.legend(loc="upper left")
            ax.set_xscale("log")
            ax.set_yscale("log")
            log_axis(ax.yaxis)
            ax.set_xlabel(label(name, "µs"))
            ax.set_ylabel("count")
    return figure


def _over_time(ax, time, quantity: str, unit: str) -> None:
    ax.set_xlim(time[0], time[-1])
    ax.set_xlabel(label("time", "s"))
    ax.set_ylabel(label(quantity, unit).replace(" [", "\n["))
