"""The corrected recipe under the paper's conditions: its errors, and what each correction is worth."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np

from vibrid.core.device import accelerated
from vibrid.identification import Identification
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.conditions import (
    CONDITIONS,
    NOISE,
    draw_traces,
    errors_of_seeds,
    known,
    record_of,
    stored,
    trace_errors,
)
from vibrid.papers.pidynnet.corrected import PIDynNetCorrected
from vibrid.papers.pidynnet.networks import SEEDS, SHORT, SHORTEST
from vibrid.papers.pidynnet.paper import PAPER, PRINTED
from vibrid.papers.pidynnet.systems import SYSTEMS
from vibrid.report import style

WITHOUT: dict[str, dict] = {
    "all corrections": {},
    "displacements of floors for drifts": {"drifts": False},
    "ground acceleration as an input": {"ground_input": True},
    "no Fourier features": {"features": False},
    "no scales": {"scaled": False},
    "unknowns as multiples, at the rate of the networks": {"logarithms": False},
    "no warm-up": {"warm_up": 0},
    "3σ of the iterations for the information": {"information": False, "constraint": 3.0},
}


def corrected(run: Run, **settings) -> PIDynNetCorrected:
    """The corrected recipe with the paper's schedule, as short as the published one where there is no accelerator."""
    shorter = SHORTEST if run.quick else {} if accelerated() else SHORT
    few = {"warm_up": 10} if shorter and settings.get("warm_up", 1) else {}
    return dataclasses.replace(PIDynNetCorrected(seeds=SEEDS), **(settings | shorter | few))


def corrected_fit(run: Run, system: str, noise: float, settings: tuple = ()) -> Identification:
    named = "".join(f"-{k}={v}" for k, v in settings)
    method = corrected(run, **dict(settings))
    return stored(
        run, f"corrected-{system}-{100 * noise:g}{named}", known(system), record_of(run, system, noise), method
    )


def _row(case, label: str, value, fit: Identification) -> dict:
    errors = errors_of_seeds(case, fit)
    return {
        label: value, "mean error (%)": float(errors.mean()), "spread of the ten (%)": float(errors.std()),
        "worst of the ten (%)": float(errors.max()),
        "smallest on the way (%)": float(np.min(np.mean(trace_errors(case, fit), axis=1))),
        "iterations a subperiod": float(np.mean(fit.convergence["iterations"])), "seconds": fit.seconds,
    }  # fmt: skip


def levels(run: Run, system: str) -> Outcome:
    """The corrected recipe at three levels of noise, beside the printed numbers."""
    case, rows = known(system), []
    chosen = NOISE[:1] if run.quick else NOISE
    figure = style.new_figure(10.0, 3.2)
    with style.styled():
        axes = figure.subplots(1, len(chosen), sharey=True, squeeze=False)[0]
    for noise, ax in zip(chosen, axes, strict=True):
        fit = run.once(corrected_fit, system, noise)
        draw_traces(ax, case, fit)
        ax.axhline(PRINTED[system, noise][1], color=style.TRUTH, lw=1.0, ls="--", label="printed in the paper")
        ax.set_title(f"{system}, {100 * noise:g} % noise")
        row = _row(case, "noise", f"{100 * noise:g} %", fit) | {"paper's network (%)": PRINTED[system, noise][1]}
        row |= {f"{n} (%)": float(e) for n, e in zip(case.labels, case.error(fit.estimate), strict=True)}
        rows.append(row)
    axes[0].set_ylabel("mean error [%]")
    style.legend_above(figure, axes[0])
    return Outcome(rows, [], _words(run), figure)


def _words(run: Run) -> str:
    method = corrected(run)
    return (
        f"`pidynnet-corrected`, {CONDITIONS}; {method.seeds} initialisation(s), {method.pretraining} iterations of "
        f"pretraining, {method.warm_up} of warm-up and {method.iterations} at most in every subperiod."
    )


@PAPER.study("correction", "Corrections of the recipe, each left out alone, cubic, no noise", real_data=True)
def correction(run: Run) -> Outcome:
    case = known("cubic")
    chosen = dict(list(WITHOUT.items())[:2]) if run.quick else WITHOUT
    rows = [
        _row(case, "recipe", label, run.once(corrected_fit, "cubic", 0.0, tuple(settings.items())))
        for label, settings in chosen.items()
    ]
    return Outcome(rows, [], _words(run) + " Seconds: several trainings side by side on one accelerator.")


for _system in SYSTEMS:
    PAPER.study(f"corrected-{_system}", f"The corrected recipe at three levels of noise, {_system}", True)(
        partial(levels, system=_system)
    )
