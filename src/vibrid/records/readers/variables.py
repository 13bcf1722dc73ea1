"""Named arrays, as MATLAB, NumPy, JSON and HDF5 files hold them, made into a record.

Names and lengths decide which array is the time, the step or a channel: a time has a name such as t, time or Tout, a
step dt or Ts, a rate fs or rate; channels are all arrays as long as the time, or, without a time, of the most common
length. Arrays of other lengths or with infinite values are left out, which the history states.
A sidecar's `key` chooses instead: `key = "x_F[:, 2]"` is the third column of x_F.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from vibrid.core.errors import InputError, nearest
from vibrid.records.readers.assemble import assemble
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.source import Source
from vibrid.records.readers.time_axis import TIME_NAME
from vibrid.records.record import Record
from vibrid.records.units import unit_for

_STEP_NAME = re.compile(r"(^|\.)(dt|ts|step|delta|sampling_?(step|interval|period))$", re.I)
_RATE_NAME = re.compile(r"(^|\.)(fs|rate|sample_?rate|sampling_?(rate|freq\w*)|f_?samp\w*)$", re.I)
_SHORTEST = 3


def from_variables(
    source: Source,
    variables: Mapping[str, np.ndarray],
    layout: Layout,
    kind: str,
    units: Mapping[str, str] | None = None,
) -> list[Record]:
    """One record from named arrays of real numbers; `units` as far as the file states them."""
    units = dict(units or {})
    arrays, steps = {}, {}
    for name, array in variables.items():
        array = np.asarray(array)
        if array.dtype.kind not in "fiub" or array.ndim > 2:
            continue
        if array.size == 1:
            value = float(array.reshape(()))
            if np.isfinite(value) and value > 0:
                if _STEP_NAME.search(name):
                    steps[name] = _in(source, name, value, units.get(name), "s")
                elif _RATE_NAME.search(name):
                    steps[name] = 1.0 / _in(source, name, value, units.get(name), "Hz")
            continue
        if array.ndim == 2 and array.shape[0] < array.shape[1]:
            array = array.T  # samples along the longer side
        array = array.reshape(len(array), -1) if array.size else np.empty((0, 1))
        if array.size > source.limits.numbers:
            raise source.problem(f"'{name}' has {array.size} numbers; at most {source.limits.numbers} are read.")
        if len(array) >= _SHORTEST and 1 <= array.shape[1] <= 4096:
            arrays[name] = array
    if not arrays:
        raise source.problem("it holds no array of real numbers that could be a signal.")
    keyed = layout.columns is not None and any(c.key for c in layout.columns)
    record = (_by_keys if keyed else _by_length)(source, arrays, layout, kind, steps, units)
    others = {n: s for n, s in steps.items() if record.step is None or abs(s - record.step) > 1e-3 * record.step}
    stated = "; ".join(f"'{name}' states a step of {step:g} s" for name, step in list(others.items())[:4])
    return [record.replace(f"{stated}, which the time contradicts: it was not used") if stated else record]


def _in(source: Source, name: str, value: float, unit: str | None, si_unit: str) -> float:
    """A step or a rate of the file in SI units."""
    try:
        return value if not unit else unit_for(unit, si_unit).to_si(value)
    except InputError as problem:
        raise source.problem(f"'{name}': {problem}") from None


def _stated(source, steps: dict[str, float]) -> float | None:
    """The sampling step that the file states; two that differ are refused."""
    for name, step in steps.items():
        first = next(iter(steps))
        if abs(step - steps[first]) > 1e-3 * step:
            raise source.problem(
                f"'{first}' states a step of {steps[first]:g} s and '{name}' {step:g} s; correct the wrong one."
            )
    return next(iter(steps.values()), None)


def _by_length(source, arrays, layout, kind, steps, units) -> Record:
    named_time = [n for n in arrays if arrays[n].shape[1] == 1 and TIME_NAME.match(n.rsplit(".", 1)[-1])]
    if isinstance(layout.time, str) and layout.time in arrays:
        named_time = [layout.time]
    lengths = Counter()
    for array in arrays.values():
        lengths[len(array)] += array.shape[1]
    common = lengths.most_common(2)
    named_time.sort(key=lambda n: -lengths[len(arrays[n])])
    if named_time:
        length = len(arrays[named_time[0]])
    elif len(common) > 1 and common[0][1] == common[1][1]:
        shapes = ", ".join(f"{n} {arrays[n].shape}" for n in list(arrays)[:8])
        raise source.problem(f"its arrays have different lengths ({shapes}); choose with `columns` and `key`.")
    else:
        length = common[0][0]
    chosen = {n: a for n, a in arrays.items() if len(a) == length and n not in named_time[1:]}
    if named_time:
        chosen = {named_time[0]: chosen[named_time[0]], **chosen}
    left_out = [f"{n} ({'a second time' if n in named_time else 'another length'})" for n in arrays if n not in chosen]
    endless = [n for n, a in chosen.items() if a.dtype.kind == "f" and np.isinf(a).any() and n not in named_time]
    if len(endless) < len(chosen) - len(named_time[:1]):  # computed quantities beside the signals may be infinite
        left_out += [f"{n} (infinite values)" for n in endless]
        chosen = {n: a for n, a in chosen.items() if n not in endless}
    names, column_units = [], []
    for name, array in chosen.items():
        names += [name] if array.shape[1] == 1 else [f"{name}_{i}" for i in range(1, array.shape[1] + 1)]
        column_units += [units.get(name)] * array.shape[1]
    data = np.hstack(list(chosen.values())).astype(float)
    if named_time and layout.time is None:
        layout = replace(layout, time=named_time[0])
    record = assemble(
        source,
        data,
        names,
        column_units,
        layout,
        kind=kind,
        step=None if named_time else _stated(source, steps),
        named=len(chosen) > 1 or data.shape[1] == 1,
    )
    return record.replace(f"left out: {', '.join(left_out[:8])}") if left_out else record


def _by_keys(source, arrays, layout, kind, steps, units) -> Record:
    columns, names, column_units, described = [], [], [], []
    if isinstance(layout.time, str):
        columns.append(_take(source, arrays, layout.time))
        names.append(layout.time)
        column_units.append(units.get(layout.time))
    for column in layout.columns:
        key = column.key or column.name
        columns.append(_take(source, arrays, key))
        names.append(column.name or key)
        column_units.append(units.get(key.split("[")[0]))
        described.append(column)
    lengths = {len(c) for c in columns}
    if len(lengths) > 1:
        raise source.problem(f"the chosen arrays have different lengths ({', '.join(map(str, sorted(lengths)))}).")
    layout = replace(layout, columns=tuple(described))
    return assemble(
        source,
        np.column_stack(columns).astype(float),
        names,
        column_units,
        layout,
        kind=kind,
        step=None if layout.time is not None else _stated(source, steps),
    )


def _take(source, arrays, key: str) -> np.ndarray:
    """A column by a key such as `force`, `data[:, 3]` or `data[3]`; columns count from 0 as in Python."""
    name, bracket, inside = key.strip().partition("[")
    name, place = name.strip(), inside.removesuffix("]").replace(" ", "").removeprefix(":,")
    if bracket and not (inside.endswith("]") and place.isdecimal() and len(place) <= 5):
        raise source.problem(f"'{key[:60]}' is no array and no column of one; write data[:, 3] for the fourth column.")
    if name not in arrays:
        raise source.problem(f"there is no array '{name}'; {nearest(name, arrays)}")
    array, column = arrays[name], int(place or 0)
    if column >= array.shape[1]:
        raise source.problem(f"'{name}' has {array.shape[1]} columns, counted from 0; there is no {column}.")
    return array[:, column]
