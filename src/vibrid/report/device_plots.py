"""Figures of device tests: predicted and measured force."""

from __future__ import annotations

import numpy as np

from vibrid.report.style import MEASURED, PREDICTED, label, new_figure, readable_unit, styled

MOST = 6
"""Tests in one figure; more are left out."""


def plot_device_tests(tests, predicted, rate: float):
    """Force over time and over displacement, one row per test.

    Arguments
        tests: device tests (name, x, force).
        predicted: forces, one array per test, N.
        rate: Hz, samples per second.
    """
    shown = list(zip(tests, predicted, strict=True))[:MOST]
    figure = new_figure(9.0, 2.4 * len(shown))
    with styled():
        axes = figure.subplots(len(shown), 2, width_ratios=(2.2, 1.0), squeeze=False)
        for (test, force), (left, right) in zip(shown, axes, strict=True):
            long, length = readable_unit("m", np.abs(test.x).max())
            strong, unit = readable_unit("N", np.abs(test.force).max())
            time = np.arange(len(test.x)) / rate
            for values, color, name in ((test.force, MEASURED, "measured"), (force, PREDICTED, "predicted")):
                left.plot(time, strong * values, color=color, linewidth=0.8, label=name)
                right.plot(long * test.x, strong * values, color=color, linewidth=0.8)
            left.set_ylabel(label("force", unit))
            left.set_title(test.name)
            right.set_xlabel(label("displacement", length))
        axes[-1, 0].set_xlabel(label("time", "s"))
        axes[0, 0].legend(loc="upper right", ncols=2)
    return figure
