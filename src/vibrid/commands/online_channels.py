"""The columns of a stream, from the project: its excitation channels, then its sensors, in their own units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import FileProblem
from vibrid.records.record import QUANTITIES, Channel, Record
from vibrid.records.streams import ExpectedUnit
from vibrid.records.units import unit_factor


@dataclass(frozen=True)
class Columns:
    """Names and channels of the values of every sample."""

    names: tuple[str, ...]
    channels: tuple[Channel, ...]
    factors: np.ndarray  # to SI
    inputs: int  # how many of them are excitation
    units: tuple[ExpectedUnit, ...]  # of the values as they arrive

    def record(self, rows: np.ndarray, step: float) -> Record:
        """Samples in SI units as a record; gaps in the excitation are filled with the last value."""
        data = np.array(rows, dtype=float)
        for i in range(self.inputs):
            finite = np.isfinite(data[:, i])
            last = np.maximum.accumulate(np.where(finite, np.arange(len(data)), 0))
            data[:, i] = np.where(np.isfinite(data[last, i]), data[last, i], 0.0)
        return Record(data, self.channels, step=step, name="live")

    def in_si(self, values) -> np.ndarray:
        return np.asarray(values, dtype=float) * self.factors


def columns_of(project) -> Columns:
    """The columns that a project expects; refuses a project that does not describe them."""
    table = project.excitation_table
    if table is None or not table.channels:
        raise FileProblem(
            project.path,
            "a live run needs its excitation columns: give [excitation] channels = [{column = ..., quantity = ...}].",
        )
    if project.sensors is None:
        raise FileProblem(project.path, "a live run needs [[sensors]] with quantity and place.")
    if not project.unknown:
        raise FileProblem(project.path, 'nothing is unknown: add [[unknown]] with path = "law.stiffness" or the like.')
    driving = [
        Channel(c.column, c.quantity, QUANTITIES[c.quantity], location=c.place, direction=c.direction)
        for c in table.channels
    ]
    read = [Channel(s.label, s.quantity, QUANTITIES[s.quantity], location=s.place) for s in project.sensors]
    units = [c.unit for c in table.channels] + [project.units.get(s.label, "") for s in project.sensors]
    channels, factors = (*driving, *read), np.array([unit_factor(u)[0] if u else 1.0 for u in units])
    expected = tuple(ExpectedUnit(unit, channel.unit) for unit, channel in zip(units, channels, strict=True))
    return Columns(tuple(c.name for c in channels), channels, factors, len(driving), expected)
