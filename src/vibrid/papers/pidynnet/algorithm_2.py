"""Algorithm 2 as printed: trained weights are kept for an unseen motion and trained further on the equations alone.

The printed losses do not fix the motion at the start of a subperiod: it is left free, as printed, and imposed.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from vibrid.core.device import on_processor
from vibrid.identification import PIDynNet
from vibrid.identification.diagnostics import correlation
from vibrid.papers.jobs import beside
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.conditions import CONDITIONS, known, other_of, recipe_of
from vibrid.papers.pidynnet.figures import unseen
from vibrid.papers.pidynnet.networks import as_published, paper_rate, schedule
from vibrid.papers.pidynnet.paper import PAPER
from vibrid.papers.pidynnet.systems import SYSTEMS, at_rate
from vibrid.papers.pidynnet.unseen import ROUNDS
from vibrid.simulation import RungeKutta4, simulate

MOTIONS = 10
ITERATIONS = 1000  # a tenth of the training, as printed
FREE, IMPOSED = "Algorithm 2 as printed", "with the state at the start of a subperiod imposed"
TUNED, SIMULATED = "PIDynNet, fine-tuning", "simulation of the structure identified by PIDynNet"
OWN = "simulation of the structure identified by the recipe"


def algorithm_2(run: Run, system: str) -> Outcome:
    case, fit = known(system), run.once(recipe_of, system, 0.0)
    ours = run.once(other_of, system, 0.0, "PIDynNet")
    motions = run.once(unseen)[: 1 if run.quick else MOTIONS]
    method, count = as_published(run), 20 if run.quick else ITERATIONS
    with on_processor():
        true = [simulate(case.building, m, integrator=RungeKutta4(), substeps=10).displacement[:, 0] for m in motions]

    def by_others(number: int):
        """Correlations of our networks and of both simulations with the true motion, and the seconds of the first."""
        with on_processor():
            tuned = PIDynNet().fine_tune(ours, motions[number], rounds=2 if run.quick else ROUNDS)
            simulated = [f.predict(motions[number]).displacement[:, 0] for f in (ours, fit)]
        moved = np.interp(motions[number].time, tuned.time, tuned.displacement[:, 0])
        return [correlation(true[number], path) for path in (moved, *simulated)], tuned.seconds

    scores: dict[str, list[float]] = {label: [] for label in (FREE, IMPOSED, TUNED, SIMULATED, OWN)}
    seconds: dict[str, list[float]] = {label: [] for label in (FREE, IMPOSED, TUNED)}
    with beside(by_others, [(number,) for number in range(len(motions))]) as results:
        run.progress.stage(f"Algorithm 2 on {system}", 2 * len(motions))
        for number, motion in enumerate(motions):
            quick_motion = at_rate(motion, paper_rate(run))  # the same straight lines, with the paper's samples
            for k, label in enumerate((FREE, IMPOSED)):
                tuned = method.fine_tune(fit, quick_motion, iterations=count, imposed=label == IMPOSED)
                moved = np.interp(motion.time, tuned.time, tuned.displacement[:, 0])
                scores[label].append(correlation(true[number], moved))
                seconds[label].append(tuned.seconds)
                run.progress.update(2 * number + k + 1, f"correlation {scores[label][-1]:.3f}")
        for each, spent in results():
            for label, value in zip((TUNED, SIMULATED, OWN), each, strict=True):
                scores[label].append(value)
            seconds[TUNED].append(spent)
    rows = [
        {
            "prediction": label, "median correlation": float(np.median(values)), "smallest": float(np.min(values)),
            "largest": float(np.max(values)), "share ≥ 0.95 (%)": 100 * float(np.mean(np.array(values) >= 0.95)),
            "paper (%)": 90.0 if system == "cubic" and label == FREE else None,
            "median s": float(np.median(seconds[label])) if label in seconds else None,
        }
        for label, values in scores.items()
    ]  # fmt: skip
    note = (
        f"{len(motions)} unseen motions (FEMA P695 far field), first floor's displacement. Identified without noise: "
        f"{CONDITIONS}; recipe: {schedule(run)}; {count} iterations of fine-tuning a subperiod on the losses of the "
        "equations alone, unknowns fixed. Both simulations are of the structures that were identified."
    )
    return Outcome(rows, [], note)


for _system in SYSTEMS:
    PAPER.study(f"algorithm-2-{_system}", f"Algorithm 2 as printed, ten unseen motions, {_system}", True)(
        partial(algorithm_2, system=_system)
    )
