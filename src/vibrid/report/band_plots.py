"""Figures of response bands: what the uncertainty of a fit leaves open under motions that were not fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.errors import unknown_name
from vibrid.report.signals import kept_samples
from vibrid.report.style import CYCLE, label, legend_above, new_axes, new_figure, readable_unit, styled

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

MOST_NAMES, MOST_PLACES, MOST_HISTORIES = 20, 8, 4
STRONG = 0.15
"""Share of a history around its largest value that is drawn again at the right."""
_ENDS = ("low", "median", "high")


def plot_bands(bands: xarray.Dataset, variable: str = "peak_storey_drift", ax: Any = None) -> Any:
    """The median and the band of a peak at every place, under every motion (see `response_bands`)."""
    if variable not in bands.data_vars:
        raise unknown_name("variable of the study", variable, map(str, bands.data_vars))
    ax = new_axes() if ax is None else ax
    bands = strongest(bands)
    quantity = variable.partition("_")[2]
    values = np.stack([_by_place(bands[variable].sel(band=end)) for end in _ENDS])  # (3, motions, places)
    names, places = [str(name) for name in bands.motion.values], _places(bands[variable])
    if len(places) > MOST_PLACES:  # the place with the largest response stands for all
        values, places = values.max(axis=2, keepdims=True), ["largest of all"]
    factor, unit = readable_unit(str(bands[variable].attrs.get("units", "")), float(np.nanmax(values)), quantity)
    low, middle, high = factor * values
    motions = np.arange(len(names))
    for i, place in enumerate(places):
        x = motions + 0.5 * ((i + 0.5) / len(places) - 0.5)
        reach = [middle[:, i] - low[:, i], high[:, i] - middle[:, i]]
        ax.errorbar(x, middle[:, i], reach, fmt="o", ms=2.5, capsize=3.5, color=CYCLE[i], label=place)
    few = len(names) <= MOST_NAMES
    ax.set_xticks(motions if few else [])
    ax.set_xticklabels(names if few else [], rotation=20, ha="right")
    ax.set(xlim=(-0.5, len(names) - 0.5), ylim=(0, None), xlabel="" if few else f"{len(names)} motions")
    ax.set_ylabel(label(f"largest {quantity}", unit))
    ax.set_title(f"median, and the band of {100 * bands.attrs['confidence']:g} % of the samples", loc="left")
    if len(places) > 1:
        what = "storey" if "storey" in bands[variable].dims else "place"
        ax.legend(frameon=False, title=what, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def bands_figure(bands: xarray.Dataset) -> Figure:
    """The bands of all peaks, one below the other."""
    names = [str(name) for name in bands.data_vars if str(name).startswith("peak_")]
    figure = new_figure(8.5, 0.4 + 2.5 * len(names))
    with styled():
        for name, ax in zip(names, figure.subplots(len(names), 1, squeeze=False)[:, 0], strict=True):
            plot_bands(bands, name, ax)
    return figure


def history_bands_figure(bands: xarray.Dataset, most: int = MOST_HISTORIES) -> Figure | None:
    """The band of every quantity over time where it is largest, under the motions that move it most; None without whole
    channels."""
    bands = strongest(bands)
    names = [str(name) for name, values in bands.data_vars.items() if "time" in values.dims]
    if not names:
        return None
    first = abs(bands[names[0]].sel(band="median"))
    peaks = first.max([dim for dim in first.dims if dim != "motion"]).values
    chosen = [(name, motion) for motion in np.argsort(-peaks)[: max(1, most // len(names))] for name in names]
    figure = new_figure(9.5, 0.6 + 1.7 * len(chosen))
    with styled():
        axes = figure.subplots(len(chosen), 2, squeeze=False, width_ratios=[1.45, 1])
        for (name, motion), (whole, part) in zip(chosen, axes, strict=True):
            _draw_history(whole, part, bands.isel(motion=motion), name)
        for ax in axes[-1]:
            ax.set_xlabel("time [s]")
        legend_above(figure, axes[0, 0])
    return figure


def _draw_history(whole, part, bands: xarray.Dataset, name: str) -> None:
    """One quantity over time, and around its largest value."""
    values, place_dim = bands[name], f"{name}_at"
    at = int(np.nanargmax(abs(values.sel(band="median")).max("time").values))
    low, middle, high = (values.isel({place_dim: at}).sel(band=end).values for end in _ENDS)
    known = np.isfinite(middle)
    factor, unit = readable_unit(str(values.attrs.get("units", "")), float(np.max(np.abs(middle[known]))), name)
    time, low, middle, high = (v[known] for v in (bands.time.values, factor * low, factor * middle, factor * high))
    share = f"{100 * bands.attrs['confidence']:g} % of the samples"
    top, reach = time[np.argmax(np.abs(middle))], 0.5 * STRONG * (time[-1] - time[0])
    for ax, inside in ((whole, time >= time[0]), (part, np.abs(time - top) <= reach)):
        kept = np.flatnonzero(inside)[kept_samples(low[inside], high[inside], most=1500)]
        ax.fill_between(time[kept], low[kept], high[kept], color=CYCLE[0], alpha=0.35, linewidth=0, label=share)
        ax.plot(time[kept], middle[kept], color=CYCLE[0], linewidth=0.9, label="median")
        ax.set_xlim(time[inside][0], time[inside][-1])
    whole.set_ylabel(label(name, unit).replace(" [", "\n["))
    whole.set_title(f"{bands.motion.values}, {name.replace('_', ' ')} at {values[place_dim].values[at]}", loc="left")
    part.set_title("around the largest value", color="#4b5660", fontsize=8.5)


def strongest(bands: xarray.Dataset) -> xarray.Dataset:
    """The bands at the highest level or scale, where there are several."""
    ticks = [dim for dim in ("level", "scale") if dim in bands.dims]
    return bands.isel(dict.fromkeys(ticks, -1)) if ticks else bands


def _by_place(values: xarray.DataArray) -> np.ndarray:
    """(motions, places)"""
    rest = [dim for dim in values.dims if dim != "motion"]
    return values.transpose("motion", *rest).values.reshape(values.sizes["motion"], -1)


def _places(values: xarray.DataArray) -> list[str]:
    rest = [dim for dim in values.dims if dim not in ("motion", "band")]
    return [str(place) for place in values[rest[0]].values] if len(rest) == 1 else [""]
