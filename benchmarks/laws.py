"""Laws that a model lacks: is a weak one told, and is none told where none is missing?

    python benchmarks/laws.py                         # 160 buildings with a law that the model lacks, 200 without
    python benchmarks/laws.py --count 8 --clean 0

Linear buildings of two to four storeys, drawn by `--seed`; one storey has a law more, so weak that its noncentrality
along the nearest of the directions that are tested is 25: the squares of its effect on the readings over those of the
noise, without what the unknowns explain. Such a law moves χ² by five standard deviations. Data are from simulators that
no method uses.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
from trust import STEP, Case, chain, identified, linear_accelerations, linear_case, white
from trust_lines import each

from vibrid.core.findings import Finding
from vibrid.identification.checks.law_directions import directions

RESULTS = Path(__file__).resolve().parent / "results" / "laws.json"
KINDS = ("hysteresis", "hardening", "friction", "damping")
NONCENTRALITY, LEVEL, FINE = 25.0, 0.05, 16
_SLIP = 0.02  # of the usual deformation


def accelerations(case: Case, kind: str, storey: int, size: float, usual: tuple[float, float]) -> np.ndarray:
    """Absolute accelerations at the sensors with a small force in one storey, by Heun's method with fine steps.

    size: of the force in N at the usual deformation and velocity (m, m/s).
    """
    n, step = len(case.true) - 1, STEP / FINE
    stiffness, damping, mass = case.true[:n], case.true[n], 20e3
    k, c = chain(stiffness) / mass, chain(np.full(n, damping)) / mass
    e0, v0 = usual
    pull = np.zeros(n)
    pull[storey] = -1.0
    if storey:
        pull[storey - 1] = 1.0

    def force(e: float, v: float, z: float) -> float:
        if kind == "damping":
            return np.sign(v) * abs(v / v0) ** 0.5
        return (e / e0) ** 3 if kind == "hardening" else z

    def rate(e: float, v: float, z: float) -> float:
        if kind == "hysteresis":
            return v / e0 * (1.0 - abs(z) * (1.0 + np.sign(v * z)))
        return v / (_SLIP * e0) if kind == "friction" and not (abs(z) >= 1.0 and v * z > 0.0) else 0.0

    def change(x, v, z, ground):
        e = x[storey] - (x[storey - 1] if storey else 0.0)
        w = v[storey] - (v[storey - 1] if storey else 0.0)
        absolute = -(k @ x) - c @ v + pull * (size / mass * force(e, w, z))
        return absolute - ground, rate(e, w, z), absolute

    x, v, z, read = np.zeros(n), np.zeros(n), 0.0, np.zeros((len(case.ground), n))
    for i, slope in enumerate(np.diff(case.ground)):
        for j in range(FINE):
            u0, u1 = (case.ground[i] + slope * (j + a) / FINE for a in (0, 1))
            a0, z0, _ = change(x, v, z, u0)
            x1, v1, z1 = x + step * v, v + step * a0, z + step * z0
            a1, r1, _ = change(x1, v1, z1, u1)
            x, v, z = x + 0.5 * step * (v + v1), v + 0.5 * step * (a0 + a1), z + 0.5 * step * (z0 + r1)
            z = float(np.clip(z, -1.0, 1.0)) if kind == "friction" else z
        read[i + 1] = change(x, v, z, case.ground[i + 1])[2]
    return read[:, list(case.floors)]


def weak_law(case: Case, rng) -> tuple[np.ndarray, str, int]:
    """Readings without noise of a building with a weak law, its kind and its storey."""
    kind, storey = str(rng.choice(KINDS)), int(rng.integers(len(case.true) - 1))
    plain = accelerations(case, "hardening", storey, 0.0, (1.0, 1.0))
    drift = 0.2 * np.abs(case.ground).max() * 20e3 * (len(case.true) - 1) / case.true[storey]  # about half the largest
    usual = (drift, 25.0 * drift)
    trial = 1e-3 * drift * case.true[storey]
    effect = accelerations(case, kind, storey, trial, usual) - plain
    size = trial * np.sqrt(NONCENTRALITY / noncentrality(case, effect))
    return case.clean + accelerations(case, kind, storey, size, usual) - plain, kind, storey


def noncentrality(case: Case, effect: np.ndarray) -> float:
    """Squares of an effect along the nearest tested direction over those of the noise, without what the unknowns
    explain."""
    n, deviation = len(case.true) - 1, LEVEL * case.clean.std(axis=0)
    columns = []
    for i in range(n + 1):
        moved = [case.true.copy(), case.true.copy()]
        for values, share in zip(moved, (1e-4, -1e-4), strict=True):
            values[i] *= 1.0 + share
        up, down = (
            linear_accelerations([20e3] * n, p[:n], np.full(n, p[n]), case.ground)[:, list(case.floors)] for p in moved
        )
        columns.append(((up - down) / deviation).ravel())
    basis = np.linalg.qr(np.stack(columns, axis=1))[0]

    def outside(readings: np.ndarray) -> np.ndarray:
        whole = (readings / deviation).ravel()
        return whole - basis @ (basis.T @ whole)

    tested, along = [outside(d) for d in np.moveaxis(tested_directions(case), 2, 0)], outside(effect)
    return max(float(along @ d) ** 2 / float(d @ d) for d in tested)


def tested_directions(case: Case) -> np.ndarray:
    """(samples, sensors, directions) where the model has no error, from the product."""
    fit = identified(case, case.clean, checks="none")
    return directions(fit.problem, fit.free)[1][0]


def told(case: Case, readings: np.ndarray, rng) -> Finding | None:
    """What is said about a missing law."""
    fit = identified(case, readings + white(case, rng, LEVEL))
    return next((finding for finding in fit.checks if finding.name == "law"), None)


def one(number: int, lacks: bool) -> dict:
    """Whether a missing law is told of a building, and in the right storey where one is missing."""
    case = linear_case(number)
    if not lacks:
        return {"told": told(case, case.clean, np.random.default_rng([6, number])) is not None}
    rng = np.random.default_rng([5, number])
    readings, kind, storey = weak_law(case, rng)
    finding = told(case, readings, rng)
    return {"kind": kind, "told": finding is not None, "where": f"storeys[{storey}]", "said": finding and finding.where}


def run(count: int, clean: int, seed: int, jobs: int = 1) -> dict:
    kinds, found, right, wrongly = Counter(), Counter(), 0, 0
    buildings = [(seed + i, True) for i in range(count)] + [(seed + 10_000 + i, False) for i in range(clean)]
    for number, line in enumerate(each(one, buildings, jobs), 1):
        if number <= count:
            kinds[line["kind"]] += 1
            found[line["kind"]] += line["told"]
            right += line["said"] == line["where"]
        else:
            wrongly += line["told"]
        if number % 20 == 0:
            print(f"{sum(found.values())} of {sum(kinds.values())} told, {wrongly} where none is missing", flush=True)
    return {
        "noncentrality along the nearest tested direction": NONCENTRALITY,
        "buildings": count,
        "told": sum(found.values()),
        "of the right storey": right,
        "by kind": {kind: f"{found[kind]} of {kinds[kind]}" for kind in KINDS},
        "buildings without": clean,
        "told wrongly": wrongly,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=160, help="buildings with a law that the model lacks")
    parser.add_argument("--clean", type=int, default=200, help="buildings without")
    parser.add_argument("--seed", type=int, default=6000, help="first building")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--machine", default="2 shared cores, no GPU")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    results = {"machine": given.machine, "seed": given.seed, **run(given.count, given.clean, given.seed, given.jobs)}
    given.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
