"""Laws and structures as text that fits on a screen: names and values."""

from __future__ import annotations

import dataclasses
from itertools import groupby
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from vibrid.core.shown import few

_MOST_LINES = 14
_WIDTH = 110


def text_of(thing: Any) -> str:
    """`Linear(stiffness=40, damping=0.5)`; a value in one line."""
    if isinstance(thing, Tracer):
        return f"{thing.dtype}{list(thing.shape)}"
    if isinstance(thing, jax.Array | np.ndarray):
        return _array(np.asarray(thing))
    if isinstance(thing, float):
        return f"{thing:.6g}"
    if isinstance(thing, list | tuple) and not hasattr(thing, "_fields"):
        return _sequence(thing)
    if isinstance(thing, dict):
        return "{" + _cut(", ".join(f"{k!r}: {text_of(v)}" for k, v in thing.items())) + "}"
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        inside = ", ".join(f"{name}={text_of(value)}" for name, value in _fields(thing))
        return f"{type(thing).__name__}({inside})"
    return _cut(repr(thing))


def lines_of(thing: Any) -> str:
    """A structure: its kind, and a line for each field."""
    rows = [f"  {name} = {_cut(text_of(value))}" for name, value in _fields(thing)]
    if len(rows) > _MOST_LINES:
        rows = [*rows[: _MOST_LINES - 1], f"  … and {len(rows) - _MOST_LINES + 1} more"]
    return "\n".join([type(thing).__name__, *rows])


def _fields(thing: Any):
    """(name, value) of the fields that differ from their default."""
    for f in dataclasses.fields(thing):
        value = getattr(thing, f.name, None)
        if f.repr and not _is_default(f, value):
            yield f.name, value


def _is_default(f: dataclasses.Field, value: Any) -> bool:
    if value is None or (isinstance(value, tuple | list | dict) and not value):
        return True
    if f.default is dataclasses.MISSING or isinstance(value, Tracer):
        return False
    try:
        return bool(np.array_equal(np.asarray(value), np.asarray(f.default), equal_nan=True))
    except (TypeError, ValueError):
        return False


def _array(values: np.ndarray) -> str:
    if values.ndim == 0:
        return f"{values.item():.6g}" if values.dtype.kind in "fiu" else str(values)
    if values.ndim == 1:
        return few(values.tolist())
    return f"{' × '.join(map(str, values.shape))} matrix"


def _sequence(things: Any) -> str:
    if things and all(isinstance(v, float | int) for v in things):
        return few(things)
    runs = [(text, len(list(same))) for text, same in groupby(text_of(v) for v in things)]
    parts = [text if count == 1 else f"{count} × {text}" for text, count in runs]
    if len(parts) <= 4:
        return f"[{', '.join(parts)}]"
    return f"[{parts[0]}, …, {parts[-1]}] ({len(things)} in all)"


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
