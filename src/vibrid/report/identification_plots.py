"""Figures of an identification, a validation and a comparison, and the single plots they consist of."""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.figure import Figure

from vibrid.identification.compare import Comparison
from vibrid.identification.result import Identification, Validation
from vibrid.report.parameter_plots import (
    convergence_figure,
    plot_convergence,
    plot_correlation,
    plot_intervals,
    plot_misfit,
    plot_samples,
    samples_figure,
)
from vibrid.report.response_plots import (
    loops_figure,
    overlay_figure,
    plot_autocorrelation,
    plot_loop,
    plot_overlay,
    plot_residual,
    plot_residual_spectrum,
    plot_spectrum,
    residual_figure,
    spectra_figure,
)
from vibrid.report.signals import strong_part, traces_of, traces_of_validation, worst
from vibrid.report.style import BOUND, CYCLE, INK, RESIDUAL, TRUTH, legend_above, log_axis, new_axes, new_figure, styled

__all__ = [
    "convergence_figure",
    "loops_figure",
    "overlay_figure",
    "plot_autocorrelation",
    "plot_comparison",
    "plot_convergence",
    "plot_correlation",
    "plot_estimates",
    "plot_identification",
    "plot_intervals",
    "plot_loop",
    "plot_misfit",
    "plot_overlay",
    "plot_ratio_and_time",
    "plot_residual",
    "plot_residual_spectrum",
    "plot_samples",
    "plot_spectrum",
    "plot_validation",
    "residual_figure",
    "samples_figure",
    "spectra_figure",
]


def plot_identification(fit: Identification, record: int = 0) -> Figure:
    """The result on one page: intervals and correlations, the worst channels, and residuals."""
    traces = traces_of(fit, record)
    chosen = worst(traces, 3)
    top = 1.6 + 0.27 * min(len(fit.names), 20)
    middle = 0.5 + 1.5 * len(chosen)
    figure = new_figure(11.0, 0.8 + top + middle + 2.6)
    with styled():
        figure.suptitle("\n".join(textwrap.wrap(f"{fit.method}: {fit.verdict}", 120)), fontsize=10.5, x=0.01, ha="left")
        upper, between, lower = figure.subfigures(3, 1, height_ratios=[top, middle, 2.6], squeeze=False)[:, 0]
        left, right = upper.subplots(1, 2, width_ratios=[1.5, 1])
        plot_intervals(fit, left)
        plot_correlation(fit, right).set_title("correlation of the estimates")
        window = strong_part(traces)
        rows = between.subplots(len(chosen), 2, squeeze=False, width_ratios=[1.6, 1], sharex="col")
        for trace, (whole, part) in zip(chosen, rows, strict=True):
            plot_overlay(trace, whole)
            plot_overlay(trace, part, window).set(title=f"strong part; error {100 * trace.relative:.2g} %", ylabel="")
            whole.set_ylabel(whole.get_ylabel().replace(" [", "\n["))
        for ax in rows[:-1].ravel():
            ax.set_xlabel("")
        legend_above(between, rows[0, 0])
        history, correlogram, spectrum = lower.subplots(1, 3, width_ratios=[1.5, 1, 1])
        worst_one = worst(traces, 1)[0]
        plot_residual(worst_one, history).set_title(f"residual of {worst_one.name}")
        plot_autocorrelation(worst_one, correlogram).set_title("its autocorrelation")
        correlogram.legend(loc="upper right")
        plot_residual_spectrum(worst_one, spectrum).set_title("its spectrum")
        spectrum.legend(loc="upper right")
    return figure


def plot_validation(validation: Validation, most: int = 8) -> Figure:
    """Measured and predicted on a record that was not fitted; the worst `most` channels where there are more."""
    figure = overlay_figure(traces_of_validation(validation), most)
    with styled():
        figure.suptitle(f"validation on {validation.record.name}", fontsize=10.5, x=0.01, ha="left")
    return figure


# -- methods side by side ------------------------------------------------------------------------------------------


def plot_comparison(comparison: Comparison) -> Figure:
    """Estimates of every method with ± 2σ beside the bound; distance to the bound, and time."""
    methods, count = len(comparison.rows), len(comparison.names)
    figure = new_figure(11.0, max(3.4, 1.4 + count * (0.16 + 0.14 * methods)))
    with styled():
        estimates, ratio, seconds = figure.subplots(1, 3, width_ratios=[2.2, 1, 1])
        plot_estimates(comparison, estimates)
        plot_ratio_and_time(comparison, (ratio, seconds))
    return figure


def plot_estimates(comparison: Comparison, ax=None):
    """Every unknown as estimated by each method, in % of the true value (of the first estimate if it is not known)."""
    with styled():
        ax = new_axes(7.0, 4.0) if ax is None else ax
        known = comparison.true_values is not None
        centre = np.asarray(comparison.true_values if known else comparison.estimates[0], float)
        size = np.where(centre != 0, np.abs(centre), 1.0)
        places = np.arange(len(comparison.names))
        rows = comparison.rows
        bound = 200 * np.asarray(comparison.bound) / size
        distance = 100 * (comparison.estimates - centre) / size
        spread = 200 * comparison.deviations / size
        shown = np.abs(np.concatenate([distance.ravel(), (np.abs(distance) + np.nan_to_num(spread)).ravel()]))
        reach = 1.1 * max(np.nanmax(shown), np.max(bound[np.isfinite(bound)], initial=0.0), 1e-9)
        width = np.where(np.isfinite(bound), np.minimum(bound, reach), reach)
        ax.barh(places, 2 * width, left=-width, height=0.8, color=BOUND, alpha=0.3, linewidth=0, label="± 2 bounds")
        offsets = np.linspace(-0.28, 0.28, len(rows)) if len(rows) > 1 else [0.0]
        for i, (row, offset) in enumerate(zip(rows, offsets, strict=True)):
            ax.errorbar(
                distance[i],
                places + offset,
                xerr=np.nan_to_num(spread[i]),
                fmt="o",
                markersize=4,
                elinewidth=1.6,
                color=CYCLE[i % len(CYCLE)],
                label=row["method"],
            )
        ax.axvline(0, color=TRUTH if known else INK, linewidth=1.0)
        ax.set_yticks(places, comparison.names)
        ax.set_ylim(len(places) - 0.45, -0.55)
        ax.set_xlim(-reach, reach)
        ax.grid(False, axis="y")
        ax.set_ylabel("unknown")
        ax.set_xlabel(f"distance from {'the true value' if known else 'the estimate of ' + rows[0]['method']} [%]")
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
    return ax


def plot_ratio_and_time(comparison: Comparison, axes=None):
    """Two axes: the distance to the Cramér–Rao bound, and the seconds each method took; both logarithmic."""
    with styled():
        axes = new_figure(7.0, 2.8).subplots(1, 2) if axes is None else axes
        rows = comparison.rows
        ratio = "error / bound [-]" if comparison.true_values is not None else "σ / bound [-]"
        for ax, key, title in ((axes[0], "mean_ratio_to_bound", ratio), (axes[1], "seconds", "time [s]")):
            values = np.array([row[key] for row in rows], float)
            floor = 0.5 * np.min(values[values > 0], initial=1.0)
            for i, (row, value) in enumerate(zip(rows, values, strict=True)):
                if np.isfinite(value):
                    ax.barh(i, max(value, floor) - floor, left=floor, height=0.55, color=CYCLE[i % len(CYCLE)])
                misfit = "" if row["fits"] or key == "seconds" else ", does not fit"
                text = f"{value:.3g}" if np.isfinite(value) else "not given"
                ax.annotate(
                    f"{text}{misfit}",
                    (value if value > floor else floor, i),
                    (4, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=8,
                    color=RESIDUAL if misfit else INK,
                )
            ax.set_xscale("log")
            top = np.nanmax(values, initial=floor)
            ax.set_xlim(floor, top * max((top / floor) ** 0.45, 2.0))
            log_axis(ax.xaxis, plain=True)
            ax.set_yticks(range(len(rows)), [row["method"] for row in rows] if ax is axes[0] else [""] * len(rows))
            ax.set_ylim(len(rows) - 0.4, -0.6)
            ax.grid(False, axis="y")
            ax.set_xlabel(title)
        if comparison.true_values is not None or np.isfinite([r["mean_ratio_to_bound"] for r in rows]).any():
            axes[0].axvline(1.0, color=BOUND, linewidth=1.5, zorder=0)
    return axes
