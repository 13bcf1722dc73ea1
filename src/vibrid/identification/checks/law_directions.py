"""What a small force beside a storey does to the readings of a building, to first order.

For a building of linear laws the force follows from the predicted drift of its storey, and its effect from transfer
functions: nothing of the fit is compiled again. For others the laws are added to the building, and the simulation is
differentiated by their size.
"""

from __future__ import annotations

import dataclasses
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.identification.checks.transfer import transfer
from vibrid.identification.checks.work import first_model
from vibrid.identification.experiment import Experiment
from vibrid.identification.problem import Problem
from vibrid.laws import Bilinear, BoucWen, Cubic, Linear, NonlinearViscous
from vibrid.laws.base import Law, Motion
from vibrid.simulation.simulate import default_integrator
from vibrid.structures.base import Attachment
from vibrid.structures.model import Loads
from vibrid.structures.sensors import Sensors
from vibrid.structures.shear import ShearBuilding

KINDS = ("hysteresis", "hardening", "friction", "damping")
_SPRING = "spring"
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


def small_laws(e: float, v: float) -> dict[str, Law]:
    """Laws with a force of about 1 N at a deformation of e m and a velocity of v m/s; the last is not tested."""
    return {
        "hysteresis": BoucWen(1.0 / e, beta=1.0 / e, gamma=1.0 / e),
        "hardening": Cubic(1.0 / e, 1.0 / e**3),
        "friction": Bilinear(1.0 / (_SLIP * e), _SLIP * e, 0.0),
        "damping": NonlinearViscous(1.0 / v**0.5, 0.5),
        _SPRING: Linear(1.0 / e),
    }


# -- by transfer functions ---------------------------------------------------------------------------------------------


def _by_transfer(problem: Problem, experiment: Experiment) -> list[np.ndarray]:
    structure = cast("ShearBuilding", experiment.structure)
    n = structure.floors
    drifts = Sensors(drift=list(range(n)), drift_velocity=list(range(n)))
    watched = dataclasses.replace(experiment, sensors=tuple(drifts.noiseless()))
    moved, size = [], np.zeros(0)
    for data in problem.data:
        inputs, window = np.asarray(data.drive.samples), _Window(data.samples, data.step)
        motion = window.response(inputs, np.asarray(_over_inputs(watched, data.loads, window.s)))
        size = size if size.size else 0.5 * np.abs(motion).max(axis=0) + 1e-300  # of the first record
        laws = [small_laws(float(size[i]), float(size[n + i])) for i in range(n)]
        of_kind = [_forces(_stacked([each[kind] for each in laws]), motion, data.step) for kind in KINDS]
        of_kind[KINDS.index("hysteresis")] -= motion[:, :n] / size[:n]  # without its initial stiffness
        of_kind[KINDS.index("hardening")] -= motion[:, :n] / size[:n]
        over = np.asarray(_over_storeys(experiment, data.loads, window.s))
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
def _over_inputs(experiment: Experiment, loads: Loads, s):
    return transfer(experiment, loads, s)


@eqx.filter_jit
def _over_storeys(experiment: Experiment, loads: Loads, s):
    """Readings over a force in each storey, which pulls its floors together as that of a stretched spring does."""
    structure = cast("ShearBuilding", experiment.structure)
    model = structure.model(loads)
    rows = structure.sensor_arrays(model, tuple(Sensors(drift=list(range(structure.floors))))).displacement
    assert rows is not None
    return transfer(experiment, loads, s, along=-rows.T)


def _stacked(laws: list[Law]) -> Law:
    return jax.tree.map(lambda *values: jnp.stack([jnp.asarray(v, float) for v in values]), *laws)


@eqx.filter_jit
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
    structure = cast("ShearBuilding", experiment.structure)
    kinds, added = [], []
    for i, (e, v) in enumerate(_deformations(problem, free)):
        for kind, law in small_laws(e, v).items():
            kinds.append((kind, i))
            added.append(Attachment(law, str(i), str(i - 1) if i else None))
    extended = dataclasses.replace(structure, attachments=(*structure.attachments, *added))
    integrator = default_integrator(extended, problem.hold)
    larger = dataclasses.replace(
        problem, experiment=dataclasses.replace(problem.experiment, structure=extended), integrator=integrator
    )
    moved = _moved(larger, dataclasses.replace(experiment, structure=extended), len(structure.attachments))
    # hysteresis without its initial stiffness: what it takes away from an elastic storey
    tested = [kinds.index((kind, storey)) for kind in KINDS for storey in range(structure.floors)]
    less = np.eye(len(kinds))
    for q, (kind, storey) in enumerate(kinds):
        if kind == "hysteresis":
            less[kinds.index((_SPRING, storey)), q] = -1.0
    return [np.asarray(part) @ less[:, tested] for part in moved]


def _scaled(law: Law, factor) -> Law:
    """The law with its force multiplied; the linear part of a hardening spring stays out of it."""
    if isinstance(law, Cubic):
        return eqx.tree_at(lambda q: (q.stiffness, q.cubic), law, (0.0 * law.stiffness, factor * law.cubic))
    if isinstance(law, NonlinearViscous):
        return eqx.tree_at(lambda q: q.coefficient, law, factor * law.coefficient)
    assert isinstance(law, BoucWen | Bilinear | Linear)
    return eqx.tree_at(lambda q: q.stiffness, law, factor * law.stiffness)


@eqx.filter_jit
def _moved(problem: Problem, experiment, present: int):
    structure = experiment.structure
    count = len(structure.attachments) - present

    def readings(factors):
        changed = [
            dataclasses.replace(a, law=_scaled(a.law, factors[i]))
            for i, a in enumerate(structure.attachments[present:])
        ]
        made = eqx.tree_at(lambda s: s.attachments[present:], structure, tuple(changed))
        with_it = dataclasses.replace(experiment, structure=made)
        return tuple(problem.predict_data(with_it, d, i) for i, d in enumerate(problem.data))

    return jax.jacfwd(readings)(jnp.zeros(count))


@eqx.filter_jit
def _drifts(problem: Problem, free, floors: int):
    return problem.read_by(free, Sensors(drift=list(range(floors)), drift_velocity=list(range(floors))))


def _deformations(problem: Problem, free: np.ndarray) -> list[tuple[float, float]]:
    """Half the largest drift and drift velocity of every storey in the first record."""
    n = cast("ShearBuilding", problem.experiment.structure).floors
    largest = 0.5 * np.abs(np.asarray(_drifts(problem, jnp.asarray(free), n))).max(axis=0) + 1e-300
    return [(float(largest[i]), float(largest[n + i])) for i in range(n)]
