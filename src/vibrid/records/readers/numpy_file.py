"""NumPy .npy and .npz files. Arrays of Python objects need pickle, which can run any code: they are never read."""

from __future__ import annotations

import io
import warnings

import numpy as np

from vibrid.records.readers.archive import open_zip, read_member
from vibrid.records.readers.instants import instants_of, is_time, seconds_since_first, with_clock
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.readers.variables import from_variables
from vibrid.records.record import Record

NAME = "NumPy"
_MAGIC = b"\x93NUMPY"


def recognises(source: Source) -> bool:
    if source.head.startswith(_MAGIC):
        return True
    if not source.head.startswith(b"PK\x03\x04"):
        return False
    size = int.from_bytes(source.head[26:28], "little")
    return source.head[30 : 30 + size].endswith(b".npy")


def read(source: Source, layout: Layout) -> list[Record]:
    if source.head.startswith(_MAGIC):
        array = _array(source, source.content, "data")
        return from_variables(source, {} if array is None else {"data": array}, layout, "NumPy npy")
    arrays, instants, budget = {}, {}, source.limits.expanded_bytes
    with open_zip(source) as archive:
        for member in archive.infolist():
            if member.filename.endswith(".npy"):
                name = member.filename[:-4]
                array = _array(source, read_member(source, archive, member), name)
                if array is not None and array.dtype.kind == "M":
                    instants[name] = instants_of(source, name, array)
                    array = seconds_since_first(instants[name])
                if array is not None:
                    arrays[name] = array
                    budget -= array.nbytes
                if budget < 0:
                    raise source.problem("its arrays are larger than the limit.")
    return with_clock(from_variables(source, arrays, layout, "NumPy npz"), instants)


def _array(source: Source, content: bytes, name: str) -> np.ndarray | None:
    """The array in the bytes of an .npy file; None for text, records and objects."""
    stream = io.BytesIO(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a header that needs repair is damaged
            shape, fortran, dtype = _header(stream)
    except Exception as problem:  # the header is Python text: syntax, unicode, memory and value errors
        raise source.problem(f"the header of '{name[:60]}' is damaged ({str(problem)[:80]}).") from None
    if dtype.hasobject:
        raise source.problem(f"'{name[:60]}' holds Python objects, which are not read because they could run code.")
    dated = dtype.kind == "M" and is_time(name) and len(shape) == 1 and shape[0] > 0
    if dtype.kind not in "fiub" and not dated:
        return None
    count = 1
    for side in shape:
        count *= side
    if any(side < 0 for side in shape) or len(shape) > 8 or count * dtype.itemsize != len(content) - stream.tell():
        raise source.problem(f"'{name[:60]}' states the shape {str(shape)[:60]} and holds something else.")
    return np.frombuffer(content, dtype=dtype, offset=stream.tell()).reshape(shape, order="F" if fortran else "C")


def _header(stream) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream, max_header_size=4096)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(stream, max_header_size=4096)
    raise ValueError(f"version {version[0]}.{version[1]} of the format")


@READERS.register(NAME)
class NumPyFile(Reader):
    """NumPy .npy and .npz files. Arrays of Python objects need pickle, which can run any code: they are never read."""

    particularity = 100

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
