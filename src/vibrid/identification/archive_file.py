"""A result file as text and arrays, and back: HDF5 with data only; nothing in it is executed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.errors import FileProblem, newer_format
from vibrid.core.files import whole_hdf5
from vibrid.core.version import __version__
from vibrid.identification.archive_formats import FORMAT, OLDEST, Arrays, upgraded
from vibrid.identification.archive_layout import OWN, entry_of
from vibrid.records.readers.hdf5 import SIGNATURE
from vibrid.records.readers.isolated import read_hdf5_result
from vibrid.records.readers.source import Limits, Source

if TYPE_CHECKING:
    import h5py

Columns = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""Names and units of the columns of datasets, by the name of the dataset."""

CHUNK = 2**17
"""The most numbers in one chunk (1 MiB)."""
COMPRESSED = 1000
"""Fewer numbers are not compressed: a chunk costs more than it saves."""

NAMED = 1000
"""Datasets with more columns do not store their names: an attribute of HDF5 has at most 64 kB."""


def write_stored(path: Path | str, text: dict[str, Any], arrays: Arrays, columns: Columns) -> None:
    """Write text and arrays (None: left out) as a file of the present format."""
    with whole_hdf5(path) as file:
        file.attrs["vibrid"] = FORMAT
        file.attrs["kind"] = "identification"
        file.attrs["written_by"] = f"vibrid {__version__}"
        file.attrs["written"] = datetime.now(UTC).isoformat(timespec="seconds")
        file.attrs["about"] = "Numbers in SI units. Every dataset has a description; see also docs/result-files.md."
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
        named = columns if columns is not None and len(columns[0]) <= NAMED else None
        if entry.unit != OWN:
            dataset.attrs["units"] = entry.unit
        elif named is not None:
            dataset.attrs["units"] = _words(named[1])
        if named is not None:
            dataset.attrs["columns"] = _words(named[0])
    dataset.attrs["description"] = entry.meaning


def _words(words) -> np.ndarray:
    """Texts as HDF5 stores them: UTF-8, of any length."""
    import h5py

    return np.array(list(words), dtype=h5py.string_dtype())


def _storage(value: np.ndarray) -> dict[str, Any]:
    """Compressed, with a checksum, in chunks of whole rows."""
    if value.size <= COMPRESSED:
        return {}
    rows = max(1, CHUNK // max(1, math.prod(value.shape[1:])))
    chunks = (min(rows, value.shape[0]), *value.shape[1:])
    return {"chunks": chunks, "compression": "gzip", "shuffle": True, "fletcher32": True}


def read_stored(path: Path | str, limits: Limits | None = None) -> tuple[dict[str, Any], Arrays]:
    """Text and arrays of a file, in the present format; a file that is not a result is refused.

    The HDF5 library runs in a process of its own, with the limits of a record: a damaged or malicious file can neither
    crash nor fill this process, nor make it read another file.
    """
    source = Source(path, limits=limits)
    if not source.head.startswith(SIGNATURE):
        raise source.problem("this is not an HDF5 file.")
    attributes, texts, arrays = read_hdf5_result(source)
    format = _format(path, attributes)
    if "text" not in texts:
        raise source.problem("the result is damaged or incomplete (it has no dataset 'text').")
    text = json.loads(texts["text"])
    if not isinstance(text, dict):
        raise source.problem("the result is damaged or incomplete (its text is not a table).")
    numbers: Arrays = {name: np.asarray(a, float) if a.dtype.kind == "f" else a for name, a in arrays.items()}
    return upgraded(format, _loose(text) if format > 2 else text, numbers)


def _format(path, attributes: dict) -> int:
    """The format of a file; one that cannot be read is refused with the reason."""
    number = attributes.get("vibrid")
    if not isinstance(number, float) or number != int(number):
        raise FileProblem(path, "this HDF5 file is not a result of vibrid; `vibrid identify --save` writes one.")
    if number > FORMAT:
        writer = str(attributes.get("written_by", "a later version of vibrid"))
        raise newer_format(path, "result", int(number), f"formats {OLDEST} to {FORMAT}", writer[:100])
    if number < OLDEST:
        raise FileProblem(
            path,
            f"this result has format {int(number)}, which no release of vibrid wrote; run the identification again.",
        )
    return int(number)


# -- numbers that JSON does not have -------------------------------------------------------------------------------


_NOT_FINITE = "not finite"


def _strict(value):
    """The same without NaN and infinities, which JSON does not have: {"not finite": "nan"}."""
    if isinstance(value, dict):
        return {key: _strict(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {_NOT_FINITE: str(value)}
    return value


def _loose(value):
    """The inverse of `_strict`, tuples as lists."""
    if isinstance(value, dict):
        if set(value) == {_NOT_FINITE}:
            return float(value[_NOT_FINITE])
        return {key: _loose(entry) for key, entry in value.items()}
    return [_loose(entry) for entry in value] if isinstance(value, list) else value
