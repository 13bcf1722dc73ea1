"""Algorithm 2 as printed: trained weights are kept for an unseen motion and trained further on the equations alone.

The printed losses do not fix the motion at the start of a subperiod: it is left free, as printed, and imposed.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from vibrid.core.device import on_processor
from vibrid.identification import PIDynNet
from vibrid.identification.diagnostics import correlation
from vibrid.papers.jobs import Arrays, beside, one_job
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.conditions import CONDITIONS, known, other_of, recipe_of
from vibrid.papers.pidynnet.figures import unseen
from vibrid.papers.pidynnet.networks import as_published, paper_rate, schedule
from vibrid.papers.pidynnet.paper import PAPER
from vibrid.papers.pidynnet.systems import SYSTEMS, at_rate
from vibrid.papers.pidynnet.unseen import ROUNDS
from vibrid.simulation import RungeKutta4, simulate

MOTIONS = 10
FREE, IMPOSED = "Algorithm 2 as printed", "with the state at the start of a subperiod imposed"
TUNED, SIMULATED = "PIDynNet, fine-tuning", "simulation of the structure identified by PIDynNet"
OWN = "simulation of the structure identified by the recipe"


def iterations_of(run: Run) -> int:
    """A tenth of the training, as printed."""
    return 20 if run.quick else 1000


def unseen_motion(run: Run, number: int):
    return run.once(unseen)[number]


def true_motion(run: Run, system: str, number: int) -> np.ndarray:
    """Displacement of the first floor under an unseen motion."""
    with on_processor():
        response = simulate(
            known(system).building, unseen_motion(run, number), integrator=RungeKutta4(), substeps=10
        )  # fmt: skip
    return response.displacement[:, 0]


def by_algorithm_2(run: Run, system: str, number: int, imposed: bool) -> Arrays:
    """Correlation of the recipe's networks, trained further, with the true motion, and the seconds; a job."""
    motion, fit = unseen_motion(run, number), run.once(recipe_of, system, 0.0)
    quick_motion = at_rate(motion, paper_rate(run))  # the same straight lines, with the paper's samples
    tuned = as_published(run).fine_tune(fit, quick_motion, iterations=iterations_of(run), imposed=imposed)
    moved = np.interp(motion.time, tuned.time, tuned.displacement[:, 0])
    return {
        "correlation": np.array(correlation(run.once(true_motion, system, number), moved)),
        "seconds": np.array(tuned.seconds),
    }


def by_others(run: Run, system: str, number: int) -> Arrays:
    """Correlations of our networks and of two simulations with the true motion, and the seconds of the first; a job."""
    motion, fit = unseen_motion(run, number), run.once(recipe_of, system, 0.0)
    ours = run.once(other_of, system, 0.0, "PIDynNet")
    with on_processor():
        tuned = PIDynNet().fine_tune(ours, motion, rounds=2 if run.quick else ROUNDS)
        simulated = [f.predict(motion).displacement[:, 0] for f in (ours, fit)]
    moved, true = np.interp(motion.time, tuned.time, tuned.displacement[:, 0]), run.once(true_motion, system, number)
    return {
        "correlations": np.array([correlation(true, path) for path in (moved, *simulated)]),
        "seconds": np.array(tuned.seconds),
    }


def algorithm_2(run: Run, system: str) -> Outcome:
    run.once(recipe_of, system, 0.0)
    run.once(other_of, system, 0.0, "PIDynNet")
    numbers = range(min(len(run.once(unseen)), 1 if run.quick else MOTIONS))
    for number in numbers:
        run.once(true_motion, system, number)
    scores: dict[str, list[float]] = {label: [] for label in (FREE, IMPOSED, TUNED, SIMULATED, OWN)}
    seconds: dict[str, list[float]] = {label: [] for label in (FREE, IMPOSED, TUNED)}
    with beside(lambda number: one_job(run, by_others, system, number), [(number,) for number in numbers]) as results:
        run.progress.stage(f"Algorithm 2 on {system}", 2 * len(numbers))
        for number in numbers:
            for k, label in enumerate((FREE, IMPOSED)):
                tuned = one_job(run, by_algorithm_2, system, number, label == IMPOSED)
                scores[label].append(float(tuned["correlation"]))
                seconds[label].append(float(tuned["seconds"]))
                run.progress.update(2 * number + k + 1, f"correlation {scores[label][-1]:.3f}")
        for each in results():
            for label, value in zip((TUNED, SIMULATED, OWN), each["correlations"], strict=True):
                scores[label].append(float(value))
            seconds[TUNED].append(float(each["seconds"]))
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
        f"{len(numbers)} unseen motions (FEMA P695 far field), first floor's displacement. Identified without noise: "
        f"{CONDITIONS}; recipe: {schedule(run)}; {iterations_of(run)} iterations of fine-tuning a subperiod on the "
        "losses of the equations alone, unknowns fixed. Both simulations are of the structures that were identified."
    )
    return Outcome(rows, [], note)


for _system in SYSTEMS:
    PAPER.study(f"algorithm-2-{_system}", f"Algorithm 2 as printed, ten unseen motions, {_system}", True)(
        partial(algorithm_2, system=_system)
    )
