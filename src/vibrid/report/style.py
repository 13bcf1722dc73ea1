"""The style of every figure: colours for colour-blind readers, plain axes, engineering units."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

INK = "#26303a"
MEASURED = "#a7b1bb"
PREDICTED = "#0072b2"
RESIDUAL = "#d55e00"
BOUND = "#e69f00"
TRUTH = "#009e73"
GRID = "#e4e8ec"
CYCLE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#26303a", "#a0a000")
"""The palette of Okabe and Ito (2008), yellow darkened; neighbours differ in lightness, so that it prints in grey."""
LINE, MARK, FAINT = CYCLE[0], CYCLE[1], MEASURED
"""A signal that stands alone, what is marked in it, and what stays behind it."""

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "axes.titlelocation": "left",
    "axes.edgecolor": "#6b7680",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": "#4b5660",
    "ytick.color": "#4b5660",
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "text.color": INK,
    "legend.frameon": False,
    "axes.prop_cycle": cycler(color=CYCLE),
    "lines.linewidth": 1.1,
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
}


@contextmanager
def styled() -> Iterator[None]:
    """Axes that are made inside this block have the style of the report."""
    with matplotlib.rc_context(RC):
        yield


def new_figure(width: float = 8.0, height: float = 3.0) -> Figure:
    """A figure in inches, without a window: nothing here needs a display."""
    with styled():
        figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_axes(width: float = 6.5, height: float = 3.2):
    """The axes of a new figure."""
    with styled():
        return new_figure(width, height).subplots()


def grid_of(count: int, columns: int, *, width: float = 9.5, height: float = 2.3, **options) -> tuple[Figure, list]:
    """A figure with `count` panels in rows of at most `columns`; unused panels are removed."""
    rows = -(-count // columns)
    width = width * count / columns if rows == 1 else width
    columns = -(-count // rows)
    figure = new_figure(max(width, 4.0), height * rows)
    with styled():
        axes = figure.subplots(rows, columns, squeeze=False, **options).ravel()
    for spare in axes[count:]:
        spare.remove()
    return figure, list(axes[:count])


def log_axis(axis, *, plain: bool = False) -> None:
    """Decades as 10⁻¹, 10⁰, …, or (`plain`) as numbers with 2 and 5 between them."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if plain else (1.0,), numticks=8))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(_plain_number if plain else _power_of_ten))


def _plain_number(value: float, _=None) -> str:
    return f"{value:g}"


def _power_of_ten(value: float, _=None) -> str:
    return f"10{str(round(np.log10(value))).translate(_RAISED)}" if value > 0 else ""


def legend_above(figure, *axes, columns: int = 4) -> None:
    """One legend for a whole figure, at its upper right, with the entries of the given axes, each label once."""
    entries = {label: line for ax in axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    with styled():
        legend = figure.legend(entries.values(), entries.keys(), loc="outside upper right", ncols=columns)
    for line in legend.get_lines():
        line.set_linewidth(max(line.get_linewidth(), 1.6))


# -- words and units -----------------------------------------------------------------------------------------------

_STEPS = {  # SI unit: (factor from SI, name, used while the largest value in SI is below)
    "m": ((1e6, "µm", 5e-4), (1e3, "mm", 0.5), (1.0, "m", np.inf)),
    "m/s": ((1e3, "mm/s", 0.05), (1.0, "m/s", np.inf)),
    "m/s^2": ((1e3, "mm/s^2", 5e-3), (1.0, "m/s^2", np.inf)),
    "N": ((1e3, "mN", 0.05), (1.0, "N", 2e3), (1e-3, "kN", 2e6), (1e-6, "MN", np.inf)),
    "rad": ((1e3, "mrad", 0.5), (1.0, "rad", np.inf)),
    "": ((1.0, "", np.inf),),
}
_RAISED = str.maketrans("0123456789-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁿ")


def readable_unit(unit: str, largest: float, quantity: str = "") -> tuple[float, str]:
    """(factor, unit) that bring SI numbers to a size that reads well: 0.012 m as 12 mm, 3.2e5 N as 320 kN."""
    if quantity == "strain":
        return 1e6, "µε"
    for factor, name, below in _STEPS.get(unit, ((1.0, unit, np.inf),)):
        if not np.isfinite(largest) or largest < below:
            return factor, name
    return 1.0, unit


def unit_text(unit: str) -> str:
    """`N s^2/m^3` as N s²/m³, `m^-n` as m⁻ⁿ."""
    return re.sub(r"\^(-?[0-9n]+)", lambda m: m[1].translate(_RAISED), unit).replace("*", " ")


def label(quantity: str, unit: str) -> str:
    """An axis label: the quantity in words and its unit in brackets, where it has one."""
    words = quantity.replace("_", " ")
    return f"{words} [{unit_text(unit)}]" if unit else words
