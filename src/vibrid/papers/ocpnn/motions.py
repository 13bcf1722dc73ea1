"""Figure 6: the motions, scaled to the hazard."""

from __future__ import annotations

import numpy as np

from vibrid.papers.ocpnn.paper import PAPER
from vibrid.papers.ocpnn.suite import FULL_SCALE_PERIOD, HAZARD, RANGE, real_suite
from vibrid.papers.paper import Check, Outcome, Run
from vibrid.records.motions.scale import motion_spectrum
from vibrid.report.style import CYCLE, INK, label, new_figure, styled


@PAPER.figure(6, "Spectra of the motions, scaled to the hazard", real_data=True, part="motions")
def figure_6(run: Run) -> Outcome:
    suite = real_suite(run)
    periods = np.geomspace(0.05, 3.0, 80)
    rows, factors = [], []
    figure = new_figure(9.0, 3.6)
    with styled():
        left, right = figure.subplots(1, 2, width_ratios=(1.6, 1.0))
    for i, (split, motions) in enumerate(suite._asdict().items()):
        for j, (name, scaled) in enumerate(motions.items()):
            record = scaled.records[0]
            factors.append(scaled.factor)
            energy = np.cumsum(record.data[:, 0] ** 2)
            energy /= energy[-1]
            inside = np.flatnonzero((energy > 0.05) & (energy < 0.95))
            rows.append({
                "motion": name, "for": split.replace("_", "-"), "factor": scaled.factor,
                "PGA, g": float(np.abs(record.data).max() / 9.80665),
                "duration 5–95 %, s": float(inside[-1] - inside[0]) * record.step,
                "misfit of ln Sa": scaled.misfit,
            })  # fmt: skip
            with styled():
                left.plot(periods, motion_spectrum(record, periods) / 9.80665, color=CYCLE[i], linewidth=0.5,
                          label=split.replace("_", "-") if j == 0 else None)  # fmt: skip
                right.plot(rows[-1]["duration 5–95 %, s"], scaled.factor, "o", color=CYCLE[i], markersize=4)
    with styled():
        inside = (periods > HAZARD.periods[0]) & (periods < HAZARD.periods[-1])
        left.plot(periods[inside], HAZARD.at(periods[inside]) / 9.80665, color=INK, linewidth=1.6, label="target")
        left.axvspan(*RANGE, color=INK, alpha=0.06, linewidth=0)
        left.set_xscale("log")
        left.set_xlabel(label("period at full scale", "s"))
        left.set_ylabel(label("Sa, 5 %", "g"))
        left.legend(loc="lower left")
        right.set_xlabel(label("duration from 5 to 95 %", "s"))
        right.set_ylabel("scale factor")
    note = (
        f"Target: {HAZARD.name}; matched over the shaded periods (first period of the full-scale building: "
        f"{FULL_SCALE_PERIOD:.2f} s). Shear-wave velocities, distances and magnitudes, which the paper shows, are not "
        "in the available files; durations and factors are shown instead."
    )
    return Outcome(rows, [Check("largest factor", f"{max(factors):.2f}", "≤ 3, as the paper", max(factors) <= 3)], note,
                   figure)  # fmt: skip
