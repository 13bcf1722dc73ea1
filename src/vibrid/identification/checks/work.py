"""How long the simulations of a problem take, for checks that need dozens of them."""

from __future__ import annotations

from vibrid.identification.problem import Problem

MOST_WORK = 1e8
"""Samples × substeps × unknowns × degrees of freedom² up to which a check may fit dozens of times."""


def is_costly(problem: Problem) -> bool:
    """Whether dozens of further fits would take long."""
    size = problem.experiment.structure.model(problem.data[0].loads).size
    steps = sum(d.samples for d in problem.data) * problem.substeps
    return steps * (len(problem.unknowns) + 1) * size**2 > MOST_WORK
