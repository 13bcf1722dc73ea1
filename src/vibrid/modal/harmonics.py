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
    return np.array([_is_harmonic(motions, f, shape) for f, shape in zip(frequencies, shapes.T, strict=True)], bool)


def _is_harmonic(motions: Motions, frequency: float, shape: np.ndarray) -> bool:
    width = max(_NARROW * frequency, _AMPLITUDES / motions.duration)
    if not width < frequency < 0.5 * motions.rate - width:
        return False
    weights = np.real(shape) / np.maximum(np.std(np.concatenate(motions.parts), axis=0), 1e-300)
    squares, fourths, count = 0.0, 0.0, 0
    for values in motions.parts:
        spectrum = scipy.fft.rfft(values @ weights)
        lines = np.abs(scipy.fft.rfftfreq(len(values), motions.step) - frequency) < 0.5 * width
        inside = spectrum[lines]
        if inside.size < 2:
            continue
        power = np.abs(scipy.fft.ifft(inside)) ** 2  # one independent amplitude for each line
        squares, fourths, count = squares + power.sum(), fourths + np.sum(power**2), count + inside.size
    if squares == 0.0:
        return False
    return bool(count >= _AMPLITUDES - 1 and fourths * count / squares**2 < _BETWEEN)


def in_words(frequencies: np.ndarray) -> str:
    """The message that these are harmonics."""
    where = ", ".join(f"{f:.4g}" for f in frequencies)
    return f"A machine, not a mode: the amplitude at {where} Hz is constant. What was found there is left out."
