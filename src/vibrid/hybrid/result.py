"""What a hybrid test leaves: the response of the structure, and what every device was asked for and showed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vibrid.core.errors import unknown_name
from vibrid.hybrid.tracking import Tracking, tracking
from vibrid.records.record import Channel, Record
from vibrid.simulation.response import Response


class Glimpse(NamedTuple):
    """A look at a test under way."""

    time: float  # s
    displacement: np.ndarray  # (n,) m
    forces: np.ndarray  # (parts,) N, one device each
    misses: int  # steps that came late so far
    steps: int  # of the whole test
    done: int


@dataclass(frozen=True, eq=False)
class HybridResult:
    """What a hybrid test leaves.

    `response` is that of the computed structure, sampled once a step. `devices` is a record sampled once a substep with
    the channels `NAME.target`, `NAME.command`, `NAME.displacement` (measured), `NAME.force` (of one device) and
    `NAME.SIGNAL` for every device; both in the time of the structure, lengths and forces of `devices` as in the
    laboratory. A test that was stopped early ends where it was stopped, and `stopped` says why.
    """

    test: Any
    response: Response
    devices: Record
    stopped: str = ""
    missed: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  # substeps that came late
    timing: Any = None  # of the clock, where there was one

    def _known(self, name: str) -> None:
        names = [p.name for p in self.test.parts]
        if name not in names:
            raise unknown_name("device", name, names)

    def tracking(self, name: str) -> Tracking:
        """How well a tested device followed its target, in the time of the laboratory."""
        self._known(name)
        step = self.devices.step / self.test.scaling.time
        return tracking(self.devices[f"{name}.target"], self.devices[f"{name}.displacement"], step)

    def device(self, name: str) -> Record:
        """The test of one device alone: imposed displacement, force and signals, as `Replay.of` takes them."""
        self._known(name)
        own = [c for c in self.devices.channels if c.name.startswith(f"{name}.")]
        chosen = [c for c in own if c.name.rpartition(".")[2] not in ("target", "command")]
        cut = self.devices.select([c.name for c in chosen])
        short = tuple(Channel(c.name.removeprefix(f"{name}."), _alone(c), c.unit, c.location) for c in chosen)
        return cut.replace(f"the test of {name}", channels=short, name=name)

    def displacement(self, place: str) -> np.ndarray:
        """(samples,) m, displacement of a place of the structure."""
        return self.response.displacement @ self.test.structure.row(place)

    def energy(self, name: str) -> float:
        """J, dissipated by one device."""
        self._known(name)
        x, f = self.devices[f"{name}.displacement"], self.devices[f"{name}.force"]
        return float(np.trapezoid(f, x))


def _alone(channel: Channel) -> str:
    return "imposed_displacement" if channel.name.endswith(".displacement") else channel.quantity


def device_record(test, rows, drive: Record) -> Record:
    """The rows of all substeps as a record; its first sample is one substep after the start."""
    columns, channels = [], []
    for part, own in zip(test.parts, rows, strict=True):
        for label, values in (("target", own.target), ("command", own.command), ("displacement", own.measured)):
            columns.append(values)
            channels.append(Channel(f"{part.name}.{label}", "displacement", location=part.at))
        columns.append(own.force)
        channels.append(Channel(f"{part.name}.force", "element_force", location=part.at))
        names = getattr(part.device, "signal_names", ())
        units = getattr(part.device, "signal_units", ())
        for i in range(own.signals.shape[-1]):
            name = names[i] if i < len(names) else f"signal_{i}"
            columns.append(own.signals[..., i])
            channels.append(Channel(f"{part.name}.{name}", "other", units[i] if i < len(units) else "", part.at))
    step = drive.step / test.substeps
    return Record(
        np.stack(columns, axis=1),
        channels,
        step=step,
        start=float(drive.time[0]) + step,
        name=f"hybrid test under {drive.name}",
        history=(*drive.history, f"hybrid test, {test.substeps} substeps a step of {drive.step:g} s"),
    )
