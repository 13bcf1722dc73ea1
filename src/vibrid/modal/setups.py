"""`merged_ssi`: the modes of several set-ups, in which few sensors roved over many places beside fixed references."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.core.linalg import one_blas_thread
from vibrid.core.progress import SILENT, Progress
from vibrid.modal.channels import Motions, index_of, motions_of
from vibrid.modal.correlations import correlations
from vibrid.modal.measured import MeasuredModes
from vibrid.modal.realisation import Realisation, block_hankel
from vibrid.modal.selection import select_modes
from vibrid.modal.ssi import block_rows, highest_order, selected_modes, ssi
from vibrid.records.record import Channel, Record
from vibrid.structures.pairing import mac, pair_cost

MERGINGS = ("poser", "preger")
_APART = 0.05  # relative difference of frequency up to which modes of two set-ups are one
_ALIKE = 0.8  # MAC at the references, from which they are


@checked
def merged_ssi(
    setups: list[Record],
    references: Sequence[str],
    *,
    merging: str = "preger",
    highest: float | None = None,
    order: int | None = None,
    lags: int | None = None,
    progress: Progress = SILENT,
) -> MeasuredModes:
    """The modes of a structure from several set-ups of ambient vibration, with shapes at all their places.

    Arguments
        setups: one record for each, of the same rate. The references have the same names in all, every other channel a
            name of its own.
        references: channels that stayed in place; every mode must move one of them.
        merging: "preger": the correlations of every set-up are scaled to the excitation of the first, merged, and
            realised once: weak modes of one set-up are seen with the others; no standard deviations. "poser": every
            set-up is analysed on its own, modes are paired by frequency and their shape at the references, and shapes
            are scaled to agree there: standard deviations of frequencies and ratios are those of the mean.
        highest, order, lags: as for `ssi`.

    Example
        >>> merged_ssi([read_record("day1.csv"), read_record("day2.csv")], ["roof x", "roof y"])
    """
    if merging not in MERGINGS:
        raise InputError(f"Set-ups are merged by {' or '.join(MERGINGS)}, not '{merging}'.")
    if len(setups) < 2:
        raise InputError("Merging needs at least two set-ups; one is analysed by `ssi`.")
    references = [references] if isinstance(references, str) else list(references)
    parts = [motions_of(record, None, highest) for record in setups]
    _check(parts, references)
    if merging == "poser":
        settings = {"highest": highest, "order": order, "lags": lags, "progress": progress}
        return _after([ssi(record, **settings) for record in setups], references)
    with one_blas_thread():
        return _before(parts, references, order, lags, progress)


def _check(parts: list[Motions], references: list[str]) -> None:
    """Refuse set-ups that do not fit together."""
    roving: list[str] = []
    for motions in parts:
        index_of(motions, references, "reference")
        roving += [c.name for c in motions.channels if c.name not in references]
        if abs(motions.step - parts[0].step) > 1e-9 * motions.step:
            raise InputError(
                f"Set-ups that are merged have one rate: '{parts[0].names[0]}' has {parts[0].rate:g} Hz and "
                f"'{motions.names[0]}' {motions.rate:g} Hz. Bring them to one with .resample(…)."
            )
    twice = sorted({name for name in roving if roving.count(name) > 1})
    if twice:
        raise InputError(
            f"Channel '{twice[0]}' is in several set-ups: name it among the references if it stayed in place, or "
            "rename it in each by the place where it was, record.relabel(…)."
        )


def _roving(motions: Motions, references: list[str]) -> list[int]:
    return [i for i, c in enumerate(motions.channels) if c.name not in references]


def _merged_channels(parts: Sequence[Sequence[Channel]], references: list[str]) -> tuple[Channel, ...]:
    by_name = {c.name: c for channels in parts for c in reversed(channels)}
    roving = [c for channels in parts for c in channels if c.name not in references]
    return (*(by_name[name] for name in references), *roving)


# -- before identification: PreGER -----------------------------------------------------------------------------------


def _before(
    parts: list[Motions], references: list[str], order: int | None, lags: int | None, progress: Progress
) -> MeasuredModes:
    """The Hankel matrices of the set-ups have the observability of their channels in common with the references, and
    differ by excitation: H_roving (H_reference)⁺ H_reference of the first replaces it by that of the first set-up (M.
    Döhler, P. Andersen & L. Mevel, 2010)."""
    r = len(references)
    fewest = min(parts, key=lambda motions: motions.samples)
    rows = block_rows(fewest, lags, max(len(motions.channels) for motions in parts))
    total = r + sum(len(motions.channels) - r for motions in parts)
    top = highest_order(order, total, rows * r // 2)  # beyond half of the columns, scaling would invert noise
    progress.stage("correlations", len(parts))
    blocks, first = [], np.zeros((0, 0))
    for number, motions in enumerate(parts):
        chosen = index_of(motions, references, "reference")
        mean = correlations(motions, chosen, 2 * rows + 1, 1)[0, 1:]
        fixed = block_hankel(mean[:, chosen], rows)
        if not number:
            first = fixed
            blocks.append(fixed.reshape(rows, r, -1))
        moved = block_hankel(mean[:, _roving(motions, references)], rows)
        if number:
            left, values, right = np.linalg.svd(fixed, full_matrices=False)
            scaled = (moved @ right[:top].T / values[:top]) @ (left[:, :top].T @ first)
        else:
            scaled = moved
        blocks.append(scaled.reshape(rows, -1, first.shape[1]))
        progress.update(number + 1)
    hankel = np.concatenate(blocks, axis=1).reshape(rows * total, -1)
    progress.stage("model orders")
    made = Realisation.of(hankel, total, parts[0].step, top, complete=False)
    models = [made.modes(n) for n in range(2, top + 1, 2)]
    selection = select_modes(models)
    if not selection.chosen:
        raise InputError(
            f"No mode was found in {len(parts)} set-ups: nothing stays the same over the orders of models."
        )
    channels = _merged_channels([motions.channels for motions in parts], references)
    count = min(len(motions.parts[0]) for motions in parts)
    together = [parts[0].parts[0][:count, index_of(parts[0], references, "reference")]]
    together += [motions.parts[0][:count, _roving(motions, references)] for motions in parts]
    merged = Motions((np.concatenate(together, axis=1),), channels, parts[0].step, tuple(m.names[0] for m in parts))
    note = f"Merged from {len(parts)} set-ups before identification (PreGER); there are no standard deviations."
    found = selected_modes(merged, made, models, selection, None, 0, (note,), "SSI, PreGER")
    return replace(found, spectra=None)  # channels of different set-ups were not measured together


# -- after identification: PoSER -------------------------------------------------------------------------------------


def _after(found: list[MeasuredModes], references: list[str]) -> MeasuredModes:
    """Modes that all set-ups show, shapes scaled to agree with the first at the references."""
    at = [[[c.name for c in modes.channels].index(name) for name in references] for modes in found]
    chains = [[i] for i in range(len(found[0]))]
    for modes, own in zip(found[1:], at[1:], strict=True):
        partner = _partners(found[0], at[0], modes, own)
        chains = [[*chain, partner[chain[0]]] for chain in chains if chain[0] in partner]
    if not chains:
        raise InputError("No mode is in all set-ups: compare the modes that `ssi` finds in each, and the references.")
    rows, columns = sum(len(m.channels) - len(references) for m in found) + len(references), len(chains)
    shapes, spread = np.zeros((rows, columns), complex), np.full((rows, columns), np.nan)
    numbers = np.zeros((4, columns))
    for j, chain in enumerate(chains):
        pairs = list(zip(found, chain, strict=True))
        numbers[:2, j] = _mean([(m.frequencies[i], m.frequency_deviations[i]) for m, i in pairs])
        numbers[2:, j] = _mean([(m.ratios[i], m.ratio_deviations[i]) for m, i in pairs])
        shapes[:, j], spread[:, j] = _joined(pairs, at)
    length = np.linalg.norm(shapes, axis=0)
    shapes, spread = shapes / length, spread / length
    frequencies, ratios = numbers[0], numbers[2]
    left_out = sum(map(len, found)) - columns * len(found)
    notes = [f"Merged from {len(found)} set-ups after identification (PoSER)."]
    notes += [f"{left_out} modes of single set-ups have no partner in the others."] if left_out else []
    notes += itertools.chain.from_iterable(m.notes for m in found)
    return MeasuredModes(
        frequencies=frequencies,
        ratios=ratios,
        shapes=np.real(shapes),
        poles=2 * np.pi * frequencies * (-ratios + 1j * np.sqrt(1 - ratios**2)),
        complex_shapes=shapes,
        channels=_merged_channels([modes.channels for modes in found], references),
        method="SSI, PoSER",
        frequency_deviations=numbers[1],
        ratio_deviations=numbers[3],
        shape_deviations=spread,
        notes=tuple(dict.fromkeys(notes)),
    )


def _partners(first: MeasuredModes, at_first: list[int], other: MeasuredModes, at: list[int]) -> dict[int, int]:
    """Of modes of the first set-up, those of another that are the same: near in frequency, alike at the references."""
    alike = mac(_whole(first)[at_first], _whole(other)[at])
    cost = pair_cost(alike, first.frequencies, other.frequencies)
    apart = np.abs(first.frequencies[:, None] - other.frequencies) / first.frequencies[:, None]
    allowed = (apart < _APART) & ((alike > _ALIKE) | (len(at) == 1))
    pairs = zip(*scipy.optimize.linear_sum_assignment(np.where(allowed, cost, 1e6)), strict=True)
    return {int(i): int(j) for i, j in pairs if allowed[i, j]}


def _whole(modes: MeasuredModes) -> np.ndarray:
    return modes.shapes if modes.complex_shapes is None else modes.complex_shapes


def _mean(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Mean and its standard deviation, weighted by the variances where all are known."""
    values, deviations = np.array(pairs).T
    if not np.isfinite(deviations).all():
        return float(values.mean()), float("nan")
    weights = 1.0 / deviations**2
    return float(values @ weights / weights.sum()), float(1.0 / np.sqrt(weights.sum()))


def _joined(pairs: list[tuple[MeasuredModes, int]], at: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Shape and standard deviations of one mode: references (their mean), then the others of every set-up."""
    base = _whole(pairs[0][0])[at[0], pairs[0][1]]
    fixed, moving, known, spreads = [], [], [], []
    for (modes, i), own in zip(pairs, at, strict=True):
        shape, spread = _whole(modes)[:, i], modes.shape_deviations[:, i]
        factor = np.vdot(shape[own], base) / np.vdot(shape[own], shape[own])
        rest = [k for k in range(len(shape)) if k not in own]
        fixed.append(factor * shape[own])
        known.append(abs(factor) * spread[own])
        moving.append(factor * shape[rest])
        spreads.append(abs(factor) * spread[rest])
    shapes = np.concatenate([np.mean(fixed, axis=0), *moving])
    mean = np.sqrt(np.sum(np.square(known), axis=0)) / len(known)
    return shapes, np.concatenate([mean, *spreads])
