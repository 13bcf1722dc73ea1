"""The laws of a problem in their cheapest form, for runs in which only its unknowns change."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import jax
from jax.core import Tracer

from vibrid.laws.base import simplified

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem
    from vibrid.structures.base import Structure

_KEPT: OrderedDict[tuple[int, tuple[str, ...]], tuple[Structure, Structure]] = (
    OrderedDict()
)  # by identity, and what it is
_MOST = 8
_LOCK = threading.Lock()


def cheaper(problem: Problem) -> Problem:
    """The same problem; a law whose exponent is a whole number and no unknown multiplies it out, for example."""
    structure = problem.experiment.structure
    places = tuple(place for own in problem.unknowns.places for place in own)
    key = id(structure), places
    with _LOCK:
        kept = _KEPT.get(key)
    if kept is None:
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(structure)):
            return problem
        kept = structure, simplified(structure, free=places)
        with _LOCK:
            _KEPT[key] = kept
            while len(_KEPT) > _MOST:
                _KEPT.popitem(last=False)
    return dataclasses.replace(problem, experiment=dataclasses.replace(problem.experiment, structure=kept[1]))
