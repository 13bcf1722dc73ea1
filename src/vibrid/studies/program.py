"""What a batch of runs computes: one compiled program for runs of the same shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import native, paths
from vibrid.laws.base import simplified
from vibrid.simulation.base import Integrator
from vibrid.simulation.excitation import Drive, drive, inputs_of
from vibrid.simulation.run import run
from vibrid.structures.base import Structure
from vibrid.structures.model import Model
from vibrid.structures.sensors import Sensors
from vibrid.studies.kept import STANDS, WAITING, Keeping
from vibrid.studies.motions import StudyMotion

SHORTEST = 0.8
"""The share of the longest motion of a batch that the shortest one has at least: the rest is padding."""


@dataclass(frozen=True)
class Batch:
    """Runs that are computed together: one task of an engine.

    runs: (size, dimensions) the place of every run in the study; motions: (size,) which motion drives each; factors:
    (size,) what it is multiplied by; values: (size,) of every path that varies; length: samples, padding included;
    width: runs of the compiled program, of which those from `size` on repeat the last; labels: (size,) what else is
    written of every run, by name; law: the number of its law, where there are several.
    """

    runs: np.ndarray
    motions: np.ndarray
    factors: np.ndarray
    values: dict[str, np.ndarray]
    length: int
    width: int
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    law: int = 0

    @property
    def size(self) -> int:
        return len(self.runs)

    @property
    def shape(self) -> tuple:
        return self.law, self.length, self.width, tuple(self.values)


@dataclass(frozen=True, eq=False)
class StudyProgram:
    """All that a worker needs to compute batches of a study."""

    structure: Structure
    loads: tuple[tuple[str, str], ...]
    integrator: Integrator
    hold: str
    substeps: int
    sensors: Sensors
    drifts: np.ndarray  # (storeys, n)
    limits: np.ndarray  # (storeys,) m
    keep: tuple[str, ...]
    motions: tuple[StudyMotion, ...]

    def batches(self, motions: np.ndarray, width: int) -> Iterator[tuple[np.ndarray, int, int]]:
        """Batches of runs with these motions: (positions among the runs, samples, how many such runs there are).

        The motions of a batch have one step and similar lengths. It depends only on the runs and their order, so that a
        study that was interrupted is cut in the same way.
        """
        for group, length in self.groups(np.unique(motions)):
            chosen = np.flatnonzero(np.isin(motions, group))
            for first in range(0, len(chosen), width):
                yield chosen[first : first + width], length, len(chosen)

    def groups(self, motions: Sequence[int] | np.ndarray) -> list[tuple[np.ndarray, int]]:
        """Motions that can be computed together, and the samples of the longest of them."""
        by_step: dict[float, list[int]] = {}
        for number in motions:
            by_step.setdefault(float(self.motions[number].record.step or 0.0), []).append(int(number))
        found = []
        for members in by_step.values():
            members = sorted(members, key=lambda i: (-len(self.motions[i].record), i))
            while members:
                longest = len(self.motions[members[0]].record)
                near = [i for i in members if len(self.motions[i].record) >= SHORTEST * longest]
                found.append((np.array(sorted(near)), longest))
                members = members[len(near) :]
        return found

    def compute(self, batch: Batch) -> dict[str, np.ndarray]:
        """The kept numbers of every run of a batch, by name, with a leading axis over its runs."""
        fill = np.minimum(np.arange(batch.width), batch.size - 1)
        numbers = batch.motions[fill]
        of_motion = {number: self._driven(number, batch.length) for number in np.unique(numbers)}
        drives = [of_motion[number] for number in numbers]
        driven = Drive(*(jnp.asarray(np.stack(part)) for part in zip(*drives, strict=True)))
        counts = np.array([len(self.motions[number].record) for number in numbers])
        step = np.array(self.motions[batch.motions[0]].record.step)
        values = {path: v[fill] for path, v in batch.values.items()}
        structure = simplified(self.structure, free=values)
        structure = structure if values else structure.built(self.loads)
        shared = (
            structure, self.structure, self.loads, self.integrator, self.substeps, tuple(self.sensors), self.drifts,
            self.limits, self.keep, step,
        )  # fmt: skip
        kept, seen = _run_batch(shared, (driven, counts, batch.factors[fill], values))
        kept, seen = jax.tree.map(lambda leaf: np.asarray(leaf)[: batch.size], (kept, seen))
        outcome = np.where(kept.outcome == WAITING, STANDS, kept.outcome).astype(np.int8)
        made = {"outcome": outcome, "ended_at": kept.ended_at}
        if "peaks" in self.keep:
            made |= {"peaks": kept.peaks, "drift_peaks": kept.drift_peaks}
        if "residuals" in self.keep:
            made |= {"last": kept.last, "drift_last": kept.drift_last}
        if "energy" in self.keep:
            made["energy"] = kept.energy
        if "channels" in self.keep:
            made["channels"] = seen
        return made

    def inputs(self, batch: Batch) -> dict[str, np.ndarray]:
        """What a batch that cannot be computed is kept with."""
        return {
            "motions": np.array([self.motions[i].name for i in batch.motions]),
            "factors": batch.factors,
            **{f"value {path}": values for path, values in batch.values.items()},
        }

    def _driven(self, number: int, length: int) -> tuple[np.ndarray, np.ndarray]:
        """The samples and coefficients (see `Drive`) of a motion, padded with zeros to a number of samples."""
        made = drive(inputs_of(self.structure, self.motions[number].record), self.hold, self.substeps)
        samples, coefficients = (np.asarray(a) for a in (made.samples, made.coefficients))
        more = length - len(samples)
        return np.pad(samples, ((0, more), (0, 0))), np.pad(coefficients, ((0, more), (0, 0), (0, 0), (0, 0)))


@native.batch
def _run_batch(shared, own):
    structure, whole, loads, integrator, substeps, sensors, drifts, limits, keep, step = shared
    driven, count, factor, values = own
    model = structure if isinstance(structure, Model) else paths.replace(structure, values).model(loads)
    model = dataclasses.replace(model, batched=True)
    owner = paths.replace(whole, values) if values else whole
    arrays = owner.sensor_arrays(model, sensors)
    fold = Keeping(arrays, jnp.asarray(drifts), jnp.asarray(limits), count, step, integrator, keep)
    scaled = Drive(factor * driven.samples, factor * driven.coefficients)
    return run(model, integrator, scaled, step, fold, None, substeps)
