"""Figures of device tests: predicted and measured force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vibrid.report.style import MEASURED, PREDICTED, label, legend_above, new_figure, readable_unit, styled

if TYPE_CHECKING:
    from vibrid.identification.calibrate import Calibration

MOST = 6
"""Tests in one figure; the figure tells how many more there are."""


class Forces(NamedTuple):
    """Forces of one test, and the motion over which they are drawn."""

    name: str
    x: np.ndarray  # m
    measured: np.ndarray  # N
    predicted: np.ndarray
    rate: float  # Hz


def plot_device_tests(tests, predicted, rate: float):
    """Force over time and over displacement, one row per test.

    Arguments
        tests: device tests (name, x, force).
        predicted: forces, one array per test, N.
        rate: Hz, samples per second.
    """
    rows = [Forces(t.name, t.x, t.force, force, rate) for t, force in zip(tests, predicted, strict=True)]
    return _drawn(rows, "predicted")


def plot_calibrations(calibrations: Mapping[str, Calibration]):
    """Measured force and that of a fitted law over time and over displacement, one row per test of every set-up."""
    several, rows = len(calibrations) > 1, []
    for name, one in calibrations.items():
        for trial in one.trials:
            use = "" if trial.fitted else " (left out)"
            title = f"{f'{name}: ' if several else ''}{trial.record.name}{use}, NRMSE {100 * trial.scores.nrmse:.2g} %"
            measured = trial.record["force"]
            rows.append(Forces(title, trial.record["x"], measured, trial.force, trial.record.rate))
    kinds = dict.fromkeys(type(one.law).__name__ for one in calibrations.values())
    return _drawn(rows, ", ".join(kinds))


def plot_calibration(calibration: Calibration):
    """`Calibration.plot`."""
    return plot_calibrations({"": calibration})


def _drawn(rows: list[Forces], words: str):
    """A figure with a row for each test; `words` name the line that is not measured."""
    shown, more = rows[:MOST], len(rows) - MOST
    figure = new_figure(9.0, 2.4 * len(shown))
    with styled():
        axes = figure.subplots(len(shown), 2, width_ratios=(2.2, 1.0), squeeze=False)
        for row, (left, right) in zip(shown, axes, strict=True):
            long, length = readable_unit("m", np.nanmax(np.abs(row.x)))
            strong, unit = readable_unit("N", np.nanmax(np.abs(row.measured)))
            time = np.arange(len(row.x)) / row.rate
            for values, color, name in ((row.measured, MEASURED, "measured"), (row.predicted, PREDICTED, words)):
                left.plot(time, strong * values, color=color, linewidth=0.8, label=name)
                right.plot(long * row.x, strong * values, color=color, linewidth=0.8)
            left.set_ylabel(label("force", unit))
            left.set_title(row.name)
            right.set_xlabel(label("displacement", length))
        axes[-1, 0].set_xlabel(label("time", "s") + (f" ({more} further tests are not drawn)" if more > 0 else ""))
    legend_above(figure, axes[0, 0])
    return figure
