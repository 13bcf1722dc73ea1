"""Missing samples (NaN): where they are, and straight lines across them."""

from __future__ import annotations

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.records.record import Record


def bridge(data: np.ndarray) -> np.ndarray:
    """Columns with missing samples replaced by straight lines; zeros where a whole column is missing."""
    out = np.array(data)
    index = np.arange(len(out))
    for column in out.T:
        known = ~np.isnan(column)
        if not known.all():
            column[~known] = np.interp(index[~known], index[known], column[known]) if known.any() else 0.0
    return out


@checked
def fill(record: Record, longest: float = np.inf) -> Record:
    """The record with gaps up to `longest` seconds filled by straight lines; longer gaps stay missing."""
    gone = np.isnan(record.data)
    if not gone.any():
        return record
    data, time, filled = bridge(record.data), record.time, 0
    for i in range(data.shape[1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], gone[:, i], [0]])))
        for first, end in zip(edges[::2], edges[1::2], strict=True):
            outside = first == 0 or end == len(data)
            span = time[min(end, len(data) - 1)] - time[max(first - 1, 0)]
            if outside or span > longest + 1e-12:
                data[first:end, i] = np.nan
            else:
                filled += end - first
    return record.replace(f"filled {filled} missing samples by straight lines", data=data)


def complete(record: Record, purpose: str) -> np.ndarray:
    """The data of a uniform record without gaps; InputError when there are any."""
    _ = record.rate
    if len(record) < 2:
        raise InputError(f"{purpose} needs at least two samples; record '{record.name}' has {len(record)}.")
    gaps = [name for name in record.names if np.isnan(record[name]).any()]
    if gaps:
        raise InputError(
            f"{purpose} needs every sample, and some are missing in {', '.join(gaps)}: .fill() or .cut() it "
            "(`fill` or `start` and `end` under [records] of a project, --fill)."
        )
    return record.data
