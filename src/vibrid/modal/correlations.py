"""Correlations of measured motions with reference channels, piece by piece of the record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from vibrid.modal.channels import Motions

_BLOCK = 6  # lags in the length of a block


def correlations(motions: Motions, references: Sequence[int], lags: int, pieces: int) -> np.ndarray:
    """(pieces, lags, channels, references): mean of y(t + lag) y_ref(t)ᵀ over each piece of the record.

    A piece holds the instants t; t + lag may lie in the next one, so that nothing is lost between two pieces.
    Several records share the pieces by their lengths.
    """
    found = []
    for values in motions.parts:
        usable = len(values) - lags + 1
        count = max(1, round(pieces * len(values) / motions.samples))
        length = usable // count
        found += [_piece(values[i * length : (i + 1) * length + lags - 1], references, lags) for i in range(count)]
    return np.stack(found)


def _piece(values: np.ndarray, references: Sequence[int], lags: int) -> np.ndarray:
    """(lags, channels, references) of one piece of n + lags − 1 samples, over its first n instants.

    The instants are cut into blocks whose cross spectra are added: one transform back for all of them, of the length
    of a block (overlap-save; A. V. Oppenheim & R. W. Schafer, Discrete-Time Signal Processing, section 8.7.3).
    """
    instants = len(values) - lags + 1
    size = min(scipy.fft.next_fast_len(count, real=True) for count in (_BLOCK * lags, len(values)))
    fresh = size - lags + 1  # instants of a block: what is later than the last of them is still in it
    blocks = -(-instants // fresh)
    padded = np.zeros((blocks * fresh + lags - 1, values.shape[1]))
    padded[: len(values)] = values
    later = np.moveaxis(np.lib.stride_tricks.sliding_window_view(padded, size, axis=0)[::fresh], 2, 1)
    now = np.zeros((blocks * fresh, len(references)))
    now[:instants] = values[:instants, list(references)]
    first = scipy.fft.rfft(later, axis=1).transpose(1, 2, 0)
    second = scipy.fft.rfft(now.reshape(blocks, fresh, -1), size, axis=1).transpose(1, 0, 2)
    product = np.ascontiguousarray(first) @ np.ascontiguousarray(second.conj())  # sums over the blocks
    return scipy.fft.irfft(product, size, axis=0)[:lags] / instants
