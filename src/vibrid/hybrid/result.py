"""What a hybrid test leaves: the response of the structure, and what every device was asked for and showed."""

from __future__ import annotations

import dataclasses
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
    computed_by: str = "JAX"  # or "C": what lies between two questions to devices outside

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

    def motion(self) -> Record:
        """Displacement of every degree of freedom, as a record sampled once a step."""
        names = getattr(self.test.structure, "degrees_of_freedom", None)
        count = self.response.displacement.shape[1]
        names = names or [str(i) for i in range(count)]
        channels = [Channel(f"displacement_{name}", "displacement", location=name) for name in names]
        return self.response.excitation.replace(
            "hybrid test: what moved", data=self.response.displacement, channels=tuple(channels)
        )

    def summary(self, place: str) -> dict:
        """The numbers of the test in SI units: those of a place of the structure, and of one of each device."""
        x, devices = self.displacement(place), []
        tested = {part.name for part in self.test.experimental}
        for part in self.test.parts:
            own = {what: self.devices[f"{part.name}.{what}"] for what in ("displacement", "force")}
            followed = None
            if part.name in tested and (part.is_outside or part.actuator is not None) and own["displacement"].any():
                followed = dataclasses.asdict(self.tracking(part.name))
            devices.append(
                {
                    "name": part.name,
                    "role": "tested" if part.name in tested else "modelled",
                    **{what: float(np.abs(values).max()) for what, values in own.items()},
                    "energy": self.energy(part.name),
                    "tracking": followed,
                }
            )
        return {
            "seconds": float(self.response.time[-1] - self.response.time[0]),
            "steps": len(x) - 1,
            "peak": float(np.abs(x).max()),
            "end": float(x[-1]),
            "devices": devices,
            "misses": len(self.missed),
            "timing": "" if self.timing is None else str(self.timing),
            "computed_by": self.computed_by,
            "stopped": self.stopped,
        }

    def energy(self, name: str) -> float:
        """J, dissipated by one device."""
        self._known(name)
        x, f = self.devices[f"{name}.displacement"], self.devices[f"{name}.force"]
        return float(np.trapezoid(f, x))


def _alone(channel: Channel) -> str:
    return "imposed_displacement" if channel.name.endswith(".displacement") else channel.quantity


def device_channels(test, signals: list[tuple[str, ...]]) -> list[Channel]:
    """The channels of all devices; `signals` are the names of what each shows beside its force."""
    channels = []
    for part, names in zip(test.parts, signals, strict=True):
        moves = ("target", "command", "displacement")
        channels += [Channel(f"{part.name}.{label}", "displacement", location=part.at) for label in moves]
        channels.append(Channel(f"{part.name}.force", "element_force", location=part.at))
        units = getattr(part.device, "signal_units", ()) or [""] * len(names)
        channels += [Channel(f"{part.name}.{n}", "other", u, part.at) for n, u in zip(names, units, strict=True)]
    return channels


def device_record(test, rows, drive: Record, signals: list[tuple[str, ...]]) -> Record:
    """The rows of all substeps as a record; its first sample is one substep after the start."""
    columns = [np.column_stack([*own[:4], own.signals]) for own in rows]
    step = drive.step / test.substeps
    return Record(
        np.concatenate(columns, axis=1),
        device_channels(test, signals),
        step=step,
        start=float(drive.time[0]) + step,
        name=f"hybrid test under {drive.name}",
        history=(*drive.history, f"hybrid test, {test.substeps} substeps a step of {drive.step:g} s"),
    )
