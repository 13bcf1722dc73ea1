"""From named columns of raw numbers to a record: the time axis found, units converted, quantities named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.readers.layout import Column, Layout
from vibrid.records.readers.sampling import looks_like_time, uniform_step
from vibrid.records.readers.source import Source
from vibrid.records.record import QUANTITIES, Channel, Record
from vibrid.records.units import guess_quantity, unit_factor

TIME_NAME = re.compile(r"^\s*(t|time|times|zeit|temps|tempo|tout|t_?s|sec|seconds|time_?s|relativetime\(s\))\s*$", re.I)


def split_unit(header: str) -> tuple[str, str | None]:
    """Name and unit of a heading such as `roof_acc [m/s^2]` or `force (kN)`; unit None when there is none."""
    text = header.strip().strip('"').strip()
    found = re.fullmatch(r"(.*?)\s*[\[(]([^\[\]()]*)[\])]\s*", text)
    if found and found.group(1):
        return found.group(1).strip(), found.group(2).strip()
    return text, None


def assemble(
    source: Source,
    data: np.ndarray,
    names: Sequence[str],
    units: Sequence[str | None],
    layout: Layout,
    *,
    kind: str,
    step: float | None = None,
    start: float = 0.0,
    named: bool = True,
    unit_line: int | None = None,
) -> Record:
    """One record from columns of raw numbers.

    data: (samples, columns) as the file has them; names, units: what the file calls them (unit None: not said);
    kind: the format, for the history; step: seconds between samples where the file says so; named: whether the names
    come from the file (an unnamed first column is taken as time only when it looks like time); unit_line: the line of
    the units, for sentences.
    """
    if data.ndim != 2 or data.shape[0] < 1 or data.shape[1] < 1:
        raise source.problem("it holds no numbers.")
    try:
        time_column = _find_time(source, data, names, layout, step, named)
        keep = [i for i in range(data.shape[1]) if i != time_column]
        if layout.columns is not None and len(layout.columns) == data.shape[1] and time_column is not None:
            layout = replace(layout, columns=tuple(layout.columns[i] for i in keep))
        if not keep:
            raise source.problem("it holds a time axis and nothing else.")
        if layout.columns is not None and len(layout.columns) != len(keep):
            raise source.problem(
                f"it has {len(keep)} columns of data and {len(layout.columns)} are described; describe each one."
            )
        columns, channels = [], []
        notes = []
        for position, i in enumerate(keep):
            known = layout.column(position, names[i], len(keep))
            if known.skip:
                continue
            _check_agreement(names[i], units[i], known)
            unit = known.unit if known.unit is not None else units[i]
            channel, factor = _channel(source, known, unit, unit_line)
            channels.append(channel)
            columns.append(data[:, i] * (factor * known.gain))
            if unit is None:
                notes.append(channel.name)
        if not channels:
            raise source.problem("every column is marked `skip`.")
        axis = _axis(source, data, time_column, units, layout, step, start)
    except InputError as problem:
        raise source.problem(str(problem), unit_line) from None
    history = [f"read from {source.name} ({kind})"]
    if notes:
        history.append(f"the unit is not stated for {', '.join(notes[:8])}{' ...' if len(notes) > 8 else ''}")
    stacked = np.column_stack(columns)
    missing = int(np.isnan(stacked).sum())
    if missing:
        history.append(f"{missing} samples are missing (NaN)")
    return build(source, stacked, channels, axis, layout.name or stem(source), history)


def _check_agreement(name: str, stated: str | None, known: Column) -> None:
    """Refuse a unit that differs from the one in the file: one of them is wrong, and nobody can tell which.

    A gain may turn one into the other, volts into newtons.
    """
    if known.unit is None or not stated or known.gain != 1.0:
        return
    (ours, symbol, _), (theirs, other, _) = unit_factor(known.unit), unit_factor(stated)
    if symbol != other or abs(ours - theirs) > 1e-9 * theirs:
        raise InputError(
            f"column '{name}' is in {stated} by the file and in {known.unit} by its description; correct or remove "
            "the wrong one."
        )


def build(source: Source, data, channels, axis: dict, name: str, history) -> Record:
    """The record itself, infinite numbers and repeated names refused in terms of the file."""
    if np.isinf(data).any():
        row = int(np.argwhere(np.isinf(data))[0][0])
        raise source.problem(f"sample {row + 1} is infinite; a missing sample is written NaN.")
    if len(channels) * len(data) > source.limits.numbers:
        raise source.problem(f"more than {source.limits.numbers} numbers; pass larger `limits` to read it.")
    try:
        return Record(data, unique(channels), name=name, history=tuple(history), **axis)
    except InputError as problem:
        raise source.problem(str(problem)) from None


def unique(channels: Sequence[Channel]) -> tuple[Channel, ...]:
    """The channels with repeated names numbered: acc, acc_2, acc_3."""
    seen: set[str] = set()
    result = []
    for channel in channels:
        name, count = channel.name, 2
        while name in seen:
            name, count = f"{channel.name}_{count}", count + 1
        seen.add(name)
        result.append(replace(channel, name=name))
    return tuple(result)


def stem(source: Source) -> str:
    name = source.name
    return name.rsplit(".", 1)[0] if "." in name[1:] else name


def _channel(source: Source, known, unit: str | None, line: int | None) -> tuple[Channel, float]:
    factor, symbol, _ = unit_factor(unit or "")
    quantity = known.quantity or guess_quantity(known.name, unit or "")
    if quantity in QUANTITIES:
        expected = QUANTITIES[quantity]
        if unit is None:
            symbol = expected
        elif quantity != "other" and unit_factor(expected)[1] != symbol:
            raise source.problem(f"column '{known.name}' is a {quantity} and cannot be measured in '{unit}'.", line)
    return Channel(known.name, quantity, symbol, known.location, known.direction), factor


def _find_time(source, data, names, layout: Layout, step, named) -> int | None:
    if layout.time is not None:
        if isinstance(layout.time, int):
            if not 1 <= layout.time <= data.shape[1]:
                raise source.problem(f"there is no column {layout.time}; the columns are 1 to {data.shape[1]}.")
            return layout.time - 1
        if layout.time not in names:
            raise source.problem(f"there is no time column called '{layout.time}'; there are {', '.join(names)}.")
        return list(names).index(layout.time)
    if named:
        for i, name in enumerate(names):
            if TIME_NAME.match(name):
                return i
        return None
    described = layout.columns is not None and len(layout.columns) == data.shape[1]
    if described and TIME_NAME.match(layout.columns[0].name):
        return 0
    if layout.step is not None or step is not None or described or data.shape[1] < 2:
        return None
    return 0 if looks_like_time(data[:, 0]) else None


def _axis(source, data, time_column, units, layout: Layout, step, start) -> dict:
    """The sampling of a record: the caller's step first, then the file's step, then its time column."""
    if layout.step is not None:
        first = data[0, time_column] if time_column is not None else start
        return {"step": layout.step, "start": float(first) if np.isfinite(first) else 0.0}
    if step is not None:
        return {"step": step, "start": start}
    if time_column is None:
        raise source.problem(
            "the sampling step is not stated and there is no time column; give `step` or `rate`, "
            "or write it in a sidecar TOML."
        )
    time = data[:, time_column] * unit_factor(units[time_column] or "s")[0]
    if np.isnan(time).any():
        raise source.problem(f"the time of sample {int(np.argmax(np.isnan(time))) + 1} is missing.")
    falling = np.flatnonzero(~(np.diff(time) > 0))
    if falling.size:
        raise source.problem(f"time does not increase after sample {int(falling[0]) + 1} ({time[falling[0]]:g} s).")
    if time.size == 1:
        raise source.problem("a single sample has no sampling step; give `step`.")
    even = uniform_step(time)
    return {"step": even, "start": float(time[0])} if even is not None else {"times": time}
