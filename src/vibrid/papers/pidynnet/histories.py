"""Figures 2 and 7: estimates over the time of the record, by the recipe and by the filter; and over our steps."""

from __future__ import annotations

import numpy as np

from vibrid.identification import Identification, UnscentedKalman
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.conditions import (
    CONDITIONS,
    known,
    other_of,
    recipe_of,
    record_of,
    stored,
    trace_errors,
)
from vibrid.papers.pidynnet.networks import schedule
from vibrid.papers.pidynnet.paper import PAPER
from vibrid.report import style

SHOWN = {"cubic": (0, 4, 9, 10), "bouc-wen": (0, 3, 4, 5)}  # unknowns in the figure
EVERY = 2.5  # s between the rows


def filter_of(run: Run, system: str) -> Identification:
    """One pass of the filter through the record, from the first guess: its estimate at every sample."""
    return stored(
        run, f"UKF-one-pass-{system}-0", known(system), record_of(run, system, 0.0), UnscentedKalman(passes=1)
    )


def over_the_record(run: Run, system: str) -> Outcome:
    case, printed, ukf = known(system), run.once(recipe_of, system, 0.0), run.once(filter_of, system)
    ours = run.once(other_of, system, 0.0, "WeakCollocation")
    figure = style.new_figure(10.0, 4.8)
    with style.styled():
        axes = figure.subplots(2, len(SHOWN[system]))
    places = printed.history["trace_time"]
    path = ukf.history["estimate"]
    time = ukf.problem.data[0].step * np.arange(1, len(path) + 1)
    thin = slice(None, None, max(len(path) // 1000, 1))
    steps = ours.history["estimate"]
    for (above, below), i in zip(axes.T, SHOWN[system], strict=True):
        above.plot(places, printed.history["traces"][:, :, i], color=style.MEASURED, lw=0.7)
        above.plot(places, printed.history["traces"][:, :, i].mean(axis=1), color=style.PREDICTED, label="recipe, mean")
        above.plot(time[thin], path[thin, i], color=style.RESIDUAL, lw=1.0, label="UKF")
        below.plot(np.arange(1, len(steps) + 1), steps[:, i], "o-", ms=3, label="WeakCollocation")
        for ax, words in ((above, "time in the record [s]"), (below, "Gauss–Newton step")):
            ax.axhline(case.truth[i], color=style.TRUTH, lw=1.0, ls="--", label="true")
            ax.set(xlabel=words, ylabel=case.labels[i])
    style.legend_above(figure, axes[0, 0], axes[1, 0])
    note = (
        f"{CONDITIONS}; no noise; recipe as published: {schedule(run, printed)}; grey: each initialisation. UKF: one "
        "pass from the same first guess. Rows: mean error of all unknowns, the recipe's at the end of training up to "
        "that time."
    )
    return Outcome(history_rows(case, printed, time, path), [], note, figure)


def history_rows(case, printed: Identification, time: np.ndarray, path: np.ndarray) -> list[dict]:
    """Mean errors in per cent at times of the record: of every initialisation, their mean, and the filter."""
    errors, places = trace_errors(case, printed), printed.history["trace_time"]
    first, rows = case.mean_error(printed.problem.unknowns.start), []
    for at in np.arange(0.0, max(time[-1], places[-1]) + EVERY / 2, EVERY):
        reached, read = np.flatnonzero(places <= at + 1e-9), np.flatnonzero(time <= at + 1e-9)
        each = errors[reached[-1]] if len(reached) else np.full(errors.shape[1], first)
        filtered = case.mean_error(path[read[-1]]) if len(read) else first
        rows.append(
            {"time in the record (s)": float(at), "recipe, mean (%)": float(each.mean()), "UKF (%)": filtered}
            | {f"initialisation {i + 1} (%)": float(e) for i, e in enumerate(each)}
        )
    return rows


PAPER.figure(2, "Convergence, cubic system", real_data=True)(lambda run: over_the_record(run, "cubic"))
PAPER.figure(7, "Convergence, Bouc–Wen system", real_data=True)(lambda run: over_the_record(run, "bouc-wen"))
