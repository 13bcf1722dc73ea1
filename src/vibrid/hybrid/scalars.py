"""A small traced program of scalars as plain Python: a call costs a few microseconds where a compiled one costs thirty.

A served device is moved one step at a time. Passing numbers to a compiled program and back then takes ten times as long
as the few dozen operations of a friction law. So where a program consists of scalars and of the operations below, its
trace is written out as a Python function; any other program stays compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from vibrid.core.errors import Refusal
from vibrid.core.traced import Operation, Value, program_of

MOST_OPERATIONS = 1000
_MAX = "({0} if {0} > {1} or {0} != {0} else {1})"
_MIN = "({0} if {0} < {1} or {0} != {0} else {1})"
_WRITTEN = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "rem": "fmod({0}, {1})",
    "neg": "-{0}", "abs": "abs({0})", "sqrt": "sqrt({0})", "exp": "exp({0})", "rsqrt": "1.0 / sqrt({0})",
    "log": "log({0})", "log1p": "log1p({0})", "expm1": "expm1({0})", "tanh": "tanh({0})", "sin": "sin({0})",
    "cos": "cos({0})", "erf": "erf({0})", "atan2": "atan2({0}, {1})", "pow": "pow({0}, {1})",
    "logistic": "1.0 / (1.0 + exp(-{0}))", "floor": "copysign(floor({0}), {0})", "max": _MAX, "min": _MIN,
    "sign": "({0} if {0} == 0 or {0} != {0} else copysign(1.0, {0}))",
    "clamp": _MIN.format(_MAX.format("{1}", "{0}"), "{2}"),
    "gt": "{0} > {1}", "ge": "{0} >= {1}", "lt": "{0} < {1}", "le": "{0} <= {1}", "eq": "{0} == {1}",
    "ne": "{0} != {1}", "is_finite": "isfinite({0})",
}  # fmt: skip
_LOGICAL = {"and": "{0} and {1}", "or": "{0} or {1}", "not": "not {0}", "eq": "{0} == {1}", "ne": "{0} != {1}"}
_KNOWN = {
    name: getattr(math, name)
    for name in (
        "sqrt",
        "exp",
        "log",
        "log1p",
        "expm1",
        "tanh",
        "sin",
        "cos",
        "erf",
        "atan2",
        "pow",
        "fmod",
        "floor",
        "copysign",
        "isfinite",
    )
}


class _NotScalar(Exception):
    """The program has an operation that cannot be written out."""


def written_out(function: Callable, count: int) -> Callable[..., tuple] | None:
    """`function` of `count` numbers, which returns a list of scalars, as plain Python; None where that cannot be.

    Where the compiled program would give an infinity or NaN, the written one may raise an ArithmeticError or a
    ValueError instead.
    """
    try:
        program = program_of(function, *np.zeros(count))
        given = [value.name for value in program.inputs]
        if len(program.operations) > MOST_OPERATIONS:
            return None
        lines = [f"{o.results[0].name} = {_written(o)}" for o in program.operations]
        results = [_read(value) for value in program.outputs]
    except (_NotScalar, Refusal):
        return None
    body = "\n    ".join([*lines, f"return ({', '.join(results)},)"])
    text = f"def written({', '.join(given)}):\n    {body}\n"
    names = dict(_KNOWN, nan=math.nan, inf=math.inf, __builtins__={"abs": abs, "float": float})
    exec(compile(text, "<traced program>", "exec"), names)  # made here, of the operations above and numbers alone
    return names["written"]


def _read(value: Value) -> str:
    """A value by its name, or a constant with all its digits."""
    if value.shape != () or value.dtype.name not in ("float64", "bool"):
        raise _NotScalar
    if value.constant is None:
        return value.name
    return str(bool(value.constant)) if value.dtype == bool else f"({float(value.constant)!r})"  # nan, inf are names


def _written(o: Operation) -> str:
    """The right-hand side of one operation."""
    read = [_read(value) for value in o.arguments]
    _read(o.results[0])
    if o.kind == "convert":
        return f"{read[0]} != 0" if o.results[0].dtype == bool else f"float({read[0]})"
    if o.kind in ("broadcast_in_dim", "reshape"):
        return read[0]
    if o.kind == "select_n" and len(read) == 3 and o.arguments[0].dtype == bool:
        return f"({read[2]} if {read[0]} else {read[1]})"
    if o.kind == "integer_pow" and o.settings["power"] > 0:
        return f"{read[0]} ** {o.settings['power']}"
    texts = _LOGICAL if o.arguments[0].dtype == bool else _WRITTEN
    if o.kind not in texts:
        raise _NotScalar
    return texts[o.kind].format(*read)
