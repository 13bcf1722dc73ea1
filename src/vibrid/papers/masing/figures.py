"""Figures 3, 4, 6, 7 and 8."""

from __future__ import annotations

import jax
import numpy as np
from scipy import stats

from vibrid.identification import OnlineRecall, Sample, make_problem
from vibrid.papers.jobs import run_jobs
from vibrid.papers.masing.cases import (
    KOBE,
    SAN_FERNANDO,
    UNKNOWN,
    as_record,
    data_of,
    device,
    force_of,
    identify_many,
    motion,
)
from vibrid.papers.masing.seeds import OURS, PRINTED, RECALL
from vibrid.papers.masing.tables import TRUTH_2, simulate_force, wrong_distribution
from vibrid.papers.paper import Check, Outcome
from vibrid.report.style import CYCLE, MEASURED, PREDICTED, RESIDUAL, TRUTH, new_figure, styled
from vibrid.simulation import simulate

STEP = 0.02


def states_of(theta, x, v):
    """Memory of the paper's system over a motion: yield deformation x_yt, and whether it is on the virgin curve."""
    memory = simulate(device(theta), as_record(np.stack([x, v, x], axis=1))).states[0][0]
    count, extremes = memory.count[:, 0], memory.extremes[:, 0]
    top = np.where(count > 0, extremes[np.arange(len(x)), np.maximum(count - 1, 0)], 0.0)
    return np.where(count == 0, np.abs(x), 0.5 * np.abs(x - top)), count == 0


def figure_3(run) -> Outcome:
    x, v = run.once(motion, KOBE, True)
    f = simulate_force((*KOBE.truth[:3], 0.0), x, v)
    _, virgin = states_of(KOBE.truth, x, v)
    figure = new_figure(6.0, 4.2)
    with styled():
        ax = figure.subplots()
        ax.plot(x, f, color=MEASURED, linewidth=0.9, label="curve 2: inside the largest amplitude")
        ax.plot(x, np.where(virgin, f, np.nan), color=RESIDUAL, linewidth=2.4, label="curve 1: virgin loading")
        ax.set(xlabel="displacement", ylabel="restoring force", title="Deteriorating system under Kobe")
        ax.legend(loc="upper left")
    return Outcome(figure=figure, note=f"β, k, α = {list(KOBE.truth[:3])}, without the dashpot, as in the paper.")


def figure_4(run) -> Outcome:
    figure = new_figure(9.0, 7.0)
    with styled():
        axes = figure.subplots(4, 2, sharex="col")
        for column, system in enumerate((KOBE, SAN_FERNANDO)):
            x, v = run.once(motion, system, True)
            f = simulate_force((*system.truth[:3], 0.0), x, v)
            yielding, virgin = states_of(system.truth, x, v)
            t = np.arange(len(x)) * STEP
            rows = (x, f, np.where(virgin, yielding, 2 * yielding), v)
            labels = ("displacement x", "force f", "equivalent X", "velocity v")
            for ax, values, label in zip(axes[:, column], rows, labels, strict=True):
                ax.plot(t, values, color=PREDICTED, linewidth=0.7)
                ax.set_ylabel(label)
            axes[0, column].set_title(f"{system.name}, peak {system.peak:g}")
            axes[-1, column].set_xlabel("time [s]")
    return Outcome(figure=figure, note="X = |x| on curve 1 and 2 x_yt on curve 2. Lengths in the paper's unit, s.")


def figure_6(run) -> Outcome:
    """The ramps, and λ_θ in one run."""
    method = KOBE.method(1)
    problem = make_problem(device(KOBE.guess), as_record(data_of(run, KOBE, 0.05, 1, True)[0]), UNKNOWN)
    d = problem.data[0]

    def body(state, row):
        state = method.step(problem, state, Sample(row[0], row[1], row[2], row[2], d.step))
        return state, state.reduction

    _, reduction = jax.jit(lambda s: jax.lax.scan(body, s, (d.readings, d.present, d.drive.samples)))(
        method.init(problem)
    )
    figure = new_figure(9.0, 4.2)
    with styled():
        axes = figure.subplots(2, 2).reshape(-1)
        cuts = (("x_yt average", "x"), ("std of velocity", "v"), ("std of force", "f"))
        names = ("displacement_cut", "velocity_cut", "force_cut")
        for ax, (label, letter), name in zip(axes, cuts, names, strict=False):
            for system, colour in ((KOBE, CYCLE[0]), (SAN_FERNANDO, CYCLE[1])):
                (low, high), widest = getattr(system, name), 1.5 * getattr(KOBE, name)[1]
                ax.plot([0, low, high, widest], [0, 0, 1, 1], color=colour, label=system.name)
            ax.set(xlabel=label, ylabel=f"λ_{letter}")
            ax.legend(loc="lower right")
        axes[3].plot(np.arange(len(reduction)) * STEP, np.asarray(reduction), color=CYCLE[2], linewidth=0.8)
        axes[3].axhline(method.smallest_step / method.largest_step, color=MEASURED, linestyle="--", linewidth=0.8)
        axes[3].set(xlabel="time [s]", ylabel="λ_θ", title="case 3, seed 0; dashed: δθ_min/δθ_max", ylim=(0, 1.05))
    return Outcome(figure=figure, note="The ramps are the paper's; their linear shape is read from its Figure 6.")


def figure_7(run) -> Outcome:
    figure = new_figure(9.5, 6.5)
    with styled():
        axes = figure.subplots(2, 2).reshape(-1)
        shown = ((1, KOBE, 1, 0.0), (4, KOBE, 1, 0.10), (8, KOBE, 2, 0.10), (10, SAN_FERNANDO, 1, 0.01))
        for ax, (case, system, objective, noise) in zip(axes, shown, strict=True):
            data = data_of(run, system, noise, 1, True)
            _, _, (masing, _) = identify_many(system.method(objective), device(system.guess), data)
            _, _, (better, _) = identify_many(OnlineRecall(), device(system.guess), data)
            t = np.arange(masing.shape[1]) * STEP
            for i, name in enumerate(("β", "k", "α", "c*")):
                ax.axhline(system.truth[i], color=CYCLE[i], linewidth=0.6, linestyle=":")
                ax.plot(t, masing[0, :, i], color=CYCLE[i], linewidth=1.2, label=name)
                ax.plot(t, better[0, :, i], color=CYCLE[i], linewidth=0.8, linestyle="--")
            title = f"case {case}: {system.name}, objective {objective}, noise {100 * noise:g} %"
            ax.set(title=title, xlabel="time [s]", ylabel="estimate", ylim=(0, 8))
        axes[0].legend(ncols=4, loc="upper right")
    note = "Solid: the paper's method; dashed: OnlineRecall; dotted: true values. One noise seed."
    return Outcome(figure=figure, note=note)


def figure_8(run) -> Outcome:
    """Table 2's case 2 under another earthquake."""
    jobs = [(OURS, 1, 0.10), (PRINTED, 1, 0.10), (RECALL, 1, 0.10)]
    ends, printed, better = (result["ends"] for result in run_jobs(run, wrong_distribution, jobs))
    beta, k, a, b, x0, c = TRUTH_2
    x, v = run.once(motion, SAN_FERNANDO, True)
    f = force_of(stats.weibull_min(a, loc=x0, scale=b), beta, k, c / 10.0, x, v)
    wrong = [np.linalg.norm(f - simulate_force(e, x, v)) / np.linalg.norm(f) for e in ends]
    wrong_better = [np.linalg.norm(f - simulate_force(e, x, v)) / np.linalg.norm(f) for e in better]
    middle = int(np.argsort(wrong)[len(wrong) // 2])
    figure = new_figure(9.0, 3.6)
    with styled():
        left, right = figure.subplots(1, 2, width_ratios=(1.8, 1))
        t, identified = np.arange(len(x)) * STEP, simulate_force(ends[middle], x, v)
        for ax, horizontal in ((left, t), (right, x)):
            ax.plot(horizontal, f, color=TRUTH, linewidth=1.4, label="true (Weibull)")
            ax.plot(
                horizontal, identified, color=RESIDUAL, linewidth=0.8, linestyle="--", label="identified (Rayleigh)"
            )
        left.set(xlabel="time [s]", ylabel="force", title="San Fernando, not used for identification")
        right.set(xlabel="displacement", title=f"error {100 * wrong[middle]:.1f} %")
        left.legend(loc="upper right")
    wrong_printed = [np.linalg.norm(f - simulate_force(e, x, v)) / np.linalg.norm(f) for e in printed]
    errors = {"OnlineMasing": wrong, "as printed": wrong_printed, "OnlineRecall": wrong_better}
    return Outcome(
        rows=[{"method": n, "median": float(np.median(e)), "worst": float(np.max(e))} for n, e in errors.items()],
        checks=[Check("‖f − f̂‖/‖f‖ on the other earthquake, median", f"{100 * np.median(wrong):.1f} %", "≤ 5 %",
                      bool(np.median(wrong) <= 0.05))],
        figure=figure,
        note="The paper shows the match and gives no number. Drawn: the seed of median error.",
    )  # fmt: skip
