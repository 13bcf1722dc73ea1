"""Damage to files: bits, bytes, words, cuts, repeats, numbers, splices; the same number gives the same damage."""

from __future__ import annotations

import struct

import numpy as np

_WORDS = [
    b"NaN",
    b"inf",
    b"-inf",
    b"1e999",
    b"-1",
    b"0",
    b"999999999999",
    b"1e-320",
    b",",
    b";",
    b"\n",
    b"\r\n",
    b"\t",
    b"\x00",
    b"\xff",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b"E",
    b"D",
    b"=",
    b"(",
    b")",
    b"#",
    b"-",
    b".",
    b"NPTS",
    b"2147483648",
    b"-2147483648",
    b"18446744073709551616",
    b"[kN]",
    b"[furlong]",
    b"null",
    b"true",
    b"\xe2\x82",
    b"DT",
]


def mutate(content: bytes, others: list[bytes], generator: np.random.Generator) -> bytes:
    """One to eight changes: bits, bytes, words, cuts, repeats, numbers, splices with another file."""
    data = bytearray(content)
    for _ in range(int(generator.choice([1, 1, 1, 2, 2, 3, 5, 8]))):
        size = len(data)
        at = int(generator.integers(0, size + 1))
        kind = int(generator.integers(0, 10))
        if kind == 0 and size:
            data[at % size] ^= 1 << int(generator.integers(0, 8))
        elif kind == 1 and size:
            data[at % size] = int(generator.integers(0, 256))
        elif kind == 2:
            data[at:at] = _WORDS[int(generator.integers(0, len(_WORDS)))]
        elif kind == 3:
            word = _WORDS[int(generator.integers(0, len(_WORDS)))]
            data[at : at + len(word)] = word
        elif kind == 4:
            del data[at : at + int(generator.integers(1, 40))]
        elif kind == 5 and generator.random() < 0.3:
            del data[at:]
        elif kind == 6:
            data[at:at] = data[at : at + int(generator.integers(1, 200))]
        elif kind == 7:
            number = int(generator.choice([0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF]))
            data[at : at + 4] = struct.pack(str(generator.choice(["<I", ">I"])), number)
        elif kind == 8:
            other = others[int(generator.integers(0, len(others)))]
            data[at:] = other[int(generator.integers(0, len(other))) :]
        elif kind == 9 and size:
            end = min(size, at + int(generator.integers(1, 30)))
            data[at:end] = generator.bytes(end - at)
    return bytes(data[:200_000])


def generator_of(kind: str, index: int) -> np.random.Generator:
    """The random numbers of file `index` of a kind."""
    return np.random.default_rng([index, *kind.encode()])
