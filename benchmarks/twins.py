"""Chains that have a second answer: is it found, and is none reported where there is none?

    python benchmarks/twins.py                     # twenty chains of each kind
    python benchmarks/twins.py --count 5 --seed 7

Chains with a roof sensor alone have the same roof motion for every set of storey stiffnesses with the same natural
frequencies (damping proportional to stiffness). All such sets are found here without the product: roots of the
characteristic polynomial's equations from many starts. Chains with a sensor on the first floor have one answer.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.optimize
from trust import STEP, chain, linear_accelerations, shaking

import vibrid as vb

RESULTS = Path(__file__).resolve().parent / "results" / "twins.json"
ALONE = [(2, (1,))] * 7 + [(3, (2,))] * 8 + [(4, (3,))] * 5
UNIQUE = [(2, (0,)), (3, (0,)), (3, (0, 2)), (4, (0, 3)), (4, (0,))] * 4
LEVEL, RATIO = 0.03, 0.002  # noise over signal; damping over stiffness, s
STARTS = {2: 20, 3: 60, 4: 150}
"""Of the search for all answers, by the number of storeys."""

APART = 0.05
"""Relative distance of two answers; closer ones are one to an estimate."""


def answers(masses: np.ndarray, stiffness: np.ndarray, starts: int) -> list[np.ndarray]:
    """All positive stiffnesses of a chain with the same natural frequencies: the given ones first."""
    root = np.sqrt(masses)

    def invariants(k):  # sums of powers of the eigenvalues: no order, no sign
        scaled = chain(k) / np.outer(root, root) / scale
        powers = [scaled]
        for _ in range(len(k) - 1):
            powers.append(powers[-1] @ scaled)
        return np.array([np.trace(power) for power in powers])

    scale = np.trace(chain(stiffness) / np.outer(root, root)) / len(masses)
    target, rng, found = invariants(stiffness), np.random.default_rng(0), [stiffness]
    for start in rng.uniform(np.log(0.15), np.log(7.0), (starts, len(masses))):
        with np.errstate(all="ignore"):
            end = scipy.optimize.root(lambda x: invariants(stiffness * np.exp(x)) - target, start, tol=1e-12)
        if not end.success or np.abs(end.fun).max() > 1e-8 or np.abs(end.x).max() > 3:
            continue
        k = stiffness * np.exp(end.x)
        if all(np.abs(np.log(k / other)).max() > APART for other in found):
            found.append(k)
    return found


def frequencies(masses: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    return np.sqrt(scipy.linalg.eigh(chain(stiffness), np.diag(masses), eigvals_only=True))


def one(n: int, floors: tuple[int, ...], seed: int, damping: str = "proportional", level: float = LEVEL):
    """A random chain, identified: its masses, true stiffnesses, and the result."""
    rng = np.random.default_rng([9, seed])
    masses, stiffness = rng.uniform(15e3, 25e3, n).round(-2), rng.uniform(10e6, 40e6, n) * n / 2
    ground = shaking(rng, 3.0, 20.0)
    dashpots = RATIO * stiffness if damping == "proportional" else np.full(n, 6e4)
    clean = linear_accelerations(masses, stiffness, dashpots, ground)[:, list(floors)]
    made = vb.Rayleigh(0.0, 1.3 * RATIO) if damping == "proportional" else vb.Viscous(8e4)
    unknown = ["storeys[*].stiffness", "damping.stiffness" if damping == "proportional" else "damping.damping"]
    guess = vb.ShearBuilding(masses, [vb.Linear(k) for k in stiffness * rng.uniform(0.8, 1.25, n)], damping=made)
    readings = clean + level * clean.std(0) * rng.standard_normal(clean.shape)
    record = vb.Record(
        np.column_stack([ground, readings]),
        step=STEP,
        channels=[
            vb.Channel("ground", "ground_acceleration", "m/s^2"),
            *(vb.Channel(f"a{f}", "absolute_acceleration", "m/s^2", str(f)) for f in floors),
        ],
    )
    return masses, stiffness, vb.identify(guess, record, unknown)


def run(count: int, seed: int) -> dict:
    """Results of both kinds."""
    rows, done, tried = [], 0, seed
    while done < count:
        n, floors = ALONE[done % len(ALONE)]
        tried += 1
        rng = np.random.default_rng([9, tried])
        masses, stiffness = rng.uniform(15e3, 25e3, n).round(-2), rng.uniform(10e6, 40e6, n) * n / 2
        if len(answers(masses, stiffness, STARTS[n])) < 2:
            continue
        done += 1
        begun = time.perf_counter()
        _, _, fit = one(n, floors, tried)
        here = fit.estimate[:n]
        others = answers(masses, here, STARTS[n])[1:]  # of the estimate: noise moves them all together
        told = [answer.estimate[:n] for answer in fit.other_answers]
        found = sum(any(np.abs(np.log(a / k)).max() < 0.1 for a in told) for k in others)
        apart = [np.abs(np.log(frequencies(masses, a) / frequencies(masses, here))).max() for a in told]
        extra = sum(bool(value > 0.003) for value in apart)
        rows.append({"storeys": n, "seed": tried, "answers": len(others), "found": found, "extra": extra})
        print(rows[-1], f"{time.perf_counter() - begun:.1f} s", flush=True)
    false = []
    for i, (n, floors) in enumerate((UNIQUE * (count // len(UNIQUE) + 1))[:count]):
        _, _, fit = one(n, floors, seed + 10_000 + i)
        if fit.other_answers:
            false.append({"storeys": n, "floors": floors, "seed": seed + 10_000 + i})
            print("unique, yet told:", false[-1], flush=True)
    return {
        "with a second answer": {
            "chains": count,
            "one found": sum(row["found"] > 0 for row in rows),
            "all found": sum(row["found"] == row["answers"] for row in rows),
            "answers that are none": sum(row["extra"] for row in rows),
        },
        "with one answer": {"chains": count, "told otherwise": len(false)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=200, help="of the chains")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    results = {"seed": given.seed, **run(given.count, given.seed)}
    given.output.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
