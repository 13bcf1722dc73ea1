"""Writers: CSV and HDF5/netCDF. A file appears whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from vibrid.core.errors import FileProblem, InputError
from vibrid.records.record import Record
from vibrid.records.units import from_si

_ROWS = 20_000


@contextmanager
def whole_file(path) -> Iterator[Path]:
    """A temporary path beside `path`; it takes the name `path` when the block ends well and vanishes otherwise."""
    path = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as problem:
        raise FileProblem(path, f"it cannot be written ({problem.strerror}).") from None
    os.close(handle)
    try:
        yield Path(temporary)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as problem:
        raise FileProblem(path, f"it cannot be written ({problem}).") from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def write_csv(record: Record, path, *, units: Mapping[str, str] | None = None, digits: int | None = None) -> Path:
    """Write a record as CSV with headings `name [unit]`, the time first; missing samples are empty cells.

    units: unit per channel name, where it should not be SI; digits: significant digits (all of them when not given).
    A comment line keeps quantities, locations and history, so `read_record` gives the same record back.
    """
    units = dict(units or {})
    for name in units:
        record.index(name)
    for name in record.names:
        if any(c in name for c in '",;\t\n\r[]()'):
            raise InputError(f"Channel '{name}' cannot be written as a heading of a CSV file; rename it first.")
    columns, headings = [record.time], ["time [s]"]
    for channel in record.channels:
        unit = units.get(channel.name, channel.unit)
        columns.append(from_si(record[channel.name], unit, channel.unit))
        headings.append(f"{channel.name} [{unit}]" if unit else channel.name)
    own = {
        "name": record.name,
        "step": record.step,
        "start": record.start,
        "channels": [
            {"name": c.name, "quantity": c.quantity, "location": c.location, "direction": c.direction}
            for c in record.channels
        ],
        "history": list(record.history),
    }
    data = np.column_stack(columns)
    row_format = ",".join(["%r" if digits is None else f"%.{digits}g"] * data.shape[1])
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write("# vibrid: " + json.dumps(own, ensure_ascii=False, allow_nan=False) + "\n")
        stream.write(",".join(headings) + "\n")
        for first in range(0, len(data), _ROWS):
            rows = (row_format % tuple(row) for row in data[first : first + _ROWS].tolist())
            stream.write("".join(row.replace("nan", "") + "\n" for row in rows))
    return Path(path)
