"""The channels of records that modal analysis uses, checked: bad input is refused in a sentence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.condition import constant_parts, moves
from vibrid.records.record import Channel, Record, step_of

DERIVATIVES = {"displacement": 0, "velocity": 1, "acceleration": 2, "absolute_acceleration": 2}
"""How often each quantity is the displacement differentiated."""

_DEAD = 1e-9  # size of a channel over the median of all, below which it is dead
_SAME = 1e-9  # 1 − |correlation| of two channels, below which they are the same
_SHORTEST = 200  # samples
_PERIODS = 5  # of the highest frequency of interest, at least
_RATIO, _STEPS = 2000, 20  # largest number in a ratio of rates that resampling takes; finer than this is not needed


@dataclass(frozen=True, eq=False)
class Motions:
    """The samples of the channels used, one array (samples, channels) for each record, means removed."""

    parts: tuple[np.ndarray, ...]
    channels: tuple[Channel, ...]
    step: float
    names: tuple[str, ...]  # of the records

    @property
    def samples(self) -> int:
        return sum(map(len, self.parts))

    @property
    def duration(self) -> float:
        return self.samples * self.step

    @property
    def rate(self) -> float:
        return 1.0 / self.step

    def without(self, count: int) -> Motions:
        """The same without the first channels."""
        parts = tuple(values[:, count:] for values in self.parts)
        return replace(self, parts=parts, channels=self.channels[count:])

    def as_displacements(self, poles: np.ndarray, shapes: np.ndarray) -> np.ndarray:
        """Shapes (channels, k) of the measured quantities as displacements: an acceleration is μ² of these."""
        order = np.array([DERIVATIVES.get(channel.quantity, 0) for channel in self.channels])
        if len(set(order)) == 1:  # one factor for all: the scale of a shape is free
            return shapes
        return shapes / poles[None, :] ** order[:, None]


def motions_of(
    data: Record | Sequence[Record], channels: Sequence[str] | None, highest: float | None = None, inputs: int = 0
) -> Motions:
    """The measured motions of one record, or of several of the same channels.

    Arguments
        channels: names; by default all that measure a motion, or all that are not an excitation where none says so.
        highest: Hz; the records are resampled so that this is half of their Nyquist frequency.
        inputs: how many of the first channels are excitation, of any quantity.
    """
    records = [data] if isinstance(data, Record) else list(data)
    if not records or not all(isinstance(record, Record) for record in records):
        raise InputError("Modal analysis takes a record or a list of records.")
    _refuse_other_rates(records)
    names = chosen_channels(records[0], channels)
    for record in records[1:]:
        missing = [name for name in names if name not in record.names]
        if missing:
            raise InputError(
                f"Record '{record.name}' has no channel {', '.join(map(repr, missing))}, which '{records[0].name}' "
                "has: records that are analysed together have the same channels. Analyse others one by one."
            )
    if len(names) < 2:
        raise InputError(
            f"Modal analysis needs at least 2 channels of motion, and record '{records[0].name}' has "
            f"{len(names)}{f' ({names[0]})' if names else ''}: one channel shows no shape."
        )
    _refuse_mixed([records[0].channel(name) for name in names[inputs:]])
    for record in records:
        _refuse_stuck(record, names[inputs:])
    if highest is not None:
        records = [_resampled(record.select(names), highest) for record in records]
    parts = []
    for record in records:
        _refuse_gaps(record, names)
        values = np.stack([record[name] for name in names], axis=1)
        if len(values) < _SHORTEST:
            raise InputError(
                f"Record '{record.name}' has {len(values)} samples; modal analysis needs hundreds of periods, "
                f"at least {_SHORTEST} samples."
            )
        parts.append(values - values.mean(axis=0))
    _refuse_dead(np.concatenate(parts), names, records[0].name)
    chosen = tuple(records[0].channel(name) for name in names)
    return Motions(tuple(parts), chosen, step_of(records[0]), tuple(record.name for record in records))


def index_of(motions: Motions, names: Sequence[str] | None, what: str) -> list[int]:
    """Columns of named channels; all of them where no names are given."""
    own = [channel.name for channel in motions.channels]
    if names is None:
        return list(range(len(own)))
    for name in names:
        if name not in own:
            raise InputError(f"The {what} '{name}' is not among the channels used: {', '.join(own)}.")
    if not names or len(set(names)) < len(names):
        raise InputError(f"The {what}s are named once each, and there is at least one.")
    return [own.index(name) for name in names]


def chosen_channels(record: Record, channels: Sequence[str] | None) -> list[str]:
    """Names of the channels used: those given, else all that measure a motion, else all of no known quantity."""
    if channels is not None:
        names = [record.channel(name).name for name in ([channels] if isinstance(channels, str) else channels)]
        twice = [name for name, following in itertools.pairwise(sorted(names)) if name == following]
        if twice:
            raise InputError(f"Channel '{twice[0]}' is named twice: name every channel once.")
        return names
    moving = [c.name for c in record.channels if c.quantity in DERIVATIVES]
    return moving or [c.name for c in record.channels if c.quantity == "other"]


def _resampled(record: Record, highest: float) -> Record:
    if not highest > 0:
        raise InputError(f"The highest frequency of interest is positive, in Hz, not {highest:g}.")
    if highest * record.duration < _PERIODS:
        raise InputError(
            f"Record '{record.name}' holds {highest * record.duration:.2g} periods of the highest frequency of "
            f"interest, {highest:g} Hz: is it in Hz? A mode shows over tens of periods."
        )
    wanted = 4.0 * highest
    if not wanted < record.rate:
        return record
    share = wanted / record.rate
    if abs(Fraction(share).limit_denominator(_RATIO) - share) > 1e-9 * share:  # the next higher rate that is simple
        share = math.ceil(share * _STEPS) / _STEPS if share > 0.5 else 1.0 / math.floor(1.0 / share)
    return record.resample(record.rate * share) if share < 1.0 else record


def _refuse_other_rates(records: Sequence[Record]) -> None:
    slow, fast = (pick(records, key=lambda record: record.rate) for pick in (min, max))
    if fast.rate > slow.rate * (1 + 1e-6):
        raise InputError(
            f"Records that are analysed together have one rate: '{slow.name}' has {slow.rate:g} Hz and '{fast.name}' "
            f"{fast.rate:g} Hz. Bring them to one with .resample({slow.rate:g}), if that is fast enough for the modes "
            "sought."
        )


def _refuse_mixed(channels: Sequence[Channel]) -> None:
    odd = [c for c in channels if c.quantity not in DERIVATIVES]
    if odd and (len(odd) < len(channels) or len({(c.quantity, c.unit) for c in odd}) > 1):
        raise InputError(
            f"Channel '{odd[0].name}' is {odd[0].quantity} [{odd[0].unit or '-'}] among others: shapes are made of "
            "displacements, velocities and accelerations. Choose with channels=[…], or state its quantity."
        )


def _refuse_gaps(record: Record, names: Sequence[str]) -> None:
    for name in names:
        missing = int((~np.isfinite(record[name])).sum())
        if missing:
            raise InputError(
                f"Channel '{name}' of record '{record.name}' misses {missing} samples: fill short gaps with "
                ".fill(longest), cut the record, or leave the channel out."
            )


def _refuse_stuck(record: Record, names: Sequence[str]) -> None:
    values = np.stack([record[name] for name in names], axis=1)
    for i, name in enumerate(names):
        parts = [part for part in constant_parts(values[:, i]) if part[1] - part[0] < len(values)]
        parts = [part for part in parts if moves(np.delete(values, i, axis=1), part)]
        if parts:
            first, end = max(parts, key=lambda part: part[1] - part[0])
            raise InputError(
                f"Channel '{name}' of record '{record.name}' does not change from {record.time[first]:.4g} to "
                f"{record.time[end - 1]:.4g} s, while others move: it was stuck or disconnected. Leave it out, or cut "
                "that part off."
            )


def _refuse_dead(values: np.ndarray, names: Sequence[str], record: str) -> None:
    size = values.std(axis=0)
    for name, own in zip(names, size, strict=True):
        if own <= _DEAD * np.median(size) or own == 0.0:
            raise InputError(f"Channel '{name}' of record '{record}' is dead (constant): leave it out.")
    alike = np.abs(np.corrcoef(values.T)) if len(names) > 1 else np.eye(1)
    for i, j in itertools.combinations(range(len(names)), 2):
        if 1.0 - alike[i, j] < _SAME:
            raise InputError(
                f"Channels '{names[i]}' and '{names[j]}' of record '{record}' are the same up to a factor: one of "
                "them was recorded twice. Leave it out."
            )
