"""The numeric arrays of a MATLAB 5 file (versions 5 to 7), read directly from the published format.

The MathWorks, "MAT-File Format". Only what can be a signal is read: full real numeric and logical arrays, and those
inside structures (named `structure.field`). Cells, sparse arrays, objects and functions are skipped. Nothing is
executed, and every length is checked against the file before memory is taken.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np

from vibrid.records.readers.source import Source

_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_STRUCTURE, _NUMERIC = 2, range(6, 16)
_DEEPEST = 8


class Damaged(Exception):
    """The file contradicts itself; carries the message."""


def numeric_arrays(source: Source) -> dict[str, np.ndarray]:
    """Name to array for every real numeric array in the file."""
    content = source.content
    mark = content[126:128]
    if mark not in (b"IM", b"MI"):
        raise source.problem("the header of the MATLAB file has no byte order.")
    reader = _Mat5Reader("<" if mark == b"IM" else ">", source.limits.expanded_bytes)
    arrays: dict[str, np.ndarray] = {}
    try:
        for kind, body in reader.elements(memoryview(content)[128:]):
            if kind == _COMPRESSED:
                body = reader.expand(body)
                inside = list(reader.elements(memoryview(body)))
                if len(inside) != 1:
                    raise Damaged("a compressed element does not hold one array")
                kind, body = inside[0]
            if kind == _MATRIX:
                reader.matrix(body, "", arrays, 0)
    except Damaged as problem:
        raise source.problem(f"the MATLAB file is damaged: {problem}.") from None
    return arrays


class _Mat5Reader:
    def __init__(self, order: str, budget: int):
        self.order, self.budget = order, budget

    def elements(self, data: memoryview) -> Iterator[tuple[int, memoryview]]:
        """Type and content of every element in a row of them."""
        place = 0
        while place < len(data):
            if len(data) - place < 8:
                return  # trailing padding
            word, size = struct.unpack_from(self.order + "II", data, place)
            if word >> 16:  # small element: type and size in one word, up to four bytes of data
                kind, size, start, advance = word & 0xFFFF, word >> 16, place + 4, 8
                if size > 4:
                    raise Damaged("a small element is larger than four bytes")
            else:
                kind, start = word, place + 8
                advance = 8 + size + (-size % 8 if kind != _COMPRESSED else 0)
            if start + size > len(data):
                raise Damaged("an array is longer than the file")
            yield kind, data[start : start + size]
            place += advance

    def expand(self, body: memoryview) -> bytes:
        machine = zlib.decompressobj()
        try:
            result = machine.decompress(body, self.budget)
        except zlib.error as problem:
            raise Damaged(f"a compressed array cannot be expanded ({problem})") from None
        if machine.unconsumed_tail:
            raise Damaged("a compressed array expands beyond the limit")
        self.budget -= len(result)
        return result

    def matrix(self, body: memoryview, prefix: str, arrays: dict, depth: int) -> None:
        parts = list(self.elements(body))
        if len(parts) < 3 or len(parts[0][1]) < 8:
            return
        (flags,) = struct.unpack_from(self.order + "I", parts[0][1])
        kind, is_complex = flags & 0xFF, bool(flags & 0x0800)
        shape = tuple(self.whole_numbers(parts[1]))
        name = prefix + bytes(parts[2][1]).decode("ascii", "replace").rstrip("\x00")
        if kind == _STRUCTURE and depth < _DEEPEST and shape == (1, 1) and len(parts) >= 5:
            self.fields(parts, name, arrays, depth)
        elif kind in _NUMERIC and not is_complex and len(parts) >= 4 and len(shape) == 2 and name.strip("."):
            values = self.numbers(parts[3])
            if min(shape) < 0 or shape[0] * shape[1] != values.size:
                raise Damaged(f"'{name[:60]}' states the shape {shape} and holds {values.size} numbers")
            arrays[name] = values.reshape(shape, order="F")

    def fields(self, parts, name: str, arrays: dict, depth: int) -> None:
        """Fields of a structure: the length of a name, all names, then one matrix for each."""
        width = next(iter(self.whole_numbers(parts[3])), 0)
        text = bytes(parts[4][1])
        if not 1 <= width <= 256:
            raise Damaged("a structure has field names of impossible length")
        names = [text[i : i + width].split(b"\x00")[0].decode("ascii", "replace") for i in range(0, len(text), width)]
        for field, (kind, body) in zip(names, parts[5:], strict=False):
            if kind == _MATRIX:
                inner: dict[str, np.ndarray] = {}
                self.matrix(body, f"{name}.{field}", inner, depth + 1)
                arrays.update(inner)

    def whole_numbers(self, part: tuple[int, memoryview]) -> list[int]:
        values = self.numbers(part)
        if values.dtype.kind not in "iu" or values.size > 32:
            raise Damaged("a size is not a whole number")
        return values.tolist()

    def numbers(self, part: tuple[int, memoryview]) -> np.ndarray:
        kind, body = part
        if kind not in _TYPES:
            raise Damaged(f"an array is stored as type {kind}, which is no number")
        dtype = np.dtype(self.order + _TYPES[kind])
        if len(body) % dtype.itemsize:
            raise Damaged("an array ends inside a number")
        return np.frombuffer(body, dtype=dtype)
