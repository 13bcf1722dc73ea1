"""What a small force beside a storey does to the readings of a building, to first order.

The force follows from the predicted drift of its storey. Its effect on a building of linear laws follows from transfer
functions: nothing of the fit is compiled again. For others the simulation is differentiated along the forces.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from math import comb
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import native
from vibrid.identification.checks.transfer import transfer
from vibrid.identification.checks.work import first_model
from vibrid.identification.experiment import Experiment
from vibrid.identification.problem import Problem
from vibrid.laws import Bilinear, BoucWen, Cubic, NonlinearViscous
from vibrid.laws.base import Law, Motion
from vibrid.simulation.excitation import Drive, drive
from vibrid.structures.model import Loads, Model
from vibrid.structures.sensors import Sensors
from vibrid.structures.shear import ShearBuilding

KINDS = ("hysteresis", "hardening", "friction", "damping")
_SLIP = 0.02  # deformation, over the largest, at which the imagined friction slips
_FADED = 10.0  # e^−this is left of a motion when its transform begins again
_FINE = 4  # steps of a law per sample


def is_linear(problem: Problem, free: np.ndarray) -> bool:
    """Whether the laws of a building are linear and it starts at rest: then no simulation is needed."""
    if not first_model(problem).is_linear:
        return False
    is_sought = "initial state" in problem.unknowns.needs
    initial = _applied(problem, free).initial if is_sought else problem.experiment.initial
    return not any(np.any(values) for values in jax.tree.leaves(initial))


def _applied(problem: Problem, free: np.ndarray) -> Experiment:
    return problem.unknowns.apply(problem.experiment, jnp.asarray(free))


def directions(problem: Problem, free: np.ndarray) -> tuple[list[tuple[str, int]], list[np.ndarray]]:
    """(kind, storey) of every small force, and the change of the readings (nt, ny, forces) of every record for it."""
    experiment = _applied(problem, free)
    made = _by_transfer(problem, experiment) if is_linear(problem, free) else _by_simulation(problem, experiment, free)
    n = cast("ShearBuilding", experiment.structure).floors
    present = [np.asarray(d.present)[:, :, None] for d in problem.data]
    kinds = [(kind, storey) for kind in KINDS for storey in range(n)]
    return kinds, [np.asarray(part) * there for part, there in zip(made, present, strict=True)]


def small_laws(e, v) -> dict[str, Law]:
    """Laws with a force of about 1 N at deformations e (m) and velocities v (m/s), one of each or several."""
    return {
        "hysteresis": BoucWen(1.0 / e, beta=1.0 / e, gamma=1.0 / e),
        "hardening": Cubic(1.0 / e, 1.0 / e**3),
        "friction": Bilinear(1.0 / (_SLIP * e), _SLIP * e, 0.0),
        "damping": NonlinearViscous(1.0 / v**0.5, 0.5),
    }


@lru_cache(maxsize=16)
def _drift_sensors(floors: int) -> Sensors:
    with jax.ensure_compile_time_eval():  # they are kept: no numbers of a function that is being traced
        return Sensors(drift=list(range(floors)), drift_velocity=list(range(floors))).noiseless()


class _Laws:
    """Small laws of every storey, sized by the largest drifts and drift velocities (samples, 2 × storeys)."""

    def __init__(self, motion: np.ndarray):
        self.size = 0.5 * np.abs(motion).max(axis=0) + 1e-300
        self.storeys = motion.shape[1] // 2
        self.laws = small_laws(self.size[: self.storeys], self.size[self.storeys :])

    def forces(self, motion: np.ndarray, step: float) -> list[np.ndarray]:
        """(samples, storeys) of every kind along a motion; hysteresis and hardening without the linear spring that the
        storey has."""
        n = self.storeys
        of_kind = [_forces(_stacked(self.laws[kind], n), motion, step) for kind in KINDS]
        for kind in ("hysteresis", "hardening"):
            of_kind[KINDS.index(kind)] -= motion[:, :n] / self.size[:n]
        return of_kind


# -- by transfer functions ---------------------------------------------------------------------------------------------


def _by_transfer(problem: Problem, experiment: Experiment) -> list[np.ndarray]:
    moved, laws = [], None
    for data in problem.data:
        inputs, window = np.asarray(data.drive.samples), _Window(data.samples, data.step)
        over_inputs, over = map(np.asarray, _over_both(experiment, data.loads, window.s))
        motion = window.response(inputs, over_inputs)
        laws = laws or _Laws(motion)  # of the first record
        of_kind = laws.forces(motion, data.step)
        moved.append(np.concatenate([window.responses(force, over) for force in of_kind], axis=2))
    return moved


class _Window:
    """Fourier transforms of a record followed by as much silence, along s = σ + iω: motions that last longer than the
    silence fade by e^−σt, so that they do not come back at the beginning."""

    def __init__(self, samples: int, step: float):
        self.samples, self.length = samples, 2 * samples
        sigma = _FADED / (self.length * step)
        self.fading = np.exp(-sigma * step * np.arange(samples))[:, None]
        self.s = jnp.asarray(sigma + 2j * np.pi * np.fft.rfftfreq(self.length, step))

    def _transformed(self, signals: np.ndarray) -> np.ndarray:
        return np.fft.rfft(signals * self.fading, self.length, axis=0)

    def _back(self, spectra: np.ndarray) -> np.ndarray:
        return np.fft.irfft(spectra, self.length, axis=0)[: self.samples]

    def response(self, inputs: np.ndarray, over: np.ndarray) -> np.ndarray:
        """(samples, readings) to all inputs together."""
        return self._back(np.einsum("fri,fi->fr", over, self._transformed(inputs))) / self.fading

    def responses(self, inputs: np.ndarray, over: np.ndarray) -> np.ndarray:
        """(samples, readings, inputs) to every input by itself."""
        return self._back(over * self._transformed(inputs)[:, None, :]) / self.fading[:, :, None]


@eqx.filter_jit
def _over_both(experiment: Experiment, loads: Loads, s):
    """Drifts of all storeys and their rates over the inputs; and readings over a force in each storey, which pulls its
    floors together as that of a stretched spring does."""
    model = experiment.structure.model(loads)
    floors = cast("ShearBuilding", experiment.structure).floors
    watched = dataclasses.replace(experiment, sensors=tuple(_drift_sensors(floors)))
    return transfer(watched, loads, s), transfer(experiment, loads, s, along=-_drift_rows(experiment, model).T)


def _drift_rows(experiment: Experiment, model: Model) -> jax.Array:
    """(storeys, degrees of freedom): drifts over displacements."""
    structure = cast("ShearBuilding", experiment.structure)
    rows = structure.sensor_arrays(model, tuple(_drift_sensors(structure.floors))[: structure.floors]).displacement
    assert rows is not None
    return rows


def _stacked(laws: Law, count: int) -> Law:
    """All numbers of the laws as arrays (count,)."""
    return jax.tree.map(lambda values: jnp.broadcast_to(jnp.asarray(values, float), (count,)), laws)


@native.jit
def _along(laws: Law, e, w, step):
    """(samples, laws): forces along deformations and rates; the path between samples is the cubic through both."""

    def one(law, e, w):
        if not jax.tree.leaves(law.start()):
            return jax.vmap(lambda e, w: law.force(e, w, law.start()))(e, w)
        share = jnp.arange(1, _FINE + 1) / _FINE

        def sample(carry, ends):
            state, e0, w0 = carry
            e1, w1 = ends
            a, b = 2 * (e0 - e1) + step * (w0 + w1), 3 * (e1 - e0) - step * (2 * w0 + w1)
            es = e0 + share * (step * w0 + share * (b + share * a))
            ws = w0 + share * (2 * b + 3 * share * a) / step

            def fine(inner, end):
                state, before = inner
                after = Motion(*end)
                return (law.advance(state, before, after, step / _FINE), after), None

            (state, _), _ = jax.lax.scan(fine, (state, Motion(e0, w0)), (es, ws))
            return (state, e1, w1), law.force(e1, w1, state)

        first = law.force(e[0], w[0], law.start())
        _, rest = jax.lax.scan(sample, (law.start(), e[0], w[0]), (e[1:], w[1:]))
        return jnp.concatenate([first[None], rest])

    return jax.vmap(one, in_axes=(0, 1, 1), out_axes=1)(laws, e, w)


def _forces(laws: Law, motion: np.ndarray, step: float) -> np.ndarray:
    n = motion.shape[1] // 2
    return np.array(_along(laws, jnp.asarray(motion[:, :n]), jnp.asarray(motion[:, n:]), step))


# -- by simulation -----------------------------------------------------------------------------------------------------


def _by_simulation(problem: Problem, experiment: Experiment, free: np.ndarray) -> list[np.ndarray]:
    floors = cast("ShearBuilding", experiment.structure).floors
    moved, laws = [], None
    for i, data in enumerate(problem.data):
        motion = np.asarray(_drifts(problem, jnp.asarray(free), i, floors))
        laws = laws or _Laws(motion)  # of the first record
        forces = drive(np.concatenate(laws.forces(motion, data.step), axis=1), "cubic")
        moved.append(np.asarray(_moved(problem, experiment, i, forces)))
    return moved


@eqx.filter_jit
def _drifts(problem: Problem, free, record: int, floors: int):
    return problem.read_by(free, _drift_sensors(floors), record)


def largest_drift(problem: Problem, free: np.ndarray, record: int, storey: int) -> float:
    """Largest deformation of a storey in a record, in m."""
    floors = cast("ShearBuilding", problem.experiment.structure).floors
    motion = np.asarray(_drifts(problem, jnp.asarray(free), record, floors))
    return float(np.abs(motion[:, storey]).max())


def _moved(problem: Problem, experiment: Experiment, record: int, forces: Drive):
    """(samples, sensors, forces): change of the readings for every force (kinds × storeys)."""
    return _readings_beside(problem, experiment, record, forces, jnp.zeros(forces.samples.shape[1]))[1]


@native.jacobian
def _readings_beside(problem: Problem, experiment: Experiment, record: int, forces: Drive, sizes):
    """(samples, sensors): readings with forces of these sizes in the storeys."""
    data, structure = problem.data[record], cast("ShearBuilding", experiment.structure)
    rows = _drift_rows(experiment, structure.model(data.loads))
    loads = (*data.loads, *(("load", place) for place in structure.places()))
    driven, shifted = problem.driven(experiment, data), dataclasses.replace(experiment, loads=())
    forces = _in_pieces(forces, driven.pieces)

    def on_floors(values):
        storeys = (sizes * values).reshape(*values.shape[:-1], -1, structure.floors).sum(axis=-2)
        return -storeys @ rows

    larger = dataclasses.replace(data, drive=_beside(driven, jax.tree.map(on_floors, forces)), loads=loads)
    return problem.predict_data(shifted, larger, record)


def _in_pieces(driven: Drive, pieces: int) -> Drive:
    """Inputs of one piece from sample to sample in several."""
    powers = driven.coefficients.shape[2]
    begins = np.arange(pieces) / pieces
    shift = np.array(
        [[[comb(k, p) * b ** max(k - p, 0) / pieces**p for k in range(powers)] for p in range(powers)] for b in begins]
    )  # of (b + t/pieces)^k, by powers of t
    return Drive(driven.samples, jnp.einsum("jpk,nkm->njpm", shift, driven.coefficients[:, 0]))


def _beside(one: Drive, two: Drive) -> Drive:
    """All inputs of both."""
    powers = max(part.coefficients.shape[2] for part in (one, two))
    padded = (
        jnp.pad(part.coefficients, ((0, 0), (0, 0), (0, powers - part.coefficients.shape[2]), (0, 0)))
        for part in (one, two)
    )
    return Drive(jnp.concatenate([one.samples, two.samples], axis=1), jnp.concatenate(list(padded), axis=3))
