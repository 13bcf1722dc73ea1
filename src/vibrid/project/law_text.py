"""A law as project files write it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from vibrid.laws.base import LAWS, Law, Parallel
from vibrid.laws.distributions import DISTRIBUTIONS


def law_table(law: Law) -> dict[str, Any]:
    """The table of a law: its name, and its parameters in SI units where they differ from their defaults."""
    if isinstance(law, Parallel):
        return {"law": "parallel", "laws": [law_table(part) for part in law.laws]}
    return {"law": LAWS.name_of(type(law))} | _values(law)


def law_text(law: Law) -> str:
    """The same as an inline table of TOML.

    Example
        >>> law_text(Linear(stiffness=2e6))
        '{law = "linear", stiffness = 2000000.0}'
    """
    return _inline(law_table(law))


def _values(owner: Any) -> dict[str, Any]:
    values = {}
    for f in dataclasses.fields(owner):
        value = getattr(owner, f.name)
        if f.metadata.get("static") and f.name not in ("capacity", "follows", "as_opensees"):
            continue
        if f.default is not dataclasses.MISSING and np.array_equal(value, f.default, equal_nan=True):
            continue
        if "parameter" in f.metadata or f.metadata.get("static"):
            values[f.name] = np.asarray(value).tolist()
        elif isinstance(value, Law):
            values[f.name] = law_table(value)
        else:
            values[f.name] = {"kind": DISTRIBUTIONS.name_of(type(value))} | _values(value)
    return values


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_inline(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{float(f'{value:.6g}')!r}" if isinstance(value, float) else f"{value}"
