"""The motions of a study: records, pairs of components that stay together, suites, and files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vibrid.core.arguments import as_entries
from vibrid.core.errors import FileProblem, InputError, VibridError
from vibrid.records.components import kind_of
from vibrid.records.motions.rotated import same_samples
from vibrid.records.motions.scale import ScaledMotion
from vibrid.records.motions.select import Suite
from vibrid.records.readers import read_record
from vibrid.records.record import EXCITATIONS, Record
from vibrid.simulation.excitation import inputs_of, loads_of
from vibrid.structures.base import Structure


@dataclass(frozen=True, eq=False)
class StudyMotion:
    """One motion of a study.

    name: its tick on the dimension `motion`; record: what drives the structure; pair: the records that share its scale,
    one for a single component, two for a pair of horizontal ones.
    """

    name: str
    record: Record
    pair: tuple[Record, ...]

    @property
    def fingerprint(self) -> str:
        """The same for the same excitation, whatever its name."""
        parts = self.record.select(quantity=EXCITATIONS)
        digest = hashlib.sha256(np.ascontiguousarray(parts.data, float).tobytes())
        digest.update(repr((parts.step, [(c.quantity, c.location, c.direction) for c in parts.channels])).encode())
        return digest.hexdigest()[:16]


def as_motions(structure: Structure, given: object) -> tuple[StudyMotion, ...]:
    """The motions of a study from what a user gives: a record, pairs, a suite, or a list of them.

    A pair drives a structure with two horizontal directions at once. A plane structure is driven by each component in
    turn; both have the scale of the pair.
    """
    entries: Iterable = given.motions if isinstance(given, Suite) else given  # type: ignore[assignment]
    if isinstance(entries, Record | ScaledMotion):
        entries = [entries]
    found: list[StudyMotion] = []
    for entry in as_entries(entries, "motions"):
        found += _motion(structure, entry)
    if not found:
        raise InputError("A study needs at least one motion.")
    for motion in found:
        if len(motion.record) < 2:
            raise InputError(f"Record '{motion.name}' has {len(motion.record)} samples; a run needs at least two.")
        inputs_of(structure, motion.record)  # refused here, before anything runs
    return _named(found)


def _motion(structure: Structure, entry: object) -> list[StudyMotion]:
    parts = entry.records if isinstance(entry, ScaledMotion) else entry
    if isinstance(parts, Record):
        return [StudyMotion(parts.name, parts, _horizontal(parts))]
    pair = as_entries(parts, "records")
    if len(pair) not in (1, 2) or not all(isinstance(part, Record) for part in pair):
        raise InputError(f"A motion is a record, a pair of them, or a scaled motion of a suite, not {entry!r:.80}.")
    if len(pair) == 1:
        return [StudyMotion(pair[0].name, pair[0], _horizontal(pair[0]))]
    first, second = same_samples(*pair)
    horizontal = [axis for axis, kind in structure.ground_axes().items() if kind != "vertical"]
    if len(horizontal) < 2:
        return [StudyMotion(part.name, part, (first, second)) for part in (first, second)]
    return [StudyMotion(f"{first.name} + {second.name}", _together(first, second, horizontal), (first, second))]


def _horizontal(record: Record) -> tuple[Record, ...]:
    """The horizontal components of a record, by which its intensity is measured; itself where it has one channel."""
    ground = [c for c in record.channels if c.quantity == "ground_acceleration"]
    flat = [c.name for c in ground if kind_of(c.direction) not in ("vertical", "downwards")]
    return tuple(record.select([name]) for name in flat) if len(flat) == 2 else (record,)


def _together(first: Record, second: Record, axes: Sequence[str]) -> Record:
    """One record that drives two directions: those its channels name, else the first two of the structure."""
    channels = []
    for part, axis, suffix in zip((first, second), axes, ("first", "second"), strict=False):
        ground = [c for c in part.channels if c.quantity == "ground_acceleration"]
        if len(ground) != 1:
            raise InputError(
                f"Record '{part.name}' has {len(ground)} ground accelerations; a component of a pair has 1."
            )
        channels.append((part[ground[0].name], replace(ground[0], name=suffix, direction=ground[0].direction or axis)))
    data = np.stack([values for values, _ in channels], axis=1)
    return first.replace(
        "joined with the other component of its pair", data=data, channels=tuple(c for _, c in channels)
    )


def _named(motions: list[StudyMotion]) -> tuple[StudyMotion, ...]:
    """The motions with names that differ: a number is added where two are called the same."""
    seen: dict[str, int] = {}
    named = []
    for motion in motions:
        name = motion.name or "motion"
        seen[name] = seen.get(name, 0) + 1
        named.append(replace(motion, name=name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return tuple(named)


def read_motions(
    files: Sequence[str | Path | Sequence[str | Path]],
    skip_unreadable: bool = False,
    read: Callable[[str | Path], Record] = read_record,
) -> tuple[list[Record | tuple[Record, ...]], tuple[str, ...]]:
    """Records of files, and pairs of them, each read by `read`.

    Every file that cannot be read is named in one error; with `skip_unreadable` they are left out, each with the other
    component of its pair, and what is wrong with them is returned beside the records: (motions, problems).
    """
    motions: list[Record | tuple[Record, ...]] = []
    problems: list[str] = []
    for entry in files:
        names = (entry,) if isinstance(entry, str | Path) else tuple(entry)
        parts: list[Record] = []
        for name in names:
            try:
                parts.append(read(name))
            except VibridError as problem:
                problems.append(str(problem) if isinstance(problem, FileProblem) else f"{name}: {problem}")
        if len(parts) == len(names):
            motions.append(parts[0] if len(parts) == 1 else tuple(parts))
    if problems and (not skip_unreadable or not motions):
        advice = f" {len(motions)} others can be read; they can be asked for alone." if motions else ""
        raise InputError("Motions that cannot be read: " + "; ".join(problems) + advice)
    return motions, tuple(problems)


def shared_inputs(structure: Structure, motions: Sequence[StudyMotion]) -> tuple[tuple[str, str], ...]:
    """The inputs of all motions, which must be the same."""
    loads = loads_of(structure, motions[0].record)
    for motion in motions[1:]:
        if loads_of(structure, motion.record) != loads:
            raise InputError(
                f"Motion '{motion.name}' does not drive the structure as '{motions[0].name}' does: choose channels "
                "with record.driven_by(…), so that all have the same inputs."
            )
    return loads
