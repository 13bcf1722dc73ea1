"""Results of several runs under one record: their predicted readings over each other, beside what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import vibrid as vb
from vibrid.core.errors import InputError, VibridError
from vibrid.studio.thin import extremes, packed

PARTS = 600
"""Parts of a trace; each has its least and its greatest value."""


def packed_trace(values: np.ndarray) -> dict[str, str]:
    """A signal for the page: 32-bit indices of samples and 32-bit values, see `thin.packed`."""
    places, shown = extremes(values, PARTS)
    return {"places": packed(places, "<i4"), "values": packed(shown)}


def predictions(results: Mapping[str, Path], record: Any) -> dict[str, Any]:
    """The readings that each result predicts for a record: one trace and one peak ± 2σ a run and sensor."""
    if record.step is None:
        raise InputError(f"'{record.name}' has uneven times; resample it first (`vibrid record convert`).")
    sensors: dict[str, dict[str, Any]] = {}
    for run, path in results.items():
        try:
            prediction = vb.load_identification(path).predict_readings(record)
        except VibridError as problem:
            raise InputError(f"Run {run}: {problem}") from None
        for i, row in enumerate(prediction.table()):
            sensor = sensors.setdefault(row["name"], {"label": row["name"], "unit": row["unit"], "runs": []})
            deviation = row["standard_deviation"]
            peak = {"peak": row["peak"], "band": 2 * deviation if math.isfinite(deviation) else None}
            peak["error"] = row["relative_error"]
            sensor["runs"].append({"run": run, "computed": packed_trace(prediction.values[:, i]), **peak})
            if np.isfinite(prediction.measured[:, i]).any():
                sensor["measured"] = packed_trace(prediction.measured[:, i])
                sensor["measured_peak"] = row["measured_peak"]
    start, step = float(record.time[0]), float(record.step)
    return {"sensors": list(sensors.values()), "record": record.name, "start": start, "step": step}


def read_motion(project: Any, path: Path, drive: str = "") -> tuple[Any, str]:
    """A record to predict for, and how it was read.

    drive: excitation channels, `NS` or with directions `NS=x,UD=y`; without it the project says what the columns are,
    and a file with other columns is read by itself.
    """
    if drive:
        pairs = [channel.partition("=") for channel in drive.split(",")]
        record = vb.read_record(path).driven_by({name.strip(): direction.strip() for name, _, direction in pairs})
        return record, f"driven by {drive}"
    try:
        return project.read(path), "its channels as the project names them"
    except VibridError:
        return vb.read_record(path), "read by itself: it has not the columns of the project"
