"""Figure 4: time and error against the number of floors."""

from __future__ import annotations

import numpy as np

from vibrid.core.device import accelerated, cores, on_processor
from vibrid.identification import Method, PIDynNet, TrajectoryFit, identify
from vibrid.papers.jobs import Arrays, run_jobs
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.as_published import PIDynNetAsPublished
from vibrid.papers.pidynnet.networks import as_published, trained
from vibrid.papers.pidynnet.paper import CLASSICAL, PAPER
from vibrid.papers.pidynnet.systems import at_rate, cubic, measured, synthetic
from vibrid.report import style
from vibrid.simulation import RungeKutta4, simulate

FLOORS = (2, 4, 8, 10, 16, 20, 32)
NOISE = 0.05
COMPILED_BEFORE = 10  # floors up to which a fit is repeated, so that its time is without compilation
CORES = 2  # of a method while others run beside it
PUBLISHED = "as published"


def methods(floors: int, quick: bool) -> dict[str, Method]:
    """Methods for a building of so many floors, the slowest first."""
    chosen: dict[str, Method] = {"PIDynNet": PIDynNet()} if not quick or floors == min(FLOORS) else {}
    chosen |= CLASSICAL | {"TrajectoryFit": TrajectoryFit()}  # without stages: quicker where there are many floors
    return chosen | ({PUBLISHED: as_published(Run(quick))} if accelerated() or quick else {})


def tried(run: Run, floors: int, name: str) -> Arrays:
    """One method on a building of so many floors: seconds and mean error."""
    system, method = cubic(floors), methods(floors, run.quick)[name]
    with on_processor():
        response = simulate(system.building, at_rate(synthetic(), 100.0), integrator=RungeKutta4(), substeps=10)
    record = measured(system, response, NOISE, 1)
    if isinstance(method, PIDynNet | PIDynNetAsPublished):
        fit = trained(run, method, system, record)
        error = float(np.mean([system.mean_error(v) for v in fit.history["seeds"]]))
    else:
        with on_processor():
            if floors <= COMPILED_BEFORE and not run.quick:
                identify(system.guess, record, system.unknown, method)
            fit = identify(system.guess, record, system.unknown, method)
        error = system.mean_error(fit.estimate)
    return {"seconds": np.array(fit.seconds), "error": np.array(error)}


def all_tried(run: Run, jobs: list[tuple[int, str]]) -> dict[tuple[int, str], dict]:
    """The cells of every method at every height; those that an accelerator trains one after the other."""
    alone = [job for job in jobs if job[1] == PUBLISHED]
    others = [job for job in jobs if job not in alone]
    done = dict(zip(others, run_jobs(run, tried, others, CORES), strict=True))
    done |= {job: run_jobs(run, tried, [job])[0] for job in alone}
    return {
        (floors, name): {f"{name} (s)": float(made["seconds"]), f"{name}, error (%)": float(made["error"])}
        for (floors, name), made in done.items()
    }


@PAPER.figure(4, "Time and error against the number of floors")
def figure_4(run: Run) -> Outcome:
    floors = FLOORS[:2] if run.quick else FLOORS
    side_by_side = max(cores() // CORES, 1)
    jobs = [(n, name) for n in (floors if side_by_side == 1 else reversed(floors)) for name in methods(n, run.quick)]
    done, rows = all_tried(run, jobs), [{"floors": n} for n in floors]
    for row in rows:
        for name in methods(row["floors"], run.quick):
            row |= done[row["floors"], name]
    figure = style.new_figure(9.0, 3.2)
    with style.styled():
        left, right = figure.subplots(1, 2)
    for name in (PUBLISHED, "PIDynNet", *CLASSICAL):
        shown = [row for row in rows if f"{name} (s)" in row]
        if not shown:
            continue
        count = [row["floors"] for row in shown]
        left.plot(count, [row[f"{name} (s)"] for row in shown], "o-", ms=4, label=name)
        right.plot(count, [row[f"{name}, error (%)"] for row in shown], "o-", ms=4)
    left.plot([10], [892], "x", color=style.RESIDUAL, label="paper's UKF")
    left.plot([10], [432], "+", color=style.INK, ms=8, label="paper's PIDynNet, two A100")
    left.set(xlabel="floors", ylabel="time [s]", yscale="log")
    right.set(xlabel="floors", ylabel="mean error [%]", yscale="log")
    for ax in (left, right):
        ax.set_xticks([row["floors"] for row in rows])
        style.log_axis(ax.yaxis, plain=True)
    style.legend_above(figure, left)
    method = as_published(run)
    published = f"as published: {method.seeds} initialisation(s) at once, {method.iterations} iterations a subperiod"
    published = published if accelerated() or run.quick else "as published: left out without an accelerator"
    note = (
        "Cubic system with the paper's shares of stiff and soft storeys, synthetic motion at 100 Hz, 5 % noise, c(0) "
        "unknown; data from a ten times finer Runge–Kutta step. PIDynNet: one initialisation; "
        f"TrajectoryFit: all unknowns at once; {published}. {side_by_side} ran at a time, on {CORES} cores each; what "
        "an accelerator trains ran after them, alone. "
        f"Times of UKF, TrajectoryFit and WeakCollocation are without compilation up to {COMPILED_BEFORE} floors; all "
        "others include it. The paper's UKF took 892 s for ten floors and its network 432 s on two A100."
    )
    return Outcome(rows, [], note, figure)
