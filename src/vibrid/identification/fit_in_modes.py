"""Fits of large structures with few laws: readings and their derivatives in the modes of the linear part.

At the values of the unknowns the modes Φ of the linear part are found anew, and the structure is moved in them
(`simulation.parts_in_modes`). The derivative of a motion x = Φ q by an unknown θ moves in the same modes, driven by
what the change of the matrices does to the motion that is known by then,

    Φᵀ (L' u − M' ẍ − C' ẋ − K' x),        ' = d/dθ

and by the change of the laws. With all modes this is the derivative of Newmark's step itself; no eigenvector is
differentiated. With few modes and static shapes it lacks what the change of K deforms outside of these: the path to the
minimum, and the minimum, follow from it as far as readings in these modes are right (`simulate(modes=)` states their
error).
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.errors import InputError, Refusal
from vibrid.core.memory import refuse_without_memory
from vibrid.simulation.choose_parts import bulk_of, wants_parts
from vibrid.simulation.excitation import Drive
from vibrid.simulation.newmark import Newmark
from vibrid.simulation.parts_in_modes import Bulk, run_parts, steps_of
from vibrid.structures.bulk_with_parts import BulkModes, BulkWithParts

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem
    from vibrid.simulation.base import Integrator
    from vibrid.structures.base import Structure

_TOGETHER = 25  # unknowns whose derivatives move at the same time
_NOT = {"initial state", "sensor delay", "unknown loads", "load offset"}  # needs that whole matrices meet


def refuse_modes(structure: Structure, modes: str | int, integrator: Integrator | None) -> None:
    """Refuse modes where a fit cannot be made in them."""
    if modes != "all" and not (isinstance(modes, int) and modes >= 1):
        raise InputError(f"modes is 'all', a number, or None for whole matrices, not '{modes}'.")
    if not isinstance(integrator, Newmark | None) or not wants_parts(structure, "all"):
        raise Refusal(
            "A fit in modes is for structures with nonlinear laws at few places and the steps of Newmark; leave out "
            "modes=."
        )


def refuse_needs(problem: Problem) -> None:
    """Refuse what a fit in modes cannot do."""
    if moving := sorted(problem.needs & _NOT):
        raise Refusal(f"A fit in modes does not take: {', '.join(moving)}; leave out modes=.")
    if problem.delays or any(initial.moves for initial in problem.experiment.initial):
        raise Refusal("A fit in modes takes no delays of sensors and begins at rest; leave out modes=.")


@eqx.filter_jit
def _numbers(problem: Problem, free: Array, record: int):
    """What follows the unknowns: M, C, K, L, the laws and the sensors."""
    experiment = problem.unknowns.apply(problem.experiment, free)
    model = experiment.structure.model(problem.data[record].loads)
    sensors = experiment.structure.sensor_arrays(model, experiment.sensors)
    return (model.mass, model.damping, model.stiffness, model.load_matrix), model.groups, sensors


@eqx.filter_jit
def _changes(problem: Problem, free: Array, record: int, direction: Array):
    """The derivative of these along a direction of the unknowns."""
    return eqx.filter_jvp(lambda free: _numbers(problem, free, record), (free,), (direction,))[1]


class _Point:
    """One record at one point of the unknowns: its modes, and its motion in them."""

    def __init__(self, problem: Problem, free: Array, record: int):
        self.problem, self.free, self.record = problem, jnp.asarray(free), record
        data = problem.data[record]
        structure = problem.unknowns.apply(problem.experiment, self.free).structure
        parts = BulkWithParts(structure, data.loads)
        count = problem.modes
        self.found: BulkModes = parts.all_modes() if count == "all" else parts.lowest(min(int(count or 1), parts.size))
        self.bulk = bulk_of(parts, self.found)
        samples = np.asarray(steps_of(data.drive, problem.substeps))
        self.drive = Drive(jnp.asarray(samples), jnp.asarray(samples[:-1, None, None]))
        self.step = jnp.asarray(data.step / problem.substeps)
        _, self.groups, self.sensors = _numbers(problem, self.free, record)
        if self.sensors.forces is not None:
            raise Refusal("A fit in modes takes no forces of parts; leave out modes=, or these sensors.")
        self.rest = (jnp.zeros(self.size), jnp.zeros(self.size), self.bulk.laws.start())

    @property
    def size(self) -> int:
        return len(self.found.values)

    @property
    def _given(self) -> tuple[Any, Any, Any, Any, Any]:
        return self.bulk, self.problem.integrator, self.drive, self.step, self.rest

    @cached_property
    def motion(self) -> tuple[np.ndarray, ...]:
        """(steps, k) q, q̇ and q̈; NaN from where a step found no equilibrium."""
        *motion, _, failed = _motion(*self._given)
        lost = np.asarray(failed)[:, None] > 0
        return tuple(np.where(lost, np.nan, np.asarray(own)) for own in motion)

    def readings(self) -> np.ndarray:
        """(samples, sensors)."""
        sensors, y = self.sensors, np.asarray(self.drive.samples) @ np.asarray(self.sensors.inputs).T
        rows = (sensors.displacement, sensors.velocity, sensors.acceleration)
        for own, q in zip(rows, self.motion, strict=True):
            if own is not None:
                y = y + q @ (np.asarray(own) @ self.found.shapes).T
        return (np.asarray(sensors.gain) * y + np.asarray(sensors.offset))[:: self.problem.substeps]

    def slopes(self) -> np.ndarray:
        """(samples, sensors, unknowns)."""
        steps, count = len(self.drive.samples), len(self.free)
        together = min(_TOGETHER, count)
        refuse_without_memory(
            f"The derivatives of {self.size} coordinates at {steps} steps by {together} unknowns",
            24.0 * steps * self.size * together, "take fewer modes (modes=) or a shorter record",
        )  # fmt: skip
        if not np.isfinite(self.motion[0]).all():
            return np.full((steps, len(self.problem.sensors), count), np.nan)[:: self.problem.substeps]
        shapes, blocks = jnp.asarray(self.found.shapes), []
        for first in range(0, count, together):
            own = [self._change(i) for i in range(first, min(first + together, count))]
            changes = jax.tree.map(lambda *leaves: jnp.stack(leaves), *own)
            y = np.asarray(_slopes(*self._given, shapes, self.groups, self.sensors, changes))
            blocks.append(y[:, :: self.problem.substeps])
        return np.moveaxis(np.concatenate(blocks), 0, -1)

    def _change(self, unknown: int) -> tuple[Any, ...]:
        """Forces on the modes, changes of laws and of sensors by one unknown."""
        direction = jnp.zeros(len(self.free)).at[unknown].set(1.0)
        (mass, damping, stiffness, load), groups, sensors = _changes(self.problem, self.free, self.record, direction)
        shapes, pushed = self.found.shapes, np.zeros((len(self.drive.samples), self.size))
        for matrix, own in zip((stiffness, damping, mass), self.motion, strict=True):
            if matrix is None:
                continue
            full = np.asarray(matrix)
            if full.ndim == 1:
                touched = np.flatnonzero(full)
                inner = np.diag(full[touched])
            else:
                touched = np.flatnonzero(full.any(axis=0))
                inner = full[np.ix_(touched, touched)]
            if len(touched):  # few degrees of freedom, as a rule: those of the elements that change
                pushed -= (own @ shapes[touched].T) @ (inner @ shapes[touched])
        if load is not None and np.any(load):
            pushed += np.asarray(self.drive.samples) @ np.asarray(load).T @ shapes
        return jnp.asarray(pushed), groups, sensors


_motion = eqx.filter_jit(lambda bulk, method, drive, step, rest: run_parts(bulk, method, drive, step, 1, rest))


@eqx.filter_jit
def _slopes(bulk: Bulk, method, drive, step, rest, shapes, groups, sensors, changes):
    """(unknowns, steps, sensors)."""
    own, fixed = eqx.partition((groups, sensors), eqx.is_inexact_array)

    def read(pushed, own):
        groups, sensors = eqx.combine(own, fixed)
        moved = dataclasses.replace(bulk, laws=dataclasses.replace(bulk.laws, groups=groups))
        rows = (sensors.displacement, sensors.velocity, sensors.acceleration)
        read = tuple(jnp.zeros((sensors.count, shapes.shape[1])) if own is None else own @ shapes for own in rows)
        y = run_parts(moved, method, drive, step, 1, rest, pushed, read) + drive.samples @ sensors.inputs.T
        return sensors.gain * y + sensors.offset

    pushed, *others = changes
    none = jnp.zeros(pushed.shape[1:])
    return jax.vmap(lambda p, o: eqx.filter_jvp(read, (none, own), (p, o))[1])(pushed, tuple(others))


def readings_in_modes(problem: Problem, free: Array, record: int) -> np.ndarray:
    """(nt, ny): predicted readings of a record."""
    return _Point(problem, free, record).readings()


def readings_and_slopes_in_modes(problem: Problem, free: Array) -> tuple[tuple[np.ndarray, ...], ...]:
    """Predicted readings (nt, ny) of every record, and their derivatives (nt, ny, p)."""
    points = [_Point(problem, free, i) for i in range(len(problem.data))]
    return tuple(p.readings() for p in points), tuple(p.slopes() for p in points)
