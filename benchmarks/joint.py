"""Cost of load identification: time and memory over the length of the record, and comparison with dense least squares.

    python benchmarks/joint.py

Each length runs in a process of its own, so that its memory can be measured. Results go to benchmarks/results/.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np
from table import save

import vibrid as vb
from vibrid.core.linalg import one_blas_thread
from vibrid.identification.loads.estimate import Weights
from vibrid.identification.loads.solution import solve_loads, system_at
from vibrid.identification.problem import make_problem
from vibrid.papers.joint import cantilever
from vibrid.papers.joint.paper import load_record, measured

LENGTHS = (1_000, 10_000, 100_000, 1_000_000)


def long_record(samples: int, noise: float = 0.01) -> tuple[vb.Record, np.ndarray]:
    """The cantilever under its load for any length, four sensors."""
    time_ = np.arange(samples) * cantilever.STEP
    load = cantilever.load(time_)
    response = vb.simulate(cantilever.beam(), load_record(load, "12", cantilever.STEP))
    return measured(response, cantilever.SENSORS, 1, noise), load


def solve(samples: int) -> dict:
    """One load solve with compiled code: seconds, peak memory of the process in MB, error."""
    record, load = long_record(samples)
    problem = make_problem(cantilever.beam(), record, [vb.UnknownLoad("12")])
    weights = Weights(0.01 * problem.signal_size(), np.array([600.0]), np.array([600.0]))
    with one_blas_thread():
        solve_loads(problem, problem.start, 0, weights, "size")
        started = time.perf_counter()
        found = solve_loads(problem, problem.start, 0, weights, "size")
        seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    error = 100 * np.linalg.norm(found.loads[:, 0] - load) / np.linalg.norm(load)
    return {"samples": samples, "seconds": seconds, "peak_mb": peak, "error": error,
            "entries": found.factors.entries}  # fmt: skip


def against_dense(samples: int = 1000) -> float:
    """Relative difference between the smoother and dense least squares."""
    record, _ = long_record(samples)
    problem = make_problem(cantilever.beam(), record, [vb.UnknownLoad("12")])
    sigma = 0.01 * problem.signal_size()
    found = solve_loads(problem, problem.start, 0, Weights(sigma, np.array([600.0]), np.array([600.0])), "size")
    system = system_at(problem, problem.start, 0, "size")
    a, g, c = (np.asarray(m[0]) for m in (system.transition, system.drive, system.output))
    columns = np.zeros((samples, len(sigma), samples))
    first, later = np.zeros(len(a)), g[:, 0].copy()
    first[system.size] = 1.0
    response = np.zeros((samples, len(sigma)))
    for k in range(samples):
        columns[k, :, 0], response[k] = c @ first, c @ later
        first, later = a @ first, a @ later
    for j in range(1, samples):
        columns[j:, :, j] = response[: samples - j]
    matrix = np.concatenate([(columns / sigma[:, None]).reshape(-1, samples), np.eye(samples) / 600.0])
    right = np.concatenate([(record.data / sigma).reshape(-1), np.zeros(samples)])
    dense = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return float(np.linalg.norm(found.loads[:, 0] - dense) / np.linalg.norm(dense))


def ten_parameters() -> vb.Identification:
    """36 degrees of freedom, the bending stiffness of ten groups of elements and the load, 10⁴ samples."""
    record, _ = long_record(10_000)
    groups = [[0], [1], [2, 3], [4], [5], [6], [7], [8, 9], [10], [11]]
    unknown = [vb.Unknown([f"inertia[{i}]" for i in g], tied=True, name=f"I of {g}") for g in groups]
    guess = cantilever.beam(0.8 * cantilever.TRUE)
    return vb.identify(guess, record, [*unknown, vb.UnknownLoad("12")], vb.JointLoads())


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(solve(int(sys.argv[1]))))
        return
    made = []
    for samples in LENGTHS:
        done = subprocess.run([sys.executable, __file__, str(samples)], capture_output=True, text=True, check=True)
        made.append(json.loads(done.stdout.splitlines()[-1]))
        print(made[-1], flush=True)
    by = {m["samples"]: m for m in made}
    slope = np.polyfit(np.log([m["samples"] for m in made[1:]]), np.log([m["seconds"] for m in made[1:]]), 1)[0]
    hundred = by[100_000]
    added = hundred["peak_mb"] - by[1_000]["peak_mb"]
    difference = against_dense()
    started = time.perf_counter()
    fit = ten_parameters()
    wall = time.perf_counter() - started
    rows = [
        {
            "what": "load solve, 36 degrees of freedom, four sensors, 10⁵ samples: time, memory beyond that for 10³",
            "measured": f"{hundred['seconds']:.1f} s, {added:.0f} MB",
            "target": "< 5 s, 500 MB",
            "met": bool(hundred["seconds"] < 5 and added < 500),
            "note": f"one BLAS thread; the process holds {hundred['peak_mb']:.0f} MB, nearly all JAX and compiled "
            f"code; gains settled after {hundred['entries']} steps",
            "details": hundred,
        },
        {
            "what": "the same, 10³ to 10⁶ samples",
            "measured": "; ".join(f"{m['samples']:.0e}: {m['seconds']:.2f} s" for m in made),
            "target": "linear",
            "met": bool(slope < 1.1),
            "note": f"seconds grow as samples to the power {slope:.2f} from 10⁴ on",
            "details": {"runs": made},
        },
        {
            "what": "difference from dense least squares, 10³ samples",
            "measured": f"{difference:.1e}",
            "target": "≤ 1e-8",
            "met": bool(difference <= 1e-8),
        },
        {
            "what": "36 degrees of freedom, ten stiffnesses and the load, 10⁴ samples, 1 % noise: JointLoads",
            "measured": f"{fit.seconds:.0f} s ({wall:.0f} s with compilation of the simulation)",
            "target": "< 30 s",
            "met": bool(fit.seconds < 30),
            "note": f"{fit.convergence['iterations']} iterations; largest bound "
            f"{100 * fit.limits.relative_bound.max():.2g} %",
        },
    ]
    save("joint", "Unknown loads", "python benchmarks/joint.py", "2 shared cores, no GPU", rows)


if __name__ == "__main__":
    main()
