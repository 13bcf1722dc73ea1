"""Beyond the paper: noise, and which interval holds the true values."""

from __future__ import annotations

import numpy as np

from vibrid.identification import SIVA, LeastSquares
from vibrid.papers.jobs import Arrays, run_jobs
from vibrid.papers.paper import Check, Outcome, Run
from vibrid.papers.siva.beam import EXACT, PAPER, percent, update

METHODS = ("SIVA", "least squares")


def tried(run: Run, name: str, level: float, key: int, epochs: int) -> Arrays:
    """One noise seed, as a job: the estimate, and standard deviations of k1 and k3 by every kind of interval."""
    method = SIVA(epochs=epochs) if name == "SIVA" else LeastSquares()
    fit = update(run, "full", method, noise=level, key=key, seed=key, seconds=2.0, checks="none")  # as the method says
    if fit.cut_short:
        raise KeyboardInterrupt  # finished seeds are stored: the same command goes on
    made = {"estimate": fit.estimate, "misfit": fit.deviation[[0, 2]], "bound": fit.limits.bound[[0, 2]]}
    if name == "SIVA":
        for what in ("approach_1", "approach_2"):
            made[what] = np.array([fit.convergence[what][fit.names[i]]["deviation"] for i in (0, 2)])
    return made


@PAPER.study("noise", "1 % noise: accuracy, and which interval holds the true values")
def noise(run: Run) -> Outcome:
    trials, epochs = (3, 40) if run.quick else (50, 150)
    fits = run_jobs(run, tried, [("SIVA", 0.01, key, epochs) for key in range(trials)])
    errors = np.array([percent(f["estimate"]) for f in fits])
    kinds = {
        "generator, approach I": "approach_1",
        "epochs, approach II": "approach_2",
        "misfit (± 2σ of the answer)": "misfit",
        "Cramér–Rao bound of a whole simulation": "bound",
    }
    rows, checks = [], []
    for name, what in kinds.items():
        relative = 100 * np.array([f[what] for f in fits]) / EXACT[[0, 2]]
        inside = np.mean(np.abs(errors) < 1.96 * relative, axis=0)
        rows.append(
            {"interval": name, "σ of k1 [%]": np.median(relative[:, 0]), "σ of k3 [%]": np.median(relative[:, 1]),
             "holds k1": f"{100 * inside[0]:.0f} %", "holds k3": f"{100 * inside[1]:.0f} %"}
        )  # fmt: skip
        verdict = "covers" if np.all(inside >= 0.85) else "does not cover"
        checks.append(Check(f"95 % interval: {name}", f"{verdict}: {100 * inside[0]:.0f} %, {100 * inside[1]:.0f} %"))
    worst = np.max(np.abs(errors), axis=0)
    scatter = errors.std(axis=0, ddof=1)
    rows.append({"interval": "scatter of the estimates (the truth of it)", "σ of k1 [%]": scatter[0],
                 "σ of k3 [%]": scatter[1]})  # fmt: skip
    checks.insert(
        0,
        Check(f"k1, k3 at 1 % noise, worst of {trials}", f"{worst[0]:.2f} %, {worst[1]:.2f} %", "within 2 %",
              bool(np.max(worst) < 2)),
    )  # fmt: skip
    return Outcome(
        rows,
        checks,
        f"Noise of 1 % of each signal's deviation on all 45 channels of the full beam's data, two seconds of "
        f"them, {epochs} epochs, {trials} noise seeds. The "
        "generator's spread is set by the optimiser and its schedule, not by the data; the Cramér–Rao bound is that "
        "of the reduced model simulated over the same time, which no method that uses one "
        "instant at a time can reach.",
    )


@PAPER.study("noise-levels", "Noise of 0.1 to 5 %, data of the full beam, ten noise seeds")
def noise_levels(run: Run) -> Outcome:
    levels, trials, epochs = ((0.01,), 2, 40) if run.quick else ((0.001, 0.005, 0.01, 0.02, 0.05), 10, 150)
    jobs = [(name, level, key, epochs) for level in levels for name in METHODS for key in range(trials)]
    done = dict(zip(jobs, run_jobs(run, tried, jobs), strict=True))
    rows = []
    for level in levels:
        for name in METHODS:
            errors = np.abs([percent(done[name, level, key, epochs]["estimate"]) for key in range(trials)])
            rows.append(
                {"noise and method": f"{100 * level:g} %, {name}", "k1 off, median [%]": np.median(errors[:, 0]),
                 "k1 off, worst [%]": errors[:, 0].max(), "k3 off, median [%]": np.median(errors[:, 1]),
                 "k3 off, worst [%]": errors[:, 1].max()}
            )  # fmt: skip
    return Outcome(
        rows,
        note=f"All 45 channels, two seconds of each record, {epochs} epochs, {trials} noise seeds. SIVA makes "
        "noisy states consistent before it uses them.",
    )
