"""Do 95 % intervals hold on every kind of structure and with every method? Data from simulators that no method uses.

    python benchmarks/trust_problems.py --part problems --progress fits.jsonl   # goes on where it stopped
    python benchmarks/trust_problems.py --part methods --row ukf --fits 5
    python benchmarks/trust_problems.py --part motion --fits 5
    python benchmarks/trust_problems.py --part ranks --share 1/2 --progress ranks-1.jsonl
    python benchmarks/trust_problems.py --part costs

problems: `vb.identify` as it is, on thirteen problems with white noise of 3 to 5 % of each channel.
methods: the other methods that give intervals, on three of these problems.
motion: methods that need the whole motion, on three problems; also how many intervals hold where nothing is called
wrong.
ranks: true values drawn from the prior; their ranks among samples of `Bayes` must be uniform.
costs: the processor's time that the checks of a result take, over that of the fit; refits that a finding triggers are
not counted.

The problems stand in `trust_structures.py`, their simulators in `trust_simulators.py` and `trust.py`.
`--seed` draws other parameters, motions and noise levels of the problems; `--fits` counts seeds of the noise. Files of
several shares, joined by `cat`, give one table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import chisquare
from trust import STEP, linear_accelerations, shaking
from trust_lines import Lines, coverage, share
from trust_posed import GROUND, Problem
from trust_structures import PROBLEMS, cubic_whole, problem, whole

import vibrid as vb
from vibrid.identification.checks import numbers, time_step

OTHER_METHODS = ("ekf", "ukf", "weak-collocation", "global", "noisy-input", "bayes")
WITH_WHOLE_MOTION = ("least-squares", "sparse", "siva", "online-masing")
OF_WHOLE_MOTION = {
    "two storeys": whole(2),
    "three storeys": whole(3),
    "cubic storey": cubic_whole,
}
OF_METHODS = ("shear building, partial sensors", "Bouc–Wen storeys", "cubic storey")
DEFAULTS = {"problems": 20, "methods": 67, "motion": 17, "ranks": 100, "costs": 5}
"""So many of a row that there are 200 fits of all problems, and of each method."""
EXCITATION = 0.03
"""Noise of the measured excitation for `noisy-input`, over its standard deviation."""


@dataclass(frozen=True)
class Job:
    """A piece of work: its row of the table, its seed, and what makes its line."""

    row: str
    seed: int
    make: Callable[[], dict]


def one_fit(posed: Problem, seed: int, method: str | None = None, excitation: float = 0.0) -> dict:
    """One noise, one fit: whether each 95 % interval holds, the errors in standard deviations, and what was said."""
    started = time.perf_counter()
    try:
        fit = vb.identify(posed.guess, posed.records(seed, excitation), posed.unknown, method, sensors=posed.sensors)
    except vb.VibridError as error:
        return {"failed": str(error)}
    low, high = fit.interval(0.95).T
    return {
        "inside": ((low <= posed.true) & (posed.true <= high)).tolist(),
        "errors": np.nan_to_num((fit.estimate - posed.true) / fit.deviation, nan=99.0).round(3).tolist(),
        "fits": bool(fit.model_fits),
        "said": sorted({finding.name for finding in fit.checks}),
        "seconds": round(time.perf_counter() - started, 2),
    }


def motion_jobs(seed: int, fits: int) -> list[Job]:
    """Methods that need the whole motion, and answer another question than least squares of the readings."""
    posed = {name: make(seed) for name, make in OF_WHOLE_MOTION.items()}
    return [
        Job(
            f"{method}, {name}",
            noise,
            lambda name=name, noise=noise, method=method: one_fit(posed[name], noise, method),
        )
        for method in WITH_WHOLE_MOTION
        for name in posed
        for noise in range(fits)
    ]


def coverage_unless_told(name: str, lines: Sequence[dict]) -> dict:
    """`coverage`, and that of the fits alone that call nothing wrong."""
    silent = [line for line in lines if "failed" not in line and line["fits"]]
    inside = np.concatenate([f["inside"] for f in silent]) if silent else np.zeros(0)
    row = coverage(name, lines) | {"fits_that_call_nothing_wrong": len(silent), "their_intervals": len(inside)}
    return row | {"their_coverage": round(float(inside.mean()), 4) if silent else None}


def problem_jobs(seed: int, fits: int) -> list[Job]:
    """Every problem, with the default method."""
    return [
        Job(name, noise, lambda name=name, noise=noise: one_fit(problem(name, seed), noise))
        for name in PROBLEMS
        for noise in range(fits)
    ]


def method_jobs(seed: int, fits: int) -> list[Job]:
    """Every other method; the excitation has noise for the one that is made for it."""
    return [
        Job(
            f"{method}, {name}",
            noise,
            lambda name=name, noise=noise, method=method: one_fit(
                problem(name, seed), noise, method, EXCITATION if method == "noisy-input" else 0.0
            ),
        )
        for method in OTHER_METHODS
        for name in OF_METHODS
        for noise in range(fits)
    ]


RANKED = 99  # samples of a posterior, so that there are a hundred ranks
PRIORS = ((20e6, 3e6), (16e6, 2.4e6), (100e3, 20e3))


def one_ranking(seed: int, number: int) -> dict:
    """True values from the prior, a record of four seconds, and the rank of each among samples of the posterior."""
    rng, started = np.random.default_rng([31, seed, number]), time.perf_counter()
    true = np.array([rng.normal(*prior) for prior in PRIORS])
    ground = shaking(rng, 3.0)[200:600]
    clean = linear_accelerations([20e3] * 2, true[:2], np.full(2, true[2]), ground)
    noise = 3.0  # as large as the motion, so that the prior matters
    sensors = vb.Sensors([vb.Sensor("absolute_acceleration", floor, noise=noise) for floor in (0, 1)])
    readings = clean + noise * rng.standard_normal(clean.shape)
    record = vb.Record(np.column_stack([ground, readings]), [GROUND, *sensors.channels()], step=STEP)
    guess = vb.ShearBuilding([20e3] * 2, [vb.Linear(20e6), vb.Linear(16e6)], damping=vb.Viscous(100e3))
    paths = ("storeys[0].stiffness", "storeys[1].stiffness", "damping.damping")
    unknown = [vb.Unknown(path, prior=prior) for path, prior in zip(paths, PRIORS, strict=True)]
    fit = vb.identify(guess, record, unknown, "bayes", sensors=sensors, checks="none", key=number)
    chosen = fit.samples[np.linspace(0, len(fit.samples) - 1, RANKED).round().astype(int)]
    return {
        "ranks": dict(zip(paths, (chosen < true).sum(axis=0).tolist(), strict=True)),
        "narrowing": (fit.deviation / np.array(PRIORS)[:, 1]).round(3).tolist(),
        "effective": round(min(fit.convergence["effective_samples"].values())),
        "seconds": round(time.perf_counter() - started, 2),
    }


def rank_jobs(seed: int, fits: int) -> list[Job]:
    return [
        Job("bayes, prior and posterior", number, lambda number=number: one_ranking(seed, number))
        for number in range(fits)
    ]


def uniformity(name: str, lines: Sequence[dict]) -> dict:
    """A χ² test that ranks are uniform, for each parameter."""
    bins = next((b for b in (10, 5, 4) if len(lines) >= 5 * b), 2)
    row: dict = {"row": name, "fits": len(lines), "bins": bins, "p": {}, "counts": {}}
    for path in lines[0]["ranks"]:
        ranks = np.array([line["ranks"][path] for line in lines])
        counts = np.bincount(ranks * bins // (RANKED + 1), minlength=bins)
        row["counts"][path] = counts.tolist()
        row["p"][path] = round(float(chisquare(counts).pvalue), 4)
    row["uniform"] = min(row["p"].values()) > 0.01 / len(row["p"])
    row["posterior_over_prior_deviation"] = np.median([line["narrowing"] for line in lines], axis=0).round(3).tolist()
    row["fewest_effective_samples"] = min(line["effective"] for line in lines)
    row["median_seconds"] = round(float(np.median([line["seconds"] for line in lines])), 2)
    return row


class Refits:
    """Seconds that refits take which a finding triggers: a finer step, another hold, noise as it is."""

    def __init__(self) -> None:
        self.seconds = 0.0
        for module, name in ((time_step, "fitted_again"), (numbers, "with_noise")):
            setattr(module, name, self._clocked(getattr(module, name)))

    def _clocked(self, function: Callable) -> Callable:
        def clocked(*given):
            started = time.process_time()
            answer = function(*given)
            self.seconds += time.process_time() - started
            return answer

        return clocked


def timed(name: str, seed: int, calls: int) -> list[tuple[float, float]]:
    """Seconds of the processor of every call, without checks and with them in turn, each round with another noise; and
    those of them that refits took."""
    posed, refits, found = problem(name, seed), Refits(), []
    for noise in range(calls):
        records = posed.records(noise)
        for checks in ("none", "all"):
            refits.seconds, started = 0.0, time.process_time()
            vb.identify(posed.guess, records, posed.unknown, sensors=posed.sensors, checks=checks)
            found.append((round(time.process_time() - started, 3), round(refits.seconds, 3)))
    return found


def one_cost(name: str, seed: int, warm: int) -> dict:
    """Times of one problem in a process of its own without compiled programs: cold are the first call without checks,
    and the checks of the first call with them; warm is the median of the later ones."""
    command = [sys.executable, __file__, "--timed", name, "--seed", str(seed), "--fits", str(1 + warm)]
    environment = os.environ | {"VIBRID_CACHE": "off"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    calls = np.array(json.loads(ended.stdout.splitlines()[-1])).reshape(1 + warm, 2, 2)
    (plain, _), (checked, refits) = np.median(calls[1:], axis=0)
    (first, _), (second, first_refits) = calls[0]
    return {"cold": _cost(first, second - plain, first_refits), "warm": _cost(plain, checked - plain, refits)}


def _cost(fit: float, checks: float, refits: float) -> dict[str, float]:
    """Seconds of a fit, of its checks and of the refits among these; and the checks without refits over the fit."""
    made = {"fit": fit, "checks": checks, "refits": refits, "checks_over_fit": (checks - refits) / fit}
    return {name: round(float(value), 3) for name, value in made.items()}


def cost_jobs(seed: int, fits: int) -> list[Job]:
    return [Job(name, 0, lambda name=name: one_cost(name, seed, fits)) for name in PROBLEMS]


def costs(name: str, lines: Sequence[dict]) -> dict:
    return {"row": name} | {kind: lines[0][kind] for kind in ("cold", "warm")}


PARTS: dict[str, tuple[Callable[[int, int], list[Job]], Callable[[str, Sequence[dict]], dict]]] = {
    "problems": (problem_jobs, coverage),
    "methods": (method_jobs, coverage),
    "motion": (motion_jobs, coverage_unless_told),
    "ranks": (rank_jobs, uniformity),
    "costs": (cost_jobs, costs),
}


def together(part: str, lines: Sequence[dict], table: Sequence[dict]) -> list[dict]:
    """The last rows: coverage of all problems, of each method, or the median of the costs."""
    if part == "problems":
        return [coverage("all", lines)]
    if part == "methods":
        groups = {m: [line for line in lines if line["row"].startswith(f"{m}, ")] for m in OTHER_METHODS}
        return [coverage(f"{method}, all", found) for method, found in groups.items() if found]
    if part == "costs":
        medians = {
            kind: round(float(np.median([row[kind]["checks_over_fit"] for row in table])), 3)
            for kind in ("cold", "warm")
        }
        return [{"row": "median of checks over fit"} | medians]
    return []


def run(given: argparse.Namespace) -> list[dict]:
    """Make what is missing of this share, and the table of all that is finished."""
    jobs_of, summary = PARTS[given.part]
    jobs = jobs_of(given.seed, given.fits or DEFAULTS[given.part])
    jobs = [job for job in jobs if not given.row or any(text in job.row for text in given.row)]
    done = Lines(given.progress, ("part", "row", "problems", "seed"))
    k, n = given.share
    keys = [{"part": given.part, "row": job.row, "problems": given.seed, "seed": job.seed} for job in jobs]
    for number, (job, key) in enumerate(zip(jobs, keys, strict=True)):
        if number % n == k - 1 and done.key(key) not in done.done:
            done.add(key | job.make())
            print(json.dumps(done.done[done.key(key)]), file=sys.stderr, flush=True)
    lines = [done.done[done.key(key)] for key in keys if done.key(key) in done.done]
    rows = {name: [line for line in lines if line["row"] == name] for name in dict.fromkeys(job.row for job in jobs)}
    table = [summary(name, found) for name, found in rows.items() if found]
    return table + (together(given.part, lines, table) if table else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=tuple(PARTS), default="problems")
    parser.add_argument("--row", action="append", help="only rows whose name contains this")
    parser.add_argument(
        "--fits",
        type=int,
        help="noise seeds of a row (problems 20, methods 67, motion 17); rankings (100); warm calls, costs (5)",
    )
    parser.add_argument("--seed", type=int, default=0, help="draws the problems")
    parser.add_argument("--share", type=share, default=(1, 1), help="make only the k-th of n parts: k/n")
    parser.add_argument("--progress", type=Path, help="finished fits, one a line; they are not made again")
    parser.add_argument("--output", type=Path, help="write the table as JSON")
    parser.add_argument("--machine", default="", help="the machine in general words")
    parser.add_argument("--timed", metavar="PROBLEM", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.timed:
        print(json.dumps(timed(given.timed, given.seed, given.fits)))
        return
    table = run(given)
    for row in table:
        print(json.dumps(row, ensure_ascii=False))
    if given.output:
        whole = {"machine": given.machine, "part": given.part, "seed": given.seed, "rows": table}
        given.output.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
