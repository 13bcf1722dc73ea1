"""Frequency response functions of universal files: dataset 58 of function type 4, in text or binary (58b)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vibrid.core.errors import InputError
from vibrid.modal.frf import FrequencyResponse
from vibrid.records.readers import numbers
from vibrid.records.readers.source import Source, split_lines
from vibrid.records.readers.uff58 import binary_numbers, field, opened
from vibrid.records.readers.uff_units import FileUnits, ordinate, powers_of
from vibrid.records.record import QUANTITIES, Channel

_RESPONSE, _COMPLEX = 4, {5: 2, 6: 4}  # function type; complex numbers, and the real ones that they consist of
_FREQUENCY = (0, 1, 18)  # types of the abscissa: unknown, general, frequency
_MOVES = {8: "displacement", 11: "velocity", 12: "acceleration"}
_EXCITES = {12: "ground_acceleration", 13: "load"}
_AXES = {1: "x", 2: "y", 3: "z"}


class _End(NamedTuple):
    """A node with its direction at one end of a function, and the sign by which its number is turned to the axis."""

    channel: Channel
    sign: float


class _Response58(NamedTuple):
    frequencies: np.ndarray
    output: Channel
    given: Channel
    values: np.ndarray
    line: int


def response_of(
    source: Source, functions: Sequence[tuple[str, int, bytes, FileUnits | None]]
) -> FrequencyResponse | None:
    """The frequency responses among the datasets 58 of a file (kind, line, content, units); None where it has none.

    Places are called by node and axis, "3x"; functions in a negative direction are turned.
    """
    found = [made for entry in functions if (made := _function(source, *entry)) is not None]
    if not found:
        return None
    axis = found[0].frequencies
    outputs = list({f.output.name: f.output for f in found}.values())
    inputs = list({f.given.name: f.given for f in found}.values())
    values = np.full((len(axis), len(outputs), len(inputs)), np.nan, complex)
    for f in found:
        if len(f.frequencies) != len(axis) or not np.allclose(f.frequencies, axis, rtol=1e-4, atol=0):
            raise source.problem("its functions have different frequencies: put them in files of their own.", f.line)
        where = [c.name for c in outputs].index(f.output.name), [c.name for c in inputs].index(f.given.name)
        if np.isfinite(values[:, *where]).any():
            raise source.problem(f"the response of '{f.output.name}' to '{f.given.name}' is there twice.", f.line)
        values[:, *where] = f.values
    for o, i in np.argwhere(np.isnan(values[0])):
        raise source.problem(f"the response of '{outputs[o].name}' to '{inputs[i].name}' is missing.")
    return FrequencyResponse(axis, values, None, tuple(inputs), tuple(outputs), "")


def _function(source: Source, kind: str, line: int, body: bytes, units: FileUnits | None) -> _Response58 | None:
    title, header, data = opened(source, line, body)
    if field(source, header[5], 0, 5, line + 6) != _RESPONSE:
        return None
    stored, size, even = (field(source, header[6], i, 10, line + 7) for i in (0, 10, 20))
    if stored not in _COMPLEX or even != 1:
        raise source.problem("a frequency response has complex values at even steps of frequency.", line + 7)
    start, step = numbers.number(header[6][30:43]), numbers.number(header[6][43:56])
    if not 1 <= size <= source.limits.numbers or start is None or step is None or not (start >= 0 and 0 < step < 1e9):
        raise source.problem("count, start or step of the frequencies are not possible.", line + 7)
    label = header[7][47:67].strip().strip("[]").lower()
    if field(source, header[7], 0, 10, line + 8) not in _FREQUENCY or label not in ("", "none", "unknown", "hz", "1/s"):
        raise source.problem(f"the abscissa of a frequency response is in Hz, not '{label}'.", line + 8)
    if kind == "58b":
        flat = binary_numbers(source, title, data, _COMPLEX[stored], even, 2 * size, line)
    else:
        text = split_lines(data.decode("ascii", "replace"))
        flat = numbers.block(source, text, line + len(header) + 1, 13 if stored == 5 else 20, 2 * size)
    flat = numbers.counted(source, flat, 2 * size, line + 7)
    name = header[0].strip()
    ends = _end(source, header, 8, 41, _MOVES, line, "" if name.upper() == "NONE" else name[:60], units)
    given = _end(source, header, 9, 66, _EXCITES, line, "", units)
    values = (flat[::2] + 1j * flat[1::2]) * ends.sign * given.sign
    return _Response58(start + step * np.arange(size), ends.channel, given.channel, values, line)


def _end(
    source: Source, header: list[str], row: int, column: int, known: dict[int, str], line: int, name: str,
    units: FileUnits | None,
) -> _End:  # fmt: skip
    """The channel of one end, and the factor of its numbers: to SI, or from SI for the excitation, and to the axis."""
    node, way = field(source, header[5], column, 10, line + 6), field(source, header[5], column + 10, 4, line + 6)
    code = field(source, header[row], 0, 10, line + row + 1)
    quantity, label = known.get(code, "other"), header[row][47:67].strip().strip("[]")
    label = "" if label.upper() in ("NONE", "UNKNOWN") else label
    powers = powers_of(code, (field(source, header[row], 10, 5, line), field(source, header[row], 15, 5, line)))
    try:
        unit = ordinate(label, QUANTITIES[quantity], powers, units)
    except InputError as problem:
        raise source.problem(str(problem), line + row + 1) from None
    factor = 1.0 if unit is None else unit.factor
    place = f"{node}{_AXES[abs(way)]}" if node and abs(way) in _AXES else ""
    name = place or name or f"node {node}"  # programs write the same words into all functions
    sign = -1.0 if way < 0 else 1.0
    channel = Channel(name, quantity, QUANTITIES[quantity], location=place)
    return _End(channel, sign * (factor if known is _MOVES else 1.0 / factor))
