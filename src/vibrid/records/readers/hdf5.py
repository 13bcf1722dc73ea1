"""HDF5 and netCDF-4: vibrid's own records exactly, and any other file whose arrays can be told apart.

vibrid writes each channel as one array with the attributes `units`, `quantity`, `location` and `direction`, on a
dimension scale `time`, and marks the file with `vibrid_record`. Other files are searched for arrays of real numbers.
Links to other files, arrays of objects and arrays far larger than the file are refused.
"""

from __future__ import annotations

import io

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.readers.assemble import build
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.source import Source
from vibrid.records.readers.variables import from_variables
from vibrid.records.record import Channel, Record
from vibrid.records.units import unit_factor

NAME = "HDF5"
SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DEEPEST, _MOST, _LARGEST_RATIO = 4, 2000, 1100  # gzip cannot compress more than about 1030 times
_FAILURES = (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError, AttributeError, IndexError,
             OverflowError, NotImplementedError, SystemError, UnicodeError)


def recognises(source: Source) -> bool:
    return source.head.startswith(SIGNATURE)


def _open(source: Source):
    import h5py

    where = source.path if source._content is None else io.BytesIO(source.content)
    return h5py.File(where, "r", locking=False) if source._content is None else h5py.File(where, "r")


def read(source: Source, layout: Layout) -> list[Record]:
    own = None
    try:
        with _open(source) as file:
            if "vibrid_record" in file.attrs and layout == Layout():
                own = _own_parts(source, file)
    except _FAILURES as problem:
        raise source.problem(f"the HDF5 file is damaged ({str(problem)[:100]}).") from None
    if own is not None:
        data, channels, axis, name, history = own
        return [build(source, data, channels, axis, name, history)]
    arrays, units = numeric_arrays(source)
    return from_variables(source, arrays, layout, NAME, units)


def _text(value) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _own_parts(source: Source, file):
    """Arrays and descriptions of a file that vibrid wrote."""
    names = [_text(n) for n in np.atleast_1d(file.attrs["vibrid_channels"])[:10000]]
    keys = [_text(n) for n in np.atleast_1d(file.attrs["vibrid_variables"])[:10000]]
    history = [_text(h) for h in np.atleast_1d(file.attrs.get("vibrid_history", []))[:10000]]
    columns, channels = [], []
    budget = [source.limits.expanded_bytes]
    for name, key in zip(names, keys, strict=True):
        dataset = file[key]
        columns.append(np.asarray(_numbers(source, dataset, budget), dtype=float))
        words = {k: _text(dataset.attrs.get(k, "")) for k in ("quantity", "units", "location", "direction")}
        try:
            unit = unit_factor(words["units"])[1]
            channels.append(Channel(name, words["quantity"], unit, words["location"], words["direction"]))
        except InputError as problem:
            raise source.problem(str(problem)) from None
    if not columns or len({c.shape for c in columns}) != 1 or columns[0].ndim != 1:
        raise source.problem("its channels do not have equal lengths.")
    if "vibrid_step" in file.attrs:
        axis = {"step": float(file.attrs["vibrid_step"]), "start": float(file.attrs["vibrid_start"])}
        if not np.isfinite([*axis.values()]).all() or abs(axis["start"]) > 1e12:
            raise source.problem("its sampling step is damaged.")
    else:
        axis = {"times": np.asarray(_numbers(source, file["time"], budget), dtype=float)}
    return np.column_stack(columns), channels, axis, _text(file.attrs.get("title", "")), history


def numeric_arrays(source: Source, transposed: bool = False) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Arrays of real numbers by their path with dots, and their units; `transposed` for MATLAB's order."""
    arrays, units = {}, {}
    budget = [source.limits.expanded_bytes]
    try:
        with _open(source) as file:
            for name, dataset in _walk(file):
                if dataset.dtype.kind not in "fiub" or dataset.ndim > 2 or dataset.size in (0, None):
                    continue
                if transposed and _text(dataset.attrs.get("MATLAB_class", b"")) in ("char", "cell", "function_handle"):
                    continue
                values = _numbers(source, dataset, budget)
                arrays[name] = values.T if transposed else values
                unit = _text(dataset.attrs.get("units", dataset.attrs.get("unit", "")))
                if unit:
                    try:
                        unit_factor(unit)
                    except InputError:
                        continue
                    units[name] = unit
    except _FAILURES as problem:
        raise source.problem(f"the HDF5 file is damaged ({str(problem)[:100]}).") from None
    return arrays, units


def _walk(group, prefix: str = "", depth: int = 0, count: list | None = None):
    """Datasets below a group, through hard links only, to a bounded depth and number."""
    import h5py

    count = [0] if count is None else count
    for key in group:
        count[0] += 1
        if count[0] > _MOST:
            return
        if key.startswith("#") or not isinstance(group.get(key, getlink=True), h5py.HardLink):
            continue
        item = group[key]
        if isinstance(item, h5py.Dataset):
            yield prefix + key, item
        elif isinstance(item, h5py.Group) and depth < _DEEPEST:
            yield from _walk(item, f"{prefix}{key}.", depth + 1, count)


def _numbers(source: Source, dataset, budget: list) -> np.ndarray:
    """The numbers of a dataset, after checking that it can be what it says."""
    if dataset.external or dataset.is_virtual:
        raise source.problem(f"'{dataset.name[:60]}' lies in another file, which is not followed.")
    if dataset.dtype.kind not in "fiub":
        raise source.problem(f"'{dataset.name[:60]}' holds something else than numbers.")
    size = dataset.size * dataset.dtype.itemsize
    if size > budget[0]:
        raise source.problem(f"its arrays need more than {source.limits.expanded_bytes / 1e6:.0f} MB.")
    if size > 1_000_000 and size > _LARGEST_RATIO * max(dataset.id.get_storage_size(), 1):
        raise source.problem(f"'{dataset.name[:60]}' is far larger than the file can hold.")
    budget[0] -= size
    return dataset[()]
