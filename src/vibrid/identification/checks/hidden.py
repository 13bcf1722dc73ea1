"""Starts for other answers in unknowns that small motions do not show: yield, shape of loops, hardening.

The search by transfer functions about rest (`transfer.py`) leaves them where they are. Here the values of alike parts
are exchanged (`storeys[0]` and `storeys[1]`, two attachments, two laws of a `Parallel`), and a few starts are random.
Parts in parallel have the same deformation: sensors of motion cannot tell which is which, wherever they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np

from vibrid.core import paths
from vibrid.identification.checks.transfer import AboutRest, shown_unknowns
from vibrid.identification.checks.work import first_model, is_costly
from vibrid.identification.problem import Problem
from vibrid.structures.model import Model

EXCHANGES, RANDOM, STARTS = 4, 4, 6
"""Most starts with exchanged values, most random ones, and most of both together."""

_ROOT = "structure"

_Tokens: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class Exchange:
    """Unknowns of two alike parts, numbers in the same order, whose values change places."""

    parts: tuple[str, str]
    first: tuple[int, ...]
    second: tuple[int, ...]

    def of(self, values: np.ndarray) -> np.ndarray:
        """The values with those of the two parts exchanged."""
        made, (one, two) = np.array(values), map(list, (self.first, self.second))
        made[one], made[two] = values[two], values[one]
        return made

    def among(self, chosen: np.ndarray) -> Exchange:
        """The exchange of those unknowns alone that are chosen, (p,), in either part."""
        pairs = [pair for pair in zip(self.first, self.second, strict=True) if chosen[list(pair)].any()]
        return Exchange(self.parts, *(tuple(pair[side] for pair in pairs) for side in (0, 1)))


@dataclass(frozen=True)
class HiddenStart:
    """φ to descend from; and the exchange that led to it, where all values of two parts in parallel are exchanged."""

    free: np.ndarray
    parallel: Exchange | None = None


def hidden_starts(problem: Problem, free: np.ndarray, everywhere: bool, factor: float, seed: int) -> list[HiddenStart]:
    """Starts around φ in the box; none for a linear structure, or where simulations take long.

    everywhere: there is a sensor for every degree of freedom, so that parts in parallel alone are exchanged; factor:
    random values of positive unknowns lie between this factor below φ and above.
    """
    model = first_model(problem)
    if model.is_linear or is_costly(problem):
        return []
    exchanges = alike_parts(problem.unknowns.places)
    parallel = [exchange for exchange in exchanges if in_parallel(model, *exchange.parts)]
    starts = [HiddenStart(exchanged(problem, free, exchange), exchange) for exchange in parallel][:EXCHANGES]
    if everywhere or not model.load_matrix.shape[1]:  # nothing excites it: there are no transfer functions
        return starts
    hidden = _hidden(problem, free)
    if not hidden.any():
        return starts
    others = [exchange for exchange in exchanges if exchange not in parallel and exchange.among(hidden).first]
    made = dict.fromkeys(kind for exchange in others for kind in (exchange.among(hidden), exchange))
    starts += [HiddenStart(exchanged(problem, free, exchange)) for exchange in made][: EXCHANGES - len(starts)]
    count = min(RANDOM, STARTS - len(starts))
    return starts + [HiddenStart(start) for start in _random(problem, free, hidden, factor, count, seed)]


def alike_parts(places: Sequence[tuple[str, ...]]) -> list[Exchange]:
    """The exchanges of parts whose unknowns have the same path except for one index.

    places: the paths of every unknown from the experiment. Unknowns that several places share are in no part.
    """
    parts: dict[_Tokens, dict[_Tokens, int]] = {}
    for number, (place, *shared) in enumerate(places):
        tokens = paths.parse(place)
        if shared or tokens[0] != _ROOT:
            continue
        for end, token in enumerate(tokens[:-1], start=1):
            if isinstance(token, int):
                parts.setdefault(tokens[:end], {})[tokens[end:]] = number
    found = []
    for one, two in combinations(parts, 2):
        both = [name for name in parts[one] if name in parts[two]]
        if both and one[:-1] == two[:-1]:
            numbers = (tuple(parts[part][name] for name in both) for part in (one, two))
            found.append(Exchange((paths.spell(one[1:]), paths.spell(two[1:])), *numbers))
    return found


def in_parallel(model: Model, one: str, two: str) -> bool:
    """Whether two parts have the same deformation: laws of one `Parallel`, or parts between the same places."""
    if all(paths.parse(part)[-2] == "laws" for part in (one, two)):
        return True
    each = ((g, i) for g in model.groups for i in range(g.count))
    rows = [g.index[i * g.components : (i + 1) * g.components] for g, i in each]
    of_part = {name: row for (name, _), row in zip(model.parts, rows, strict=True)}
    return one in of_part and two in of_part and of_part[one] == of_part[two]


def exchanged(problem: Problem, free: np.ndarray, exchange: Exchange) -> np.ndarray:
    """φ with the physical values of two parts exchanged, moved to their bounds where these differ."""
    physical = np.asarray(problem.unknowns.to_physical(jnp.asarray(free)))
    return problem.unknowns.to_free(exchange.of(physical))


def _hidden(problem: Problem, free: np.ndarray) -> np.ndarray:
    """(p,): unknowns of the structure that its transfer functions about rest do not depend on."""
    about = AboutRest.of(problem)
    s = about.line(free)
    of_structure = [all(paths.parse(place)[0] == _ROOT for place in places) for places in problem.unknowns.places]
    return np.array(of_structure, bool) & ~shown_unknowns(about, free, s) if s.size else np.zeros(len(free), bool)


def _random(problem: Problem, free: np.ndarray, hidden: np.ndarray, factor: float, count: int, seed: int) -> np.ndarray:
    """(count, p): hidden unknowns anywhere around φ, the others as they are."""
    log = np.array([kind == "log" for kind in problem.unknowns.kinds])
    away = np.where(log, np.log(factor), 1.0) * np.random.default_rng(seed).uniform(-1.0, 1.0, (count, len(free)))
    return problem.unknowns.box().clip(free + away * hidden)
