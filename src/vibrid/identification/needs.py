"""The abilities that a problem requires of a method, from its structure, sensors, unknowns and data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

from vibrid.identification.scaling import refuse_unscaled
from vibrid.laws.base import has_rate

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem


def needs_of(problem: Problem) -> frozenset[str]:
    """The abilities that a method must have to solve the problem."""
    structure, sensors = problem.experiment.structure, problem.sensors
    model = structure.model(problem.data[0].loads)
    needs = set(problem.unknowns.needs)
    read = {q: 0 for q in ("displacement", "velocity", "acceleration")}
    for s in sensors:
        q = "acceleration" if s.quantity == "absolute_acceleration" else s.quantity
        read[q] = read.get(q, 0) + 1
    if min(read[q] for q in ("displacement", "velocity", "acceleration")) < model.size:
        needs.add("partial sensors")
    if jax.tree.leaves(jax.eval_shape(model.start)):
        needs.add("latent states")
    if not all(has_rate(g.law) for g in model.groups):
        needs.add("path laws")
    if not all(g.law.is_averageable for g in model.groups):
        needs.add("unaveraged memory")
    if len(problem.data) > 1:
        needs.add("several records")
    if len({d.loads for d in problem.data}) > 1:
        needs.add("different loads")
    if not all(bool(np.all(np.asarray(d.present))) for d in problem.data):
        needs.add("missing samples")
    if problem.delays:
        needs.add("sensor delay")
    if problem.unknown_loads:
        needs.add("unknown loads")
    if np.any(np.isfinite(problem.unknowns.prior_mean)):
        needs.add("priors")
    refuse_unscaled(problem)
    return frozenset(needs)
