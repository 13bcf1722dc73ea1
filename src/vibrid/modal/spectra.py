"""Cross spectra of measured motions, and their singular values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from vibrid.modal.channels import Motions

_CHANCE = 0.01  # probability that a peak of pure noise is taken for a mode


@dataclass(frozen=True, eq=False)
class SingularValues:
    """Singular values of the matrix of cross spectra at each frequency.

    Fields
        frequencies: (f,) Hz.
        values: (f, channels), largest first; (unit of a channel)²/Hz.
        vectors: (f, channels) complex, the first singular vector.
        averages: number of independent pieces that were averaged.
        window: (samples,) that each piece was multiplied by.
    """

    frequencies: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    averages: float
    window: np.ndarray


def cross_spectra(motions: Motions, length: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Frequencies (f,), one-sided spectra (f, channels, channels), independent averages, window (Welch, Hann, half)."""
    sums, counts = spectra_of_groups(motions, length, 1)
    count = int(counts.sum())
    frequencies = scipy.fft.rfftfreq(length, motions.step)
    return frequencies, sums[0] / max(count, 1), count * 18.0 / 19.0 * 0.5 + 0.5, _window(length)


def spectra_of_groups(
    motions: Motions, length: int, groups: int, lines: np.ndarray | slice = slice(None), columns: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sums (groups, lines, channels, columns) of the spectra of the pieces of each group, and their numbers (groups,).

    Groups follow each other in time. Columns are the first channels; all by default.
    """
    window = _window(length)
    pieces = [(values, s) for values in motions.parts for s in range(0, len(values) - length + 1, length // 2)]
    group = np.arange(len(pieces)) * groups // max(len(pieces), 1)
    size = len(np.arange(length // 2 + 1)[lines])
    sums = np.zeros((groups, size, len(motions.channels), columns or len(motions.channels)), complex)
    for own in range(groups):
        inside = np.flatnonzero(group == own)
        for first in range(0, len(inside), 64):
            some = np.stack([pieces[i][0][pieces[i][1] :][:length] for i in inside[first : first + 64]])
            some = (some - some.mean(axis=1, keepdims=True)) * window[:, None]
            x = np.ascontiguousarray(np.moveaxis(scipy.fft.rfft(some, axis=1)[:, lines], 1, 0))  # (f, pieces, channels)
            sums[own] += np.matmul(x.transpose(0, 2, 1), x[:, :, :columns].conj())
    sums *= 2.0 / (motions.rate * np.sum(window**2))
    return sums, np.bincount(group, minlength=groups)


def pieces_of(motions: Motions, length: int) -> int:
    """Number of pieces of this length, half of each in the next one."""
    return sum(len(range(0, len(values) - length + 1, length // 2)) for values in motions.parts)


def _window(length: int) -> np.ndarray:
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)


def singular_values_of(motions: Motions, length: int | None = None) -> SingularValues:
    """Singular values of the cross spectra; pieces of `length` samples, by default a fortieth of the longest record."""
    longest = max(map(len, motions.parts))
    length = min(longest, length or max(256, min(8192, 2 ** int(np.log2(max(longest / 20, 2))))))
    frequencies, spectra, averages, window = cross_spectra(motions, length)
    values, vectors = np.linalg.eigh(spectra)
    return SingularValues(frequencies, np.maximum(values[:, ::-1], 0.0), vectors[:, :, -1], averages, window)


def peaks_of(spectra: SingularValues) -> np.ndarray:
    """Peaks of the first singular value whose rise above both sides is no chance.

    An averaged spectrum is χ² with 2 · averages degrees of freedom about its mean; a rise is the ratio of two, and the
    probability of the largest of all frequencies is held at one in a hundred.
    """
    level = np.log(np.maximum(spectra.values[:, 0], np.finfo(float).tiny))
    count = len(level)
    rise = np.log(scipy.special.fdtri(2 * spectra.averages, 2 * spectra.averages, 1.0 - _CHANCE / count))
    found, _ = scipy.signal.find_peaks(level[: count - 1], prominence=rise)
    return found[found > 1]
