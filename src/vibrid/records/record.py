"""The record: named channels on one time axis, SI units inside, NaN where a sample is missing.

Each operation on a record has a small module of its own; the methods without a body are attached from there
(`vibrid.records.operations`), the plot by the report.
"""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.arguments import Numbers, as_entries, checked
from vibrid.core.attached import attached
from vibrid.core.errors import InputError, unknown_name
from vibrid.core.inputs import InputFile
from vibrid.core.shown import InNotebooks
from vibrid.records.channel import EXCITATIONS, QUANTITIES, Channel
from vibrid.records.clock import UtcClock, utc_text
from vibrid.records.fixed import numbers_of

if TYPE_CHECKING:
    import pandas
    import xarray

    from vibrid.records.fourier import FourierSpectrum, Wavelet
    from vibrid.records.intensity import Intensity
    from vibrid.records.spectra import ResponseSpectrum

_MOST_SHOWN = 20
"""Channels that are printed."""

__all__ = ["EXCITATIONS", "MOST_SAMPLES", "QUANTITIES", "Channel", "Record"]

MOST_SAMPLES = 100_000_000
"""The most samples of a record that is computed, not read."""


def step_of(record: Record) -> float:
    """Seconds between samples; InputError when the sampling is not uniform."""
    if record.step is None:
        raise InputError(f"Record '{record.name}' is not sampled uniformly; call .resample(rate) first.")
    return record.step


@dataclass(frozen=True, eq=False)
class Record(InNotebooks):
    """Measured or simulated signals, immutable: every operation returns a new record and adds a line to `history`.

    Arguments
        data: (samples, channels) numbers in SI units; NaN marks a missing sample.
        channels: one `Channel` per column, names unique.
        step: seconds between samples. Give either `step` or `times`.
        times: (samples,) seconds, increasing, for records that are not sampled uniformly.
        start: time of the first sample in seconds (with `step`).
        name: what the record is called in reports.
        history: where the numbers came from and what was done to them, oldest first.
        files: the files that the numbers were read from.
        clock: the instant of UTC at which time is 0, where it is known; it stays when the record is cut, resampled or
            filtered.
    """

    data: np.ndarray
    channels: tuple[Channel, ...]
    step: float | None = None
    times: np.ndarray | None = None
    start: float = 0.0
    name: str = ""
    history: tuple[str, ...] = field(default=())
    files: tuple[InputFile, ...] = ()
    clock: UtcClock | None = None

    if TYPE_CHECKING:  # the arguments; the fields above are what they become

        def __init__(
            self,
            data: Numbers,
            channels: Iterable[Channel],
            step: float | None = None,
            times: Numbers | None = None,
            start: float = 0.0,
            name: str = "",
            history: Iterable[str] = (),
            files: Iterable[InputFile] = (),
            clock: UtcClock | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        data = numbers_of(self.data, "data")
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
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            raise InputError(f"Channel names must be unique; {', '.join(map(repr, twice))} occur more than once.")
        if (self.step is None) == (self.times is None):
            raise InputError("A record needs either the sampling step or a time for each sample.")
        if self.step is not None and not (
            isinstance(self.step, numbers.Real) and np.isfinite(self.step) and self.step > 0
        ):
            raise InputError(f"The sampling step must be a positive number of seconds, not {self.step!r}.")
        if self.times is not None:
            times = numbers_of(self.times, "times")
            if times.shape != data.shape[:1] or not np.all(np.diff(times) > 0):
                raise InputError("The times of a record must be increasing, one for each sample.")
            times.flags.writeable = False
            object.__setattr__(self, "times", times)
        if self.clock is not None and not isinstance(self.clock, UtcClock):
            raise InputError(f"The clock of a record is written UtcClock('2024-05-01T12:00:00Z'), not {self.clock!r}.")
        data.flags.writeable = False
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "channels", channels)
        object.__setattr__(self, "history", tuple(self.history))

    @classmethod
    @attached
    def from_pandas(
        cls,
        frame: pandas.DataFrame,
        units: Mapping[str, str] | None = None,
        quantities: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> Record:
        """A record from a table whose index is the time and whose columns are channels, in SI units or in `units`."""
        ...

    @classmethod
    @attached
    def from_xarray(
        cls,
        dataset: xarray.Dataset,
        units: Mapping[str, str] | None = None,
        quantities: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> Record:
        """A record from a dataset whose variables run over `time`, in the units of their attributes or in `units`."""
        ...

    # -- access ----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.data.shape[0]

    def __getitem__(self, name: str) -> np.ndarray:
        """The samples of one channel."""
        return self.data[:, self.index(name)]

    def __repr__(self) -> str:
        rate = f"{1 / self.step:g} Hz" if self.step else "uneven sampling"
        began = "" if self.utc is None else f", from {utc_text(self.utc)}"
        lines = [f"Record '{self.name}': {len(self)} samples, {rate}, {self.duration:g} s{began}"]
        for c in self.channels[:_MOST_SHOWN]:
            lines.append(f"  {c.name} [{c.unit or '-'}] {c.quantity} {c.location} {c.direction}".rstrip())
        if len(self.channels) > _MOST_SHOWN:
            lines.append(f"  … and {len(self.channels) - _MOST_SHOWN} more channels")
        return "\n".join(lines)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.channels)

    @property
    def time(self) -> np.ndarray:
        """Time of every sample in seconds."""
        return self.times if self.times is not None else self.start + step_of(self) * np.arange(len(self))

    @property
    def utc(self) -> np.datetime64 | None:
        """The instant of the first sample in UTC; None where it is not known."""
        if self.clock is None or not len(self):
            return None
        return self.clock.at(float(self.start if self.times is None else self.times[0]))

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the last."""
        time = self.time
        return float(time[-1] - time[0]) if len(self) else 0.0

    @property
    def rate(self) -> float:
        """Samples per second; InputError when the sampling is not uniform."""
        return 1.0 / step_of(self)

    @checked
    def index(self, name: str) -> int:
        if name not in self.names:
            raise unknown_name("channel", name, self.names)
        return self.names.index(name)

    def channel(self, name: str) -> Channel:
        return self.channels[self.index(name)]

    # -- new records -----------------------------------------------------------------------------------------

    def replace(self, note: str = "", **changes: Any) -> Record:
        """A copy with fields changed and a line added to its history."""
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

    # -- labels ----------------------------------------------------------------------------------------------

    @checked
    def relabel(self, changes: Mapping[str, str | Mapping[str, str]]) -> Record:
        """Channels renamed (`{"ch05": "deck"}`) or described (`{"ch05": {"quantity": ..., "location": ...}}`)."""
        channels = list(self.channels)
        allowed = [f.name for f in fields(Channel)]
        for name, change in changes.items():
            if not isinstance(change, str | Mapping):
                raise InputError(
                    f"Channel '{name}' is relabelled by a name or a table of its properties, not {change!r}."
                )
            change = {"name": change} if isinstance(change, str) else dict(change)
            for key in change:
                if key not in allowed:
                    raise unknown_name("property of a channel", key, allowed)
            channels[self.index(name)] = replace(channels[self.index(name)], **change)
        return self.replace(f"relabelled {', '.join(changes)}", channels=tuple(channels))

    def driven_by(self, channels: str | Sequence[str] | Mapping[str, str]) -> Record:
        """The record with no other excitation than the named channels; a mapping gives ground motions a direction too.

        `record.driven_by("NS")` drives a building by one component, `record.driven_by({"NS": "x", "UD": "y"})` a frame
        by two. Other ground motions, loads and imposed motions are left out; measurements stay.
        """
        named = [channels] if isinstance(channels, str) else list(channels)
        directions = dict(channels) if isinstance(channels, Mapping) else {}
        for name in named:
            if self.channel(name).quantity not in EXCITATIONS:
                raise InputError(
                    f"Channel '{name}' is {self.channel(name).quantity}, which is no excitation; relabel its quantity "
                    f"first ({', '.join(EXCITATIONS)})."
                )
            if directions.get(name) and self.channel(name).quantity != "ground_acceleration":
                raise InputError(
                    f"Channel '{name}' is no ground acceleration, so it has no direction '{directions[name]}'."
                )
        kept = [c.name for c in self.channels if c.name in named or c.quantity not in EXCITATIONS]
        labels = {name: {"direction": direction} for name, direction in directions.items() if direction}
        record = self if len(kept) == len(self.channels) else self.select(kept)
        return record.relabel(labels) if labels else record

    @checked
    def scale(self, factor: float) -> Record:
        """Every channel times `factor`."""
        return self.replace(f"scaled by {factor:g}", data=self.data * float(factor))

    # -- cleaning --------------------------------------------------------------------------------------------

    @checked
    @attached
    def fill(self, longest: float = float("inf")) -> Record:
        """Gaps up to `longest` seconds filled by straight lines (see `vibrid.records.gaps.fill`)."""
        ...

    @attached
    def correct_baseline(self, degree: int = 1, method: str = "polynomial", before: float | None = None) -> Record:
        """Offset and drift removed (see `vibrid.records.baseline.correct_baseline`)."""
        ...

    @attached
    def filter(self, low: float | None = None, high: float | None = None, order: int = 4) -> Record:
        """Zero-phase Butterworth filter, corners in Hz (see `vibrid.records.filters.butterworth`)."""
        ...

    @attached
    def taper(self, seconds: float | None = None, share: float = 0.05, ends: str = "both") -> Record:
        """Ends faded with a half cosine (see `vibrid.records.filters.taper`)."""
        ...

    # -- calculus --------------------------------------------------------------------------------------------

    @attached
    def integrate(self, method: str = "time", lowest: float | None = None) -> Record:
        """Integral over time of every channel (see `vibrid.records.integrate.integrate`)."""
        ...

    @attached
    def differentiate(self, method: str = "time", highest: float | None = None) -> Record:
        """Derivative with respect to time of every channel (see `vibrid.records.integrate.differentiate`)."""
        ...

    # -- the time axis ---------------------------------------------------------------------------------------

    @attached
    def resample(self, rate: float) -> Record:
        """The record at `rate` samples per second, anti-aliased (see `vibrid.records.resample`)."""
        ...

    @attached
    def cut(self, start: float | None = None, end: float | None = None) -> Record:
        """The samples from `start` to `end` seconds (see `vibrid.records.align.cut`)."""
        ...

    @checked
    @attached
    def shift(self, seconds: float) -> Record:
        """The same samples, `seconds` later."""
        ...

    @attached
    def align(
        self,
        reference: Record,
        channel: str | None = None,
        reference_channel: str | None = None,
        largest: float | None = None,
    ) -> Record:
        """Shifted in time to agree best with `reference` (see `vibrid.records.align.align`)."""
        ...

    @checked
    @attached
    def rotate(self, axes: Mapping[str, float], azimuths: Mapping[str, float] | None = None) -> Record:
        """The horizontal channels of each place along other axes (see `vibrid.records.rotate.rotate`)."""
        ...

    # -- measures --------------------------------------------------------------------------------------------

    @checked
    @attached
    def spectrum(
        self, periods: Numbers | None = None, damping: float = 0.05, channel: str | None = None, **options: Any
    ) -> ResponseSpectrum:
        """Response spectrum of an acceleration (see `vibrid.records.spectra.response_spectrum`)."""
        ...

    @attached
    def fourier(self, channel: str | None = None) -> FourierSpectrum:
        """Fourier spectrum of a channel (see `vibrid.records.fourier.fourier_spectrum`)."""
        ...

    @attached
    def wavelet(self, frequencies: Numbers | None = None, channel: str | None = None, cycles: float = 6.0) -> Wavelet:
        """Continuous wavelet transform of a channel (see `vibrid.records.fourier.wavelet_transform`)."""
        ...

    @attached
    def intensity(self, channel: str | None = None) -> Intensity:
        """PGA, PGV, PGD, Arias intensity, significant duration (see `vibrid.records.intensity`)."""
        ...

    # -- output ----------------------------------------------------------------------------------------------

    @attached
    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the channels over time; returns the axes (see `plot_record` of the report)."""

    @attached
    def write_csv(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write the record as CSV with `name [unit]` headings (see `vibrid.records.writers.write_csv`)."""
        ...

    @attached
    def write_hdf5(self, path: str | PathLike[str]) -> Path:
        """Write the record as HDF5 that netCDF-4 programs can read (see `vibrid.records.writers.write_hdf5`)."""
        ...
