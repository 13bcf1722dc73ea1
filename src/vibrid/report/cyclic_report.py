"""The report of a law that was fitted to cyclic tests: that of the identification, with the cycles."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.files import write_text
from vibrid.report.cyclic_plots import plot_cyclic
from vibrid.report.html import report_page
from vibrid.report.sections import Figures
from vibrid.report.words import Html, paragraph, table

if TYPE_CHECKING:
    from vibrid.identification.cyclic import CyclicFit
    from vibrid.identification.cyclic_comparison import CyclicComparison

HEADINGS = ["cycle", "amplitude, mm", "force, kN", "law", "energy, kJ", "law", "stiffness, kN/mm", "law"]

_ROUNDING = 1e-9  # of the largest in a column


def write_cyclic_report(fit: CyclicFit, path, compared: CyclicComparison | None = None) -> Path:
    """`CyclicFit.report`."""
    own = ("cycles", "Cycles", lambda figure: _section(fit, compared, figure))
    return write_text(path, report_page(fit.calibration.fit, title=f"Cyclic test: the law {fit.name}", own=own))


def _section(fit: CyclicFit, compared: CyclicComparison | None, figure: Figures) -> Html:
    parts = [
        paragraph("Force, energy and stiffness of every cycle, measured and of the fitted law."),
        figure(plot_cyclic(fit), "Loops, forces and energy of the cycles, measured and of the law."),
    ]
    for trial, reading, cycles in zip(fit.calibration.trials, fit.readings, fit.cycles, strict=True):
        caption = f"{trial.record.name}: {reading.protocol}"
        parts += [paragraph(warning) for warning in reading.warnings]
        if cycles:  # a monotonic test has none
            parts.append(table(HEADINGS, cycle_rows(cycles), numbers=range(len(HEADINGS)), caption=caption))
    if compared is not None and len(compared.fits) + len(compared.refused) > 1:
        headings, rows = comparison_rows(compared)
        parts.append(table(headings, rows, numbers=(1, 2, 3), caption="Laws, the best first"))
        parts += [paragraph(f"{name} was not fitted: {why}") for name, why in compared.refused.items()]
    return Html("".join(parts))


def cycle_rows(cycles) -> list[list[str]]:
    """What `HEADINGS` name, of every cycle of a test."""
    units = {"amplitude": 1e3, "force": 1e-3, "fitted_force": 1e-3, "energy": 1e-3, "fitted_energy": 1e-3}
    units |= {"stiffness": 1e-6, "fitted_stiffness": 1e-6}
    values = np.array([[unit * getattr(cycle, name) for name, unit in units.items()] for cycle in cycles])
    values[np.abs(values) < _ROUNDING * np.abs(values).max(axis=0)] = 0.0
    return [[str(number), *(f"{value:.4g}" for value in row)] for number, row in enumerate(values, 1)]


def comparison_rows(compared: CyclicComparison) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of a comparison of laws; those that could not be fitted last."""
    headings = ["law", "parameters", "NRMSE, %", f"of hidden {compared.best.hidden}, %"]
    rows = [
        [f.name, str(len(f.calibration.table())), f"{100 * f.calibration.nrmse:.3g}", _percent(f.held_out)]
        for f in compared.fits
    ]
    return headings, [*rows, *([name, "", "", "not fitted"] for name in compared.refused)]


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.3g}"
