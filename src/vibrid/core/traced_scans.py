"""A traced function run again, its long scans by something else than XLA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.extend import core as jex

from vibrid.core.errors import Refusal
from vibrid.core.traced import SOLVES, Operation, Program, Value, operation_of

Known: TypeAlias = np.ndarray | None
"""The elements of an array, some of them known numbers; None where nothing is known."""


@dataclass(frozen=True)
class Scans:
    """How scans are replaced.

    Arguments
        least: steps of a scan that is replaced.
        call: (scan, its arguments, what is known of them) → its results.
        elements: (program of one operation, what is known of its arguments) → what is known of its results.
        unknown: an array of which nothing but its shape is known, as `elements` has it; None where it is large.
    """

    least: int
    call: Callable[[Operation, Sequence[Any], Sequence[Known]], Sequence[Any]]
    elements: Callable[[Program, Sequence[Known]], Sequence[Known]]
    unknown: Callable[[Any], Known]


def has_long_scan(closed: Any, least: int) -> bool:
    """Whether a traced function has a scan that would be replaced."""
    for equation in closed.jaxpr.eqns:
        kind = equation.primitive.name
        if kind == "scan" and equation.params["length"] >= least:
            return True
        if kind in ("jit", "pjit") and has_long_scan(equation.params["jaxpr"], least):
            return True
    return False


def run_again(closed: Any, arguments: Sequence[Any], scans: Scans) -> list[Any]:
    """The results of a traced function (`jax.make_jaxpr`) at some arguments."""
    known = [scans.unknown(v.aval) for v in closed.jaxpr.invars]
    results, _ = _run(closed.jaxpr, closed.consts, arguments, known, scans)
    return results


def _run(jaxpr, consts, arguments, known, scans: Scans) -> tuple[list[Any], list[Known]]:
    at = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, arguments, strict=True))
    sure = {v: scans.elements(_constant(c), [])[0] for v, c in zip(jaxpr.constvars, consts, strict=True)}
    sure |= dict(zip(jaxpr.invars, known, strict=True))

    def read(atom):
        return atom.val if isinstance(atom, jex.Literal) else at[atom]

    def read_known(atom) -> Known:
        if not isinstance(atom, jex.Literal):
            return sure[atom]
        return scans.elements(_constant(np.asarray(atom.val, atom.aval.dtype)), [])[0]  # pyright: ignore

    for equation in jaxpr.eqns:
        given, given_known = [read(v) for v in equation.invars], [read_known(v) for v in equation.invars]
        kind, settings = equation.primitive.name, equation.params
        if kind in ("jit", "pjit") and settings.get("name") not in SOLVES:
            inner = settings["jaxpr"]
            results, found = _run(inner.jaxpr, inner.consts, given, given_known, scans)
        elif kind == "scan" and settings["length"] >= scans.least:
            results = scans.call(operation_of(equation).operations[0], given, given_known)
            found = [scans.unknown(v.aval) for v in equation.outvars]
        else:
            results = _bound(equation, given)
            found = _found(equation, given_known, scans)
        at |= dict(zip(equation.outvars, results, strict=True))
        sure |= dict(zip(equation.outvars, found, strict=True))
    return [read(v) for v in jaxpr.outvars], [read_known(v) for v in jaxpr.outvars]


def _bound(equation, given: Sequence[Any]) -> Sequence[Any]:
    """The results of one equation by JAX itself."""
    settings = equation.primitive.get_bind_params(equation.params)
    functions, settings = settings if isinstance(settings, tuple) else ((), settings)
    made = equation.primitive.bind(*functions, *given, **settings)
    return made if equation.primitive.multiple_results else [made]


def _found(equation, given: Sequence[Known], scans: Scans) -> Sequence[Known]:
    """What is known of the results of one equation."""
    nothing = [scans.unknown(v.aval) for v in equation.outvars]
    if any(k is None for k in (*given, *nothing)):
        return nothing
    try:
        return scans.elements(operation_of(equation), given)
    except Refusal:
        return nothing


def _constant(numbers: Any) -> Program:
    """The program without operations whose one result is known."""
    numbers = np.asarray(numbers)
    return Program((), (), (Value("c", numbers.shape, numbers.dtype, numbers),))


def traced(function: Callable[..., Any], *examples) -> Any:
    """A function of arrays, traced; and the shapes of its results."""
    return jax.make_jaxpr(function, return_shape=True)(*examples)
