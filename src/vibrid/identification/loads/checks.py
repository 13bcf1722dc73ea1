"""Problems with unknown loads that cannot be solved, refused with the reason."""

from __future__ import annotations

import numpy as np

from vibrid.core.errors import Refusal
from vibrid.identification.loads.recursion import check_hold
from vibrid.identification.loads.regularisation import impulse_responses
from vibrid.identification.loads.solution import system_at
from vibrid.identification.problem import Problem

POSITION = ("displacement", "drift", "strain", "rotation", "element_force")
"""Quantities from which the slow part of a load can be estimated."""


def refuse_unanswerable(problem: Problem) -> tuple[str, ...]:
    """Refuse problems that cannot be solved; return warnings for those that are poorly determined."""
    check_hold(problem)
    loads, sensors = len(problem.unknown_loads), len(problem.sensors)
    if problem.delays:
        raise Refusal(
            "Unknown loads cannot be estimated from delayed sensors: shift their channels by the delay first (and "
            "state a delay of 0)."
        )
    if any(bool(np.any(k)) for k in problem.held_out):
        raise Refusal(
            "With unknown loads no part of a record can be held out: its loads would be unknown too. Leave a sensor "
            "out instead and compare its readings with `reconstruct`."
        )
    _count(problem, loads, sensors)
    _sight(problem)
    slow = [s for s in problem.sensors if s.quantity in POSITION]
    if not slow:
        return (
            "All sensors measure acceleration or velocity: a slow load changes them too little, so its estimate drifts "
            "(the band shows by how much). Add a displacement or strain sensor, or give the load's prior deviation.",
        )
    return ()


def _count(problem: Problem, loads: int, sensors: int) -> None:
    if len(problem.unknowns) and sensors <= loads:
        raise Refusal(
            f"{loads} unknown load(s) can explain {sensors} sensor(s) whatever the structure is, so its parameters "
            f"cannot be identified: use at least {loads + 1} sensors, or fix the parameters and estimate loads alone."
        )
    if sensors < loads:
        raise Refusal(f"{loads} unknown loads need at least as many sensors, not {sensors}.")


def _sight(problem: Problem) -> None:
    """The sensors must respond to every load and distinguish them: the rank of their impulse responses."""
    data = problem.data[0]
    count = len(problem.unknown_loads)
    system = system_at(problem, problem.start, 0, "size")
    responses = impulse_responses(system, min(data.samples, 300)) / problem.signal_size()[:, None]
    columns = responses.reshape(-1, count)
    size = np.linalg.norm(columns, axis=0)
    for name, response in zip(problem.unknown_loads, size, strict=True):
        if response <= 1e-9 * size.max():
            raise Refusal(
                f"No sensor responds to the load at '{name}': its impulse response is "
                f"{response / max(size.max(), 1e-300):.1g} of the largest. Put a sensor where that load moves it."
            )
    _, values, right = np.linalg.svd(columns / size, full_matrices=False)
    if values[-1] < 1e-7 * values[0]:
        mixed = [n for n, share in zip(problem.unknown_loads, right[-1], strict=True) if abs(share) > 0.1]
        raise Refusal(
            f"The sensors cannot distinguish the loads at {' and '.join(mixed)}: the matrix of their impulse responses "
            f"has rank {int((values > 1e-7 * values[0]).sum())} instead of {count} (singular values "
            f"{values[0]:.2g} … {values[-1]:.1g}). Add a sensor nearer to one of them."
        )
