"""A small program that opens HDF5 files for `vibrid.records.readers.isolated`, in a process of its own.

The HDF5 library can loop without end or crash on a damaged file. Here it can be stopped without harm. It needs h5py and
NumPy only, reads one request per line from its input, {"path", "bytes", "ratio", "seconds", "result"}, and answers with
a line of JSON, {"attributes", "texts", "arrays": [{"name", "dtype", "shape", "attributes"}]} or {"problem"}, and the
numbers. With "result" nothing is passed over: any link, and anything that lies in another file, is refused.

The memory and the processor time of one request are limited by the kernel where it can (Linux, macOS in part).
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys

import h5py
import numpy as np

try:
    import resource
except ImportError:  # Windows: only the time is limited, by the process that asks
    resource = None

_DEEPEST, _MOST, _TEXTS = 4, 10_000, 10_000
_MOST_OF_RESULT = 50_000  # a result has about ten datasets for every record
_DIMENSIONS, _DIMENSIONS_OF_RESULT = 2, 4
_SMALL = 1_000_000  # bytes that every array may have, however small the file is
_LARGEST_CHUNK = 64 * 1024**2


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


def _walk_result(group, prefix: str = "", depth: int = 0, count: list | None = None):
    """All datasets below a group; links, and more depth or datasets than a result has, are refused."""
    count = [0] if count is None else count
    for key in group:
        count[0] += 1
        if count[0] > _MOST_OF_RESULT or depth > _DEEPEST:
            raise Refused("it has more groups or datasets than a result can have")
        try:
            hard = isinstance(group.get(key, getlink=True), h5py.HardLink)
        except Exception:  # a kind of link that h5py does not know
            hard = False
        if not hard:
            raise _elsewhere(prefix + key)
        item = group[key]
        if isinstance(item, h5py.Dataset):
            yield prefix + key, item
        elif isinstance(item, h5py.Group):
            yield from _walk_result(item, f"{prefix}{key}/", depth + 1, count)


def _elsewhere(name: str) -> Refused:
    return Refused(
        f"'{name[:60]}' points to another place or another file; links are not followed in a result. Write the result "
        "again as one file"
    )


class _Budget:
    """The bytes that may still be read; refuses an array before it is expanded."""

    def __init__(self, total: int, ratio: int, size: int):
        self.left, self.ratio = min(total, max(_LARGEST_CHUNK, ratio * size)), ratio
        self.limit = total

    def take(self, name: str, dataset) -> None:
        size = math.prod(dataset.shape) * dataset.dtype.itemsize
        chunk = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize
        if size > self.limit:
            raise Refused("its arrays are larger than the limit")
        if size > _SMALL and size > self.ratio * max(dataset.id.get_storage_size(), 1):
            raise Refused(f"'{name[:60]}' is far larger than the file can hold")
        if chunk > max(_LARGEST_CHUNK, size) or _repeated_filters(dataset):
            raise Refused(f"'{name[:60]}' is compressed in a way that could expand without a limit")
        if size > self.left:
            raise Refused("its arrays are larger than the limit, or together far larger than the file can hold")
        self.left -= size


def _repeated_filters(dataset) -> bool:
    """Whether a filter, such as gzip, is applied more than once: its output is not limited by the size of the file."""
    settings = dataset.id.get_create_plist()
    filters = [settings.get_filter(i)[0] for i in range(settings.get_nfilters())]
    return len(filters) > len(set(filters))


def _chosen(file, budget: _Budget, result: bool) -> list[tuple]:
    """Names and datasets to read; everything is refused here, before anything is read."""
    chosen = []
    dimensions = _DIMENSIONS_OF_RESULT if result else _DIMENSIONS
    for name, dataset in (_walk_result if result else _walk)(file):
        if dataset.external or dataset.is_virtual:
            raise _elsewhere(name) if result else Refused(f"'{name[:60]}' lies in another file, which is not followed")
        if dataset.shape is None or dataset.ndim > dimensions:
            continue
        text = result and not dataset.ndim and h5py.check_string_dtype(dataset.dtype) is not None
        if text or dataset.dtype.kind in "fiub":
            budget.take(name, dataset)
            chosen.append((name, dataset, text))
    return chosen


def read(path: str, budget: _Budget, result: bool) -> tuple[dict, list[np.ndarray]]:
    """Description and numbers of every real array that has not too many dimensions; of a result its texts too."""
    arrays, described, texts = [], [], {}
    with h5py.File(path, "r", locking=False) as file:
        for name, dataset, text in _chosen(file, budget, result):
            if text:
                texts[name] = dataset.asstr(errors="replace")[()]
                continue
            values = np.asarray(dataset[()], order="C")
            values = values.astype(values.dtype.newbyteorder("<"), copy=False)
            arrays.append(values)
            attributes = {} if result else _attributes(dataset)
            about = {"name": name, "dtype": values.dtype.str, "shape": list(values.shape), "attributes": attributes}
            described.append(about)
        return {"attributes": _attributes(file), "texts": texts, "arrays": described}, arrays


def _limit(budget: int, seconds: float) -> None:
    """At most this much more memory (the arrays and two copies of the largest) and processor time."""
    if resource is None:
        return
    with contextlib.suppress(OSError, ValueError):
        pages = int(open("/proc/self/statm").read().split()[0])  # noqa: SIM115
        most = pages * resource.getpagesize() + 3 * budget + 4 * _LARGEST_CHUNK
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
    with contextlib.suppress(OSError, ValueError):
        used = sum(os.times()[:2])
        most = math.ceil(used + seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main() -> None:
    output = sys.stdout.buffer
    for line in sys.stdin:
        request = json.loads(line)
        arrays: list[np.ndarray] = []
        try:
            _limit(request["bytes"], request["seconds"])
            budget = _Budget(request["bytes"], request["ratio"], os.path.getsize(request["path"]))
            answer, arrays = read(request["path"], budget, request["result"])
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
