"""A small traced program of scalars as plain Python: a call costs a few microseconds where a compiled one costs thirty.

A device on the wire is asked one step at a time. Handing numbers to a compiled program and back then takes ten times as
long as the few dozen operations of a friction law. So where a program is made of scalars and of the operations below,
its trace is written out as a Python function; anything else stays compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import numpy as np

MOST_OPERATIONS = 1000
_INLINE = ("pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "remat", "checkpoint")
_WRITTEN = {
    "add": "{0} + {1}", "add_any": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}",
    "neg": "-{0}", "abs": "abs({0})", "square": "{0} * {0}", "sqrt": "sqrt({0})", "exp": "exp({0})",
    "log": "log({0})", "log1p": "log1p({0})", "expm1": "expm1({0})", "tanh": "tanh({0})", "sin": "sin({0})",
    "cos": "cos({0})", "atan2": "atan2({0}, {1})", "pow": "pow({0}, {1})", "copy": "{0}", "copy_p": "{0}",
    "stop_gradient": "{0}", "max": "({0} if {0} > {1} or {0} != {0} else {1})",
    "min": "({0} if {0} < {1} or {0} != {0} else {1})",
    "sign": "({0} if {0} == 0 or {0} != {0} else copysign(1.0, {0}))",
    "select_n": "({2} if {0} else {1})", "gt": "{0} > {1}", "ge": "{0} >= {1}", "lt": "{0} < {1}", "le": "{0} <= {1}",
    "eq": "{0} == {1}", "ne": "{0} != {1}", "not": "not {0}", "is_finite": "isfinite({0})",
    "clamp": "({0} if {1} < {0} else {2} if {1} > {2} else {1})",
}  # fmt: skip
_LOGICAL = {"and": "{0} and {1}", "or": "{0} or {1}"}
_KNOWN = {
    name: getattr(math, name)
    for name in ("sqrt", "exp", "log", "log1p", "expm1", "tanh", "sin", "cos", "atan2", "pow", "copysign", "isfinite")
}


class _NotScalar(Exception):
    """The program holds something that cannot be written out."""


def written_out(function: Callable, count: int) -> Callable[..., tuple] | None:
    """`function` of `count` numbers, which returns a list of scalars, as plain Python; None where that cannot be.

    Where the compiled program would give an infinity or NaN, the written one may raise an ArithmeticError or a
    ValueError instead.
    """
    traced = jax.make_jaxpr(function)(*np.zeros(count))
    lines: list[str] = []
    try:
        given = [f"a{i}" for i in range(count)]
        results = _write(traced.jaxpr, [_number(c) for c in traced.consts], given, lines)
    except _NotScalar:
        return None
    body = "\n    ".join([*lines, f"return ({', '.join(results)},)"])
    text = f"def written({', '.join(given)}):\n    {body}\n"
    names = dict(_KNOWN, nan=math.nan, inf=math.inf, __builtins__={"abs": abs, "float": float})
    exec(compile(text, "<traced program>", "exec"), names)  # made here, of the operations above and numbers alone
    return names["written"]


def _write(jaxpr, constants: list[str], given: list[str], lines: list[str]) -> list[str]:
    """Append the operations of a trace to `lines`; the names of its results."""
    names = dict(zip(jaxpr.constvars, constants, strict=True)) | dict(zip(jaxpr.invars, given, strict=True))

    def read(variable) -> str:
        return _number(variable.val) if hasattr(variable, "val") else names[variable]

    for equation in _needed(jaxpr):
        kind = equation.primitive.name
        read_in = [read(v) for v in equation.invars]
        if kind in _INLINE:
            inner = next((v for v in equation.params.values() if hasattr(v, "jaxpr") and hasattr(v, "consts")), None)
            if inner is None:
                raise _NotScalar
            made = _write(inner.jaxpr, [_number(c) for c in inner.consts], read_in, lines)
            names.update(zip(equation.outvars, made, strict=True))
            continue
        name = f"v{len(lines)}"
        lines.append(f"{name} = {_written(equation, kind, read_in)}")
        if len(lines) > MOST_OPERATIONS:
            raise _NotScalar
        names[equation.outvars[0]] = name
    return [read(v) for v in jaxpr.outvars]


def _needed(jaxpr) -> list:
    """The operations that the results depend on."""
    wanted, kept = set(v for v in jaxpr.outvars if not hasattr(v, "val")), []
    for equation in reversed(jaxpr.eqns):
        if not wanted.isdisjoint(equation.outvars):
            kept.append(equation)
            wanted.update(v for v in equation.invars if not hasattr(v, "val"))
    return kept[::-1]


def _written(equation, kind: str, read_in: list[str]) -> str:
    """The right-hand side of one operation."""
    variables = [*equation.invars, *equation.outvars]
    if any(v.aval.shape != () or v.aval.dtype.name not in ("float64", "bool") for v in variables):
        raise _NotScalar
    boolean = equation.outvars[0].aval.dtype == bool
    if kind in _WRITTEN and (len(read_in) <= 3):
        return _WRITTEN[kind].format(*read_in)
    if kind in _LOGICAL and boolean:
        return _LOGICAL[kind].format(*read_in)
    if kind == "integer_pow" and equation.params["y"] > 0:
        return f"{read_in[0]} ** {int(equation.params['y'])}"
    if kind == "convert_element_type":
        return f"{read_in[0]} != 0" if boolean else f"float({read_in[0]})"
    if kind in ("broadcast_in_dim", "reshape", "squeeze"):
        return read_in[0]
    raise _NotScalar


def _number(value) -> str:
    """A constant, written with all its digits."""
    value = np.asarray(value)
    if value.shape != ():
        raise _NotScalar
    if value.dtype == bool:
        return str(bool(value))
    return f"({float(value)!r})"  # nan and inf are names
