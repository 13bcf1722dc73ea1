"""JSON: columns by name, rows, or rows by name.

    {"dt": 0.01, "roof": [...], "base": [...]}                     columns by name
    {"columns": ["time", "roof"], "units": ["s", "g"], "data": [[...], ...]}   rows, with or without names and units
    [[0.0, 1.2], [0.01, 1.3], ...]                                 rows
    [{"time": 0.0, "roof": 1.2}, ...]                              rows by name

null and NaN are missing samples. Keys such as "roof unit" or "roof units" give units.
"""

from __future__ import annotations

import json
import re
from typing import TypeGuard

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.readers.assemble import assemble
from vibrid.records.readers.instants import instants_of, is_time, seconds_since_first, with_clock
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.readers.variables import from_variables
from vibrid.records.record import Record
from vibrid.records.units import parse_unit

NAME = "JSON"


def recognises(source: Source) -> bool:
    text = source.head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return text.startswith(b"{") or bool(re.match(rb"\[\s*[\[{\]\d.nN-]", text))


def read(source: Source, layout: Layout) -> list[Record]:
    if source.size > source.limits.expanded_bytes:
        raise source.problem(f"a JSON file may have at most {source.limits.expanded_bytes / 1e6:.0f} MB.")
    try:
        content = json.loads(source.content.decode(source.encoding or "utf-8"))
    except json.JSONDecodeError as problem:
        raise source.problem(f"it is not valid JSON: {problem.msg}.", problem.lineno) from None
    except (UnicodeDecodeError, ValueError, RecursionError) as problem:
        raise source.problem(f"it is not valid JSON ({str(problem)[:80]}).") from None
    if isinstance(content, list) and content and isinstance(content[0], dict):
        return from_variables(source, _rows_by_name(source, content), layout, NAME)
    if isinstance(content, list):
        return [_rows(source, content, layout, None, None)]
    if not isinstance(content, dict):
        raise source.problem("it holds a single value, not a record.")
    rows = content.get("data")
    if _is_rows(rows):
        return [_rows(source, rows, layout, content.get("columns", content.get("names")), content.get("units"))]
    arrays, units, instants = {}, {}, {}
    for name, value in content.items():
        if isinstance(value, list) and value and isinstance(value[0], str) and is_time(name):
            instants[name] = instants_of(source, name, value)
            arrays[name] = seconds_since_first(instants[name])
        elif isinstance(value, list) and value:
            arrays[name] = _array(source, value, name)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            arrays[name] = np.array(_float(source, value, name))
    for name in list(arrays):
        unit = next(
            (
                content[k]
                for k in (f"{name} unit", f"{name} units", f"{name}_unit", f"{name}_units")
                if isinstance(content.get(k), str)
            ),
            None,
        )
        if unit is not None:
            units[name] = _unit(source, unit)
    if isinstance(content.get("units"), dict):
        units.update({k: _unit(source, v) for k, v in content["units"].items() if isinstance(v, str)})
    return with_clock(from_variables(source, arrays, layout, NAME, units), instants)


def _is_rows(value: object) -> TypeGuard[list]:
    return isinstance(value, list) and bool(value) and isinstance(value[0], list)


def _unit(source: Source, unit: str) -> str:
    try:
        parse_unit(unit)
    except InputError as problem:
        raise source.problem(str(problem)) from None
    return unit


def _float(source: Source, value, name: str) -> float:
    if value is None:
        return np.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise source.problem(f"'{str(name)[:60]}' holds {str(value)[:40]!r} where a number is expected.")
    try:
        return float(value)
    except OverflowError:
        raise source.problem(f"'{str(name)[:60]}' holds a number that is too large.") from None


def _array(source: Source, value: list, name: str) -> np.ndarray:
    """A list of numbers, or a list of equal lists of numbers."""
    if len(value) > source.limits.numbers:
        raise source.problem(f"'{str(name)[:60]}' has more than {source.limits.numbers} numbers.")
    if isinstance(value[0], list):
        width = len(value[0])
        for number, row in enumerate(value, 1):
            if not isinstance(row, list) or len(row) != width:
                raise source.problem(f"row {number} of '{str(name)[:60]}' does not have {width} values as the first.")
        flat = [_float(source, v, name) for row in value for v in row]
        return np.array(flat, dtype=float).reshape(len(value), width)
    return np.array([_float(source, v, name) for v in value], dtype=float)


def _rows(source: Source, rows: list, layout: Layout, names, units) -> Record:
    if not rows:
        raise source.problem("the list is empty.")
    data = _array(source, rows, "data")
    data = data[:, None] if data.ndim == 1 else data
    named = isinstance(names, list) and len(names) == data.shape[1] and all(isinstance(n, str) for n in names)
    names = names if named else [f"column_{i}" for i in range(1, data.shape[1] + 1)]
    stated = isinstance(units, list) and len(units) == data.shape[1] and all(isinstance(u, str) for u in units)
    units = [_unit(source, u) for u in units] if stated else [None] * data.shape[1]
    return assemble(source, data, names, units, layout, kind=NAME, named=named)


def _rows_by_name(source: Source, rows: list) -> dict[str, np.ndarray]:
    names = list(rows[0])
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise source.problem(f"row {number} is not a row by name as the first.")
    return {name: np.array([_float(source, row.get(name), name) for row in rows]) for name in names}


@READERS.register(NAME)
class JSON(Reader):
    """JSON: columns by name, rows, or rows by name."""

    particularity = 30

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
