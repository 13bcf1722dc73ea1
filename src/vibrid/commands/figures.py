"""Figures of simulated tests: histories beside the loops of the parts that yield."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from vibrid.records.units import from_si
from vibrid.report.signals import yielding_parts
from vibrid.report.style import FAINT, GRID, LINE, MARK

_HISTORIES, _LOOPS = 5, 3


def response_figure(response, readings, units, title: str = "") -> Figure:
    """Histories of the excitation and the first sensors, and the loops of the first parts with nonlinear laws.

    `units` gives the unit of channels that are not drawn in SI.
    """
    channels = readings.channels[: _HISTORIES + 1]
    loops = yielding_parts(response)[:_LOOPS]
    figure = Figure(figsize=(11 if loops else 8, max(3.6, 1.45 * len(channels))), layout="constrained")
    ratios = [2.3, 1] if loops else [1]
    sides = figure.subfigures(1, len(ratios), width_ratios=ratios, squeeze=False)[0]
    histories = np.atleast_1d(sides[0].subplots(len(channels), 1, sharex=True))
    for ax, channel in zip(histories, channels, strict=True):
        draw_history(ax, readings, channel, units)
    histories[-1].set_xlabel("time [s]", fontsize=8)
    if loops:
        for ax, part in zip(np.atleast_1d(sides[1].subplots(len(loops), 1)), loops, strict=True):
            draw_loop(ax, response, part)
    left_out = len(readings.channels) - len(channels)
    more = f" (and {left_out} more channels)" if left_out > 0 else ""
    figure.suptitle(f"{title}{more}", fontsize=11, fontweight="bold")
    return figure


def draw_history(ax, record, channel, units):
    """One channel over time, its peak marked."""
    unit = units.get(channel.name, channel.unit)
    values = from_si(record[channel.name], unit, channel.unit)
    symbol = (unit or "-").replace("^2", "²")
    colour = FAINT if channel.quantity.startswith(("ground", "load", "imposed")) else LINE
    ax.plot(record.time, values, color=colour, linewidth=0.7)
    top = int(np.nanargmax(np.abs(values)))
    ax.plot(record.time[top], values[top], "o", color=MARK, markersize=3.5)
    where = {"xy": (record.time[top], values[top]), "xytext": (6, -3), "textcoords": "offset points"}
    ax.annotate(f"{values[top]:.3g} {symbol}", **where, fontsize=8, color=MARK)
    ax.set_title(channel.name.replace("_", " "), fontsize=8, loc="left", pad=2)
    ax.set_ylabel(f"[{symbol}]", fontsize=8)
    ax.margins(x=0.01, y=0.12)
    return _tidy(ax)


def draw_loop(ax, response, part: str, unit: str = "mm", force: str = "kN"):
    """Force over deformation of one part."""
    deformation, resistance = response.part(part)
    ax.plot(from_si(deformation, unit), from_si(resistance, force), color=LINE, linewidth=0.7)
    ax.set_title(f"{part}", fontsize=8, loc="left", pad=2)
    ax.set_xlabel(f"deformation [{unit}]", fontsize=8)
    ax.set_ylabel(f"force [{force}]", fontsize=8)
    return _tidy(ax)


def _tidy(ax):
    ax.grid(True, color=GRID, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
    return ax
