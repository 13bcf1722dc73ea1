"""Unseen motions by networks trained on the equations alone, beside simulation of the identified structure."""

from __future__ import annotations

from functools import partial

import numpy as np

from vibrid.identification import PIDynNet
from vibrid.identification.diagnostics import correlation
from vibrid.papers.jobs import on_threads
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.figures import histogram_of_correlations, share_check, unseen
from vibrid.papers.pidynnet.networks import fit_of_network
from vibrid.papers.pidynnet.paper import PAPER
from vibrid.papers.pidynnet.systems import SYSTEMS
from vibrid.report import style
from vibrid.simulation import RungeKutta4, simulate

ROUNDS = 4  # of fine-tuning to a motion


def fine_tuning(run: Run, system: str) -> Outcome:
    ax = style.new_axes(5.2, 3.2)
    case, fit = SYSTEMS[system](), run.once(fit_of_network, system, 0.05, (("seeds", 1),))
    motions = run.once(unseen)

    def compared(motion):
        """Correlation with the true response by fine-tuning and by simulation, and the seconds of the first."""
        true = simulate(case.building, motion, integrator=RungeKutta4(), substeps=10).displacement[:, 0]
        tuned = PIDynNet().fine_tune(fit, motion, rounds=2 if run.quick else ROUNDS)
        same = correlation(true[: len(tuned.time)], tuned.displacement[:, 0])
        return same, correlation(true, fit.predict(motion).displacement[:, 0]), tuned.seconds

    run.progress.stage(f"fine-tuning {system}", len(motions))
    scores: dict[int, tuple] = {}
    try:
        for number, score in on_threads(compared, [(motion,) for motion in motions]):
            scores[number] = score
            run.progress.update(len(scores), f"correlation {score[0]:.4f}")
    except KeyboardInterrupt:  # after Ctrl-C the finished motions are used
        if not scores:
            raise
    by_tuning, simulated, seconds = zip(*(scores[number] for number in sorted(scores)), strict=True)
    share, other = (float(np.mean(np.array(v) >= 0.95)) for v in (by_tuning, simulated))
    rows = [{"motions": len(by_tuning), "fine-tuning: share ≥ 0.95 (%)": 100 * share,
             "smallest": float(np.min(by_tuning)), "simulation: share ≥ 0.95 (%)": 100 * other,
             "smallest ": float(np.min(simulated)), "paper (%)": 90.0 if system == "cubic" else None,
             "median s of fine-tuning": float(np.median(seconds))}]  # fmt: skip
    checks = [share_check(f"{system}, fine-tuning: share ≥ 0.95", system, share)]
    histogram_of_correlations(ax, {"fine-tuning": by_tuning, "simulation": simulated})
    ax.legend()
    return Outcome(
        rows, checks,
        "Identified on the synthetic motion at 5 % noise. Fine-tuning here trains networks with new initial weights on "
        "the equations alone (the paper keeps its weights), from a structure that moves with the ground, its rest "
        f"at the start imposed, at most {ROUNDS} rounds; it is a slow way to "
        "integrate the equations of the identified model. Simulation is the default.",
        ax.figure,
    )  # fmt: skip


for _system in SYSTEMS:
    PAPER.study(
        f"fine-tuning-{_system}", f"Unseen motions by fine-tuning the networks, and by simulation, {_system}", True
    )(partial(fine_tuning, system=_system))
