"""The paper's updates as a job: run to ε or to the largest number of iterations, and reduced to errors."""

from __future__ import annotations

import numpy as np

from vibrid.identification.problem import Problem
from vibrid.papers.jobs import Arrays
from vibrid.papers.joint.alternating import KEPT, alternate
from vibrid.papers.joint.paper import EQUATION_29, LARGEST, norm_29, norm_largest, percent
from vibrid.papers.paper import Run

SHOWN = (0, 10, 50, 100)
"""Iterations at which the load is stored to be drawn."""


def updated(
    run: Run, name: str, problem: Problem, first, true, true_loads, *, share: float = 0.5, iterations: int = 3000
) -> Arrays:
    """The updates from the loads `first` (samples, loads), with ε = 1e-6.

    Arrays: `theta`, `loads`, `converged`, `iterations`; `paths` (iterations, parameters) and `load_paths` (every
    KEPT-th iteration, loads), the errors in per cent (Eqs 30, 29); `largest` (loads,); `shown`, loads at `SHOWN`.
    """
    count = 10 if run.quick else iterations
    run.progress.stage(f"the paper's updates, {name}", count)
    checkpoint = run.checkpoint(f"{name}-updates")
    result = alternate(problem, first, share=share, iterations=count, checkpoint=checkpoint, progress=run.progress)
    if result.cut_short:
        raise KeyboardInterrupt
    r = true_loads.shape[1]
    thetas = np.concatenate([result.thetas, result.theta[None]])
    way = [*result.kept, result.loads]
    return {
        "theta": result.theta,
        "loads": result.loads,
        "converged": np.array(result.converged),
        "iterations": np.array(len(result.costs)),
        "paths": percent(thetas, true),
        "load_paths": np.array([[norm_29(f[:, i], true_loads[:, i]) for i in range(r)] for f in way]),
        "largest": np.array([norm_largest(result.loads[:, i], true_loads[:, i]) for i in range(r)]),
        "shown": np.array([result.kept[min(k // KEPT, len(result.kept) - 1)] for k in SHOWN]),
    }


def steps_of(result: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Iterations, from 1, of `paths` and of `load_paths`."""
    count = int(result["iterations"])
    kept = 1 + KEPT * np.arange(len(result["load_paths"]) - 1)
    return 1 + np.arange(count + 1), np.append(kept, count + 1)


def end_row(result: Arrays, names) -> dict:
    """Final errors in per cent, in both norms, and the lowest error of the load on the way."""
    loads, largest = result["load_paths"], result["largest"]
    row = {
        "iterations": int(result["iterations"]),
        "ε met": "yes" if bool(result["converged"]) else "no",
        **{f"{name} (%)": float(e) for name, e in zip(names, result["paths"][-1], strict=True)},
    }
    for i in range(len(largest)):
        which = "" if len(largest) == 1 else f" {i + 1}"
        row[EQUATION_29.replace("load", f"load{which}", 1)] = float(loads[-1, i])
        row[LARGEST.replace("load", f"load{which}", 1)] = float(largest[i])
    if len(largest) == 1:
        row["load, lowest on the way (%)"] = float(loads[:, 0].min())
    return row
