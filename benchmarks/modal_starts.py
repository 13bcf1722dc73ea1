"""Automatic first guesses: random buildings, guesses off by factors up to ten; part `starts` of `benchmarks/modal.py`.

Every building has 3 to 12 storeys of one kind of law (Bouc–Wen, cubic, bilinear in turn), an accelerometer on every
floor with 3 % noise, and 20 s of a synthetic earthquake at 100 Hz that makes it yield. Stiffness and the other
parameters of every storey, and the damping, are unknown. A good guess is off by 10 % (a standard deviation), a poor one
by a factor between 0.1 and 10, each unknown on its own. Data are simulated with 8 substeps, and fitted with 2. Times
are those of the processor, which other programs on the machine hardly change.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import scipy
from kept import lines_of, run_cases

import vibrid as vb
from vibrid.identification import TrajectoryFit
from vibrid.identification.conclude import unlikelihood
from vibrid.identification.problem import make_problem

LAWS = ("bouc-wen", "cubic", "bilinear")
SETTINGS = {"checks": "none", "substeps": 2}
NEARBY = 1.0  # ln of the likelihood, by which the answer of a poor guess may be worse


def building(number: int) -> tuple[vb.ShearBuilding, list[str], vb.Record]:
    """The true building, its unknowns, and an earthquake."""
    rng = np.random.default_rng([7, number])
    floors, law = int(rng.integers(3, 13)), LAWS[number % 3]
    masses = 20e3 * rng.uniform(0.7, 1.3, floors)
    period = 0.1 * floors * rng.uniform(0.8, 1.3)
    shares = np.linspace(1.4, 0.8, floors) * rng.uniform(0.8, 1.25, floors)
    rows = np.eye(floors) - np.eye(floors, k=-1)
    first = scipy.linalg.eigh(rows.T @ np.diag(shares) @ rows, np.diag(masses), eigvals_only=True)[0]
    stiffness = shares * (2 * np.pi / period) ** 2 / first
    damping = vb.Viscous(float(np.mean(2 * 0.03 * period / (2 * np.pi) * stiffness)))
    quake = vb.synthetic_motion(key=number, duration=20.0, rate=100.0, pga=float(rng.uniform(2, 5)))
    elastic = vb.simulate(vb.ShearBuilding(masses, [vb.Linear(k) for k in stiffness], damping), quake)
    drift = np.abs(np.asarray(elastic.displacement) @ rows.T).max(axis=0)
    limit, share = drift * rng.uniform(0.25, 0.7, floors), rng.uniform(0.4, 0.7, floors)
    each = list(zip(stiffness, limit, share, drift, strict=True))
    if law == "bouc-wen":
        storeys = [vb.BoucWen(k, s / u, (1 - s) / u, post_yield_ratio=0.1) for k, u, s, _ in each]
        inner = ["storeys[*].beta", "storeys[*].gamma"]
    elif law == "cubic":
        storeys, inner = [vb.Cubic(k, 0.5 * k / d**2) for k, _, _, d in each], ["storeys[*].cubic"]
    else:
        storeys, inner = [vb.Bilinear(k, u, 0.1) for k, u, _, _ in each], ["storeys[*].yield_deformation"]
    return vb.ShearBuilding(masses, storeys, damping), ["storeys[*].stiffness", *inner, "damping.damping"], quake


def one(number: int) -> dict:
    """Answers from a good guess, and from a poor one with start="auto"; both programs are compiled before."""
    true, unknown, quake = building(number)
    moved = vb.simulate(true, quake, substeps=8)
    data = moved.measure(vb.Sensors(absolute_acceleration=list(range(true.floors))), noise=0.03, key=number)
    unknowns = make_problem(true, data, unknown).unknowns
    values, rng = np.asarray(unknowns.start), np.random.default_rng([8, number])
    good = values * np.exp(0.1 * rng.standard_normal(len(values)))
    poor = values * 10.0 ** rng.uniform(-1, 1, len(values))
    quick = TrajectoryFit(iterations=1, rounds=1, segments=1)
    vb.identify(true, data, unknown, quick, start="auto", **SETTINGS)
    answers, seconds = {}, {}
    for name, guess, start in (("good", good, "given"), ("auto", poor, "auto")):
        places = [place[0].removeprefix("structure.") for place in unknowns.places]
        structure = true.replace(dict(zip(places, map(float, guess), strict=True)))
        began = time.process_time()
        answers[name] = vb.identify(structure, data, unknown, start=start, **SETTINGS)
        seconds[name] = time.process_time() - began
    worse = unlikelihood(answers["auto"]) - unlikelihood(answers["good"])
    return {
        "law": type(true.storeys[0]).__name__,
        "storeys": true.floors,
        "arrived": bool(worse < NEARBY),
        "worse": worse,
        "called a success": answers["auto"].model_fits,
        "slower": seconds["auto"] / seconds["good"],
        "seconds": seconds,
        "good fits": answers["good"].model_fits,
        "started_from": answers["auto"].started_from,
    }


def told(number: int) -> dict:
    """One building; what came out is printed at once."""
    found = one(number)
    print(number, found, flush=True)
    return found


def starts(numbers: list[int], kept: Path | None, most: int | None = None, jobs: int = 1) -> list[dict]:
    """The rows of the table; buildings of the file `kept`, one JSON line each, are not run again, and others added.

    most: buildings that are run now; the table then has those that are known.
    """
    done = lines_of(kept, "building")
    missing = [number for number in numbers if number not in done]
    done = run_cases(told, [n for n in numbers if n in done or n in missing[:most]], "building", kept, jobs)
    runs = [done[number] for number in numbers if number in done]
    count, spent = len(runs), [sum(run["seconds"].values()) for run in runs]
    if not runs:
        raise SystemExit("No building was run: --new is 0 and none is known.")
    which = f"numbers {', '.join(str(run['building']) for run in runs)}; " if count < 50 else ""
    arrived = sum(run["arrived"] for run in runs)
    wrong = sum(run["called a success"] and not run["arrived"] for run in runs)
    slower = float(np.median([run["slower"] for run in runs]))
    late = sum(run["good fits"] and run["worse"] < -NEARBY for run in runs)
    first = sum(run["started_from"].startswith("Start: the balance") for run in runs)
    return [
        {
            "what": "start = auto from guesses off by factors up to 10: as likely an answer as from a good guess",
            "measured": f"{arrived} of {count} buildings",
            "target": "48 of 50",
            "met": bool(arrived >= 48) if count >= 50 else None,  # fewer do not tell
            "note": f"{which}3 to 12 storeys, Bouc–Wen, cubic, bilinear in turn; {first} from the balance of forces; "
            f"the good guess itself led to a fit in {sum(run['good fits'] for run in runs)}",
        },
        {
            "what": "of these, answers that are called a success and are not",
            "measured": str(wrong),
            "target": "0",
            "met": wrong == 0 if count >= 50 or wrong else None,
        },
        {
            "what": "time of start = auto over that of the good guess, both compiled, median",
            "measured": f"{slower:.2f}",
            "target": "1.5",
            "met": slower <= 1.5,
            "note": f"both fits of a building took {np.median(spent):.0f} s of the processor in the median, "
            f"{max(spent):.0f} s at most; {late} good guesses led to an answer that is called a fit and is less "
            "likely, by 1 or more",
        },
    ]
