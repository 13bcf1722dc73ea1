"""Figures of records and spectra. Every function takes and returns axes; none opens a window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from vibrid.records.units import STANDARD_GRAVITY
from vibrid.report.style import CYCLE, FAINT, GRID, INK, LINE, MARK, label

_MOST = 8  # channels drawn one above another
_WORDS = {
    "ground_acceleration": "ground acceleration",
    "absolute_acceleration": "absolute acceleration",
    "element_force": "force",
    "ground_velocity": "ground velocity",
    "ground_displacement": "ground displacement",
    "drift_velocity": "drift velocity",
    "other": "",
}


def new_axes(rows: int = 1, width: float = 8.0, height: float = 2.2, **options) -> Any:
    """Figure and axes without a window: `Figure` objects need no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, max(3.2, height * rows)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, 1, **options)
    for axis in np.atleast_1d(axes):
        axis.set_prop_cycle(color=CYCLE)
    return axes


def _tidy(ax):
    ax.grid(True, color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def plot_record(record, ax=None, channels: Iterable[str] | None = None, peaks: bool = True):
    """Channels over time, one above another (the first eight); accelerations in g; the peak of each marked.

    With `ax` given, all chosen channels are drawn into it. Returns the axes, an array when there are several.
    """
    names = list(record.names if channels is None else channels)
    if ax is not None:
        unit = ""
        for name in names:
            values, unit = _in_g(record, name)
            ax.plot(record.time, values, linewidth=0.8, label=name)
        ax.set_xlabel("time [s]")
        ax.set_ylabel(f"[{unit}]" if names else "")
        ax.legend(frameon=False, fontsize=8)
        return _tidy(ax)
    left_out = names[_MOST:]
    names = names[:_MOST]
    axes = np.atleast_1d(new_axes(len(names), sharex=True))
    for axis, name in zip(axes, names, strict=True):
        values, unit = _in_g(record, name)
        axis.plot(record.time, values, color=LINE, linewidth=0.7)
        channel = record.channel(name)
        quantity = _WORDS.get(channel.quantity, channel.quantity)
        axis.set_ylabel(f"{quantity or name}\n[{unit or '-'}]", fontsize=8)
        place = " ".join(dict.fromkeys(w for w in (name, channel.location, channel.direction) if w))
        axis.set_title(place, fontsize=9, loc="left")
        if peaks and np.isfinite(values).any():
            top = int(np.nanargmax(np.abs(values)))
            axis.plot(record.time[top], values[top], "o", color=MARK, markersize=4)
            axis.annotate(
                f"{values[top]:.3g} {unit} at {record.time[top]:.2f} s",
                (record.time[top], values[top]),
                textcoords="offset points",
                xytext=(6, -3),
                fontsize=8,
                color=MARK,
            )
        _tidy(axis)
    axes[-1].set_xlabel("time [s]")
    more = f" (and {len(left_out)} more channels)" if left_out else ""
    axes[0].figure.suptitle(f"{record.name}{more}", fontsize=10)
    return axes if len(axes) > 1 else axes[0]


def plot_prepared(before, after):
    """The channels of a record before its preparation, in grey, and after it; returns the axes."""
    names = list(after.names)[:_MOST]
    axes = np.atleast_1d(new_axes(len(names), sharex=True))
    for axis, name in zip(axes, names, strict=True):
        for record, color, state in ((before, FAINT, "before"), (after, LINE, "after")):
            values, unit = _in_g(record, name)
            axis.plot(record.time, values, color=color, linewidth=0.8, label=state)
        axis.set_ylabel(f"[{unit or '-'}]", fontsize=8)
        axis.set_title(name, fontsize=9, loc="left")
        _tidy(axis)
    axes[0].legend(frameon=False, fontsize=8)
    axes[-1].set_xlabel("time [s]")
    axes[0].figure.suptitle(f"{after.name}: before and after", fontsize=10)
    return axes if len(axes) > 1 else axes[0]


def _in_g(record, name: str) -> tuple[np.ndarray, str]:
    unit = record.channel(name).unit
    return (record[name] / STANDARD_GRAVITY, "g") if unit == "m/s^2" else (record[name], unit)


def _plain_log(ax) -> None:
    """Decades with 2 and 5 between them, written as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def plot_spectrum(spectra, ax=None, target=None):
    """Pseudo-acceleration in g over the period, for one response spectrum or several; returns the axes."""
    several = list(spectra) if isinstance(spectra, Sequence) else [spectra]
    ax = new_axes(1, 6.5, 4.2) if ax is None else ax
    few = len(several) <= 8
    for spectrum in several:
        style = {"linewidth": 1.4, "label": spectrum.name} if few else {"linewidth": 0.7, "color": FAINT}
        ax.loglog(spectrum.periods, spectrum.pseudo_acceleration / STANDARD_GRAVITY, **style)
    if len(several) > 1:
        common = np.exp(np.mean([np.log(s.pseudo_acceleration) for s in several], axis=0))
        ax.loglog(several[0].periods, common / STANDARD_GRAVITY, color=INK, linewidth=2, label="geometric mean")
    if target is not None:
        _draw_target(ax, target)
    ax.set_xlabel("period [s]")
    ax.set_ylabel("pseudo-acceleration [g]")
    ax.set_title(f"response spectrum, {100 * several[0].damping:g} % damping", fontsize=10, loc="left")
    ax.set_xlim(several[0].periods[0], several[0].periods[-1])
    _plain_log(ax)
    ax.legend(frameon=False, fontsize=8)
    return _tidy(ax)


def _draw_target(ax, target) -> None:
    sa = target.acceleration / STANDARD_GRAVITY
    ax.loglog(target.periods, sa, color=MARK, linewidth=2, label=target.name)
    if target.deviation is not None:
        for sign in (-1, 1):
            ax.loglog(
                target.periods,
                sa * np.exp(sign * target.deviation),
                color=MARK,
                linewidth=1,
                linestyle="--",
                label="target ± one deviation" if sign > 0 else None,
            )


def plot_suite(suite, ax=None):
    """Spectra of a selected suite, their mean and scatter, against the target; returns the axes."""
    ax = new_axes(1, 6.5, 4.2) if ax is None else ax
    logs = np.log([m.acceleration / STANDARD_GRAVITY for m in suite.motions])
    for row in logs:
        ax.loglog(suite.periods, np.exp(row), color=FAINT, linewidth=0.8)
    mean, deviation = logs.mean(axis=0), logs.std(axis=0, ddof=1) if len(logs) > 1 else 0.0
    ax.loglog(suite.periods, np.exp(mean), color=INK, linewidth=2, label=f"mean of {len(logs)} motions")
    if suite.target.deviation is not None:
        for sign in (-1, 1):
            ax.loglog(
                suite.periods,
                np.exp(mean + sign * deviation),
                color=INK,
                linewidth=1,
                linestyle=":",
                label="suite ± one deviation" if sign > 0 else None,
            )
    _draw_target(ax, suite.target)
    ax.set_xlim(suite.periods[0], suite.periods[-1])
    inside = (suite.target.periods >= suite.periods[0]) & (suite.target.periods <= suite.periods[-1])
    everything = np.concatenate([np.exp(logs).ravel(), suite.target.acceleration[inside] / STANDARD_GRAVITY])
    ax.set_ylim(0.7 * everything.min(), 1.5 * everything.max())
    _plain_log(ax)
    ax.set_xlabel("period [s]")
    ax.set_ylabel("pseudo-acceleration [g]")
    ax.legend(frameon=False, fontsize=8)
    return _tidy(ax)


def plot_wavelet(wavelet, ax=None, lowest: float | None = None):
    """Amplitude over time and frequency; the parts disturbed by the record's ends are shaded. Returns the axes."""
    ax = new_axes(1, 8.0, 4.0) if ax is None else ax
    amplitude = np.abs(wavelet.coefficients)
    stride = max(1, amplitude.shape[1] // 2000)
    time, amplitude, reliable = wavelet.times[::stride], amplitude[:, ::stride], wavelet.reliable[:, ::stride]
    mesh = ax.pcolormesh(time, wavelet.frequencies, amplitude, shading="auto", cmap="Blues", rasterized=True)
    ax.contourf(time, wavelet.frequencies, np.where(reliable, 0.0, 1.0), levels=[0.5, 1.5], colors=FAINT, alpha=0.45)
    ax.set_yscale("log")
    if lowest is not None:
        ax.set_ylim(bottom=lowest)
    ax.set_xlabel("time [s]")
    ax.set_ylabel("frequency [Hz]")
    ax.set_title(wavelet.name, fontsize=9, loc="left")
    ax.figure.colorbar(mesh, ax=ax, label=label("amplitude", wavelet.unit or "-"))
    return ax


def save(ax, path) -> None:
    """Write the figure of the axes to a file (PNG, PDF, SVG by its ending)."""
    from vibrid.report.save import save_figure

    axis = ax if not isinstance(ax, np.ndarray) else ax.flat[0]
    save_figure(axis.figure, path, dpi=150)
