"""`era`: the eigensystem realisation algorithm, modes from free decays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.core.linalg import one_blas_thread
from vibrid.modal.best_known import highest_tried
from vibrid.modal.channels import motions_of
from vibrid.modal.measured import MeasuredModes
from vibrid.modal.realisation import HankelChanges, Realisation, block_hankel
from vibrid.modal.selection import select_modes
from vibrid.modal.ssi import selected_modes
from vibrid.records.record import Record

_ROWS = 600  # rows of the Hankel matrix, by default
_DRAWS = 100  # of the noise, which are followed to first order


@checked
def era(
    data: Record | list[Record],
    *,
    channels: Sequence[str] | None = None,
    highest: float | None = None,
    order: int | None = None,
    lags: int | None = None,
) -> MeasuredModes:
    """The modes of a structure from its free decay: eigensystem realisation (J.-N. Juang & R. S. Pappa, 1985).

    A record begins after the load was released or the impact has ended: cut it there. Several decays of the same
    channels are realised together. Standard deviations are of first order, for white noise of the size that the modes
    leave of each channel.

    Arguments
        data, channels, highest, order: as for `ssi`.
        lags: block rows of the Hankel matrix, which has as many columns; by default as many as give 600 rows, at most
            half of the record.

    Example
        >>> era(read_record("pull_back.csv").cut(start=2.1))
    """
    motions = motions_of(data, channels, highest)
    l, length = len(motions.channels), min(map(len, motions.parts))
    rows = lags if lags is not None else max(4, min(_ROWS // l, length // 2))
    if not 4 <= rows <= length // 2:
        raise InputError(f"A decay of {length} samples allows 4 to {length // 2} block rows, not {rows}.")
    sequence = np.stack([values[: 2 * rows] for values in motions.parts], axis=2)
    most = min((rows - 1) * l, (rows + 1) * len(motions.parts))
    top = min(order or max(20, min(80, 4 * l)), most) // 2 * 2
    with one_blas_thread():
        made = Realisation.of(block_hankel(sequence, rows), l, motions.step, top)
        models = [made.modes(n) for n in range(2, top + 1, 2)]
        selection = select_modes(models)
        if not selection.chosen:
            raise InputError("No mode was found: nothing stays the same over the model orders. Is this a free decay?")
        poles = np.array([models[m].poles[i] for m, i in selection.chosen])
        noise = _noise(sequence, poles, motions.step)
        drawn = np.random.default_rng(0).standard_normal((_DRAWS, *sequence.shape)) * noise[:, None]
        changes = HankelChanges.of(made, drawn / np.sqrt(_DRAWS), rows, highest_tried(selection, models))
        own = {"method": "ERA", "covariance": lambda moved: moved @ moved.T}
        return selected_modes(motions, made, models, selection, changes, _DRAWS, (), **own)


def _noise(sequence: np.ndarray, poles: np.ndarray, step: float) -> np.ndarray:
    """(channels,) standard deviation of what decaying modes leave of a sequence (samples, channels, decays)."""
    time = step * np.arange(len(sequence))
    waves = np.exp(poles * time[:, None])
    mean = np.ones((len(time), 1))  # which was taken out before
    columns = np.concatenate([np.real(waves), np.imag(waves), mean], axis=1)
    flat = sequence.reshape(len(time), -1)
    rest = (flat - columns @ np.linalg.lstsq(columns, flat, rcond=None)[0]).reshape(sequence.shape)
    return np.sqrt(np.sum(rest**2, axis=(0, 2)) / (max(len(time) - columns.shape[1], 1) * sequence.shape[2]))
