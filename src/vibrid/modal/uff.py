"""Universal files of geometry, modes and functions: datasets 15 (nodes), 82 (lines), 55 (modes), 164 (units) and 58
(frequency responses), read and written. Time histories (58) are written here and read by `read_record`."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import FileProblem, InputError
from vibrid.core.files import write_text
from vibrid.modal.frf import FrequencyResponse
from vibrid.modal.geometry import AXES, Geometry
from vibrid.modal.measured import MeasuredModes, as_real, measured_modes
from vibrid.modal.uff_responses import response_of
from vibrid.records.clock import UtcClock
from vibrid.records.readers.source import Source
from vibrid.records.readers.uff58 import datasets, line_of_clock
from vibrid.records.readers.uff_units import read_units
from vibrid.records.record import Channel, Record
from vibrid.structures.modes import Modes

_SI = (1.0, 1.0)
_TYPES = {"displacement": 8, "velocity": 11, "acceleration": 12, "absolute_acceleration": 12, "load": 13}
_TYPES["ground_acceleration"] = 12


class UniversalFile(NamedTuple):
    """What a universal file holds of geometry, modes and frequency responses; None where it has none."""

    geometry: Geometry | None
    modes: MeasuredModes | None
    response: FrequencyResponse | None = None


# -- writing ---------------------------------------------------------------------------------------------------------


@checked
def write_uff(
    path: str | PathLike[str],
    *,
    geometry: Geometry | None = None,
    modes: Modes | None = None,
    response: FrequencyResponse | None = None,
    record: Record | None = None,
) -> Path:
    """Write a universal file: geometry (15, 82), modes (55), frequency responses and time histories (58), in SI (164).

    Arguments
        modes: shapes at the places of the geometry, which they need: real ones as normal modes, complex ones with their
            poles. Standard deviations have no place in the format.
        response, record: every function has its channel's name in its first line, and the number of its channel as the
            node where no geometry has its location. The format has one kind of acceleration, which `read_record` takes
            for absolute. The clock of the record stands in the fifth line, which is free.
    """
    if modes is not None and geometry is None:
        raise InputError("Modes are written at nodes: give the geometry, such as read_geometry('sensors.csv').")
    parts = [_dataset(164, [f"{1:10d}{'SI: m, N':<20}{2:10d}", _long(*_SI, 1.0), _long(273.15)])]
    if geometry is not None:
        nodes = zip(geometry.nodes, geometry.positions, strict=True)
        parts.append(_dataset(15, [f"{n:10d}{0:10d}{0:10d}{1:10d}" + _short(*xyz) for n, xyz in nodes]))
        parts += [_dataset(82, _trace(i, line)) for i, line in enumerate(geometry.lines, 1)]
    if modes is not None and geometry is not None:
        parts += [_dataset(55, _mode(geometry, modes, i)) for i in range(len(modes))]
    if response is not None:
        for o, output in enumerate(response.outputs):
            for i, given in enumerate(response.inputs):
                axis = (18, float(response.frequencies[0]), float(np.diff(response.frequencies[:2])[0]))
                ends = _end(geometry, output, o + 1), _end(geometry, given, i + 1)
                parts.append(_dataset(58, _function(4, output, ends, axis, response.values[:, o, i], given)))
    if record is not None:
        if record.step is None:
            raise InputError(
                f"Record '{record.name}' is not sampled uniformly: call .resample(rate) before writing it."
            )
        for i, channel in enumerate(record.channels):
            ends = _end(geometry, channel, i + 1), (0, 0)
            values, axis = record[channel.name], (17, float(record.start), float(record.step))
            if not np.isfinite(values).all():
                raise InputError(f"Channel '{channel.name}' misses samples, which dataset 58 cannot say: fill them.")
            parts.append(_dataset(58, _function(1, channel, ends, axis, values, clock=record.clock)))
    return write_text(path, "".join(parts))


def _dataset(kind: int, lines: list[str]) -> str:
    return "\n".join(["    -1", f"{kind:6d}", *lines, "    -1"]) + "\n"


def _short(*values: float) -> str:
    return "".join(f"{value:13.5E}" for value in values)


def _long(*values: float) -> str:
    return "".join(f"{value:25.17E}" for value in values)


def _trace(number: int, line: tuple[int, ...]) -> list[str]:
    rows = [line[i : i + 8] for i in range(0, len(line), 8)]
    return [f"{number:10d}{len(line):10d}{1:10d}", "NONE", *("".join(f"{node:10d}" for node in row) for row in rows)]


def _mode(geometry: Geometry, modes: Modes, i: int) -> list[str]:
    """Dataset 55 of one mode: a normal mode, or a complex one with its pole."""
    normal = modes.complex_shapes is None
    whole = modes.shapes if isinstance(modes, MeasuredModes) and normal else modes.complex_shapes
    at = {place: complex(modes.at(place)[i]) for place in geometry.places}
    if isinstance(modes, MeasuredModes) and whole is not None:
        at = {place: complex(whole[modes.places.index(place), i]) for place in geometry.places}
    moved = geometry.shape(at)
    head = ["NONE"] * 5 + [f"{1:10d}{2 if normal else 3:10d}{2:10d}{8:10d}{2 if normal else 5:10d}{3:10d}"]
    if normal:
        numbers = (modes.frequencies[i], 0.0, np.nan_to_num(modes.ratios[i]), 0.0)
    else:
        numbers = (modes.poles[i].real, modes.poles[i].imag, 0.0, 0.0, 0.0, 0.0)
    head += [f"{2:10d}{len(numbers):10d}{1:10d}{i + 1:10d}", _short(*numbers)]
    for node, row in zip(geometry.nodes, moved, strict=True):
        values = np.real(row) if normal else np.stack([np.real(row), np.imag(row)], axis=1).ravel()
        head += [f"{node:10d}", _short(*values)]
    return head


def _end(geometry: Geometry | None, channel: Channel, number: int) -> tuple[int, int]:
    """Node and direction (±1, ±2, ±3) of a channel; its number and 0 where the geometry does not say them."""
    if geometry is None or str(channel.location) not in geometry.places:
        return number, 0
    node, direction = geometry.places[str(channel.location)]
    axis = int(np.argmax(np.abs(direction)))
    return node, int(np.sign(direction[axis])) * (axis + 1)


def _function(
    kind: int,
    channel: Channel,
    ends,
    axis,
    values: np.ndarray,
    reference: Channel | None = None,
    clock: UtcClock | None = None,
) -> list[str]:
    """Dataset 58 in double precision, evenly spaced."""
    (node, way), (other, from_way), (unit, start, step) = *ends, axis
    complex_ = np.iscomplexobj(values)
    numbers = np.stack([np.real(values), np.imag(values)], axis=1).ravel() if complex_ else values
    label = "s" if unit == 17 else "Hz"

    def quantity(c: Channel | None) -> str:
        return f"{0 if c is None else _TYPES.get(c.quantity, 0):10d}{0:5d}{0:5d}{0:5d} {'NONE':<20} " + (
            f"{'NONE' if c is None or not c.unit else c.unit:<20}"
        )

    head = [channel.name[:80] or "NONE", "NONE", "NONE", "NONE", line_of_clock(clock)]
    head.append(f"{kind:5d}{1:10d}{0:5d}{0:10d} {'NONE':<10}{node:10d}{way:4d} {'NONE':<10}{other:10d}{from_way:4d}")
    head.append(f"{6 if complex_ else 4:10d}{len(values):10d}{1:10d}" + _short(start, step, 0.0))
    head.append(f"{unit:10d}{0:5d}{0:5d}{0:5d} {'NONE':<20} {label:<20}")
    head += [quantity(channel), quantity(reference), quantity(None)]
    return head + ["".join(f"{v:20.12E}" for v in numbers[i : i + 4]) for i in range(0, len(numbers), 4)]


# -- reading ---------------------------------------------------------------------------------------------------------


@checked
def read_uff(path: str | PathLike[str]) -> UniversalFile:
    """Geometry, modes and frequency responses of a universal file: datasets 15, 82, 55 (real and complex modes) and 58
    (function type 4), in SI by 164.

    Places are called by node and axis, "3x"; those that move in no mode are taken for not measured. Other datasets are
    passed over.
    """
    source = Source(path)
    if source.head.split()[:1] != [b"-1"]:
        raise source.problem("this is no universal file: its datasets do not stand between two lines of -1.")
    every = list(datasets(source))
    units = next((read_units(source, line, body) for kind, line, body in every if kind == "164"), None)
    nodes, traces, found, functions = {}, [], [], []
    for kind, line, content in every:
        if kind.lower() in ("58", "58b"):
            functions.append((kind.lower(), line, content, units))
            continue
        body = [row.rstrip("\r") for row in content.decode("utf-8", "replace").split("\n")][1:]
        try:
            if kind == "15":
                nodes |= {int(row[:10]): _numbers(row[40:], 13)[:3] for row in body if row.strip()}
            elif kind == "82":
                traces += _traces(body)
            elif kind == "55" and (mode := _read_mode(body)) is not None:
                found.append(mode)
        except (ValueError, IndexError):
            raise source.problem(f"the dataset {kind} that begins here cannot be read.", line) from None
    response = response_of(source, functions)
    if not nodes and not found and response is None:
        raise source.problem(
            "it holds no nodes (dataset 15), no modes (dataset 55) and no frequency responses (dataset 58)."
        )
    modes, places = _assembled(Path(path), found)
    for channel in response.outputs if response is not None else ():
        if place := str(channel.location):
            places.setdefault(place, (int(place[:-1]), np.array(AXES[place[-1]])))
    known = {place: entry for place, entry in places.items() if entry[0] in nodes}
    geometry = None
    if nodes:
        positions = np.array(list(nodes.values()), float).reshape(-1, 3) / (1.0 if units is None else units.length)
        chains = tuple(line for line in traces if all(node in nodes for node in line))
        geometry = Geometry(tuple(nodes), positions, known, chains)
    return UniversalFile(geometry, modes, response)


def _numbers(row: str, width: int) -> list[float]:
    values = [float(row[i : i + width].replace("D", "E")) for i in range(0, len(row.rstrip()), width)]
    if not np.isfinite(values).all():
        raise ValueError("not finite")
    return values


def _traces(body: list[str]) -> list[tuple[int, ...]]:
    """Chains of nodes; a zero lifts the pen."""
    count = int(body[0][10:20])
    nodes = [int(row[i : i + 10]) for row in body[2:] for i in range(0, len(row.rstrip()), 10)][:count]
    chains, chain = [], []
    for node in [*nodes, 0]:
        if node:
            chain.append(node)
        elif chain:
            chains.append(tuple(chain))
            chain = []
    return chains


def _read_mode(body: list[str]) -> tuple[complex, dict[int, np.ndarray]] | None:
    """Pole and motion (3,) of every node; None for other data at nodes."""
    _, analysis, _, _, stored, each = (int(body[5][i : i + 10]) for i in range(0, 60, 10))
    if analysis not in (2, 3) or stored not in (2, 5) or each not in (3, 6):
        return None
    numbers = _numbers(body[7], 13)
    if analysis == 2:
        omega, ratio = 2 * np.pi * numbers[0], numbers[2]
        pole = omega * complex(-ratio, np.sqrt(1 - ratio**2))
    else:
        pole = complex(numbers[0], abs(numbers[1]))
    width = each * (2 if stored == 5 else 1)
    rows = -(-width // 6)
    moved = {}
    for i in range(8, len(body) - rows, rows + 1):
        values = [v for row in body[i + 1 : i + 1 + rows] for v in _numbers(row, 13)][:width]
        pairs = np.array(values).reshape(each, -1)
        moved[int(body[i][:10])] = (pairs[:, 0] + 1j * pairs[:, 1] if stored == 5 else pairs[:, 0])[:3]
    return pole, moved


def _assembled(path: Path, found: list) -> tuple[MeasuredModes | None, dict[str, tuple[int, np.ndarray]]]:
    """Modes at the places that move in any of them."""
    if not found:
        return None, {}
    nodes = list(dict.fromkeys(node for _, moved in found for node in moved))
    whole = np.stack([np.concatenate([moved.get(n, np.zeros(3)) for n in nodes]) for _, moved in found], axis=1)
    names = [(f"{node}{axis}", node, np.array(AXES[axis])) for node in nodes for axis in "xyz"]
    used = np.flatnonzero(np.abs(whole).max(axis=1) > 0)
    poles = np.array([pole for pole, _ in found])
    frequencies = np.abs(poles) / (2 * np.pi)
    if not (frequencies > 0).all() or not np.abs(whole).max(axis=0).all():
        raise FileProblem(path, "a mode has no frequency, or no node moves in it.")
    order = np.argsort(frequencies)
    places = {names[i][0]: names[i][1:] for i in used}
    shapes = whole[used][:, order]
    ratios = -np.real(poles[order]) / np.abs(poles[order])
    made = measured_modes(frequencies, np.real(whole[used]), list(places), ratios=-np.real(poles) / np.abs(poles))
    if not np.iscomplexobj(whole):
        return made, places
    turned, _ = as_real(shapes)
    return replace(made, shapes=np.real(turned), complex_shapes=turned, poles=poles[order], ratios=ratios), places
