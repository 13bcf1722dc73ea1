"""Correlations of measured motions with reference channels, piece by piece of the record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from vibrid.modal.channels import Motions


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
    """(lags, channels, references) of one piece of n + lags − 1 samples, over its first n instants."""
    instants = len(values) - lags + 1
    size = scipy.fft.next_fast_len(len(values), real=True)
    later = scipy.fft.rfft(values.T, size)
    now = scipy.fft.rfft(values[:instants, list(references)].T, size)
    product = later[:, None, :] * now.conj()[None, :, :]
    return np.moveaxis(scipy.fft.irfft(product, size)[:, :, :lags], -1, 0) / instants
