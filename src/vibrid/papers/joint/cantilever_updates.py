"""The cantilever from other initial values, by the published updates to their stopping rule, and with other holds."""

from __future__ import annotations

import numpy as np

import vibrid as vb
from vibrid.papers.joint.alternating import KEPT
from vibrid.papers.joint.cantilever import (
    FINER,
    MODULUS,
    NAMES,
    SENSORS,
    TIME,
    TRUE,
    UNKNOWN,
    as_published,
    beam,
    fit,
    load,
    load_error,
    newmark,
    stiffness,
    truth,
)
from vibrid.papers.joint.paper import PAPER, measured, percent
from vibrid.papers.paper import Check, Outcome
from vibrid.report import style


def from_factor(run, factors: tuple[float, ...]):
    """A fit from other first guesses: factors on the true stiffness."""
    record = measured(run.once(truth), SENSORS, FINER)
    first = beam(np.array(factors) * TRUE)
    return vb.identify(first, record, [*UNKNOWN, vb.UnknownLoad("12")], vb.JointLoads(), progress=run.progress)


@PAPER.figure(12, "EI₁ from five first guesses")
def figure_12(run) -> Outcome:
    ax = style.new_axes()
    for i, factor in enumerate((2.5, 2.0, 1.5, 0.7, 0.5)):
        result = run.once(from_factor, (factor,) * 3)
        ax.plot(
            result.history["estimate"][:, 0] * MODULUS / 1e6,
            color=style.CYCLE[i],
            marker="o",
            ms=3,
            label=f"{factor:g} ×",
        )
    ax.axhline(TRUE[0] / 1e6, color=style.INK, ls=":", label="true")
    ax.set(xlabel="iteration", ylabel="EI₁ [MN m²]")
    ax.legend(ncols=3)
    return Outcome(figure=ax.figure)


FIRST_LOADS = (10.0, 50.0, 100.0, 500.0, 1000.0)


@PAPER.figure(13, "The paper's updates from five initial loads")
def figure_13(run) -> Outcome:
    ax = style.new_axes()
    rows = []
    for i, first in enumerate(FIRST_LOADS):
        result = run.once(as_published, 0.0, 0, first, 0.6)
        errors = [load_error(f[:, 0]) for f in result.kept]
        ax.loglog(1 + KEPT * np.arange(len(errors)), errors, color=style.CYCLE[i], label=f"{first:g} N")
        rows.append({"initial load (N)": f"{first:g}", **published_row(result)})
    ours = load_error(run.once(from_factor, (0.6,) * 3).loads[0].values[:, 0])
    ax.axhline(ours, color=style.INK, ls=":", label="JointLoads (no initial load needed)")
    ax.set(xlabel="iteration", ylabel="error of the load [%]")
    ax.legend(ncols=2)
    return Outcome(
        rows, figure=ax.figure, note="JointLoads solves for the load at every step and needs no initial load."
    )


@PAPER.figure(14, "Fifty random first guesses between 0.5 and 5 times the true values")
def figure_14(run) -> Outcome:
    count = 2 if run.quick else 50
    rng = np.random.default_rng(0)
    factors = rng.uniform(0.5, 5.0, (count, 3))
    results = [run.once(from_factor, tuple(map(float, f))) for f in factors]
    parameters = np.array([percent(stiffness(r), TRUE) for r in results])
    loads = np.array([load_error(r.loads[0].values[:, 0]) for r in results])
    iterations = np.array([r.convergence["iterations"] for r in results])
    good = (parameters.max(axis=1) < 1.0) & (loads < 1.0)
    ax = style.new_axes(8.0, 3.2)
    for i, name in enumerate(NAMES):
        ax.semilogy(parameters[:, i], "o", ms=4, color=style.CYCLE[i], label=name)
    ax.semilogy(loads, "s", ms=4, color=style.INK, label="load")
    ax.set(xlabel="case", ylabel="final error [%]")
    ax.legend(ncols=4)
    return Outcome(
        checks=[
            Check(
                "cases that converge (all errors below 1 %)",
                f"{good.sum()} of {count}",
                "≥ 49 of 50",
                bool(good.sum() >= 0.98 * count),
            ),
            Check("median iterations", f"{np.median(iterations):g}", "≤ 10", bool(np.median(iterations) <= 10)),
        ],
        figure=ax.figure,
    )


def published_row(result) -> dict:
    """Final errors of the paper's updates, in per cent."""
    errors = percent(result.theta * MODULUS, TRUE)
    way = [load_error(f[:, 0]) for f in result.kept]
    return {
        "iterations": len(result.costs),
        "ε met": "yes" if result.converged else "no",
        **{f"EI_{i + 1} (%)": float(e) for i, e in enumerate(errors)},
        "load, Eq. 29 (%)": load_error(result.loads[:, 0]),
        "load, largest error over time (% of its peak)": largest_error(result.loads[:, 0]),
        "load, lowest on the way (%)": float(min(way)),
    }


def largest_error(values) -> float:
    """The largest error over time, in per cent of the largest load."""
    return 100.0 * float(np.abs(values - load(TIME)).max() / np.abs(load(TIME)).max())


@PAPER.study("as-published", "The paper's updates run to its own stopping rule")
def published(run) -> Outcome:
    cases = {
        "Table 2": (),
        "1 % noise (Figures 8, 9)": (0.01,),
        "5 % noise (Figures 10, 11)": (0.05,),
    }
    results = {name: run.once(as_published, *arguments) for name, arguments in cases.items()}
    rows = [{"case": name, **published_row(result)} for name, result in results.items()]
    return Outcome(
        rows,
        figure=convergence_picture(results["Table 2"], run.once(final_errors)),
        note="Initial values of Table 1, initial load 100 N, λ = 0.5, ε = 1e-6; noise seed 0; linear hold on data of a "
        "twenty times finer step.",
    )


def final_errors(run) -> list[float]:
    """Errors of EI₁, EI₂, EI₃ and the load by JointLoads, without noise, in per cent."""
    result = run.once(fit)
    return [*map(float, percent(stiffness(result), TRUE)), load_error(result.loads[0].values[:, 0])]


def convergence_picture(result, ours: list[float]):
    """Errors of load and EI against the iteration of the paper's updates, JointLoads' as lines; and the load."""
    figure = style.new_figure(9.0, 5.8)
    with style.styled():
        upper, lower = figure.subplots(2, 1, height_ratios=(1.5, 1.0))
        steps = 1 + np.arange(len(result.thetas))
        way_of_load = np.array([load_error(f[:, 0]) for f in result.kept])
        lines = [(steps, percent(result.thetas[:, i] * MODULUS, TRUE[i])) for i in range(3)]
        lines.append((1 + KEPT * np.arange(len(way_of_load)), way_of_load))
        for (x, y), name, last, colour in zip(
            lines, (*NAMES, "load"), ours, (*style.CYCLE[:3], style.INK), strict=True
        ):
            upper.loglog(x, y, color=colour, label=name)
            upper.axhline(last, color=colour, ls=":", lw=1)
        upper.axhline(0.0243, color=style.BOUND, ls="--", lw=1.2, label="load, paper")
        upper.set(xlabel="iteration", ylabel="error [%]", xlim=(0.9, 1.1 * len(steps)), ylim=(3e-3, 6e4))
        upper.set_title("The paper's updates until ε = 1e-6; dotted: JointLoads after six iterations")
        upper.legend(ncols=5, loc="upper right")
        lower.plot(TIME, load(TIME), color=style.TRUTH, lw=3, label="true load")
        for colour, k in zip((style.CYCLE[4], style.CYCLE[1], style.CYCLE[3]), (0, 10, 50), strict=True):
            values = result.kept[min(k // KEPT, len(result.kept) - 1)][:, 0]
            lower.plot(TIME, values, color=colour, lw=0.9, label=f"iteration {k}")
        lower.plot(TIME, result.loads[:, 0], color=style.INK, lw=0.9, ls="--", label=f"iteration {len(steps)}")
        lower.set(xlabel="time [s]", ylabel="load [N]", xlim=(0, 2), ylim=(-1600, 2400))
        lower.legend(ncols=5, loc="upper center")
    return figure


@PAPER.study("holds", "Holds of the load between samples, parameters known")
def holds(run) -> Outcome:
    data = {
        "a twenty times finer step": measured(run.once(truth), SENSORS, FINER),
        "Newmark at 2 ms (the paper's)": measured(run.once(newmark), SENSORS, 1),
    }
    models = {
        "zero-order (Equations 8, 9)": {"hold": "zero"},
        "linear": {"hold": "linear"},
        "cubic": {"hold": "cubic"},
        "Newmark (average acceleration)": {"integrator": vb.Newmark()},
    }
    rows = []
    for name, options in models.items():
        loads = {kind: vb.find_loads(beam(), record, ["12"], **options).values[:, 0] for kind, record in data.items()}
        rows.append({"model": name, **{f"data by {kind} (%)": load_error(values) for kind, values in loads.items()}})
    return Outcome(rows, note="Error of the load, Eq. 29, without noise, bending stiffness known.")
