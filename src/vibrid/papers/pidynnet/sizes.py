"""Figure 4: time and error against the number of floors."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

import numpy as np

from vibrid.core.device import accelerated, cores, on_processor
from vibrid.identification import Method, PIDynNet, TrajectoryFit, identify
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


def methods(floors: int, quick: bool) -> dict[str, Method]:
    """Methods for a building of so many floors, the slowest first."""
    chosen: dict[str, Method] = {"PIDynNet": PIDynNet()} if not quick or floors == min(FLOORS) else {}
    chosen |= CLASSICAL | {"TrajectoryFit": TrajectoryFit()}  # without stages: quicker where there are many floors
    return chosen | ({"as published": as_published(Run(quick))} if accelerated() or quick else {})


def tried(floors: int, name: str, quick: bool = False) -> dict:
    """One method on a building of so many floors: seconds and mean error."""
    run, system, method = Run(quick), cubic(floors), methods(floors, quick)[name]
    with on_processor():
        response = simulate(system.building, at_rate(synthetic(), 100.0), integrator=RungeKutta4(), substeps=10)
    record = measured(system, response, NOISE, 1)
    if isinstance(method, PIDynNet | PIDynNetAsPublished):
        fit = trained(run, method, system, record)
        error = float(np.mean([system.mean_error(v) for v in fit.history["seeds"]]))
    else:
        with on_processor():
            if floors <= COMPILED_BEFORE and not quick:
                identify(system.guess, record, system.unknown, method)
            fit = identify(system.guess, record, system.unknown, method)
        error = system.mean_error(fit.estimate)
    return {f"{name} (s)": fit.seconds, f"{name}, error (%)": error}


def own_cores(places) -> None:
    """A process of the pool runs on its own cores, and ends with Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if place := places.get():
        os.sched_setaffinity(0, place)


def all_tried(jobs: list[tuple[int, str]], side_by_side: int, run: Run) -> dict[tuple[int, str], dict]:
    """Results of every method at every height; after Ctrl-C the finished ones."""
    spawn = multiprocessing.get_context("spawn")
    mine = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    places = spawn.Queue()
    for place in np.array_split(mine, side_by_side):
        places.put(place.tolist())
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # they share one accelerator
    alone = int(accelerated() and side_by_side > 1)  # methods on an accelerator run one after the other
    pools = [ProcessPoolExecutor(n, spawn, own_cores, (places,)) for n in (side_by_side - alone, alone) if n]
    futures = {job: pools[-1 if job[1] == "as published" else 0].submit(tried, *job, run.quick) for job in jobs}
    try:
        jobs_of = {future: job for job, future in futures.items()}
        for i, future in enumerate(as_completed(jobs_of), 1):
            future.result()
            run.progress.update(i, "{1} at {0} floors done".format(*jobs_of[future]))
    except (KeyboardInterrupt, BrokenProcessPool):
        if not any(_finished(future) for future in futures.values()):
            raise
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
    return {job: future.result() for job, future in futures.items() if _finished(future)}


def _finished(future: Future) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


@PAPER.figure(4, "Time and error against the number of floors")
def figure_4(run: Run) -> Outcome:
    floors = FLOORS[:2] if run.quick else FLOORS
    side_by_side = max(cores() // CORES, 1)
    jobs = [(n, name) for n in (floors if side_by_side == 1 else reversed(floors)) for name in methods(n, run.quick)]
    words = f"buildings of {', '.join(map(str, floors))} floors, {side_by_side} methods at a time"
    run.progress.stage(words, len(jobs))
    done = all_tried(jobs, side_by_side, run)
    rows = [{"floors": n} for n in floors if any(job[0] == n for job in done)]
    for row in rows:
        for name in methods(row["floors"], run.quick):
            row |= done.get((row["floors"], name), {})
    figure = style.new_figure(9.0, 3.2)
    with style.styled():
        left, right = figure.subplots(1, 2)
    for name in ("as published", "PIDynNet", *CLASSICAL):
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
        f"TrajectoryFit: all unknowns at once; {published}. {side_by_side} ran at a time, on {CORES} cores each, "
        "one of them on the accelerator where there is one. "
        f"Times of UKF, TrajectoryFit and WeakCollocation are without compilation up to {COMPILED_BEFORE} floors; all "
        "others include it. The paper's UKF took 892 s for ten floors and its network 432 s on two A100."
    )
    missing = ", ".join(f"{name} at {n} floors" for n, name in jobs if (n, name) not in done)
    note += f" Cut short: {missing} not done." if missing else ""
    return Outcome(rows, [], note, figure)
