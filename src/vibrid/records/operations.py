"""What can be done with a record: every method returns a new record and says so in its history.

The mathematics stands in one small module per operation; the methods here only call it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError, unknown_name


class Operations:
    """Mixed into `Record`."""

    # -- labels ----------------------------------------------------------------------------------------------

    @checked
    def relabel(self, changes: Mapping[str, str | Mapping[str, str]]):
        """Channels renamed (`{"ch05": "deck"}`) or described (`{"ch05": {"quantity": ..., "location": ...}}`)."""
        from vibrid.records.record import Channel

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

    def driven_by(self, channels: str | Sequence[str] | Mapping[str, str]):
        """The record with no other excitation than the named channels; a mapping gives ground motions a direction too.

        `record.driven_by("NS")` drives a building by one component, `record.driven_by({"NS": "x", "UD": "y"})` a frame
        by two. Other ground motions, loads and imposed motions are left out; what was measured stays.
        """
        from vibrid.records.record import EXCITATIONS

        named = [channels] if isinstance(channels, str) else list(channels)
        directions = dict(channels) if isinstance(channels, Mapping) else {}
        for name in named:
            if self.channel(name).quantity not in EXCITATIONS:
                raise InputError(
                    f"Channel '{name}' is {self.channel(name).quantity}, which drives nothing; relabel its quantity "
                    f"first ({', '.join(EXCITATIONS)})."
                )
            if directions.get(name) and self.channel(name).quantity != "ground_acceleration":
                raise InputError(
                    f"Channel '{name}' is no ground acceleration, so it has no direction '{directions[name]}'."
                )
        kept = [c.name for c in self.channels if c.name in named or c.quantity not in EXCITATIONS]
        told = {name: {"direction": direction} for name, direction in directions.items() if direction}
        made = self if len(kept) == len(self.channels) else self.select(kept)
        return made.relabel(told) if told else made

    @checked
    def scale(self, factor: float):
        """Every channel times `factor`."""
        return self.replace(f"scaled by {factor:g}", data=self.data * float(factor))

    # -- cleaning --------------------------------------------------------------------------------------------

    @checked
    def fill(self, longest: float = float("inf")):
        """Gaps up to `longest` seconds filled by straight lines (see `vibrid.records.gaps.fill`)."""
        from vibrid.records.gaps import fill

        return fill(self, longest)

    def correct_baseline(self, degree: int = 1, method: str = "polynomial", before: float | None = None):
        """Offset and drift removed (see `vibrid.records.baseline.correct_baseline`)."""
        from vibrid.records.baseline import correct_baseline

        return correct_baseline(self, degree, method, before)

    def filter(self, low: float | None = None, high: float | None = None, order: int = 4):
        """Zero-phase Butterworth filter, corners in Hz (see `vibrid.records.filters.butterworth`)."""
        from vibrid.records.filters import butterworth

        return butterworth(self, low, high, order)

    def taper(self, seconds: float | None = None, share: float = 0.05, ends: str = "both"):
        """Ends faded with a half cosine (see `vibrid.records.filters.taper`)."""
        from vibrid.records.filters import taper

        return taper(self, seconds, share, ends)

    # -- calculus --------------------------------------------------------------------------------------------

    def integrate(self, method: str = "time", lowest: float | None = None):
        """Integral over time of every channel (see `vibrid.records.integrate.integrate`)."""
        from vibrid.records.integrate import integrate

        return integrate(self, method, lowest)

    def differentiate(self, method: str = "time", highest: float | None = None):
        """Derivative with respect to time of every channel (see `vibrid.records.integrate.differentiate`)."""
        from vibrid.records.integrate import differentiate

        return differentiate(self, method, highest)

    # -- the time axis ---------------------------------------------------------------------------------------

    def resample(self, rate: float):
        """The record at `rate` samples per second, anti-aliased (see `vibrid.records.resample`)."""
        from vibrid.records.resample import resample

        return resample(self, rate)

    def cut(self, start: float | None = None, end: float | None = None):
        """The samples from `start` to `end` seconds (see `vibrid.records.align.cut`)."""
        from vibrid.records.align import cut

        return cut(self, start, end)

    @checked
    def shift(self, seconds: float):
        """The same samples, `seconds` later."""
        from vibrid.records.align import shift

        return shift(self, seconds)

    def align(
        self, reference, channel: str | None = None, reference_channel: str | None = None, largest: float | None = None
    ):
        """Shifted in time to agree best with `reference` (see `vibrid.records.align.align`)."""
        from vibrid.records.align import align

        return align(self, reference, channel, reference_channel, largest)

    # -- measures --------------------------------------------------------------------------------------------

    @checked
    def spectrum(self, periods=None, damping: float = 0.05, channel: str | None = None, **options):
        """Response spectrum of an acceleration (see `vibrid.records.spectra.response_spectrum`)."""
        from vibrid.records.spectra import response_spectrum

        return response_spectrum(self, periods, damping, channel, **options)

    def fourier(self, channel: str | None = None):
        """Fourier spectrum of a channel (see `vibrid.records.fourier.fourier_spectrum`)."""
        from vibrid.records.fourier import fourier_spectrum

        return fourier_spectrum(self, channel)

    def wavelet(self, frequencies=None, channel: str | None = None, cycles: float = 6.0):
        """Continuous wavelet transform of a channel (see `vibrid.records.fourier.wavelet_transform`)."""
        from vibrid.records.fourier import wavelet_transform

        return wavelet_transform(self, frequencies, channel, cycles)

    def intensity(self, channel: str | None = None):
        """PGA, PGV, PGD, Arias intensity, significant duration (see `vibrid.records.intensity`)."""
        from vibrid.records.intensity import intensity

        return intensity(self, channel)

    # -- leaving ---------------------------------------------------------------------------------------------

    def plot(self, ax=None, **options):
        """Draw the channels over time; returns the axes (see `vibrid.report.record_plots.plot_record`)."""
        from vibrid.report.record_plots import plot_record

        return plot_record(self, ax=ax, **options)

    def write_csv(self, path, **options) -> Path:
        """Write the record as CSV with `name [unit]` headings (see `vibrid.records.writers.write_csv`)."""
        from vibrid.records.writers import write_csv

        return write_csv(self, path, **options)

    def write_hdf5(self, path) -> Path:
        """Write the record as HDF5 that netCDF-4 programs can read (see `vibrid.records.writers.write_hdf5`)."""
        from vibrid.records.writers import write_hdf5

        return write_hdf5(self, path)
