"""The record of a test on a server: one row per commit, and the command or reading that stopped it."""

from __future__ import annotations

import math

import numpy as np

from vibrid.hybrid.recorder import Recorder
from vibrid.hybrid.substructure import Substructure
from vibrid.records.record import Channel


def channels_of(specimen: Substructure) -> list[Channel]:
    """Imposed displacements and velocities, forces, the signals of the device, the time that the client sent, and the
    number of the stop in the row that stopped the test (`STOPS`)."""
    places = [str(i + 1) for i in range(specimen.count)]
    channels = [Channel(f"displacement_{p}", "imposed_displacement", location=p) for p in places]
    channels += [Channel(f"velocity_{p}", "imposed_velocity", location=p) for p in places]
    channels += [Channel(f"force_{p}", "element_force", location=p) for p in places]
    channels += [Channel(name) for name in specimen.signal_names]
    return [*channels, Channel("client_time", "other", "s"), Channel("stop")]


class CommitRows:
    """Writes the rows of a test. Their times increase, also where those of the client do not, so that none is lost."""

    def __init__(self, recorder: Recorder, specimen: Substructure, step: float):
        self.recorder, self.specimen, self.step = recorder, specimen, step
        self._last: float | None = None

    def add(self, displacement, velocity, force, time: float, stop: int = 0, measured: bool = True) -> None:
        """One row; without `measured` the command was refused: there are neither forces nor signals."""
        sent, last = time, self._last
        if not math.isfinite(time) or (last is not None and time <= last):
            time = 0.0 if last is None else last + self.step
        self._last = time
        signals = self.specimen.signals
        if not measured:
            force, signals = np.full(len(displacement), np.nan), np.full(len(signals), np.nan)
        self.recorder.add(time, np.concatenate([displacement, velocity, force, signals, [sent, stop]]))
