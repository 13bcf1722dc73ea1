"""Figures of estimates and their uncertainty. Every function takes and returns axes."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import FuncFormatter

from vibrid.core.errors import InputError
from vibrid.core.moved import renamed_arguments
from vibrid.identification.display import factor_of
from vibrid.identification.result import Identification
from vibrid.report.signals import kept_samples
from vibrid.report.style import (
    BOUND,
    INK,
    PREDICTED,
    RESIDUAL,
    TRUTH,
    grid_of,
    label,
    legend_above,
    log_axis,
    new_axes,
    styled,
)

MOST_PANELS = 24


@renamed_arguments(truth="true_values")
def plot_intervals(fit: Identification, ax=None, true_values: dict[str, float] | None = None):
    """The 95 % interval of every unknown about its estimate, in % of it, over ± 2 Cramér–Rao bounds.

    An interval much wider than the bound means that a better method exists; a narrower one that the method
    underestimates its uncertainty. `true_values` marks true values.
    """
    with styled():
        ax = new_axes(7.5, 1.1 + 0.27 * len(fit.names)) if ax is None else ax
        size = np.where(fit.estimate != 0, np.abs(fit.estimate), 1.0)
        rows = np.arange(len(fit.names))
        interval = 100 * (fit.interval() - fit.estimate[:, None]) / size[:, None]
        bound = 200 * fit.limits.bound / size
        seen = np.isfinite(bound)
        shown = np.abs(np.concatenate([interval[np.isfinite(interval)], bound[seen & (bound < 400)]]))
        reach = 1.15 * max(shown.max(), 1e-9) if shown.size else 100.0
        half = np.where(seen, np.minimum(bound, reach), reach)
        ax.barh(
            rows, 2 * half, left=-half, height=0.62, color=BOUND, alpha=0.35, linewidth=0, label="± 2 Cramér–Rao bounds"
        )
        if np.isfinite(interval).any():
            ax.hlines(rows, interval[:, 0], interval[:, 1], color=PREDICTED, linewidth=2.2, label="95 % interval")
        ax.plot(np.zeros(len(rows)), rows, "o", color=PREDICTED, markersize=4.5, label="estimate")
        if true_values:
            known = [i for i, name in enumerate(fit.names) if name in true_values]
            off = np.array([100 * (true_values[fit.names[i]] - fit.estimate[i]) / size[i] for i in known])
            ax.plot(off, known, "x", color=TRUTH, markersize=6, markeredgewidth=1.8, label="true value")
            reach = max(reach, 1.15 * np.abs(off).max())
        for row, deviation in zip(rows, 200 * fit.deviation / size, strict=True):
            text = f"± {deviation:.2g} %" if np.isfinite(deviation) else ""
            ax.text(1.01, float(row), text, transform=ax.get_yaxis_transform(), va="center", fontsize=8)
        ax.set_yticks(rows, fit.names)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlim(-reach, reach)
        ax.grid(False, axis="y")
        ax.set_xlabel("distance from the estimate [%]")
        ax.set_ylabel("unknown")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    return ax


def plot_misfit(fit: Identification, ax=None):
    """The misfit over the iterations, where the method minimises one.

    A descent never rises: where the misfit does, the noise was re-estimated and the samples have other weights.
    """
    with styled():
        ax = new_axes() if ax is None else ax
        cost = np.asarray(fit.history["cost"], float)
        reweighted = np.flatnonzero(np.diff(cost) > 0) + 1
        for piece in np.split(np.arange(len(cost)), reweighted):
            ax.semilogy(piece, np.where(cost[piece] > 0, cost[piece], np.nan), ".-", color=INK, markersize=4)
        for place in reweighted:
            ax.axvline(place - 0.5, color=RESIDUAL, linewidth=1.0, linestyle=":")
        if len(reweighted):
            ax.text(
                reweighted[0] - 0.3,
                0.5,
                "noise re-estimated",
                transform=ax.get_xaxis_transform(),
                fontsize=7.5,
                color=RESIDUAL,
            )
        log_axis(ax.yaxis)
        ax.set_xlabel("iteration")
        ax.set_ylabel("misfit [weighted squares]")
        ax.set_title("misfit")
    return ax


def plot_convergence(fit: Identification, unknown: int | str = 0, ax=None):
    """Convergence of one estimate, with its ± 2σ where the method gives it, over the final 95 % interval."""
    i = fit.names.index(unknown) if isinstance(unknown, str) else unknown
    with styled():
        ax = new_axes(4.5, 2.6) if ax is None else ax
        factor, unit = _display(fit, i)
        path = np.asarray(fit.history["estimate"], float)[:, i] / factor
        steps, axis_label = _steps(fit)
        low, high = fit.interval()[i] / factor
        if np.isfinite([low, high]).all():
            ax.axhspan(low, high, color=BOUND, alpha=0.35, linewidth=0, label="final 95 % interval")
        kept = kept_samples(path, most=800)
        if "deviation" in fit.history:
            spread = 2 * np.asarray(fit.history["deviation"], float)[:, i] / factor
            ax.fill_between(
                steps[kept],
                (path - spread)[kept],
                (path + spread)[kept],
                color=PREDICTED,
                alpha=0.2,
                linewidth=0,
                label="± 2σ",
            )
            late = slice(len(path) // 10, None)
            reach = np.nanpercentile(spread[late], 90) + 0.05 * np.ptp(path[late])
            ax.set_ylim(np.nanmin(path[late]) - reach, np.nanmax(path[late]) + reach)
        few = {"marker": ".", "markersize": 4} if len(path) < 60 else {}
        ax.plot(steps[kept], path[kept], color=PREDICTED, label="estimate", **few)
        ax.set_title(fit.names[i])
        ax.set_xlabel(axis_label)
        ax.set_ylabel(label("value", unit))
    return ax


def _display(fit: Identification, i: int) -> tuple[float, str]:
    """SI number per number in the unit of display of an unknown, and that unit."""
    unit = fit.display_units.get(fit.names[i], fit.units[i])
    return factor_of(unit, fit.units[i]) or 1.0, unit


def _steps(fit: Identification) -> tuple[np.ndarray, str]:
    """The abscissa of the history: time for a filter that went through the record, else the steps of the method."""
    count = len(fit.history["estimate"])
    data = fit.problem.data
    if "losses" in fit.history:
        return np.arange(count), "epoch"
    if "deviation" in fit.history and len(data) == 1 and abs(count - data[0].samples) <= 1:
        return data[0].step * np.arange(count), "time [s]"
    if "deviation" in fit.history:
        return np.arange(count), "sample"
    return np.arange(count), "iteration" if "cost" in fit.history else "draw"


def convergence_figure(fit: Identification):
    """The misfit (where there is one) and the history of every unknown, at most 24: the most uncertain ones."""
    chosen = np.arange(len(fit.names))
    if len(chosen) > MOST_PANELS:
        chosen = np.sort(np.argsort(-np.nan_to_num(fit.limits.relative_bound, nan=np.inf))[:MOST_PANELS])
    misfit = "cost" in fit.history and bool(np.isfinite(fit.history["cost"]).any())
    figure, axes = grid_of(len(chosen) + misfit, 4, height=2.15)
    if misfit:
        plot_misfit(fit, axes[0])
    for ax, i in zip(axes[int(misfit) :], chosen, strict=True):
        plot_convergence(fit, int(i), ax)
    legend_above(figure, axes[-1])
    return figure


def correlation_matrix(fit: Identification) -> np.ndarray:
    """Correlations of the estimates from the method's covariance; from the Fisher information where it gives none."""
    covariance = fit.covariance
    deviation = np.sqrt(np.diag(covariance))
    if not np.isfinite(covariance).all() or np.any(deviation == 0):
        return fit.limits.correlation
    return covariance / np.outer(deviation, deviation)


def plot_correlation(fit: Identification, ax=None):
    """Correlation matrix of the estimates: ± 1 means that the data determine only a combination of the two."""
    count = len(fit.names)
    with styled():
        side = 2.6 + 0.28 * min(count, 24)
        ax = new_axes(side + 1.0, side) if ax is None else ax
        values = correlation_matrix(fit)
        image = ax.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
        ax.grid(False)
        ax.set_xticks(range(count), fit.names, rotation=55, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(count), fit.names)
        ax.tick_params(labelsize=8 if count <= 16 else 6, length=0)
        ax.spines[:].set_visible(False)
        if count <= 12:
            for (row, column), value in np.ndenumerate(values):
                dark = abs(value) > 0.6
                ax.text(
                    column,
                    row,
                    f"{value:.2f}".replace("-", "−"),
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    color="white" if dark else INK,
                )
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, label="correlation [-]")
        bar.outline.set_visible(False)
    return ax


def plot_samples(fit: Identification, unknown: int | str = 0, ax=None):
    """Posterior samples of one unknown, with the normal curve of the Cramér–Rao bound for comparison."""
    i = fit.names.index(unknown) if isinstance(unknown, str) else unknown
    with styled():
        ax = new_axes(4.5, 2.6) if ax is None else ax
        if fit.samples is None:
            raise InputError(f"{fit.method} draws no posterior samples; use Bayes.")
        factor, unit = _display(fit, i)
        drawn = fit.samples[:, i] / factor
        ax.hist(
            drawn, bins="auto" if len(drawn) < 5000 else 60, density=True, color=PREDICTED, alpha=0.45, label="samples"
        )
        for end in fit.interval()[i] / factor:
            ax.axvline(end, color=PREDICTED, linewidth=1.0, linestyle="--")
        bound = fit.limits.bound[i] / factor
        if np.isfinite(bound) and bound > 0 and bound < 5 * drawn.std():
            x = np.linspace(drawn.min(), drawn.max(), 200)
            curve = np.exp(-0.5 * ((x - drawn.mean()) / bound) ** 2) / (bound * np.sqrt(2 * np.pi))
            ax.plot(x, curve, color=RESIDUAL, linewidth=1.2, label="Cramér–Rao bound")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.set_title(fit.names[i])
        ax.set_xlabel(label("value", unit))
        ax.set_ylabel("density")
    return ax


def samples_figure(fit: Identification):
    """Posterior histograms of the unknowns, at most 24."""
    count = min(len(fit.names), MOST_PANELS)
    figure, axes = grid_of(count, 4, height=2.15)
    for i, ax in enumerate(axes):
        plot_samples(fit, i, ax)
    legend_above(figure, axes[0])
    return figure
