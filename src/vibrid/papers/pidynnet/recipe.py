"""The recipe as published: length of subperiods (Table 2), batches, constraint, and every subperiod alone."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np

from vibrid.core.device import accelerated
from vibrid.identification import PIDynNet, identify
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.as_published import PIDynNetAsPublished
from vibrid.papers.pidynnet.networks import (
    MOTION,
    PAPER_RATE,
    RATE,
    SEEDS,
    SHORTEST,
    STUDY,
    as_published,
    few_steps,
    paper_rate,
    schedule,
    trained,
)
from vibrid.papers.pidynnet.paper import PAPER, data_of, response_of
from vibrid.papers.pidynnet.systems import SYSTEMS, cubic, measured
from vibrid.records.record import step_of

SUBPERIOD = 5.0  # s
TABLE_2 = {2.0: 1.08, 3.0: 1.35, 5.0: 0.56, 10.0: 2.99}  # printed mean errors in per cent


@PAPER.table(2, "Subperiods of 2, 3, 5 and 10 s, cubic, no noise")
def table_2(run: Run) -> Outcome:
    case = SYSTEMS["cubic"]()
    rows = []
    record = data_of(run, "cubic", MOTION, paper_rate(run), 0.0, 0)
    coarse = data_of(run, "cubic", MOTION, RATE, 0.0, 0)

    def default_windows(seconds: float):
        bandwidth = 4.0 if seconds > 3 else None  # long windows have many features: fewer a second keep them trainable
        return trained(run, PIDynNet(window=seconds, bandwidth=bandwidth, **few_steps(run)), case, coarse)

    lengths = list(TABLE_2)[: 2 if run.quick else None]
    pool = ThreadPoolExecutor(len(lengths))  # beside those as published, which an accelerator trains
    beside = {seconds: pool.submit(default_windows, seconds) for seconds in reversed(lengths)}
    fits = {seconds: trained(run, as_published(run, window=seconds, **STUDY), case, record) for seconds in lengths}
    for seconds in lengths:
        theirs, ours, printed = fits[seconds], beside[seconds].result(), TABLE_2[seconds]
        rows.append(
            {
                "subperiod (s)": seconds, "paper (%)": printed,
                "as published (%)": float(np.mean([case.mean_error(v) for v in theirs.history["seeds"]])),
                "as published (s)": theirs.seconds,
                "PIDynNet, windows as long (%)": case.mean_error(ours.estimate), "PIDynNet (s)": ours.seconds,
                "PIDynNet, equations met to (%)": 100 * ours.convergence["equations_met_to"],
            }
        )  # fmt: skip
    note = (
        f"Synthetic motion; as published at {PAPER_RATE:g} Hz with {schedule(run, **STUDY)}, PIDynNet at {RATE:g} Hz "
        "with one initialisation."
    )
    return Outcome(rows, [], note)


def _study(run: Run, name: str, choices: dict) -> Outcome:
    case, record = SYSTEMS["cubic"](), data_of(run, "cubic", MOTION, paper_rate(run), 0.0, 0)
    rows = []
    for label, settings in choices.items():
        fit = trained(run, as_published(run, **settings, **STUDY), case, record)
        errors = [case.mean_error(v) for v in fit.history["seeds"]]
        rows.append({name: label, "error (%)": float(np.mean(errors)), "spread of seeds (%)": float(np.std(errors)),
                     "iterations in all": sum(fit.convergence["iterations"]), "seconds": fit.seconds})  # fmt: skip
    note = (
        f"As published, cubic system, synthetic motion at {PAPER_RATE:g} Hz, no noise, {schedule(run, **STUDY)}. "
        "The paper chose 500 and 3σ by such studies and prints none."
    )
    return Outcome(rows, [], note)


@PAPER.study("batch", "As published: samples in a batch")
def batch(run: Run) -> Outcome:
    return _study(run, "batch", {n: {"batch": n} for n in ((100, 1000) if run.quick else (100, 250, 500, 1000))})


@PAPER.study("constraint", "As published: how tightly a subperiod constrains the next")
def constraint(run: Run) -> Outcome:
    kinds = {"1σ": 1.0, "3σ": 3.0, "5σ": 5.0, "none": None}
    chosen = {k: kinds[k] for k in ("3σ", "none")} if run.quick else kinds
    return _study(run, "constraint", {label: {"constraint": value} for label, value in chosen.items()})


class Alone:
    """One subperiod of the cubic system trained alone: damping known and true at its start, no early stop."""

    def __init__(self, run: Run):
        self.case = cubic(known_damping=True)
        self.true = run.once(response_of, "cubic", MOTION, paper_rate(run))
        self.record = measured(self.case, self.true, 0.0)
        states = [np.asarray(s).reshape(len(self.true.time), -1) for s in jax.tree.leaves(self.true.states)]
        self.damping = np.concatenate(states, axis=1)

    def inside(self, start: float) -> slice:
        step = step_of(self.record)
        return slice(at := round(start / step), at + round(SUBPERIOD / step))

    def train(self, run: Run, method: PIDynNetAsPublished, start: float):
        """(fit, errors of every initialisation and unknown, mean error over the training) in per cent."""
        damping = self.damping[self.inside(start).start]
        guess = self.case.guess.replace({f"damping[{i}].initial": float(c) for i, c in enumerate(damping)})
        run.progress.stage(f"subperiod from {start:g} s")
        fit = identify(guess, self.record.cut(start, start + SUBPERIOD), self.case.unknown, method)
        errors = np.array([self.case.error(v) for v in fit.history["seeds"]])
        history = np.array([[self.case.mean_error(v) for v in step] for step in fit.history["traces"]]).mean(axis=1)
        return fit, errors, history


@PAPER.study("subperiods", "As published: every subperiod alone, cubic, no noise")
def subperiods(run: Run) -> Outcome:
    alone, method = Alone(run), as_published(run, window=SUBPERIOD, tolerance=0.0)
    true, rows = alone.true, []
    for start in np.arange(0.0, true.time[-1] - SUBPERIOD / 2, SUBPERIOD)[: 1 if run.quick else None]:
        inside = alone.inside(start)
        fit, errors, history = alone.train(run, method, start)
        rows.append(
            {
                "from (s)": float(start),
                "rms of the ground (m/s²)": float(np.std(true.excitation.data[inside, 0])),
                "drift of the first storey, rms (m)": float(np.std(true.displacement[inside, 0])),
                "error after a tenth (%)": float(history[len(history) // 10]),
                "after a half (%)": float(history[len(history) // 2]),
                "at the end (%)": float(errors.mean()),
                "best initialisation (%)": float(errors.mean(axis=1).min()),
                "stiffnesses (%)": float(errors[:, :-1].mean()), "k_nl (%)": float(errors[:, -1].mean()),
                "seconds": fit.seconds,
            }
        )  # fmt: skip
    note = (
        f"Synthetic motion at {paper_rate(run):g} Hz; {method.seeds} initialisation(s), {method.iterations} iterations "
        "on every subperiod from the same first guess, no early stop, no constraint from the one before; damping at "
        "its start is known and true. The error left is that of the recipe: the derivative in time at a held ground "
        "acceleration is not that of the record, and residuals at points weigh every equation alike."
    )
    return Outcome(rows, [], note)


@PAPER.study("inputs", "As published: with the ground acceleration as an input of the networks, and without")
def inputs(run: Run) -> Outcome:
    """The strongest subperiod alone: the losses and the errors of the unknowns."""
    alone, rows, start = Alone(run), [], 10.0
    long = SHORTEST if run.quick else {"seeds": SEEDS if accelerated() else 1, "iterations": 5000}
    for label, seen in (("time and ground acceleration", True), ("time alone", False)):
        settings = PIDynNetAsPublished(window=SUBPERIOD, tolerance=0.0, ground_input=seen)
        method = dataclasses.replace(settings, **long)
        fit, errors, history = alone.train(run, method, start)
        readings, equations, latent = np.mean(fit.history["losses"][-1], axis=0)
        rows.append(
            {
                "inputs": label,
                "loss of the readings": float(readings), "of the equations": float(equations),
                "of the hidden states": float(latent),
                "error after one iteration (%)": float(history[0]),
                "smallest on the way (%)": float(history.min()), "at the end (%)": float(errors.mean()),
                "seconds": fit.seconds,
            }
        )  # fmt: skip
    note = (
        f"From {start:g} to {start + SUBPERIOD:g} s, {method.seeds} initialisation(s), {method.iterations} iterations, "
        f"synthetic motion at {paper_rate(run):g} Hz, no noise, c(0) known. Losses are sums over a batch. With the "
        "ground as an input, derivatives at held ground are not those of the record; with time alone they are."
    )
    return Outcome(rows, [], note)
