"""The size of a problem: how long its simulations take, for checks that need dozens of them."""

from __future__ import annotations

from collections import deque
from typing import Any

from vibrid.identification.problem import Problem
from vibrid.structures.model import Model

MOST_WORK = 1e8
"""Samples × substeps × unknowns × degrees of freedom² up to which a check may fit dozens of times."""

_LAST: deque[tuple[Any, Any, Model]] = deque(maxlen=2)


def first_model(problem: Problem) -> Model:
    """The model of the first record at the first guess, for its size and its parts; the last ones are kept, for every
    check asks for it."""
    structure, loads = problem.experiment.structure, problem.data[0].loads
    for known, of, model in _LAST:
        if known is structure and of == loads:
            return model
    model = structure.model(loads)
    _LAST.append((structure, loads, model))
    return model


def is_costly(problem: Problem) -> bool:
    """Whether dozens of further fits would take long."""
    steps = sum(d.samples for d in problem.data) * problem.substeps
    return steps * (len(problem.unknowns) + 1) * first_model(problem).size ** 2 > MOST_WORK
