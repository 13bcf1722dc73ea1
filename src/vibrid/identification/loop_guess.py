"""First guesses of laws, read off measured loops of force over deformation: stiffness, yield, dissipation."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np

from vibrid.core import paths
from vibrid.core.errors import InputError
from vibrid.identification.equation_error import MotionInBand
from vibrid.identification.experiment import Experiment
from vibrid.identification.problem import Problem
from vibrid.laws.base import Law
from vibrid.laws.loops import LoopSizes, first_guess
from vibrid.structures.device import ImposedTest

Loop: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # deformation, its rate, force; NaN where missing


def device_guess(problem: Problem) -> np.ndarray:
    """θ of a device in a testing machine, whose force is measured."""
    experiment = problem.unknowns.apply(problem.experiment, jnp.asarray(problem.start))
    assert isinstance(experiment.structure, ImposedTest)
    forces = [i for i, sensor in enumerate(problem.sensors) if sensor.quantity == "element_force"]
    tests = []
    for data in problem.data:
        force = np.where(np.asarray(data.present) > 0, np.asarray(data.readings), np.nan)[:, forces]
        seen = np.isfinite(force).any(axis=1)
        motion = np.asarray(data.drive.samples)
        tests.append((motion[:, 0], motion[:, 1], np.where(seen, np.nansum(force, axis=1), np.nan)))
    return _with_guesses(problem, experiment, [(experiment.structure.specimen(), tests)] if forces else [])


def structure_guess(problem: Problem, experiment: Experiment, motions: Sequence[MotionInBand]) -> np.ndarray:
    """θ of a structure whose motion is measured and consists of its deformations: inertia gives the force in each.

    Of several laws with the same deformation the first is guessed (dampers come last). Where the motion consists of
    other shapes, nothing is guessed.
    """
    loops: list[list[Loop]] = []
    rows = np.zeros((0, 0))
    for data, motion in zip(problem.data, motions, strict=True):
        model = experiment.structure.model(data.loads)
        rows = np.zeros((0, model.size)) if model.rows is None else np.asarray(model.rows)
        x, v, a, u, basis = (np.asarray(part) for part in motion[:5])
        if len(rows) != basis.shape[1] or not np.allclose(rows @ basis, np.eye(len(rows))):
            return np.array(problem.unknowns.start)
        force = -(a @ np.asarray(model.mass_matrix).T - u @ np.asarray(model.load_matrix).T) @ basis
        loops.append([(x @ row, v @ row, force[:, i]) for i, row in enumerate(rows)])
    found: dict[int, tuple[Law, list[Loop]]] = {}
    for _, law, own in experiment.structure.parts():
        own = np.reshape(own, -1)
        for i, row in enumerate(rows):
            if i not in found and own.shape == row.shape and np.allclose(row, own):
                found[i] = law, [tests[i] for tests in loops]
    return _with_guesses(problem, experiment, list(found.values()))


def _with_guesses(problem: Problem, experiment: Any, measured: list[tuple[Law, list[Loop]]]) -> np.ndarray:
    """θ with what the loops of each law say; other unknowns keep their values."""
    values = np.array(problem.unknowns.start)
    known = [(law, _guess(type(law), tests)) for law, tests in measured]
    for i, places in enumerate(problem.unknowns.places):
        said = []
        for place in places:
            *owner, name = paths.parse(place)
            part = paths.get(experiment, paths.spell(owner)) if owner else None
            said += [guess[name] for law, guess in known if law is part and name in guess]
        if said:
            values[i] = float(np.median(said))
    return values


def _guess(kind: type[Law], tests: list[Loop]) -> dict[str | int, float]:
    """What loops say of a law: parameters that it guesses itself, and those without a default."""
    try:
        loop = LoopSizes.of(tests)
        guess, own = first_guess(kind, loop), kind.first_guess(loop)
    except InputError:
        return {}
    said = [f.name for f in dataclasses.fields(kind) if f.init and (f.name in own or f.default is dataclasses.MISSING)]
    numbers = {name: np.asarray(getattr(guess, name)) for name in said}
    return {name: float(value) for name, value in numbers.items() if value.ndim == 0}
