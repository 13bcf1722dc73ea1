"""`ssi`: covariance-driven stochastic subspace identification with reference channels and uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.core.linalg import one_blas_thread
from vibrid.core.progress import SILENT, Progress
from vibrid.modal.best_known import best_known, found_twice, highest_tried
from vibrid.modal.channels import Motions, index_of, motions_of
from vibrid.modal.correlations import correlations
from vibrid.modal.harmonics import are_harmonic, in_words
from vibrid.modal.measured import MeasuredModes, StabilisationDiagram, as_real
from vibrid.modal.realisation import HankelChanges, OrderModes, Realisation, block_hankel
from vibrid.modal.selection import Selection, select_modes
from vibrid.modal.spectra import peaks_of, singular_values_of
from vibrid.records.record import Record

_ROWS = 600  # rows of the Hankel matrix, by default
_FEWEST_PIECES = 20
_PIECES = 100
_PERIODS = 20  # of a mode in the record, at least: ambient vibration shows it by its correlations
_SHARP = 0.005  # damping ratio above which a pole at the frequency of a machine is a mode beside it


@checked
def ssi(
    data: Record | list[Record],
    *,
    channels: Sequence[str] | None = None,
    references: Sequence[str] | None = None,
    highest: float | None = None,
    order: int | None = None,
    lags: int | None = None,
    uncertainty: bool = True,
    progress: Progress = SILENT,
) -> MeasuredModes:
    """The modes of a structure from its ambient vibration: covariance-driven stochastic subspace identification.

    Excitation is not measured; it is taken for noise that is white over the band of the modes. Modes are selected over
    model orders by clusters, without thresholds set by hand; harmonics of machines and modes with damping less than
    its 2σ are left out, and said. Standard deviations are of first order, from the scatter of the correlations between
    pieces of the record, through the whole method.

    Arguments
        data: one record, or several of the same channels.
        channels: names of those used; by default all that measure a displacement, velocity or acceleration.
        references: channels with which all others are correlated; all by default. A few that move in every mode are
            enough where there are many channels.
        highest: Hz, of interest; records that are sampled faster than four times this are resampled.
        order: the highest order of the models, twice the number of modes and more; 8 for each channel, 40 to 120, by
            default.
        lags: block rows of the Hankel matrix; by default as many as give 600 rows, at most 100 and an eightieth of the
            samples. Together with as many columns they should span a period of the lowest mode.
        uncertainty: whether standard deviations are computed.

    Example
        >>> modes = ssi(read_record("ambient.csv"), highest=20.0)
        >>> print(modes)
    """
    motions = motions_of(data, channels, highest)
    chosen = index_of(motions, references, "reference")
    l, r = len(motions.channels), len(chosen)
    rows = block_rows(motions, lags, l)
    most = min((rows - 1) * l, rows * r)
    top = highest_order(order, l, most)
    progress.stage("correlations")
    with one_blas_thread():  # of factorisations of this size, two threads are slower than one
        return _found(motions, chosen, rows, top, uncertainty, progress)


def _found(
    motions: Motions, chosen: Sequence[int], rows: int, top: int, uncertainty: bool, progress: Progress
) -> MeasuredModes:
    l, pieces = len(motions.channels), _pieces(motions, 2 * rows)
    every = correlations(motions, chosen, 2 * rows + 1, pieces)[:, 1:]  # R₀ holds the noise of the sensors
    mean = every.mean(axis=0)
    progress.stage("model orders", top // 2)
    made = Realisation.of(block_hankel(mean, rows), l, motions.step, top, complete=uncertainty)
    models = []
    for n in range(2, top + 1, 2):
        models.append(made.modes(n))
        progress.update(n // 2)
    progress.stage("selecting modes")
    selection = select_modes(models)
    if not selection.chosen:
        raise InputError(
            f"No mode was found in {motions.duration:.4g} s of {l} channels at {motions.rate:g} Hz: nothing stays the "
            "same over the orders of the models. Is this ambient vibration, with the modes below the Nyquist frequency?"
        )
    progress.stage("uncertainty" if uncertainty else "shapes")
    changes = None
    if uncertainty and pieces >= _FEWEST_PIECES:
        scatter = (every - mean) / np.sqrt(len(every) * (len(every) - 1.0))
        changes = HankelChanges.of(made, scatter, rows, highest_tried(selection, models))
    notes = _notes(motions, uncertainty, pieces)
    return selected_modes(motions, made, models, selection, changes, len(every), notes, "SSI", ambient=True)


def block_rows(motions: Motions, lags: int | None, l: int) -> int:
    """Block rows of the Hankel matrix for l channels: `lags` where it is given."""
    longest = min(map(len, motions.parts)) // 4
    most = motions.samples // (4 * _FEWEST_PIECES)  # then there are enough pieces for standard deviations
    rows = lags if lags is not None else max(10, min(100, _ROWS // l, longest, most))
    if not 4 <= rows <= longest:
        raise InputError(
            f"{rows} block rows need correlations of {2 * rows} lags: give lags between 4 and {longest} for a record "
            f"of {min(map(len, motions.parts))} samples."
        )
    return rows


def highest_order(order: int | None, l: int, most: int) -> int:
    """The highest order of the models for l channels: `order` where it is given."""
    if order is not None and not 4 <= order <= most:
        raise InputError(f"The order of a model is from 4 to {most} here, not {order}; more lags allow a higher one.")
    return min(order or max(40, min(120, 8 * l)), most) // 2 * 2


def _pieces(motions: Motions, lags: int) -> int:
    """How many pieces of the record: a hundred, but each longer than the correlations."""
    return max(2, min(_PIECES, motions.samples // (2 * lags)))


def _notes(motions: Motions, uncertainty: bool, pieces: int) -> tuple[str, ...]:
    if uncertainty and pieces < _FEWEST_PIECES:
        return (
            f"No standard deviations: {motions.duration:.4g} s give {pieces} pieces that are longer than the "
            f"correlations; {_FEWEST_PIECES} are needed. Record for longer, or take fewer lags.",
        )
    return ()


def selected_modes(
    motions: Motions,
    made: Realisation | None,
    models: Sequence[OrderModes],
    selection: Selection,
    changes: HankelChanges | None,
    pieces: int,
    notes: tuple[str, ...],
    method: str,
    ambient: bool = False,
    covariance: Callable[[np.ndarray], np.ndarray] | None = None,
    covariances: np.ndarray | None = None,
) -> MeasuredModes:
    """The modes that were selected, with their standard deviations; harmonics are sought in `ambient` vibration.

    Arguments
        changes: of H, of first order; `covariance` of what they do, that of a series of pieces by default.
        covariances: of every mode, where they are known already.
    """
    k, l = len(selection.chosen), len(motions.channels)
    moves = []
    if changes is not None and made is not None:
        selection, moves = best_known(selection, made, models, changes)
    poles = np.array([models[m].poles[i] for m, i in selection.chosen])
    raw = np.stack([models[m].shapes[:, i] for m, i in selection.chosen], axis=1)
    shapes, factor = as_real(motions.as_displacements(poles, raw))
    if moves:
        scale = motions.as_displacements(poles, np.ones((l, k)))
        covariances = np.empty((k, 2 + l, 2 + l))
        for j, (d_pole, d_shape) in enumerate(moves):
            moved = _scaled_changes(poles[j], d_pole, shapes[:, j], d_shape * (scale[:, j] * factor[j]))
            covariances[j] = (covariance or long_run_covariance)(moved)
    deviations = np.full((k, 2 + l), np.nan) if covariances is None else np.sqrt(np.einsum("kii->ki", covariances))
    all_modes = MeasuredModes(
        frequencies=np.abs(poles) / (2 * np.pi),
        ratios=-np.real(poles) / np.abs(poles),
        shapes=np.real(shapes),
        poles=poles,
        complex_shapes=shapes,
        channels=motions.channels,
        method=method,
        frequency_deviations=deviations[:, 0],
        ratio_deviations=deviations[:, 1],
        shape_deviations=deviations[:, 2:].T,
        covariances=covariances if np.isfinite(deviations).all() else None,
        independent=pieces if np.isfinite(deviations).all() else 0,
        diagram=_diagram(selection, np.arange(k)),
        spectra=singular_values_of(motions) if motions.parts else None,
        notes=notes,
    )
    turning = _harmonics(motions, all_modes, np.real(raw)) if ambient else np.zeros(0)
    return _significant(all_modes, selection, models, turning, motions.duration if ambient else np.inf)


def _harmonics(motions: Motions, found: MeasuredModes, shapes: np.ndarray) -> np.ndarray:
    """Hz: harmonics of machines among the modes, and among the peaks of the spectra: some have no stable pole."""
    assert found.spectra is not None
    tops = peaks_of(found.spectra)
    vectors = np.real(as_real(found.spectra.vectors[tops].T)[0]) if len(tops) else np.zeros((len(motions.channels), 0))
    peaks, width = found.spectra.frequencies[tops], 2 * found.spectra.frequencies[1]
    peaks = peaks[are_harmonic(motions, peaks, vectors)]
    modes = found.frequencies[are_harmonic(motions, found.frequencies, shapes)]
    return np.sort(np.concatenate([peaks, [f for f in modes if np.all(np.abs(peaks - f) > width)]]))


def _significant(
    found: MeasuredModes, selection: Selection, models: Sequence[OrderModes], turning: np.ndarray, duration: float
) -> MeasuredModes:
    """The modes that are not at the harmonics `turning`, are no other mode again, show over enough periods of the
    duration, and have a damping ratio larger than its 2σ: of others it is not known that they take energy."""
    line = 0.0 if found.spectra is None else found.spectra.frequencies[1]
    harmonic = np.any(np.abs(found.frequencies[:, None] - turning) <= line, axis=1) & (found.ratios < _SHARP)
    weak = (found.ratios < 2 * found.ratio_deviations) & ~harmonic
    twice = found_twice(selection, models, found.frequencies, found.frequency_deviations)
    brief = (found.frequencies * duration < _PERIODS) & ~harmonic & ~twice
    weak &= ~twice & ~brief
    kept = np.flatnonzero(~weak & ~harmonic & ~twice & ~brief)
    notes = [in_words(turning)] if len(turning) else []
    if len(kept) == len(found):
        return replace(found, notes=(*found.notes, *notes))
    if brief.any():
        where = ", ".join(f"{f:.4g}" for f in found.frequencies[brief])
        notes.append(
            f"Left out, because {duration:.4g} s hold fewer than {_PERIODS} periods: what stays the same at {where} Hz."
        )
    if weak.any():
        where = ", ".join(f"{f:.4g}" for f in found.frequencies[weak])
        notes.append(f"Left out, because damping there is less than its 2σ: what stays the same at {where} Hz.")
    if not len(kept):
        raise InputError(f"No mode was found. {' '.join(notes)} Record for longer.")
    return replace(found.only(kept), diagram=_diagram(selection, kept), notes=(*found.notes, *notes))


def _diagram(selection: Selection, kept: np.ndarray) -> StabilisationDiagram:
    """The poles of all orders, those of modes that were not kept as stable ones."""
    number = np.full(len(selection.chosen) + 1, -1)  # the last is that of poles of no mode
    number[kept] = np.arange(len(kept))
    mode = number[selection.mode]
    kind = np.where(mode >= 0, 2, np.minimum(selection.kind, 1))
    ratio = -np.real(selection.pole) / np.abs(selection.pole)
    return StabilisationDiagram(selection.order, np.abs(selection.pole) / (2 * np.pi), ratio, kind, mode)


def _scaled_changes(pole: complex, d_pole: np.ndarray, shape: np.ndarray, d_shape: np.ndarray) -> np.ndarray:
    """(2 + l, changes): of frequency, ratio and the real shape of unit length, from those of pole and complex shape."""
    omega = np.abs(pole)
    d_omega = (np.conj(pole) * d_pole).real / omega
    d_ratio = -np.real(d_pole) / omega + pole.real * d_omega / omega**2
    turn = -0.5j * np.imag(2 * (d_shape @ shape) / np.sum(shape**2))  # keeps Σφ² real and positive
    turned = d_shape + turn[:, None] * shape
    length = (turned @ shape.conj()).real / np.sum(np.abs(shape) ** 2)
    return np.concatenate([[d_omega / (2 * np.pi), d_ratio], (turned - length[:, None] * shape).real.T])


def long_run_covariance(changes: np.ndarray) -> np.ndarray:
    """Covariance of a sum of changes (quantities, pieces), neighbouring pieces correlated (Newey & West, 1987)."""
    total = changes @ changes.T
    beside = changes[:, :-1] @ changes[:, 1:].T
    return total + 0.5 * (beside + beside.T)
