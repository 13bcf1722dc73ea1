"""Speed of simulations and Jacobians: machine code, XLA and numba by hand, interleaved in one process.

    python benchmarks/speed.py                     # ten minutes
    python benchmarks/speed.py --part loops        # or jacobians, cold

Whole calls of `simulate`, as a user makes them; every time is the smallest of several, taken in turns. Cold times are
those of new processes with an empty cache, and with the cache that they left.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from table import save

import vibrid as vb
from vibrid.core import native
from vibrid.core.native import compiled
from vibrid.identification.levenberg import readings_and_slopes
from vibrid.identification.problem import make_problem
from vibrid.papers.pages import machine

STEP = 0.001
INTEGRATORS = {"Runge–Kutta 4": vb.RungeKutta4(), "Newmark": vb.Newmark()}
RATIO, JACOBIAN = 1.5, 10.0
_WHY_NOT = compiled.why_not
_COLD = """
import time; start = time.perf_counter()
import sys, vibrid.cli
sys.argv = ["vibrid", *sys.argv[1:]]
try:
    vibrid.cli.main()
except SystemExit:
    pass
print("SECONDS", time.perf_counter() - start)
"""


def motion(span: float) -> vb.Record:
    rng, t = np.random.default_rng(0), np.arange(round(span / STEP) + 1) * STEP
    frequencies, phases = np.linspace(0.2, 5, 20), rng.uniform(0, 6.28, 20)
    waves = np.sin(2 * np.pi * np.outer(t, frequencies) + phases).sum(axis=1)
    values = 0.8 * waves * np.exp(-(((t - span / 3) / (span / 5)) ** 2))
    return vb.Record(values, [vb.Channel("ground", "ground_acceleration")], step=STEP, name="benchmark motion")


def building(storeys: int) -> vb.ShearBuilding:
    law = vb.BoucWen(stiffness=40.0, beta=1.0, gamma=1.0, exponent=1.0)
    return vb.ShearBuilding(masses=np.ones(storeys), storeys=[law] * storeys, damping=vb.Viscous(1.5))


def by_xla(job):
    """The same job without machine code."""

    def run():
        compiled.why_not = lambda: "switched off"
        try:
            return job()
        finally:
            compiled.why_not = _WHY_NOT

    return run


def in_turns(jobs: dict, repeats: int) -> dict[str, float]:
    """s, the shortest time of each; what is made before the first is not counted."""
    for job in jobs.values():
        job()
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            times[name].append(time.perf_counter() - start)
    return {name: min(own) for name, own in times.items()}


def by_hand(name: str, storeys: int, ground: np.ndarray):
    import speed_peers

    one = np.ones(storeys)
    if name == "Newmark":
        drift = np.eye(storeys) - np.eye(storeys, k=-1)
        small = np.eye(storeys) + drift.T @ ((0.5 * STEP * 1.5 + 0.25 * STEP**2 * 40.0) * drift)
        inverse = np.linalg.inv(small)
        return lambda: speed_peers.newmark(one, 40.0 * one, one, one, 1.5, inverse, ground, STEP, 1e-11)
    return lambda: speed_peers.runge_kutta(one, 40.0 * one, one, one, 1.5, ground, STEP)


def loops(repeats: int) -> list[dict]:
    rows = []
    for storeys, span in ((1, 40.0), (10, 40.0), (100, 10.0)):
        record = motion(span)
        for name, integrator in INTEGRATORS.items():
            structure, hand = building(storeys), by_hand(name, storeys, record.data[:, 0].copy())
            ours = lambda s=structure, i=integrator, r=record: vb.simulate(s, r, integrator=i)  # noqa: E731
            seconds = in_turns({"vibrid": ours, "numba": hand, "XLA": by_xla(ours)}, repeats)
            error = np.abs(ours().displacement - hand()[0]).max() / np.abs(hand()[0]).max()
            micro = {key: 1e6 * own / (len(record) - 1) for key, own in seconds.items()}
            ratio = seconds["vibrid"] / seconds["numba"]
            rows.append({
                "what": f"{storeys} Bouc–Wen storeys, {name}, µs a step of a whole call",
                "measured": f"{micro['vibrid']:.2f} ({ratio:.2f} × numba {micro['numba']:.2f}; XLA {micro['XLA']:.2f})",
                "target": f"≤ {RATIO} × numba",
                "met": ratio <= RATIO,
                "note": f"differs from numba by {error:.0e} of the largest",
                "details": micro,
            })  # fmt: skip
            print(rows[-1]["what"], rows[-1]["measured"], flush=True)
    return rows


def jacobians(repeats: int) -> list[dict]:
    rows, record = [], motion(20.0)
    for name, integrator in INTEGRATORS.items():
        structure = building(10)
        data = vb.simulate(structure, record, integrator=integrator)
        data = data.measure(vb.Sensors(acceleration=range(10)), noise=0.01)
        problem = make_problem(structure, data, ["storeys[*].stiffness"], integrator=integrator)
        free = jnp.asarray(problem.start) + 0.01
        ours = lambda p=problem, q=free: jax.block_until_ready(readings_and_slopes(p, q))  # noqa: E731
        seconds = in_turns({"vibrid": ours, "XLA": by_xla(ours)}, repeats)
        here, there = ours()[1][0], by_xla(ours)()[1][0]
        error = float(jnp.abs(here - there).max() / jnp.abs(there).max())
        micro = {key: 1e6 * own / (len(record) - 1) for key, own in seconds.items()}
        gain = seconds["XLA"] / seconds["vibrid"]
        rows.append({
            "what": f"Jacobian of 10 unknowns, 10 Bouc–Wen storeys, {name}, µs a step",
            "measured": f"{micro['vibrid']:.2f} (XLA {micro['XLA']:.1f}: {gain:.1f} ×)",
            "target": f"≥ {JACOBIAN:.0f} × XLA",
            "met": gain >= JACOBIAN,
            "note": f"differs by {error:.0e}",
            "details": micro,
        })  # fmt: skip
        print(rows[-1]["what"], rows[-1]["measured"], flush=True)
    return rows


def cold(repeats: int) -> list[dict]:
    """The answer of `vibrid identify` on the files that `vibrid demo` writes."""
    times: dict[str, list[float]] = {"new": [], "seen before": []}
    with tempfile.TemporaryDirectory() as folder:
        demo = [sys.executable, "-m", "vibrid", "demo", "--out", folder]
        subprocess.run(demo, check=True, capture_output=True)
        for number in range(repeats):
            environment = os.environ | {"VIBRID_CACHE": str(Path(folder) / f"cache{number}")}
            for own in times.values():
                call = [sys.executable, "-c", _COLD, "identify", "demo.toml", "--checks", "none"]
                answer = subprocess.run(call, check=True, capture_output=True, text=True, env=environment, cwd=folder)
                own.append(float(answer.stdout.split("SECONDS")[1]))
    limits = {"new": 8.0, "seen before": 3.0}
    return [
        {
            "what": f"`vibrid identify` on a kind of problem that is {kind}, s",
            "measured": f"{min(own):.1f}",
            "target": f"≤ {limits[kind]:.0f}",
            "met": min(own) <= limits[kind],
            "note": "without the checks of the result",
            "details": {"seconds": own},
        }
        for kind, own in times.items()
    ]


PARTS = {"loops": loops, "jacobians": jacobians, "cold": cold}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--machine", default=machine())
    chosen = parser.parse_args()
    if native.why_not():
        raise SystemExit(f"Time loops are not machine code here: {native.why_not()}.")
    rows = [row for name, part in PARTS.items() if chosen.part in (None, name) for row in part(chosen.repeats)]
    if chosen.part is None:
        save("speed", "Speed of loops", "python benchmarks/speed.py", chosen.machine, rows)
    else:
        print(json.dumps(rows, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
