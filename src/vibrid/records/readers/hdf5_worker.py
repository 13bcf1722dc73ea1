"""A small program that opens HDF5 files for `vibrid.records.readers.isolated`, in a process of its own.

The HDF5 library can loop without end or crash on a damaged file. Here it can be stopped without harm. It needs h5py and
NumPy only, reads one request per line from its input, {"path", "bytes", "ratio"}, and answers with a
line of JSON, {"attributes", "arrays": [{"name", "dtype", "shape", "attributes"}]} or {"problem"}, and the numbers.
"""

from __future__ import annotations

import json
import sys

import h5py
import numpy as np

_DEEPEST, _MOST, _TEXTS = 4, 10_000, 10_000


class Refused(Exception):
    """The file holds something that is not read; carries the message."""


def _attributes(item) -> dict:
    """Attributes that are texts, lists of texts, numbers or short lists of numbers."""
    attributes = {}
    for key in list(item.attrs)[:200]:
        try:
            value = item.attrs[key]
        except Exception:
            continue
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "OS":
            texts = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value[:_TEXTS].tolist()]
            value = texts if all(isinstance(v, str) for v in texts) else None
        elif isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iuf" and value.size <= 16:
            value = float(value[0]) if value.size == 1 else value.astype(float).tolist()
        elif isinstance(value, (np.floating, np.integer)):
            value = float(value)
        if isinstance(value, (str, list, float)):
            attributes[str(key)] = value
    return attributes


def _walk(group, prefix: str = "", depth: int = 0, count: list | None = None):
    """Datasets below a group, through hard links only, to a bounded depth and number."""
    count = [0] if count is None else count
    for key in group:
        count[0] += 1
        if count[0] > _MOST:
            raise Refused(f"it has more than {_MOST} arrays and groups")
        if key.startswith("#") or not isinstance(group.get(key, getlink=True), h5py.HardLink):
            continue
        item = group[key]
        if isinstance(item, h5py.Dataset):
            yield prefix + key, item
        elif isinstance(item, h5py.Group) and depth < _DEEPEST:
            yield from _walk(item, f"{prefix}{key}.", depth + 1, count)


def read(path: str, budget: int, ratio: int) -> tuple[dict, list[np.ndarray]]:
    """Description and numbers of every real array with at most two dimensions."""
    arrays, described = [], []
    with h5py.File(path, "r", locking=False) as file:
        for name, dataset in _walk(file):
            if dataset.shape is None or dataset.dtype.kind not in "fiub" or dataset.ndim > 2:
                continue
            if dataset.external or dataset.is_virtual:
                raise Refused(f"'{name[:60]}' lies in another file, which is not followed")
            size = dataset.size * dataset.dtype.itemsize
            if size > budget:
                raise Refused("its arrays are larger than the limit")
            if size > 1_000_000 and size > ratio * max(dataset.id.get_storage_size(), 1):
                raise Refused(f"'{name[:60]}' is far larger than the file can hold")
            budget -= size
            values = np.ascontiguousarray(dataset[()])
            values = values.astype(values.dtype.newbyteorder("<"))
            arrays.append(values)
            described.append(
                {
                    "name": name,
                    "dtype": values.dtype.str,
                    "shape": list(values.shape),
                    "attributes": _attributes(dataset),
                }
            )
        return {"attributes": _attributes(file), "arrays": described}, arrays


def main() -> None:
    output = sys.stdout.buffer
    for line in sys.stdin:
        request = json.loads(line)
        arrays: list[np.ndarray] = []
        try:
            answer, arrays = read(request["path"], request["bytes"], request["ratio"])
        except Refused as problem:
            answer = {"problem": str(problem)}
        except Exception as problem:  # h5py raises nearly every kind
            answer = {"problem": f"the HDF5 file is damaged ({str(problem)[:100] or type(problem).__name__})"}
        output.write(json.dumps(answer).encode() + b"\n")
        for values in arrays:
            output.write(values.tobytes())
        output.flush()


if __name__ == "__main__":
    main()
