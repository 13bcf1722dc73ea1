"""The figure of a cyclic test: loops, forces and energy of the cycles, measured and of the fitted law."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vibrid.report.style import MEASURED, PREDICTED, legend_above, new_figure, styled

if TYPE_CHECKING:
    from vibrid.identification.cyclic import CyclicFit


def plot_cyclic(fit: CyclicFit):
    """`CyclicFit.plot`."""
    count = len(fit.readings)
    with styled():
        figure = new_figure(10.0, 3.1 * count + 0.4)
        rows = np.atleast_2d(figure.subplots(count, 3, squeeze=False))
        for axes, trial, reading, cycles in zip(rows, fit.calibration.trials, fit.readings, fit.cycles, strict=True):
            x, measured = 1e3 * trial.record["x"], 1e-3 * trial.record["force"]
            loops, forces, energy = axes
            loops.plot(x, measured, color=MEASURED, linewidth=1.6, label="measured")
            loops.plot(x, 1e-3 * trial.force, color=PREDICTED, linewidth=0.8, label=fit.name)
            grid, *sides = reading.envelope
            for way, side in zip((1.0, -1.0), sides, strict=True):
                label = "envelope" if way > 0 else None
                loops.plot(way * 1e3 * grid, way * 1e-3 * side, color="k", linewidth=0.9, linestyle=":", label=label)
            loops.set(xlabel="deformation [mm]", ylabel="force [kN]")
            number = np.arange(1, len(cycles) + 1)
            pairs = ((forces, "force", "force of the cycle [kN]"), (energy, "energy", "energy of the cycle [kJ]"))
            for ax, name, words in pairs:
                own = [1e-3 * getattr(c, name) for c in cycles]
                ax.bar(number, own, color=MEASURED, label="measured")
                fitted = [1e-3 * getattr(c, f"fitted_{name}") for c in cycles]
                ax.plot(number, fitted, "o", color=PREDICTED, markersize=3.5, label=fit.name)
                ax.set(xlabel="cycle", ylabel=words)
            loops.set_title(f"{trial.record.name}, NRMSE {100 * trial.scores.nrmse:.2g} %", loc="left")
        legend_above(figure, rows[0][0])
    return figure
