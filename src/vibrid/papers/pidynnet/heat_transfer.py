"""The paper's outlook, non-uniform heat transfer: Γ/(R T0) and the pull of the bath of every storey as unknowns."""

from __future__ import annotations

import numpy as np

from vibrid.core.device import on_processor
from vibrid.identification import WeakCollocation, identify, make_problem
from vibrid.identification.identifiability import identifiability
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.conditions import known
from vibrid.papers.pidynnet.paper import PAPER
from vibrid.papers.pidynnet.systems import measured, respond, synthetic

RATES = (10.0, 8.0, 12.0, 9.0, 11.0, 10.0, 7.0, 13.0, 10.0, 9.0)  # Γ/(R T0) of the storeys
BATHS = (0.02, 0.03, 0.02, 0.01, 0.03, 0.02, 0.02, 0.01, 0.03, 0.02)  # Γ T∞/T0
KINDS = {"stiffness": "k", "cubic": "k_nl", "rate": "Γ/(R T0)", "bath": "bath"}


@PAPER.study("heat-transfer", "Heat transfer that differs from storey to storey, identified; cubic, synthetic motion")
def heat_transfer(run: Run) -> Outcome:
    case = known("cubic")
    truth = {f"damping[{i}].{name}": float(value)
             for name, values in (("rate", RATES), ("bath", BATHS)) for i, value in enumerate(values)}  # fmt: skip
    building = case.building.replace(truth)
    guess = case.guess.replace({"damping[*].rate": 8.0, "damping[*].bath": 0.01})
    unknown = [*case.unknown, "damping[*].rate", "damping[*].bath"]
    response, rows = respond(building, synthetic(), 100.0), []
    for noise in (0.0,) if run.quick else (0.0, 0.025):
        record = measured(case, response, noise)
        with on_processor():
            fit = identify(guess, record, unknown, WeakCollocation())
            problem = make_problem(building, measured(case, response, 0.0), unknown)
            limits = identifiability(problem, problem.start, max(noise, 1e-12) * problem.signal_size())
        true = np.asarray(problem.unknowns.start)
        errors = 100 * np.abs(fit.estimate / true - 1.0)
        for ending, label in KINDS.items():
            these = [i for i, name in enumerate(problem.unknowns.names) if name.endswith(ending)]
            expected = 100 * np.sqrt(2 / np.pi) * np.mean(limits.relative_bound[these])
            rows.append(
                {"noise and unknown": f"{100 * noise:g} %, {label}", "mean error (%)": float(errors[these].mean()),
                 "largest (%)": float(errors[these].max()), "bound (%)": float(expected) if noise else None}
            )  # fmt: skip
    note = (
        "Cubic system, 31 unknowns, c(0) known, x, ẋ, ẍ of all floors at 100 Hz, WeakCollocation, one noise seed. "
        "'bound': mean error of an unbiased estimate at the Cramér–Rao bound."
    )
    return Outcome(rows, [], note)
