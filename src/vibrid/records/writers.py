"""Writers: CSV and HDF5/netCDF. A file appears complete or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.files import whole_file, whole_hdf5
from vibrid.records.record import Record
from vibrid.records.units import from_si

_ROWS = 20_000
RECORD_FORMAT = 1
"""Of records in HDF5; readers ignore unknown attributes, so a further attribute needs no new format."""


def write_csv(
    record: Record,
    path: str | PathLike[str],
    *,
    units: Mapping[str, str] | None = None,
    digits: int | None = None,
) -> Path:
    """Write a record as CSV with headings `name [unit]`, the time first; missing samples are empty cells.

    units: unit per channel name, where it should not be SI; digits: significant digits (all of them when not given; of
    the time always).
    A comment line keeps quantities, locations, history and clock, so `read_record` gives the same record back.
    """
    units = dict(units or {})
    for name in units:
        record.index(name)
    _check(record)
    for name in record.names:
        if any(c in '",;[]()' or ord(c) < 32 for c in name) or not name or name != name.strip():
            raise InputError(f"Channel {name!r} cannot be written as a heading of a CSV file; rename it first.")
    columns, headings = [record.time], ["time [s]"]
    for channel in record.channels:
        unit = units.get(channel.name, channel.unit)
        with np.errstate(over="ignore"):
            columns.append(from_si(record[channel.name], unit, channel.unit))
        headings.append(f"{channel.name} [{unit}]" if unit else channel.name)
    content = {
        "name": record.name,
        "step": record.step,
        "start": record.start,
        "channels": [
            {"name": c.name, "quantity": c.quantity, "location": c.location, "direction": c.direction}
            for c in record.channels
        ],
        "history": list(record.history),
    }
    if record.clock is not None:
        content["clock"] = record.clock.as_dict()
    data = np.column_stack(columns)
    if np.isinf(data).any():
        raise InputError("A number is too large for the unit in which it should be written; choose a larger unit.")
    row_format = ",".join(["%r", *["%r" if digits is None else f"%.{digits}g"] * len(record.channels)])
    head = "# vibrid: " + json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n" + ",".join(headings) + "\n"
    with whole_file(path) as stream:
        stream.write(head.encode())
        for first in range(0, len(data), _ROWS):
            rows = (row_format % tuple(row) for row in data[first : first + _ROWS].tolist())
            stream.write("".join(row.replace("nan", "") + "\n" for row in rows).encode())
    return Path(path)


def _check(record: Record) -> None:
    """Refuse what a file cannot keep, before anything is written: infinite numbers, texts that are not Unicode."""
    endless = np.argwhere(np.isinf(record.data))
    if len(endless):
        row, column = endless[0]
        raise InputError(
            f"Sample {row + 1} of channel '{record.names[column]}' is infinite, which no reader accepts; write "
            "NaN for a missing sample."
        )
    texts = [record.name, *record.history, "" if record.clock is None else record.clock.source]
    texts += [text for c in record.channels for text in (c.name, str(c.location), c.direction)]
    for text in texts:
        if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
            raise InputError(f"The text {text[:60]!r} cannot be written to a file; change it first.")


def write_hdf5(record: Record, path: str | PathLike[str]) -> Path:
    """Write a record as HDF5 that netCDF-4 programs read as well: one variable per channel on the dimension `time`.

    Missing samples are NaN, which is also the `_FillValue`. `read_record` gives the same record back.
    """
    import h5py

    _check(record)
    with whole_hdf5(path, track_order=True) as file:
        file.attrs["Conventions"] = "CF-1.8"
        file.attrs["title"] = record.name
        file.attrs["history"] = "\n".join(record.history)
        file.attrs["vibrid_record"] = RECORD_FORMAT
        time = file.create_dataset("time", data=record.time)
        time.attrs["units"] = "s"
        time.make_scale("time")
        variables = [f"channel_{i:03d}" for i in range(1, len(record.channels) + 1)]
        for key, channel in zip(variables, record.channels, strict=True):
            dataset = (
                file.create_dataset(
                    key,
                    data=record[channel.name],
                    compression="gzip",
                    shuffle=True,
                    fletcher32=True,
                    chunks=(min(max(len(record), 1), 65536),),
                    fillvalue=np.nan,
                )
                if len(record)
                else file.create_dataset(key, data=record[channel.name])
            )
            dataset.dims[0].attach_scale(time)
            dataset.attrs["_FillValue"] = np.array([np.nan])
            dataset.attrs["long_name"] = channel.name
            dataset.attrs["units"] = channel.unit
            for word in ("quantity", "location", "direction"):
                dataset.attrs[word] = getattr(channel, word)
        text = h5py.string_dtype()
        file.attrs.create("vibrid_channels", np.array(record.names, dtype=object), dtype=text)
        file.attrs.create("vibrid_variables", np.array(variables, dtype=object), dtype=text)
        if record.history:
            file.attrs.create("vibrid_history", np.array(record.history, dtype=object), dtype=text)
        if record.step is not None:
            file.attrs["vibrid_step"], file.attrs["vibrid_start"] = record.step, record.start
        if record.clock is not None:
            file.attrs["vibrid_clock"] = json.dumps(record.clock.as_dict())
    return Path(path)
