"""Fourier spectra and the continuous wavelet transform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vibrid.core.arguments import Numbers, checked
from vibrid.core.attached import attached
from vibrid.core.errors import InputError
from vibrid.records.gaps import complete
from vibrid.records.record import Record, step_of


@dataclass(frozen=True, eq=False)
class FourierSpectrum:
    """frequencies: Hz; amplitude: |∫ x e^{−iωt} dt|, unit of the channel times s; phase: rad."""

    frequencies: np.ndarray
    amplitude: np.ndarray
    phase: np.ndarray
    unit: str = ""
    name: str = ""

    def smoothed(self, bandwidth: float = 40.0) -> FourierSpectrum:
        """Amplitude smoothed by the window of Konno and Ohmachi (1998), [sin(b log₁₀ f/f_c)/(b log₁₀ f/f_c)]⁴."""
        out = np.array(self.amplitude)
        f = self.frequencies
        reach = 10 ** (3.0 / bandwidth)
        for i, centre in enumerate(f):
            if centre <= 0:
                continue
            low, high = np.searchsorted(f, [centre / reach, centre * reach])
            low = max(low, 1)
            window = np.sinc(bandwidth * np.log10(f[low:high] / centre) / np.pi) ** 4
            out[i] = window @ self.amplitude[low:high] / window.sum()
        return FourierSpectrum(f, out, self.phase, self.unit, self.name)


@checked
def fourier_spectrum(record: Record, channel: str | None = None, pad: bool = True) -> FourierSpectrum:
    """The Fourier transform of one channel (the first when not named), with zeros added to a power of two."""
    name = channel or record.names[0]
    x = complete(record.select([name]), "A Fourier spectrum")[:, 0]
    count = 1 << (len(x) - 1).bit_length() if pad else len(x)
    step = step_of(record)
    transform = np.fft.rfft(x, count) * step
    unit = record.channel(name).unit
    return FourierSpectrum(
        np.fft.rfftfreq(count, step),
        np.abs(transform),
        np.angle(transform),
        f"{unit}*s" if unit else "s",
        f"{record.name} {name}".strip(),
    )


@dataclass(frozen=True, eq=False)
class Wavelet:
    """times: s; frequencies: Hz; coefficients: complex (frequencies, times), unit of the channel: a sine of amplitude A
    gives |coefficient| = A at its frequency; reliable: False where the ends of the record reach into the value."""

    times: np.ndarray
    frequencies: np.ndarray
    coefficients: np.ndarray
    reliable: np.ndarray
    unit: str = ""
    name: str = ""

    @attached
    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw |coefficients| over time and frequency; returns the axes."""


@checked
def wavelet_transform(
    record: Record, frequencies: Numbers | None = None, channel: str | None = None, cycles: float = 6.0
) -> Wavelet:
    """Continuous wavelet transform with the Morlet wavelet, by the Fourier transform.

    ψ(t) = exp(iω₀t) exp(−t²/2), ω₀ = `cycles` (C. Torrence and G. P. Compo, Bulletin of the American Meteorological
    Society 79 (1998) 61–78); scale and frequency are tied by s = ω₀/(2πf), and the coefficients are normalised to the
    amplitude of a sine. More cycles give sharper frequencies and blurrier times.
    """
    name = channel or record.names[0]
    x = complete(record.select([name]), "A wavelet transform")[:, 0]
    if not 4.0 <= cycles <= 60.0:
        raise InputError(f"The Morlet wavelet needs between 4 and 60 cycles, not {cycles!r}.")
    if frequencies is None:
        frequencies = np.geomspace(max(4.0 / record.duration, record.rate / 20000), 0.4 * record.rate, 80)
    frequencies = np.atleast_1d(np.asarray(frequencies, dtype=float))
    if not (np.isfinite(frequencies).all() and np.all(frequencies > 0) and np.all(frequencies < record.rate / 2)):
        raise InputError(f"The frequencies must lie between 0 and the Nyquist frequency {record.rate / 2:g} Hz.")
    if len(x) * frequencies.size > 50_000_000:
        raise InputError("The wavelet transform would have more than 50 million values; cut or resample the record.")
    scale = cycles / (2 * np.pi * frequencies)
    count = 1 << (2 * len(x) - 1).bit_length()
    omega = 2 * np.pi * np.fft.fftfreq(count, step_of(record))
    transform = np.fft.fft(x - x.mean(), count)
    coefficients = np.empty((frequencies.size, len(x)), dtype=complex)
    for i, s in enumerate(scale):
        window = np.where(omega > 0, 2 * np.exp(-0.5 * (s * omega - cycles) ** 2), 0.0)
        coefficients[i] = np.fft.ifft(transform * window)[: len(x)]
    time = record.time
    edge = np.minimum(time - time[0], time[-1] - time)
    reliable = edge[None, :] >= np.sqrt(2) * scale[:, None]  # the e-folding time of the wavelet
    title = f"{record.name} {name}".strip()
    return Wavelet(time, frequencies, coefficients, reliable, record.channel(name).unit, title)
