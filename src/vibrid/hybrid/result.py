"""The result of a hybrid test: the response of the structure, and the commands and measurements of every device."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vibrid.core.errors import unknown_name
from vibrid.core.shown import InNotebooks
from vibrid.hybrid.tracking import Tracking, tracking
from vibrid.records.record import Channel, Record
from vibrid.simulation.response import Response


class Glimpse(NamedTuple):
    """The state of a running test."""

    time: float  # s
    displacement: np.ndarray  # (n,) m
    forces: np.ndarray  # (parts,) N, one device each
    misses: int  # late steps so far
    steps: int  # of the whole test
    done: int
    warnings: tuple[str, ...] = ()  # what happened to its devices since the last glimpse


@dataclass(frozen=True, eq=False)
class HybridResult(InNotebooks):
    """The result of a hybrid test.

    `response` is that of the computed structure, sampled once per step. `devices` is a record sampled once per substep
    with the channels `NAME.target`, `NAME.command`, `NAME.displacement` (measured), `NAME.force` (of one device) and
    `NAME.SIGNAL` for every device; both in the time of the structure, lengths and forces of `devices` as in the
    laboratory. The record of a stopped test ends where it was stopped; `stopped` is the reason.
    """

    test: Any
    response: Response
    devices: Record
    stopped: str = ""
    missed: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  # late substeps
    timing: Any = None  # report of the clock, if there was one
    computed_by: str = "JAX"  # or "C": the computation between two calls of external devices

    def __repr__(self) -> str:
        names = [part.name for part in self.test.parts]
        time = self.response.time
        return (
            f"HybridResult: {time[-1] - time[0]:.4g} s, {len(time) - 1} steps with a "
            f"{type(self.test.structure).__name__}{f'; stopped: {self.stopped}' if self.stopped else ''}\n"
            f"  {len(names)} devices: {', '.join(names[:6])}{', …' if len(names) > 6 else ''}\n"
            f"  largest displacement {np.abs(self.response.displacement).max():.4g} m, {len(self.missed)} late steps"
        )

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
        """The test of one device: imposed displacement, force and signals, as `Replay.of` takes them."""
        self._known(name)
        channels = [c for c in self.devices.channels if c.name.startswith(f"{name}.")]
        chosen = [c for c in channels if c.name.rpartition(".")[2] not in ("target", "command")]
        cut = self.devices.select([c.name for c in chosen])
        short = tuple(Channel(c.name.removeprefix(f"{name}."), _alone(c), c.unit, c.location) for c in chosen)
        return cut.replace(f"the test of {name}", channels=short, name=name)

    def displacement(self, place: str) -> np.ndarray:
        """(samples,) m, displacement of a place of the structure."""
        return self.response.displacement @ self.test.structure.row(place)

    def motion(self) -> Record:
        """Displacement of every degree of freedom, as a record sampled once per step."""
        names = getattr(self.test.structure, "degrees_of_freedom", None)
        count = self.response.displacement.shape[1]
        names = names or [str(i) for i in range(count)]
        channels = [Channel(f"displacement_{name}", "displacement", location=name) for name in names]
        return self.response.excitation.replace(
            "hybrid test: displacements", data=self.response.displacement, channels=tuple(channels)
        )

    def summary(self, place: str) -> dict[str, Any]:
        """The numbers of the test in SI units: of a place of the structure, and of one device of each kind."""
        x, devices = self.displacement(place), []
        tested = {part.name for part in self.test.experimental}
        for part in self.test.parts:
            histories = {key: self.devices[f"{part.name}.{key}"] for key in ("displacement", "force")}
            moved = histories["displacement"].any()
            followed = None
            if part.name in tested and (part.is_outside or part.actuator is not None) and moved:
                followed = dataclasses.asdict(self.tracking(part.name))
            devices.append(
                {
                    "name": part.name,
                    "role": "tested" if part.name in tested else "modelled",
                    **{key: float(np.abs(values).max()) for key, values in histories.items()},
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
    """The channels of all devices; `signals` are the names of the signals of each beside its force."""
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
    columns = [np.column_stack([*row[:4], row.signals]) for row in rows]
    step = drive.step / test.substeps
    return Record(
        np.concatenate(columns, axis=1),
        device_channels(test, signals),
        step=step,
        start=float(drive.time[0]) + step,
        name=f"hybrid test under {drive.name}",
        history=(*drive.history, f"hybrid test, {test.substeps} substeps per step of {drive.step:g} s"),
    )
