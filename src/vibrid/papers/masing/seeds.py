"""All noise seeds of one case by one method, as a job."""

from __future__ import annotations

import dataclasses

import numpy as np

from vibrid.identification import OnlineRecall
from vibrid.papers.jobs import Arrays
from vibrid.papers.masing.cases import KOBE, SAN_FERNANDO, UNKNOWN, PaperTest, data_of, device, errors, identify_many
from vibrid.papers.paper import Run

PRINTED, OURS, RECALL = "as printed", "OnlineMasing", "OnlineRecall"
KINDS = (PRINTED, OURS, RECALL)
TESTS = {test.name: test for test in (KOBE, SAN_FERNANDO)}


def seeds_of(run: Run) -> int:
    return 2 if run.quick else 20


def method_of(kind: str, system: PaperTest, objective: int, **changes):
    """The method of a kind, with the paper's constants for the motion."""
    return OnlineRecall() if kind == RECALL else system.method(objective, as_published=kind == PRINTED, **changes)


def identified(
    run: Run,
    kind: str,
    name: str,
    objective: int,
    noise: float,
    real: bool = True,
    ductility: float | None = None,
    changes: tuple[tuple[str, object], ...] = (),
    peak: float | None = None,
    below: float | None = None,
) -> Arrays:
    """Estimates, errors ‖θ̂ − θ‖/‖θ‖ and the number of uncertain seeds.

    Arguments
        changes: of the method's settings, by name.
        peak: largest displacement of the motion, where it is not the paper's.
        below: the noise has frequencies below so many Hz alone; white otherwise.
    """
    system = TESTS[name] if peak is None else dataclasses.replace(TESTS[name], peak=peak)
    data = data_of(run, system, noise, seeds_of(run), real, ductility, below)
    unknown = UNKNOWN if ductility is None else UNKNOWN[1:]
    method = method_of(kind, system, objective, **dict(changes))
    ends, sure, _ = identify_many(method, device(system.guess, ductility), data, unknown)
    unsure = np.sum(~sure) if kind == RECALL else 0
    return {"ends": ends, "errors": errors(ends, system.truth), "unsure": np.array(unsure)}


def job_of(kind: str, system: PaperTest, objective: int, noise: float, real: bool = True, **more) -> tuple:
    """Arguments of `identified`; OnlineRecall has one objective."""
    rest = {"ductility": None, "changes": (), "peak": None, "below": None} | more
    return (kind, system.name, 1 if kind == RECALL else objective, noise, real, *rest.values())
