"""Figures 8 to 11: the cantilever with noise, by JointLoads; the published updates are in `cantilever_updates`."""

from __future__ import annotations

import numpy as np

from vibrid.papers.jobs import all_on_threads
from vibrid.papers.joint.cantilever import MODULUS, NAMES, TIME, TRUE, fit, largest_error, load, load_error, stiffness
from vibrid.papers.joint.paper import PAPER, percent
from vibrid.papers.paper import Check, Outcome
from vibrid.report import style


def noisy(run, noise: float):
    """The first seed's fit with noise, and the errors over all seeds."""
    seeds = 2 if run.quick else 10
    results = all_on_threads(run.once, [(fit, noise, "linear", False, key) for key in range(seeds)])
    loads = np.array([[norm(r.loads[0].values[:, 0]) for norm in (load_error, largest_error)] for r in results])
    parameters = np.array([percent(stiffness(r), TRUE) for r in results])
    ratio = np.array([(stiffness(r) - TRUE) / (r.limits.bound * MODULUS) for r in results])
    cover = np.mean(
        [np.mean(np.abs(r.loads[0].values[:, 0] - load(TIME)) < 2 * r.loads[0].deviation[:, 0]) for r in results]
    )
    return results[0], loads, parameters, ratio, float(cover)


def noise_outcome(run, noise: float, paper: float) -> Outcome:
    first, loads, parameters, ratio, cover = run.once(noisy, noise)
    bound = 100 * first.limits.relative_bound
    rows = [
        {
            "": f"EI_{i + 1}",
            "first seed (%)": parameters[0, i],
            "median of seeds (%)": float(np.median(parameters[:, i])),
            "Cramér–Rao bound (%)": float(bound[i]),
            "rms error / bound": float(np.sqrt(np.mean(ratio[:, i] ** 2))),
        }
        for i in range(3)
    ]
    for i, name in enumerate(("load (Eq. 29)", "load (largest over time)")):
        rows.append({"": name, "first seed (%)": loads[0, i], "median of seeds (%)": float(np.median(loads[:, i]))})
    figure = first.loads[0].plot(reference=load(TIME))
    return Outcome(
        rows,
        [
            Check(
                f"load error at {100 * noise:g} % noise, worst of {len(loads)} seeds: Eq. 29, largest over time",
                f"{loads[:, 0].max():.3g}, {loads[:, 1].max():.3g} %",
                f"< {paper} % (paper)",
                bool(loads.max() < paper),
            ),
            Check("share of samples inside the load's ± 2σ", f"{100 * cover:.1f} %", "about 95 %"),
        ],
        figure=figure,
    )


@PAPER.figure(8, "The load with 1 % noise")
def figure_8(run) -> Outcome:
    return noise_outcome(run, 0.01, 1.85)


@PAPER.figure(10, "The load with 5 % noise")
def figure_10(run) -> Outcome:
    return noise_outcome(run, 0.05, 3.86)


def seeds_figure(run, noise: float):
    _, loads, parameters, _, _ = run.once(noisy, noise)
    ax = style.new_axes()
    values = [*parameters.T, loads[:, 0]]
    for i, errors in enumerate(values):
        ax.semilogy(
            np.full(len(errors), i) + np.linspace(-0.15, 0.15, len(errors)), errors, "o", ms=4, color=style.CYCLE[i]
        )
        ax.plot([i - 0.3, i + 0.3], [np.median(errors)] * 2, color=style.INK)
    ax.set_xticks(range(4), [*NAMES, "load"])
    ax.set(ylabel="error [%]", title=f"{100 * noise:g} % noise, {len(loads)} seeds; line: median")
    return Outcome(figure=ax.figure)


@PAPER.figure(9, "Errors with 1 % noise")
def figure_9(run) -> Outcome:
    return seeds_figure(run, 0.01)


@PAPER.figure(11, "Errors with 5 % noise")
def figure_11(run) -> Outcome:
    return seeds_figure(run, 0.05)
