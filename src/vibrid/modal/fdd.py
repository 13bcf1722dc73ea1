"""`fdd`: frequency domain decomposition, with damping from the bell of each mode (enhanced, EFDD)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vibrid.core.arguments import Numbers, checked
from vibrid.core.errors import InputError
from vibrid.modal.channels import Motions, motions_of
from vibrid.modal.harmonics import are_harmonic, in_words
from vibrid.modal.jackknife import FEWEST, groups_of, jackknife, without_each
from vibrid.modal.measured import MeasuredModes, as_real
from vibrid.modal.spectra import SingularValues, peaks_of, pieces_of, singular_values_of, spectra_of_groups
from vibrid.records.record import Record
from vibrid.structures.pairing import mac

_FALL = 0.2  # of the correlation of a mode, down to which its decay is read
_FEWEST = 5  # samples of this decay


@checked
def fdd(
    data: Record | list[Record],
    *,
    channels: Sequence[str] | None = None,
    highest: float | None = None,
    length: int | None = None,
    peaks: Numbers | None = None,
    alike: float = 0.8,
) -> MeasuredModes:
    """The modes of a structure from its ambient vibration: frequency domain decomposition (R. Brincker et al., 2001).

    Modes are peaks of the first singular value of the cross spectra, shapes its singular vectors. Around a peak, the
    frequencies with nearly the same vector are the bell of one mode: its inverse transform is the correlation of that
    mode, whose decay gives damping and whose phase gives frequency; the decay of the window of the spectra is taken
    out. Standard deviations are from leaving out parts of the record in turn; what the method itself gets wrong, mostly
    damping, they do not hold. The first look at data, and a second opinion: `ssi` is more accurate.

    Arguments
        data, channels, highest: as for `ssi`.
        length: samples of each piece whose spectra are averaged; a twentieth of the record, 256 to 8192, by default.
        peaks: Hz, where modes are; the nearest peak of each is taken. By default all that rise above what averaged
            noise does by chance and are no harmonics of machines.
        alike: MAC of the singular vectors with that of the peak, above which a frequency belongs to the bell.

    Example
        >>> fdd(read_record("ambient.csv"), peaks=[1.2, 3.6])
    """
    motions = motions_of(data, channels, highest)
    if length is not None and not 64 <= length <= max(map(len, motions.parts)):
        raise InputError(f"Pieces have 64 to {max(map(len, motions.parts))} samples here, not {length}.")
    if not 0 < alike < 1:
        raise InputError(f"'alike' is a MAC between 0 and 1, not {alike:g}.")
    spectra = singular_values_of(motions, length)
    tops = peaks_of(spectra) if peaks is None else _nearest(spectra, np.atleast_1d(np.asarray(peaks, float)))
    if not len(tops):
        raise InputError(
            f"No peak of the {spectra.averages:.0f} averaged spectra rises above chance: record for longer, or state "
            "where modes are with peaks=[…]."
        )
    notes = []
    harmonic = are_harmonic(motions, spectra.frequencies[tops], np.real(as_real(spectra.vectors[tops].T)[0]))
    if peaks is None and harmonic.any():
        notes.append(in_words(spectra.frequencies[tops[harmonic]]))
        tops = tops[~harmonic]
        if not len(tops):
            raise InputError(f"No mode was found. {notes[0]}")
    bells = [_bell(spectra, top, alike) for top in tops]
    poles = np.array([_pole(spectra, bell, motions.step) for bell in bells])
    if np.isnan(poles).any():
        where = ", ".join(f"{spectra.frequencies[t]:.4g}" for t in tops[np.isnan(poles)])
        notes.append(f"No damping at {where} Hz: the bell is too narrow for these spectra; take longer pieces.")
    at = spectra.frequencies[tops]
    frequencies = np.where(np.isnan(poles), at, np.abs(poles) / (2 * np.pi))
    ratios = -np.real(poles) / np.abs(poles)
    known = np.where(np.isnan(poles), 2j * np.pi * at, poles)
    shapes, _ = as_real(motions.as_displacements(known, spectra.vectors[tops].T))
    covariances, groups = _covariances(motions, spectra, tops, bells, shapes, alike)
    if not groups:
        notes.append(f"No standard deviations: the record has less than {FEWEST} pieces; take shorter ones (length).")
    order = np.argsort(frequencies)
    deviations = np.sqrt(np.einsum("kii->ki", covariances))[order]
    return MeasuredModes(
        frequencies=frequencies[order],
        ratios=ratios[order],
        shapes=np.real(shapes)[:, order],
        poles=known[order],
        complex_shapes=shapes[:, order],
        channels=motions.channels,
        method="EFDD",
        frequency_deviations=deviations[:, 0],
        ratio_deviations=deviations[:, 1],
        shape_deviations=deviations[:, 2:].T,
        covariances=covariances[order] if np.isfinite(deviations).all() else None,
        independent=groups if np.isfinite(deviations).all() else 0,
        spectra=spectra,
        notes=tuple(notes),
    )


def _nearest(spectra: SingularValues, wanted: np.ndarray) -> np.ndarray:
    """The highest local maximum within three lines of the frequencies that were asked for, or the line itself."""
    step, last = spectra.frequencies[1], len(spectra.frequencies) - 1
    found = []
    for f in wanted:
        if not 0 < f < spectra.frequencies[-1]:
            raise InputError(f"Peaks lie between 0 and {spectra.frequencies[-1]:g} Hz, not at {f:g} Hz.")
        middle = round(f / step)
        lines = np.arange(max(1, middle - 3), min(last, middle + 3) + 1)
        found.append(lines[spectra.values[lines, 0].argmax()])
    if len(set(found)) < len(found):
        raise InputError("Two of the peaks lead to the same line of the spectra: take longer pieces (length).")
    return np.array(found)


def _bell(spectra: SingularValues, top: int, alike: float) -> tuple[int, int]:
    """First and last line around a peak with nearly the same singular vector."""
    same = mac(spectra.vectors[[top]].T, spectra.vectors.T)[0] > alike
    first, last = top, top
    while first > 1 and same[first - 1]:
        first -= 1
    while last < len(same) - 1 and same[last + 1]:
        last += 1
    return first, last


def _pole(spectra: SingularValues, bell: tuple[int, int], step: float) -> complex:
    """The pole of one mode from the correlation of its bell; NaN where there are too few samples of its decay."""
    inside = slice(bell[0], bell[1] + 1)
    size = len(spectra.window)
    density = np.zeros(size, complex)
    density[inside] = spectra.values[inside, 0]
    correlation = np.fft.ifft(density)[: size // 2]
    taper = np.fft.irfft(np.abs(np.fft.rfft(spectra.window, 2 * size)) ** 2)[: size // 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        fall = np.abs(correlation) / np.abs(correlation[0]) * (taper[0] / taper)
    ends = np.flatnonzero(~(fall > _FALL))
    end = int(ends[0]) if ends.size else len(fall)
    begin = min(end // 10 + 1, end)  # the first samples hold what is no decay: noise, and edges of the bell
    if end - begin < _FEWEST:
        return complex(np.nan, np.nan)
    time = step * np.arange(begin, end)
    slope = np.polyfit(time, np.log(fall[begin:end]), 1)[0]
    turning = np.polyfit(time, np.unwrap(np.angle(correlation[begin:end])), 1)[0]
    return complex(min(slope, 0.0), turning)


def _covariances(
    motions: Motions, spectra: SingularValues, tops: np.ndarray, bells: list[tuple[int, int]], shapes, alike: float
) -> tuple[np.ndarray, int]:
    """(k, 2 + l, 2 + l) covariances of the modes, and the number of groups of pieces that were left out in turn."""
    length, (l, k) = len(spectra.window), shapes.shape
    groups = groups_of(pieces_of(motions, length))
    if not groups:
        return np.full((k, 2 + l, 2 + l), np.nan), 0
    poles, changed = np.empty((groups, k), complex), np.empty((groups, l, k), complex)
    for j, (top, (first, last)) in enumerate(zip(tops, bells, strict=True)):
        beside = (last - first) // 2 + 3  # by which a bell may grow
        lines = slice(max(first - beside, 0), min(last + beside + 1, len(spectra.frequencies)))
        means = without_each(*spectra_of_groups(motions, length, groups, lines))
        values, vectors = np.linalg.eigh(means)
        for g in range(groups):
            near = replace(spectra, values=values[g, :, ::-1], vectors=vectors[g, :, :, -1])
            low, high = _bell(near, top - lines.start, alike)
            whole = np.zeros_like(spectra.values)
            whole[lines] = np.maximum(near.values, 0.0)
            poles[g, j] = _pole(replace(spectra, values=whole), (low + lines.start, high + lines.start), motions.step)
            changed[g, :, j] = near.vectors[top - lines.start]
    known = np.where(np.isnan(poles), 2j * np.pi * spectra.frequencies[tops], poles)
    turned = np.stack([motions.as_displacements(known[g], changed[g]) for g in range(groups)])
    return jackknife(shapes, poles, turned), groups
