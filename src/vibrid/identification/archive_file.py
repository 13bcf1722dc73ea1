"""A result file as text and arrays, and back: HDF5 that any program reads; data only, nothing in it is executed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import h5py
import numpy as np

from vibrid.core.errors import FileProblem, newer_format
from vibrid.core.files import whole_hdf5
from vibrid.core.version import __version__
from vibrid.identification.archive_formats import FORMAT, OLDEST, Arrays, upgraded
from vibrid.identification.archive_layout import OWN, entry_of

Columns = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""Names and units of the columns of datasets, by the name of the dataset."""

CHUNK = 2**17
"""The most numbers in one chunk (1 MiB)."""
COMPRESSED = 1000
"""Fewer numbers are not compressed: a chunk costs more than it saves."""

NAMED = 1000
"""Datasets of more columns do not repeat their names: an attribute of HDF5 has 64 kB."""


def write_stored(path, text: dict, arrays: Arrays, columns: Columns) -> None:
    """Write text and arrays (None: not there) as a file of the present format."""
    with whole_hdf5(path) as file:
        file.attrs["vibrid"] = FORMAT
        file.attrs["kind"] = "identification"
        file.attrs["written_by"] = f"vibrid {__version__}"
        file.attrs["written"] = datetime.now(UTC).isoformat(timespec="seconds")
        file.attrs["about"] = "Numbers in SI units. Every dataset says what it holds; docs/result-files.md says more."
        file.create_dataset("text", data=json.dumps(_strict(text), allow_nan=False, ensure_ascii=False))
        file["text"].attrs["description"] = "JSON: the problem, the method and the provenance in words"
        for name, value in arrays.items():
            if value is not None:
                _write(file, name, value, columns.get(name))


def _write(file: h5py.File, name: str, value, columns) -> None:
    value, entry = np.asarray(value), entry_of(name)
    if value.dtype.kind == "U":
        dataset = file.create_dataset(name, data=_words(value))
    else:
        dataset = file.create_dataset(name, data=value, **_storage(value))
        own = columns is not None and len(columns[0]) <= NAMED
        if entry.unit != OWN:
            dataset.attrs["units"] = entry.unit
        elif own:
            dataset.attrs["units"] = _words(columns[1])
        if own:
            dataset.attrs["columns"] = _words(columns[0])
    dataset.attrs["description"] = entry.meaning


def _words(words) -> np.ndarray:
    """Words as HDF5 keeps them: UTF-8, of any length."""
    return np.array(list(words), dtype=h5py.string_dtype())


def _storage(value: np.ndarray) -> dict:
    """Compressed, with a checksum, in chunks of whole rows."""
    if value.size <= COMPRESSED:
        return {}
    rows = max(1, CHUNK // max(1, math.prod(value.shape[1:])))
    chunks = (min(rows, value.shape[0]), *value.shape[1:])
    return {"chunks": chunks, "compression": "gzip", "shuffle": True, "fletcher32": True}


def read_stored(path) -> tuple[dict, Arrays]:
    """Text and arrays of a file as those of the present format; a file that is not a result is refused."""
    with h5py.File(path, "r") as file:
        format = _format(path, file)
        _refuse_links(path, file)
        text = json.loads(file["text"].asstr()[()])
        names: list[str] = []
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        arrays = {name: file[name][()] for name in names if file[name].dtype.kind in "biuf"}
    return upgraded(format, _loose(text) if format > 2 else text, arrays)


def _format(path, file: h5py.File) -> int:
    """The format of a file; one that cannot be read here is refused with what to do."""
    found = file.attrs.get("vibrid")
    if not isinstance(found, np.integer):
        raise FileProblem(path, "this HDF5 file is not a result of vibrid; `vibrid identify --save` writes one.")
    if found > FORMAT:
        writer = file.attrs.get("written_by", "a later version of vibrid")
        raise newer_format(path, "result", int(found), f"formats {OLDEST} to {FORMAT}", writer)
    if found < OLDEST:
        raise FileProblem(
            path, f"this result has format {int(found)}, which no release of vibrid wrote; identify anew to make one."
        )
    return int(found)


def _refuse_links(path, file: h5py.File) -> None:
    """A result is whole in itself: nothing in it may point anywhere else."""
    pointing: list[str] = []
    file.visititems_links(lambda name, link: pointing.append(name) if not isinstance(link, h5py.HardLink) else None)

    def look(name: str, item) -> None:
        if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
            pointing.append(name)

    file.visititems(look)
    if pointing:
        raise FileProblem(
            path,
            f"'{pointing[0]}' points to another place or another file; links are not followed in a result. Write the "
            "result anew, whole.",
        )


# -- numbers that JSON does not have -------------------------------------------------------------------------------


_NOT_FINITE = "not finite"


def _strict(value):
    """The same without NaN and infinities, which JSON cannot say: {"not finite": "nan"}."""
    if isinstance(value, dict):
        return {key: _strict(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(own) for own in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {_NOT_FINITE: str(value)}
    return value


def _loose(value):
    """What `_strict` was given, tuples as lists."""
    if isinstance(value, dict):
        return (
            float(value[_NOT_FINITE]) if set(value) == {_NOT_FINITE} else {k: _loose(own) for k, own in value.items()}
        )
    return [_loose(own) for own in value] if isinstance(value, list) else value
