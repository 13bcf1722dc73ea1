"""Why the printed UKF errs by several per cent without noise: filters with what theirs may have lacked."""

from __future__ import annotations

import numpy as np

from vibrid.core.device import on_processor
from vibrid.identification import UnscentedKalman, identify
from vibrid.papers.jobs import all_on_threads
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.conditions import MOTION, known
from vibrid.papers.pidynnet.paper import PAPER, PRINTED_VALUES, response_of
from vibrid.papers.pidynnet.systems import SYSTEMS, System, measured

RATE = 100.0
CONSTANT = {"damping[*].rate": 0.0}  # c stays at c(0)
FILTERS: dict[str, tuple[dict, dict]] = {  # settings of the filter, changes of its model
    "ours": ({}, {}),
    "one pass": ({"passes": 1}, {}),
    "one pass, narrow start (3 %)": ({"passes": 1, "spread": 0.03}, {}),
    "one pass, wide start (100 %)": ({"passes": 1, "spread": 1.0}, {}),
    "one pass, process noise 1 %": ({"passes": 1, "process_noise": 0.01}, {}),
    "one pass, process noise 10 %": ({"passes": 1, "process_noise": 0.1}, {}),
    "one pass, damping held at c(0)": ({"passes": 1}, CONSTANT),
    "one pass, damping held at c(0), process noise 10 %": ({"passes": 1, "process_noise": 0.1}, CONSTANT),
}


def signed(case: System, values) -> np.ndarray:
    """Relative errors in per cent with their signs."""
    return 100.0 * (np.asarray(values)[: case.table] / case.truth[: case.table] - 1.0)


def likeness(printed: np.ndarray, errors: np.ndarray) -> float:
    """Cosine of the angle between two patterns of errors: 1 for the same pattern, whatever its size."""
    return float(printed @ errors / (np.linalg.norm(printed) * np.linalg.norm(errors) + 1e-300))


@PAPER.study("their-ukf", "What could make the printed UKF so inaccurate: settings and models of the filter", True)
def their_ukf(run: Run) -> Outcome:
    jobs = [(system, name) for system in SYSTEMS for name in FILTERS]
    jobs = jobs[-1:] if run.quick else jobs
    for system in {system for system, _ in jobs}:
        run.once(response_of, system, MOTION, RATE)

    def filtered(job: tuple[str, str]) -> dict:
        system, name = job
        case, (settings, changes) = known(system), FILTERS[name]
        record = measured(case, run.once(response_of, system, MOTION, RATE), 0.0)
        with on_processor():
            fit = identify(case.guess.replace(changes), record, case.unknown, UnscentedKalman(**settings))
        printed, errors = signed(case, PRINTED_VALUES[system, 0.0][0]), signed(case, fit.estimate)
        shown = (0, case.table - 2, case.table - 1)
        return {
            "filter": f"{system}: {name}", "mean error (%)": float(np.mean(np.abs(errors))),
            "printed (%)": float(np.mean(np.abs(printed))),
            "pattern like the printed (−1 … 1)": likeness(printed, errors),
            **{f"unknown {i}": f"{case.labels[k]} {errors[k]:+.2g} %" for i, k in enumerate(shown, 1)},
            **{f"printed {i}": f"{case.labels[k]} {printed[k]:+.2g} %" for i, k in enumerate(shown, 1)},
        }  # fmt: skip

    rows = all_on_threads(filtered, [(job,) for job in jobs])
    note = (
        f"Kobe record, {RATE:g} Hz, no noise, c(0) known, the same first guess. The paper gives neither the "
        "covariances of its filter, nor its first guess, nor whether its model has the evolution of the damping. "
        "'pattern': cosine of the angle between the errors of all unknowns and the printed ones."
    )
    return Outcome(rows, [], note)
