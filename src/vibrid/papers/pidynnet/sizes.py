"""Figure 4: time and error against the number of floors."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from vibrid.core.device import accelerated, cores, on_processor
from vibrid.identification import PIDynNet, identify
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.networks import STUDY, faithful, trained
from vibrid.papers.pidynnet.paper import CLASSICAL, PAPER
from vibrid.papers.pidynnet.systems import at_rate, cubic, measured, synthetic
from vibrid.report import style
from vibrid.simulation import RungeKutta4, simulate

FLOORS = (2, 4, 8, 10, 16, 20, 32)
NOISE = 0.05
COMPILED_BEFORE = 10  # floors up to which a fit is repeated, so that its time is without compilation
TALLEST_FIT, TALLEST_NETWORK = 16, 10  # floors up to which trajectories are fitted and the default network is trained
FAITHFUL = "faithful" if accelerated() else "faithful, 200 iterations"


def height(floors: int, quick: bool = False) -> dict:
    """Every method on a building of so many floors: seconds and mean error."""
    run, system = Run(quick), cubic(floors)
    with on_processor():
        truth = simulate(system.building, at_rate(synthetic(), 100.0), integrator=RungeKutta4(), substeps=10)
    record = measured(system, truth, NOISE, 1)
    row = {"floors": floors}
    for name, method in CLASSICAL.items():
        if name == "TrajectoryFit" and floors > TALLEST_FIT:
            continue
        with on_processor():
            for _ in range(2 if floors <= COMPILED_BEFORE and not quick else 1):
                fit = identify(system.guess, record, system.unknown, method)
        row |= {f"{name} (s)": fit.seconds, f"{name}, error (%)": system.mean_error(fit.estimate)}
    networks = {FAITHFUL: faithful(run, **STUDY)} if accelerated() or quick else {}
    networks |= {"PIDynNet": PIDynNet()} if floors <= (2 if quick else TALLEST_NETWORK) else {}
    for name, method in networks.items():
        fit = trained(run, method, system, record)
        errors = [system.mean_error(v) for v in fit.history["seeds"]]
        row |= {f"{name} (s)": fit.seconds, f"{name}, error (%)": float(np.mean(errors))}
    return row


@PAPER.figure(4, "Time and error against the number of floors")
def figure_4(run: Run) -> Outcome:
    floors = FLOORS[:2] if run.quick else FLOORS
    side_by_side = min(len(floors), max(cores() // 2, 1))
    run.progress.stage(f"buildings of {', '.join(map(str, floors))} floors, {side_by_side} at a time")
    pool = ProcessPoolExecutor(side_by_side, multiprocessing.get_context("spawn"))
    made = {n: pool.submit(height, n, run.quick) for n in (floors if side_by_side == 1 else reversed(floors))}
    rows, left_out = [], []
    try:
        for n in floors:
            rows.append(made[n].result())
    except KeyboardInterrupt:  # Ctrl-C keeps the heights that are done
        done = [n for n in floors if made[n].done() and not made[n].cancelled() and made[n].exception() is None]
        rows, left_out = [made[n].result() for n in done], [n for n in floors if n not in done]
        if not rows:
            raise
    finally:
        pool.shutdown(wait=not left_out, cancel_futures=True)
    figure = style.new_figure(9.0, 3.2)
    with style.styled():
        left, right = figure.subplots(1, 2)
    for name in [FAITHFUL, "PIDynNet", *CLASSICAL]:
        own = [row for row in rows if f"{name} (s)" in row]
        if not own:
            continue
        count = [row["floors"] for row in own]
        left.plot(count, [row[f"{name} (s)"] for row in own], "o-", ms=4, label=name)
        right.plot(count, [row[f"{name}, error (%)"] for row in own], "o-", ms=4)
    left.plot([10], [892], "x", color=style.RESIDUAL, label="paper's UKF")
    left.plot([10], [432], "+", color=style.INK, ms=8, label="paper's PIDynNet, two A100")
    left.set(xlabel="floors", ylabel="time [s]", yscale="log")
    right.set(xlabel="floors", ylabel="mean error [%]", yscale="log")
    for ax in (left, right):
        ax.set_xticks([row["floors"] for row in rows])
        style.log_axis(ax.yaxis, plain=True)
    style.legend_above(figure, left)
    method = faithful(run, **STUDY)
    letter = f"faithful: {method.seeds} initialisation(s) at once, {method.iterations} iterations a subperiod"
    letter = letter if accelerated() or run.quick else "faithful: left out for want of an accelerator"
    note = (
        "Cubic system with the paper's shares of stiff and soft storeys, synthetic motion at 100 Hz, 5 % noise, c(0) "
        "unknown; data from a ten times finer Runge–Kutta step. PIDynNet: one initialisation, up to "
        f"{TALLEST_NETWORK} floors; TrajectoryFit: up to {TALLEST_FIT}, from the first guess; {letter}. "
        f"Heights ran {side_by_side} at a time, one process each. Times of "
        f"UKF, TrajectoryFit and WeakCollocation are without compilation up to {COMPILED_BEFORE} floors; all others "
        "include it. The paper's UKF took 892 s for ten floors and its network 432 s on two A100."
    )
    note += f" Cut short before {', '.join(map(str, left_out))} floors were done." if left_out else ""
    return Outcome(rows, [], note, figure)
