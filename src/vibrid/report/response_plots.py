"""Figures of the fit: overlays, residuals, spectra, loops. Every function takes and returns axes."""

from __future__ import annotations

import numpy as np

from vibrid.report.signals import (
    SensorTrace,
    amplitude_spectrum,
    autocorrelation,
    kept_samples,
    strong_part,
    worst,
    yielding_parts,
)
from vibrid.report.style import (
    BOUND,
    INK,
    MEASURED,
    PREDICTED,
    RESIDUAL,
    grid_of,
    label,
    legend_above,
    log_axis,
    new_axes,
    new_figure,
    readable_unit,
    styled,
)
from vibrid.simulation.response import Response

MOST_CHANNELS = 8
MOST_LOOPS = 6


def plot_overlay(trace: SensorTrace, ax=None, window: tuple[float, float] | None = None):
    """Measured and predicted over time; `window` (s) shows a part. Held-out samples are shaded."""
    with styled():
        ax = new_axes(8.0, 2.4) if ax is None else ax
        factor, unit = readable_unit(trace.unit, trace.largest, trace.quantity)
        inside = np.ones(len(trace.time), bool)
        if window is not None:
            inside = (trace.time >= window[0]) & (trace.time <= window[1])
        time, y, p = trace.time[inside], factor * trace.measured[inside], factor * trace.predicted[inside]
        kept = kept_samples(y, p, most=1200)
        close = window is not None
        ax.plot(time[kept], y[kept], color=MEASURED, linewidth=2.8 if close else 1.8, label="measured")
        ax.plot(time[kept], p[kept], color=PREDICTED, linewidth=0.9 if close else 0.7, label="predicted")
        _shade_unfitted(ax, trace, window)
        ax.set_xlim(time[0], time[-1])
        ax.set_xlabel("time [s]")
        ax.set_ylabel(label(trace.quantity, unit))
        ax.set_title(trace.name)
    return ax


def _shade_unfitted(ax, trace: SensorTrace, window) -> None:
    """Shade the end of a record that was held out."""
    if not trace.fitted.any() or trace.fitted.all():
        return
    last = trace.time[np.flatnonzero(trace.fitted)[-1]]
    end = trace.time[-1] if window is None else window[1]
    held_out = np.isfinite(trace.measured[trace.time > last]).any()
    if held_out and last < end:
        ax.axvspan(last, end, color=BOUND, alpha=0.12, linewidth=0, label="held out")


def overlay_figure(traces: list[SensorTrace], most: int = MOST_CHANNELS):
    """Whole records beside their strong part, one row per channel; the worst `most` channels where there are more."""
    chosen = worst(traces, most)
    window = strong_part(traces)
    figure = new_figure(9.5, 0.5 + 1.55 * len(chosen))
    with styled():
        axes = figure.subplots(len(chosen), 2, squeeze=False, width_ratios=[1.45, 1], sharex="col")
        for trace, (whole, part) in zip(chosen, axes, strict=True):
            plot_overlay(trace, whole)
            whole.axvspan(*window, color=INK, alpha=0.05, linewidth=0)
            plot_overlay(trace, part, window)
            part.set_title(f"strong part; error {100 * trace.relative:.2g} %", color="#4b5660", fontsize=8.5)
            part.set_ylabel("")
            whole.set_ylabel(whole.get_ylabel().replace(" [", "\n["))
        for ax in axes[:-1].ravel():
            ax.set_xlabel("")
        legend_above(figure, axes[0, 0])
    return figure


# -- residuals -----------------------------------------------------------------------------------------------------


def plot_residual(trace: SensorTrace, ax=None):
    """Measured − predicted over time."""
    with styled():
        ax = new_axes(8.0, 2.2) if ax is None else ax
        factor, unit = readable_unit(trace.unit, np.nanmax(np.abs(trace.residual)), trace.quantity)
        r = factor * trace.residual
        kept = kept_samples(r, most=1200)
        ax.plot(trace.time[kept], r[kept], color=RESIDUAL, linewidth=0.6)
        ax.axhline(0, color=INK, linewidth=0.6)
        ax.set_xlim(trace.time[0], trace.time[-1])
        ax.set_xlabel("time [s]")
        ax.set_ylabel(label("residual", unit))
        ax.set_title(trace.name)
    return ax


def plot_autocorrelation(trace: SensorTrace, ax=None, lags: int = 50):
    """Autocorrelation of the residual; noise stays inside the shaded limits ± 1.96/√n at 19 lags of 20."""
    with styled():
        ax = new_axes(4.5, 2.4) if ax is None else ax
        rho = autocorrelation(trace.residual, lags)
        limit = 1.96 / np.sqrt(max(int(np.isfinite(trace.residual).sum()), 1))
        ax.axhspan(-limit, limit, color=BOUND, alpha=0.35, linewidth=0, label="95 % limits of white noise")
        ax.vlines(np.arange(1, len(rho)), 0, rho[1:], color=RESIDUAL, linewidth=1.4)
        ax.axhline(0, color=INK, linewidth=0.6)
        reach = max(4 * limit, 1.15 * np.abs(rho[1:]).max())
        ax.set_ylim(-reach, reach)
        ax.set_xlabel("lag [samples]")
        ax.set_ylabel("autocorrelation [-]")
        ax.set_title(trace.name)
    return ax


def plot_residual_spectrum(trace: SensorTrace, ax=None):
    """Amplitude spectrum of the residual over that of the signal: noise is flat, a missing mode is a peak."""
    with styled():
        ax = new_axes(4.5, 2.4) if ax is None else ax
        factor, unit = readable_unit(trace.unit, trace.largest, trace.quantity)
        for values, colour, name in ((trace.measured, MEASURED, "measured"), (trace.residual, RESIDUAL, "residual")):
            frequency, amplitude = amplitude_spectrum(values, trace.step, bands=120)
            ax.loglog(frequency, factor * amplitude, color=colour, linewidth=1.0, label=name)
        _frequency_axis(ax, trace, unit)
    return ax


def residual_figure(traces: list[SensorTrace], most: int = 6):
    """Residual over time, its autocorrelation and its spectrum, one row per channel; the worst where there are many."""
    chosen = worst(traces, most)
    figure = new_figure(9.5, 0.5 + 1.6 * len(chosen))
    with styled():
        axes = figure.subplots(len(chosen), 3, squeeze=False, width_ratios=[1.5, 1, 1], sharex="col")
        for trace, (history, correlogram, spectrum) in zip(chosen, axes, strict=True):
            plot_residual(trace, history)
            plot_autocorrelation(trace, correlogram).set(title="", ylabel="auto-\ncorrelation [-]")
            plot_residual_spectrum(trace, spectrum).set_title("")
            for ax in (history, spectrum):
                ax.set_ylabel(ax.get_ylabel().replace(" [", "\n["))
        for ax in axes[:-1].ravel():
            ax.set_xlabel("")
        legend_above(figure, axes[0, 1], axes[0, 2])
    return figure


# -- spectra and loops ---------------------------------------------------------------------------------------------


def plot_spectrum(trace: SensorTrace, ax=None):
    """Fourier amplitude of the measured and the predicted signal."""
    with styled():
        ax = new_axes(4.5, 2.6) if ax is None else ax
        factor, unit = readable_unit(trace.unit, trace.largest, trace.quantity)
        gap = ~np.isfinite(trace.measured)
        pairs = (
            (trace.measured, MEASURED, 2.6, "measured"),
            (np.where(gap, np.nan, trace.predicted), PREDICTED, 0.9, "predicted"),
        )
        for values, colour, width, name in pairs:
            frequency, amplitude = amplitude_spectrum(values, trace.step, bands=250)
            ax.loglog(frequency, factor * amplitude, color=colour, linewidth=width, label=name)
        _frequency_axis(ax, trace, unit)
    return ax


def _frequency_axis(ax, trace: SensorTrace, unit: str) -> None:
    ax.set_xlim(max(2.0 / (trace.time[-1] - trace.time[0]), 1e-3), 0.5 / trace.step)
    log_axis(ax.xaxis)
    log_axis(ax.yaxis)
    ax.set_xlabel("frequency [Hz]")
    ax.set_ylabel(label("amplitude", f"{unit} s".strip()))
    ax.set_title(trace.name)


def spectra_figure(traces: list[SensorTrace], most: int = MOST_CHANNELS):
    """Fourier spectra of the worst `most` channels."""
    chosen = worst(traces, most)
    figure, axes = grid_of(len(chosen), 3, height=2.2)
    for trace, ax in zip(chosen, axes, strict=True):
        plot_spectrum(trace, ax)
    legend_above(figure, axes[0])
    return figure


def plot_loop(response: Response, part: str, ax=None):
    """Force over deformation of one part of the identified structure."""
    with styled():
        ax = new_axes(3.6, 3.2) if ax is None else ax
        deformation, force = response.part(part)
        x_factor, x_unit = readable_unit("m", np.abs(deformation).max())
        y_factor, y_unit = readable_unit("N", np.abs(force).max())
        even = np.linspace(0, len(force) - 1, min(len(force), 1800)).astype(int)
        kept = np.union1d(even, kept_samples(deformation, force, most=1000))
        ax.plot(x_factor * deformation[kept], y_factor * force[kept], color=PREDICTED, linewidth=0.7)
        ax.set_xlabel(label("deformation", x_unit))
        ax.set_ylabel(label("force", y_unit))
        ax.set_title(part)
    return ax


def loops_figure(response: Response, most: int = MOST_LOOPS):
    """Loops of the first parts whose law is not linear; None where every part is linear."""
    parts = yielding_parts(response)
    if not parts:
        return None
    figure, axes = grid_of(len(parts[:most]), 3, height=2.9)
    for part, ax in zip(parts[:most], axes, strict=True):
        plot_loop(response, part, ax)
    return figure
