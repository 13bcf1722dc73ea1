"""Parts of the recipe left out one at a time, fewer data, and the damping equation as printed; cubic system."""

from __future__ import annotations

import numpy as np

from vibrid.identification import UnscentedKalman, WeakCollocation
from vibrid.papers.jobs import beside
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.conditions import (
    CONDITIONS,
    MOTION,
    OTHERS,
    errors_of_seeds,
    known,
    recipe,
    record_of,
    stored,
    trace_errors,
)
from vibrid.papers.pidynnet.networks import as_published, paper_rate, schedule
from vibrid.papers.pidynnet.paper import PAPER, motion_of, response_of
from vibrid.papers.pidynnet.systems import cubic, measured, respond
from vibrid.records import Record
from vibrid.records.record import step_of

LEFT_OUT: dict[str, dict] = {
    "as published": {},
    "no loss of the equations of motion (w_N = 0)": {"weights": (1.0, 0.0, 10.0)},
    "no loss of the hidden states (w_Z = 0)": {"weights": (1.0, 1.0, 0.0)},
    "equal weights (w_Z = 1)": {"weights": (1.0, 1.0, 1.0)},
    "no transfer to the latent network": {"transfer": False},
    "no early stopping": {"tolerance": 0.0},
    "pool of 500": {"pool": 500},
    "pool of all 5000 samples": {"pool": 5001},
    "3000 iterations": {"iterations": 3000},
}
POOLS = (1000, 500, 250, 100)
SHARES = (1.0, 0.5, 0.25)
THINNED_RATE = 200.0  # Hz: 1000 samples in 5 s, the paper's pool


@PAPER.study("ablation", "As published: losses, transfer, early stopping, pool and iterations, cubic, no noise", True)
def ablation(run: Run) -> Outcome:
    case, rows = known("cubic"), []
    fits = {label: recipe(run, "cubic", 0.0, **LEFT_OUT[label]) for label in list(LEFT_OUT)[: 2 if run.quick else None]}
    for label, fit in fits.items():
        errors = errors_of_seeds(case, fit)
        rows.append(
            {
                "recipe": label, "error (%)": float(errors.mean()), "spread of the ten (%)": float(errors.std()),
                "worst (%)": float(errors.max()),
                "smallest on the way (%)": float(np.min(np.mean(trace_errors(case, fit), axis=1))),
                "iterations in all": sum(fit.convergence["iterations"]), "seconds": fit.seconds,
            }
        )  # fmt: skip
    first = case.mean_error(next(iter(fits.values())).problem.unknowns.start)
    note = (
        f"{CONDITIONS}; no noise; {schedule(run)} unless stated. The first guess errs by {first:.3g} %. The "
        "stiffnesses occur in the equations of motion alone: without their loss no gradient moves them. "
        "Seconds: several trainings side by side on one accelerator."
    )
    return Outcome(rows, [], note)


def thinned(record: Record, keep: int) -> Record:
    """The record with readings at every `keep`-th sample alone; the ground motion stays complete."""
    data = np.array(record.data)
    read = [c.quantity != "ground_acceleration" for c in record.channels]
    gone = np.arange(len(record)) % keep != 0
    data[np.ix_(gone, read)] = np.nan
    return Record(data, record.channels, step=step_of(record), name=record.name)


@PAPER.study("fewer-data", "Error against the share of the record and the size of the pool, cubic, 5 % noise", True)
def fewer_data(run: Run) -> Outcome:
    case, noise = known("cubic"), 0.05
    rate = paper_rate(run) if run.quick else THINNED_RATE
    coarse = measured(case, run.once(response_of, "cubic", MOTION, rate), noise, 0)
    jobs: list[tuple[str, Record, Record, dict]] = []  # label, readings of the recipe, of the others, settings
    whole = record_of(run, "cubic", noise)
    for share in SHARES[: 1 if run.quick else None]:
        end = share * 40.0
        jobs.append((f"first {end:g} s", whole.cut(0.0, end), coarse.cut(0.0, end), {}))
    for pool in POOLS[1:2] if run.quick else POOLS[1:]:
        jobs.append((f"{pool} of 5000 samples", whole, thinned(coarse, POOLS[0] // pool), {"pool": pool}))
    methods, rows = {"WeakCollocation": WeakCollocation(), "UKF": UnscentedKalman()}, []

    def by_other(label: str, name: str, readings: Record):
        return stored(run, f"fewer-{name}-{label.replace(' ', '-')}", case, readings, methods[name])

    others = [(label, name, readings) for label, _, readings, _ in jobs for name in methods]
    with beside(by_other, others) as results:
        for label, readings, _, settings in jobs:
            method = as_published(run, **settings)
            fit = stored(run, f"fewer-as-published-{label.replace(' ', '-')}", case, readings, method)
            rows.append({"data": label, "as published (%)": float(errors_of_seeds(case, fit).mean())})
        found = {(label, name): fit for (label, name, _), fit in zip(others, results(), strict=True)}
    for row in rows:
        for name in methods:
            row[f"{name} (%)"] = case.mean_error(found[row["data"], name].estimate)
    note = (
        f"{CONDITIONS}; {100 * noise:g} % noise, {schedule(run)}. WeakCollocation and UKF have readings at "
        f"{rate:g} Hz, as many as the recipe's pool of 1000 in 5 s; of smaller pools as many, evenly spaced. The "
        "ground motion is complete."
    )
    return Outcome(rows, [], note)


@PAPER.study("floor-velocity", "Damping driven by the velocity of the floor, as printed, cubic, no noise", True)
def floor_velocity(run: Run) -> Outcome:
    case = cubic(velocity="floor", known_damping=True)
    record = measured(case, respond(case.building, run.once(motion_of, MOTION), paper_rate(run)), 0.0)
    fit = stored(run, "floor-velocity-as-published", case, record, as_published(run))
    row = {"damping": "ċ_i = Γ/(R T0) ẋ_i²", "as published (%)": float(errors_of_seeds(case, fit).mean())}
    for name in ("WeakCollocation", "UKF"):
        other = stored(run, f"floor-velocity-{name}", case, record, OTHERS[name](run))
        row[f"{name} (%)"] = case.mean_error(other.estimate)
    note = f"{CONDITIONS}; {schedule(run)}; equations of motion corrected, their damping as in Eqs 18 and 20."
    return Outcome([row], [], note)
