"""Figures of studies of runs: fragility curves, stripes, and the curves of incremental dynamic analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.errors import InputError, unknown_name
from vibrid.records.units import STANDARD_GRAVITY
from vibrid.report.style import CYCLE, new_axes, new_figure, styled
from vibrid.studies.fragility import Fragility, refuse_mixture
from vibrid.studies.kept import COLLAPSED, DIVERGED, STANDS

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


def plot_fragility(curve: Fragility, ax: Any = None) -> Any:
    """The curve with its 90 % band, and the shares of runs that it was fitted to."""
    ax = new_axes() if ax is None else ax
    factor, unit = _shown_unit(curve.unit)
    low, high = curve.median * np.exp(-3 * curve.dispersion), curve.median * np.exp(3 * curve.dispersion)
    x = np.linspace(min(low, curve.levels.min()), min(high, 1.6 * curve.levels.max()), 300)
    below, above = curve.band(x)
    ax.fill_between(x / factor, below, above, color=CYCLE[0], alpha=0.2, lw=0, label="90 % band")
    label = f"θ = {curve.median / factor:.3g}{f' {unit}' if unit else ''}, β = {curve.dispersion:.2f}"
    ax.plot(x / factor, curve.probability(x), color=CYCLE[0], label=label)
    shares = curve.events / np.maximum(curve.counts, 1)
    if np.all(curve.counts == 1):
        label = "highest that stands, lowest that falls"
        ax.plot(curve.levels / factor, shares, "|", color=CYCLE[1], ms=8, label=label)
    else:
        ax.plot(curve.levels / factor, shares, "o", color=CYCLE[1], ms=5, label="share of runs")
    ax.set(xlabel=f"{curve.measure}{f' [{unit}]' if unit else ''}", ylabel=f"probability of {curve.event}", ylim=(0, 1))
    ax.legend(frameon=False, loc="lower right")
    return ax


def plot_stripes(data: xarray.Dataset, variable: str = "peak_storey_drift", ax: Any = None) -> Any:
    """The largest value of a variable in every run over its level: stripes of a study with levels, with their median
    and 16 and 84 %, or the curves of a hunt for collapse. Runs that collapsed are arrows at the right edge."""
    if variable not in data.data_vars:
        raise unknown_name("variable of the study", variable, map(str, data.data_vars))
    if "level" not in data.variables:
        raise InputError("Stripes need a study with levels of intensity.")
    refuse_mixture(data)
    ax = new_axes() if ax is None else ax
    inside = [dim for dim in data[variable].dims if dim not in data.outcome.dims]
    largest = data[variable].max(inside)
    levels = data["level"].broadcast_like(data.outcome).transpose(*data.outcome.dims).values
    outcome, values = data.outcome.values, largest.transpose(*data.outcome.dims).values
    factor, unit = _shown_unit(str(data["level"].attrs.get("units", "")))
    stands, falls = outcome == STANDS, np.isin(outcome, (COLLAPSED, DIVERGED))
    edge = 1.15 * float(values[stands].max(initial=0.0))
    if "trial" in data.dims:
        for level, value, ok in zip(levels, values, stands, strict=True):
            order = np.argsort(level[ok])
            ax.plot(value[ok][order], level[ok][order] / factor, "-o", ms=2.5, lw=0.8, color=CYCLE[0], alpha=0.6)
    else:
        ax.plot(values[stands], levels[stands] / factor, "o", ms=3, color=CYCLE[0], alpha=0.5, label="runs")
        _percentiles(ax, data, values, falls, stands, factor)
        ax.legend(frameon=False, loc="lower right")
    ax.plot(np.full(falls.sum(), edge), levels[falls] / factor, ">", ms=5, color=CYCLE[1], alpha=0.6, clip_on=False)
    words = f"largest {variable.removeprefix('peak_').replace('_', ' ')}"
    own = data[variable].attrs.get("units", "")
    name = str(data["level"].attrs.get("long_name", "level"))
    ax.set(xlabel=f"{words} [{own}]", ylabel=f"{name}{f' [{unit}]' if unit else ''}", xlim=(0, edge), ylim=(0, None))
    return ax


def fragility_figure(data: xarray.Dataset, curve: Fragility, variable: str = "peak_storey_drift") -> Figure:
    """Stripes and the fragility curve beside each other; the curve alone where the variable was not kept."""
    both = variable in data.data_vars
    figure = new_figure(9.5 if both else 6.0, 3.6)
    with styled():
        places = figure.subplots(1, 2 if both else 1, squeeze=False)[0]
        if both:
            plot_stripes(data, variable, places[0])
        plot_fragility(curve, places[-1])
    return figure


def _percentiles(ax, data, values, falls, stands, factor: float) -> None:
    """Median and 16, 84 % at every level; a run that collapsed is beyond all others."""
    at = list(data.outcome.dims).index("level")
    beyond = np.where(falls, np.inf, np.where(stands, values, np.nan))
    beyond = np.moveaxis(beyond, at, 0).reshape(data.sizes["level"], -1)
    for share, style in ((0.16, "--"), (0.5, "-"), (0.84, "--")):
        found = [_quantile(row[~np.isnan(row)], share) for row in beyond]
        shown = np.isfinite(found)
        label = {0.5: "median", 0.16: "16 and 84 %"}.get(share)
        levels = data["level"].values[shown] / factor
        ax.plot(np.array(found)[shown], levels, style, color=CYCLE[2], lw=1.4, label=label)


def _quantile(row: np.ndarray, share: float) -> float:
    """The smallest value that at least this share of the runs does not exceed."""
    if not row.size:
        return float("nan")
    return float(np.sort(row)[min(int(np.ceil(share * row.size)) - 1, row.size - 1)])


def _shown_unit(unit: str) -> tuple[float, str]:
    """Accelerations are drawn in g."""
    return (STANDARD_GRAVITY, "g") if unit == "m/s^2" else (1.0, unit)
