"""The time axis of a file: which column it is, and whether the samplings that are stated agree with each other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.source import Source
from vibrid.records.sampling import looks_like_time, uniform_step, with_missing
from vibrid.records.units import parse_unit

TIME_NAME = re.compile(
    r"^\s*(t|times?|zeit|temps|tempo|tiempo|tout|t_?s|secs?|seconds|time_?s|relativetime\(s\)|elapsed([ _]?time)?"
    r"|(time[ _]?elapsed)|rel(ative)?[ _]?time|time[ _]?stamps?|zeitstempel|date[ _/&]*time|datum[ _/]*(uhr)?zeit"
    r"|uhrzeit|time[ _](sec|seconds))\s*$",
    re.I,
)
"""Names of a time column."""

_SHORTEST = 1e-5  # s: sampled faster, a time that begins after hours counts days
_PRINTED = 1e-3  # a step written with three digits


def find_time(
    source: Source,
    data: np.ndarray,
    names: Sequence[str],
    units: Sequence[str | None],
    layout: Layout,
    axis: Mapping | None,
    named: bool,
) -> int | None:
    """The index of the time column, None where there is none. A column that is marked `skip` is never the time."""
    if layout.time is not None:
        if axis is not None and layout.time not in names:
            raise source.problem(f"the file states its sampling; it has no time column {layout.time!r} to choose.")
        if isinstance(layout.time, int):
            if not 1 <= layout.time <= data.shape[1]:
                raise source.problem(f"there is no column {layout.time}; the columns are 1 to {data.shape[1]}.")
            return layout.time - 1
        if layout.time not in names:
            raise source.problem(f"there is no time column called '{layout.time}'; there are {', '.join(names)}.")
        return list(names).index(layout.time)
    described = layout.columns if layout.columns is not None and len(layout.columns) == data.shape[1] else None
    if named:
        called = [i for i, name in enumerate(names) if TIME_NAME.match(name)]
        called = [i for i in called if not (described and described[i].skip)] if axis is None else []
        times = [i for i in called if not units[i] or parse_unit(units[i]).kind == "time"]
        if called and not times and layout.step is None:
            raise source.problem(
                f"column '{names[called[0]]}' has the name of a time and is in '{units[called[0]]}', which is no unit "
                "of time; give `time`, the column that is, or the step."
            )
        return times[0] if times else _by_unit(source, names, units, layout, described, axis)
    if described and TIME_NAME.match(described[0].name) and not described[0].skip:
        return 0
    if layout.step is not None or axis is not None or described or data.shape[1] < 2:
        return None
    return 0 if looks_like_time(data[:, 0]) else None


def refuse_days(source: Source, name: str, unit: str | None, time: np.ndarray) -> None:
    """Refuse a time without a unit that counts days as spreadsheets do: 45413.5 is noon of the 1st of May 2024."""
    if unit is None and time.size > 1 and 2e4 < time[0] < 8e4 and 0 < np.median(np.diff(time)) < _SHORTEST:
        raise source.problem(
            f"column '{name}' begins at {time[0]:.9g} and rises by {np.median(np.diff(time)):.3g}: it counts days, as "
            f"spreadsheets do; write its unit in the heading, `{name} [day]`, or `{name} [s]` if these are seconds."
        )


def _by_unit(source, names, units, layout: Layout, described, axis: Mapping | None) -> int | None:
    """The only column in a unit of time, where none has the name of a time."""
    found = [i for i, unit in enumerate(units) if unit and axis is None and parse_unit(unit).kind == "time"]
    found = [i for i in found if not (described and described[i].skip)]
    if len(found) > 1 and layout.step is None:
        raise source.problem(
            f"{len(found)} columns are in a unit of time ({', '.join(names[i] for i in found)}); give `time` (--time), "
            "the one that is the time axis."
        )
    return found[0] if len(found) == 1 else None


def find_axis(source: Source, time: np.ndarray | None, axis: Mapping | None, step: float | None) -> dict:
    """The sampling of a record from what the file states, its time column in seconds and the step that was given.

    A given step that contradicts the file is refused: one of them is wrong, and it is not known which.
    """
    if axis is None and time is None and step is None:
        raise source.problem(
            "the sampling step is not stated and there is no time column: no column has a name such as `time` or a "
            "unit of time. Give `step` or `rate` (--step 0.01), or `time` (--time) if a column is the time; or "
            "write it in a sidecar TOML."
        )
    if axis is not None and time is not None:
        return _told_beside(source, time, axis, step)
    if axis is not None:
        return dict(axis) if step is None else _agreed(axis, step)
    if time is None:
        return {"step": step}
    return _of_column(source, time) if step is None else _along(source, time, step)


def _told_beside(source: Source, time: np.ndarray, axis: Mapping, step: float | None) -> dict:
    """The sampling that the file states beside its time column, where the column agrees; else that of the column."""
    stated, start = axis.get("step"), axis.get("start", 0.0)
    if stated is None:
        return _of_column(source, time, even=False) if step is None else _along(source, time, step)
    fits = np.all(np.abs(time - start - stated * np.arange(len(time))) <= 0.01 * stated)
    if not fits:
        return _of_column(source, time) if step is None else _along(source, time, step)
    return {"step": stated, "start": start} if step is None else _agreed(axis, step)


def _agreed(axis: Mapping, step: float) -> dict:
    """The stated sampling with the step that was given, where they agree to the digits that files print."""
    if axis.get("step") is None:
        raise InputError(
            f"the file gives every sample a time of its own, and a step of {step:g} s was given; leave the step out "
            "and resample."
        )
    if abs(step - axis["step"]) > _PRINTED * axis["step"]:
        raise InputError(
            f"the file states a step of {axis['step']:g} s ({1 / axis['step']:g} Hz), and {step:g} s ({1 / step:g} Hz) "
            "was given; leave out the step, or correct the file."
        )
    return {**axis, "step": step}


def _along(source: Source, time: np.ndarray, step: float) -> dict:
    """The step that was given, where every sample's time lies within half of it of its place."""
    count = np.arange(len(time))
    there = np.isfinite(time)
    if not there.any():
        return {"step": step}
    start = float(np.median((time - step * count)[there])) if not there[0] else float(time[0])
    away = np.abs(time - start - step * count)
    if np.any(away[there] > 0.5 * step * (1 + 1e-9)):
        row = int(np.argmax(np.where(there, away, 0.0) > 0.5 * step * (1 + 1e-9)))
        raise source.problem(
            f"the time column states {time[row]:g} s at sample {row + 1}, and a step of {step:g} s leads to "
            f"{start + step * row:g} s; leave out the step, or mark the time column `skip` in a sidecar."
        )
    return {"step": step, "start": start}


def _of_column(source: Source, time: np.ndarray, even: bool = True) -> dict:
    """The sampling of a time column: a step where it is even, with the places of the samples where some are missing;
    else the times themselves."""
    if np.isnan(time).any():
        raise source.problem(f"the time of sample {int(np.argmax(np.isnan(time))) + 1} is missing.")
    falling = np.flatnonzero(~(np.diff(time) > 0))
    if falling.size and time[falling[0]] == time[falling[0] + 1]:
        raise source.problem(
            f"samples {int(falling[0]) + 1} and {int(falling[0]) + 2} have the same time ({time[falling[0]]:g} s): "
            f"time does not increase after sample {int(falling[0]) + 1}. If it has too few digits, leave the column "
            "out (`drop`, --drop) and give the step or the rate."
        )
    if falling.size:
        raise source.problem(
            f"time does not increase after sample {int(falling[0]) + 1} ({time[falling[0]]:g} s). Sort the rows, or "
            "write a file of its own for each record where one begins there."
        )
    if time.size == 1 and even:
        raise source.problem("a single sample has no sampling step; give `step`.")
    if even and (step := uniform_step(time)) is not None:
        return {"step": step, "start": float(time[0])}
    if even and (grid := with_missing(time)) is not None:
        return {"step": grid[0], "start": float(time[0]), "places": grid[1]}
    return {"times": time}
