"""`find_loads`: estimate the histories of unknown loads on a known structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.errors import InputError
from vibrid.core.linalg import one_blas_thread
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.loads.checks import refuse_unanswerable
from vibrid.identification.loads.estimate import LoadEstimate
from vibrid.identification.loads.regularisation import choose_weights
from vibrid.identification.loads.solution import (
    Solution,
    Weights,
    followed,
    put_loads,
    shares_of,
    solve_loads,
    uncertain_rows,
)
from vibrid.identification.loads.unknown_load import UnknownLoad
from vibrid.identification.problem import Problem, make_problem
from vibrid.records.record import Record

if TYPE_CHECKING:
    from vibrid.simulation.base import Integrator
    from vibrid.structures.base import Structure
    from vibrid.structures.sensors import Sensor


def find_loads(
    structure: Structure,
    data: Record,
    loads: UnknownLoad | str | Sequence[UnknownLoad | str],
    *,
    sensors: Sequence[Sensor] | None = None,
    penalty: str = "size",
    weight: str | float = "evidence",
    initial: str = "rest",
    integrator: Integrator | None = None,
    hold: str = "linear",
    progress: Progress = SILENT,
) -> LoadEstimate:
    """Estimate the histories of loads at known places from sensor readings, for a known structure.

    Arguments
        structure: with all its parameters known.
        data: a record with the readings, and the known loads if there are any.
        loads: places, or `UnknownLoad`s.
        sensors: the sensors of the channels, where the record does not state them.
        penalty, weight, initial: as in `JointLoads`.
        integrator, hold: as for `simulate`.

    Example
        >>> found = find_loads(beam, record, ["tip"])
        >>> found["tip"], found.deviation
    """
    wanted = [load if isinstance(load, UnknownLoad) else UnknownLoad(load) for load in _listed(loads)]
    if not wanted:
        raise InputError("No load was given: name its place, e.g. find_loads(beam, record, ['tip']).")
    problem = make_problem(structure, data, wanted, sensors=sensors, integrator=integrator, hold=hold)
    for message in refuse_unanswerable(problem):
        progress.stage(message)
    with one_blas_thread():
        motion = 10.0 if initial == "unknown" else 0.0
        weights = choose_weights(problem, problem.start, penalty, weight, motion=motion, progress=progress).weights
        solution = followed(solve_loads(problem, problem.start, 0, weights, penalty))
        return estimate_of(problem, problem.start, 0, solution, weights, penalty, None)


def _listed(loads) -> list:
    return [loads] if isinstance(loads, str | int | UnknownLoad) else list(loads)


def estimate_of(
    problem: Problem, free: Array, record: int, solution: Solution, weights: Weights, penalty: str, covariance
) -> LoadEstimate:
    """Loads of one record with their band; `covariance` is that of φ (None where φ is known)."""
    held = put_loads(problem, record, solution.loads)
    band = uncertain_rows(held, free, record, weights, penalty, covariance)
    return describe_loads(problem, record, solution.loads, band, weights)


def describe_loads(problem: Problem, record: int, loads, deviation, weights: Weights) -> LoadEstimate:
    """Loads and their standard deviations (samples, loads) with names, units and times."""
    data = problem.data[record]
    units = []
    for share in np.moveaxis(np.abs(np.asarray(shares_of(data))), -1, 0):
        place = int(np.argmax(share.max(axis=0)))
        units.append("N" if data.loads[place][0] == "load" else "m/s^2")
    return LoadEstimate(
        record=data.name,
        names=problem.unknown_loads,
        units=tuple(units),
        time=np.arange(data.samples) * data.step,
        values=np.asarray(loads),
        deviation=np.asarray(deviation),
        weights=weights,
    )
