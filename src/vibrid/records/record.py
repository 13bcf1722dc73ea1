"""The record: named channels on one time axis, SI units inside, NaN where a sample is missing."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.arguments import Numbers, as_entries, checked
from vibrid.core.errors import InputError, nearest, unknown_name
from vibrid.records.operations import Operations

QUANTITIES: dict[str, str] = {
    "displacement": "m",  # relative to the ground
    "velocity": "m/s",  # relative to the ground
    "acceleration": "m/s^2",  # relative to the ground
    "absolute_acceleration": "m/s^2",  # what an accelerometer on a floor measures
    "rotation": "rad",
    "drift": "m",  # difference between two neighbouring places
    "drift_velocity": "m/s",
    "strain": "",
    "element_force": "N",  # force inside a part: a storey, a device, a bar
    "ground_acceleration": "m/s^2",
    "ground_velocity": "m/s",
    "ground_displacement": "m",
    "load": "N",  # force applied at a place
    "imposed_displacement": "m",  # deformation that a machine imposes on a device
    "imposed_velocity": "m/s",
    "other": "",
}
"""Every quantity a channel can carry, with the SI unit it is stored in."""

MOST_SAMPLES = 100_000_000
"""The most samples of a record that is made and not read."""

EXCITATIONS = ("ground_acceleration", "load", "imposed_displacement", "imposed_velocity")
"""Quantities that drive a structure; all others are answers."""


@checked
@dataclass(frozen=True)
class Channel:
    """One column of a record: what was measured, where, and in which direction."""

    name: str
    quantity: str = "other"
    unit: str = ""  # the unit the numbers are in: SI, empty when unknown or dimensionless
    location: str | int = ""
    direction: str = ""

    def __post_init__(self):
        object.__setattr__(self, "location", str(self.location))
        if self.quantity not in QUANTITIES:
            raise InputError(
                f"Channel '{self.name}': there is no quantity called '{self.quantity}'; "
                f"{nearest(self.quantity, QUANTITIES)}"
            )
        if not self.unit and QUANTITIES[self.quantity]:
            object.__setattr__(self, "unit", QUANTITIES[self.quantity])


def _numbers(value, what: str) -> np.ndarray:
    """A copy as an array of numbers; NaN may stand for a missing one."""
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(f"The {what} of a record must be numbers in rows of equal length ({problem}).") from problem


@dataclass(frozen=True, eq=False)
class Record(Operations):
    """Measured or simulated signals, immutable: every operation returns a new record and adds a line to `history`.

    Arguments
        data: (samples, channels) numbers in SI units; NaN marks a missing sample.
        channels: one `Channel` per column, names unique.
        step: seconds between samples. Give either `step` or `times`.
        times: (samples,) seconds, increasing, for records that are not sampled uniformly.
        start: time of the first sample in seconds (with `step`).
        name: what the record is called in reports.
        history: where the numbers came from and what was done to them, oldest first.
    """

    data: np.ndarray
    channels: tuple[Channel, ...]
    step: float | None = None
    times: np.ndarray | None = None
    start: float = 0.0
    name: str = ""
    history: tuple[str, ...] = field(default=())

    if TYPE_CHECKING:  # what may be given; what it becomes stands above

        def __init__(
            self,
            data: Numbers,
            channels: Iterable[Channel],
            step: float | None = None,
            times: Numbers | None = None,
            start: float = 0.0,
            name: str = "",
            history: Iterable[str] = (),
        ) -> None: ...

    def __post_init__(self):
        data = _numbers(self.data, "data")
        if data.ndim == 1:
            data = data[:, None]
        channels = as_entries(self.channels, "channels")
        for channel in channels:
            if not isinstance(channel, Channel):
                raise InputError(f"A channel is written Channel(name, quantity), not {channel!r}.")
        if data.ndim != 2 or data.shape[1] != len(channels):
            raise InputError(
                f"A record needs one column per channel: the data have shape {data.shape}, "
                f"the channels are {len(channels)}."
            )
        names = [c.name for c in channels]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise InputError(f"Channel names must be unique; {', '.join(map(repr, twice))} occur more than once.")
        if (self.step is None) == (self.times is None):
            raise InputError("A record needs either the sampling step or a time for each sample.")
        if self.step is not None and not (
            isinstance(self.step, numbers.Real) and np.isfinite(self.step) and self.step > 0
        ):
            raise InputError(f"The sampling step must be a positive number of seconds, not {self.step!r}.")
        if self.times is not None:
            times = _numbers(self.times, "times")
            if times.shape != data.shape[:1] or not np.all(np.diff(times) > 0):
                raise InputError("The times of a record must be increasing, one for each sample.")
            times.flags.writeable = False
            object.__setattr__(self, "times", times)
        data.flags.writeable = False
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "channels", channels)
        object.__setattr__(self, "history", tuple(self.history))

    # -- looking ---------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.data.shape[0]

    def __getitem__(self, name: str) -> np.ndarray:
        """The samples of one channel."""
        return self.data[:, self.index(name)]

    def __repr__(self) -> str:
        rate = f"{1 / self.step:g} Hz" if self.step else "uneven sampling"
        lines = [f"Record '{self.name}': {len(self)} samples, {rate}, {self.duration:g} s"]
        for c in self.channels:
            lines.append(f"  {c.name} [{c.unit or '-'}] {c.quantity} {c.location} {c.direction}".rstrip())
        return "\n".join(lines)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.channels)

    @property
    def time(self) -> np.ndarray:
        """Time of every sample in seconds."""
        return self.times if self.times is not None else self.start + self.step * np.arange(len(self))

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the last."""
        time = self.time
        return float(time[-1] - time[0]) if len(self) else 0.0

    @property
    def rate(self) -> float:
        """Samples per second; a sentence when the sampling is not uniform."""
        if self.step is None:
            raise InputError(f"Record '{self.name}' is not sampled uniformly; call .resample(rate) first.")
        return 1.0 / self.step

    @checked
    def index(self, name: str) -> int:
        if name not in self.names:
            raise unknown_name("channel", name, self.names)
        return self.names.index(name)

    def channel(self, name: str) -> Channel:
        return self.channels[self.index(name)]

    # -- new records -----------------------------------------------------------------------------------------

    def replace(self, note: str = "", **changes) -> Record:
        """A copy with some fields changed and a line added to its history."""
        history = changes.pop("history", self.history) + ((note,) if note else ())
        return replace(self, history=history, **changes)

    @checked
    def select(self, names: Iterable[str] | None = None, *, quantity: str | Sequence[str] | None = None) -> Record:
        """The named channels, or those of the given quantities, in the order asked for."""
        if names is not None:
            columns = [self.index(n) for n in ([names] if isinstance(names, str) else names)]
        else:
            wanted = (quantity,) if isinstance(quantity, str) else tuple(quantity or ())
            columns = [i for i, c in enumerate(self.channels) if c.quantity in wanted]
        return self.replace(
            f"selected {', '.join(self.channels[i].name for i in columns)}",
            data=self.data[:, columns],
            channels=tuple(self.channels[i] for i in columns),
        )
