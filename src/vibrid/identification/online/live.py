"""A run that is fed sample by sample, and can be stopped, saved and resumed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.arrays import read_arrays
from vibrid.core.errors import FileProblem, InputError, newer_format
from vibrid.core.files import write_arrays
from vibrid.core.moved import renamed_attribute
from vibrid.identification.experiment import Experiment, Initial, loads_in
from vibrid.identification.method import Sample, Sequential, as_method, refuse_impossible
from vibrid.identification.problem import Problem, completed
from vibrid.identification.problem_data import Data, step_of
from vibrid.identification.unknowns import Unknown, compile_unknowns
from vibrid.records.record import Record
from vibrid.simulation.excitation import drive, inputs_of, loads_of
from vibrid.simulation.simulate import chosen_integrator
from vibrid.structures.device import Device
from vibrid.structures.sensors import Sensors

if TYPE_CHECKING:
    from vibrid.structures.base import Structure

FORMAT = 2
"""Of the file with the state of a run."""


def live_problem(
    structure: Structure,
    sensors: Sensors,
    unknown: Iterable[str | Unknown],
    first: Record,
    integrator=None,
    substeps: int = 1,
    hold: str = "linear",
) -> Problem:
    """A problem whose data are still to come; `first` holds its first samples, which may be zero.

    A `hold` that needs later samples is only for methods that use values at the samples alone; others refuse it.
    """
    loads, inputs = loads_of(structure, first), inputs_of(structure, first)
    readings = np.stack([first[s.label] for s in sensors], axis=1)
    present = np.isfinite(readings)
    data = Data(
        readings=jnp.asarray(np.where(present, readings, 0.0)),
        present=jnp.asarray(present.astype(float)),
        drive=drive(inputs, hold, substeps),
        step=step_of(first),
        loads=loads,
        name=first.name,
    )
    size = structure.model(loads).size
    experiment = Experiment(structure, tuple(sensors), (Initial.rest(size),), loads_in([loads]))
    integrator = chosen_integrator(structure, integrator, hold, substeps)
    unknowns = compile_unknowns(experiment, unknown)
    if "load offset" not in unknowns.needs:
        experiment = dataclasses.replace(experiment, loads=())
    nothing = (jnp.zeros_like(data.present),)
    return completed(
        Problem(
            experiment=experiment,
            unknowns=unknowns,
            data=(data,),
            held_out=nothing,
            integrator=integrator,
            substeps=substeps,
            hold=hold,
        )
    )


class LiveRun:
    """Feeds samples to a sequential method, one call a sample, compiled once.

    Arguments
        method: a `Sequential` method.
        problem: see `live_problem`.
        key: seed of all random numbers.
    """

    def __init__(self, method: Sequential, problem: Problem, key: int = 0):
        sequential = as_method(method)
        if not isinstance(sequential, Sequential):
            raise InputError(f"{type(sequential).__name__} cannot run sample by sample.")
        refuse_impossible(problem, sequential)
        self.method, self.problem, self.key = sequential, problem, key
        packed, self.unpack = ravel_pytree(sequential.init(problem, key))
        self.packed = jnp.array(packed)  # a copy: a step uses up its state
        self.step, self._estimate = _compiled(sequential, problem, self.unpack)
        self.samples = 0
        self.before: np.ndarray | None = None
        self.gaps = 0  # samples without motion
        self.missed = 0  # of them, those since the last one with motion

    @property
    def state(self):
        """The present state of the method."""
        return self.unpack(self.packed)

    def feed(self, inputs, readings) -> None:
        """One sample in SI units; NaN is missing. In a gap the last inputs are held and nothing is learnt."""
        inputs, readings = np.asarray(inputs, float), np.asarray(readings, float)
        present = np.isfinite(readings)
        known = bool(np.isfinite(inputs).all())
        self.missed = 0 if known else self.missed + 1
        if not known:
            self.gaps += 1
            present = np.zeros_like(present)
            held = np.zeros_like(inputs) if self.before is None else self.before
            inputs = self._held(held)
        before = inputs if self.before is None else self.before
        step = self.problem.data[0].step
        sample = Sample(np.where(present, readings, 0.0), present.astype(float), before, inputs, step)
        self.packed = self.step(self.packed, sample)
        self.before = inputs
        self.samples += 1

    def _held(self, last: np.ndarray) -> np.ndarray:
        """Inputs during a gap: a device stays at its last deformation."""
        return np.array([last[0], 0.0]) if isinstance(self.problem.experiment.structure, Device) else last

    def estimate(self) -> tuple[np.ndarray, np.ndarray]:
        """Values and standard deviations of the unknowns, physical."""
        values, deviations = self._estimate(self.packed)
        return np.asarray(values), np.asarray(deviations)

    def warnings(self) -> list[str]:
        notes = list(self.method.warnings(self.problem, self.state))
        if self.gaps:
            notes.append(f"{self.gaps} samples had no motion; a law with memory may have missed a reversal.")
        return notes

    doubts = renamed_attribute("doubts", "warnings")

    # -- stop and resume -----------------------------------------------------------------------------------------

    def fingerprint(self) -> str:
        """A hash of everything that a stored state must share: method, settings, structure, unknowns, shapes."""
        p = self.problem
        shapes = [(str(leaf.dtype), list(leaf.shape)) for leaf in map(jnp.asarray, jax.tree.leaves(self.state))]
        settings = [repr(self.method), repr(p.integrator), p.substeps, p.hold, self.key]
        kind = type(p.experiment.structure).__name__
        digest = hashlib.sha256(json.dumps([*settings, kind, p.unknowns.names, p.data[0].step, shapes]).encode())
        for leaf in filter(eqx.is_array_like, jax.tree.leaves((p.unknowns, p.experiment))):
            digest.update(np.asarray(leaf).tobytes())
        return digest.hexdigest()

    def save(self, path: Path, arrays: Mapping[str, np.ndarray] | None = None, **more) -> None:
        """Write the state to one file of plain numbers (.npz), with more arrays and notes; it appears whole or not."""
        leaves = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self.state))}
        counts = {"samples": self.samples, "gaps": self.gaps, "missed": self.missed}
        note = {"format": FORMAT, "fingerprint": self.fingerprint(), **counts, **more}
        before = np.zeros(0) if self.before is None else self.before
        text = np.frombuffer(json.dumps(note).encode(), np.uint8)
        write_arrays(path, note=text, before=before, **leaves, **(arrays or {}))

    def restore(self, stored: StoredState | Path | str) -> None:
        """Resume from a stored state, or the file of one; one of another run is refused."""
        path, note, arrays = stored if isinstance(stored, StoredState) else read_state(stored)
        if note["fingerprint"] != self.fingerprint():
            raise FileProblem(
                path, "it belongs to another method, other settings, structure or unknowns; start a new run."
            )
        leaves, tree = jax.tree.flatten(self.state)
        kept = [arrays.get(f"leaf{i}") for i in range(len(leaves))]
        if any(k is None or k.shape != np.shape(leaf) for k, leaf in zip(kept, leaves, strict=True)):
            raise FileProblem(path, "the state of the run is incomplete; start a new run.")
        packed = ravel_pytree(jax.tree.unflatten(tree, [jnp.asarray(k) for k in kept]))[0]
        if packed.dtype != self.packed.dtype or packed.shape != self.packed.shape:
            raise FileProblem(path, "the state of the run is incomplete; start a new run.")
        before = arrays["before"]
        self.packed, self.samples, self.gaps, self.missed = packed, note["samples"], note["gaps"], note["missed"]
        self.before = before if before.size else None


class StoredState(NamedTuple):
    """The file of a stopped run: its path, its notes, and arrays by name."""

    path: Path
    note: dict
    arrays: dict[str, np.ndarray]


def read_state(path) -> StoredState:
    """Read the file of `LiveRun.save`; FileProblem for any other content."""
    path = Path(path)
    arrays = read_arrays(path, "the state of a run", "Start a new run.")
    try:
        note = json.loads(bytes(arrays["note"]))
        format = note.get("format")
        if isinstance(format, int) and format > FORMAT:
            raise newer_format(path, "state of a run", format, f"format {FORMAT}")
        if format == 1:
            raise FileProblem(path, "this state is of vibrid 0.1 and has no numbers of samples; start a new run.")
        numbers = [note["samples"], note["gaps"], note["missed"], format]
        if not all(isinstance(number, int) for number in numbers) or arrays["before"].dtype != float:
            raise TypeError("its notes are not as they were written")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise FileProblem(path, f"it is not the state of a run ({type(problem).__name__}). Start a new run.") from None
    return StoredState(path, note, arrays)


def _compiled(method, problem: Problem, unpack):
    """`packed = step(packed, sample)` and `values, deviations = estimate(packed)`, method and problem built in.

    A state is one vector here, which `unpack` converts back: passing many arrays costs more than packing them.
    The memory of the old state is used for the new one, so the old state cannot be used after a step.
    """

    def step(packed, sample: Sample):
        return ravel_pytree(method.step(problem, unpack(packed), sample))[0]

    return jax.jit(step, donate_argnums=0), jax.jit(lambda packed: method.estimate(problem, unpack(packed)))
