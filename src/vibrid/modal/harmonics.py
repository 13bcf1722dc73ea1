"""Harmonics of machines told apart from modes, by how their amplitude is distributed.

In a narrow band, the response of a structure to noise has a complex amplitude z that is normally distributed: the mean
of |z|⁴ is twice the square of that of |z|². A machine that turns steadily has a constant amplitude: they are equal.
(The same is behind tests of kurtosis, 3 and 1.5 for the real signal; R. Brincker, P. Andersen & N. Møller, 2000.)
"""

from __future__ import annotations

import numpy as np
import scipy

from vibrid.modal.channels import Motions

_AMPLITUDES = 60  # independent amplitudes in a band, at least
_NARROW = 0.01  # width of a band, as a share of its frequency, at least
_BETWEEN = 1.3  # of the ratio: of 200 000 drawn sets of 60 amplitudes of a mode, none was below


def are_harmonic(motions: Motions, frequencies: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """(k,): whether the motion in each shape (channels, k) at each frequency has the amplitude of a machine."""
    widths = np.maximum(_NARROW * frequencies, _AMPLITUDES / motions.duration)
    inside = (widths < frequencies) & (frequencies < 0.5 * motions.rate - widths)
    weights = np.real(shapes) / np.maximum(np.std(np.concatenate(motions.parts), axis=0), 1e-300)[:, None]
    squares, fourths, counts = (np.zeros(len(frequencies)) for _ in range(3))
    for values in motions.parts if inside.any() else ():
        lines = scipy.fft.rfftfreq(len(values), motions.step)
        bands = [np.flatnonzero(np.abs(lines - f) < 0.5 * width) for f, width in zip(frequencies, widths, strict=True)]
        sums = [np.zeros(len(band), complex) for band in bands]
        for channel, own in zip(values.T, weights, strict=True):  # one transform each, whatever the frequencies
            spectrum = scipy.fft.rfft(channel)
            for band, total, weight in zip(bands, sums, own, strict=True):
                total += weight * spectrum[band]
        for i, total in enumerate(sums):
            if inside[i] and total.size > 1:
                power = np.abs(scipy.fft.ifft(total)) ** 2  # one independent amplitude for each line
                squares[i], fourths[i] = squares[i] + power.sum(), fourths[i] + np.sum(power**2)
                counts[i] += total.size
    enough = inside & (counts >= _AMPLITUDES - 1) & (squares > 0.0)
    return enough & (fourths * counts < _BETWEEN * squares**2)


def in_words(frequencies: np.ndarray) -> str:
    """The message that these are harmonics."""
    where = ", ".join(f"{f:.4g}" for f in frequencies)
    return f"A machine, not a mode: the amplitude at {where} Hz is constant. What was found there is left out."
