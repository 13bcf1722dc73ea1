"""Where to put sensors: the places whose readings carry the most information about the unknowns."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.identification.experiment import Experiment, Initial
from vibrid.identification.identifiability import Identifiability, describe_information
from vibrid.identification.unknowns import compile_unknowns
from vibrid.records.record import Record
from vibrid.simulation.excitation import drive, inputs_of, loads_of
from vibrid.simulation.run import Readings, Start, run
from vibrid.simulation.simulate import default_integrator
from vibrid.structures.sensors import Sensors


@dataclass(frozen=True)
class Placement:
    """The chosen sensors in the order of their worth, and what they can find out."""

    sensors: Sensors
    log_determinant: np.ndarray  # of the information after each choice
    limits: Identifiability

    def __str__(self) -> str:
        rows = [
            f"{i + 1}. {s.label}  (log det {d:.3f})"
            for i, (s, d) in enumerate(zip(self.sensors, self.log_determinant, strict=True))
        ]
        bounds = [
            f"   {n}: bound {100 * b:.3g} %" for n, b in zip(self.limits.names, self.limits.relative_bound, strict=True)
        ]
        return "\n".join(rows + bounds)


def place_sensors(
    structure,
    candidates: Sensors,
    count: int,
    *,
    excitation: Record,
    unknown,
    noise: float = 0.02,
    hold: str = "linear",
    substeps: int = 1,
) -> Placement:
    """Choose `count` of the candidate sensors, one after the other, each the best next one (greedy D-optimal).

    The information of each candidate comes from differentiating the simulation at the structure's present values.

    Arguments
        candidates: sensors that could be placed; those with a stated noise keep it.
        excitation: the motion or load that is expected.
        unknown: what is to be found, as for `identify`.
        noise: standard deviation of the noise over that of the signal, for sensors that state none.
    """
    candidates = Sensors(candidates)
    if not 1 <= count <= len(candidates):
        raise InputError(f"{count} sensors cannot be chosen from {len(candidates)} candidates.")
    loads = loads_of(structure, excitation)
    size = structure.model(loads).size
    experiment = Experiment(structure, tuple(candidates), (Initial.rest(size),))
    unknowns = compile_unknowns(experiment, unknown)
    driven = drive(inputs_of(structure, excitation), hold, substeps)
    integrator = default_integrator(structure, hold)
    free = jnp.asarray(unknowns.to_free(np.asarray(unknowns.start)))
    y, information = _per_sensor(experiment, unknowns, integrator, driven, excitation.step, loads, substeps, free)
    stated = np.array([float(s.noise) for s in candidates])
    sigma = np.where(np.isfinite(stated), stated, noise * np.asarray(y).std(axis=0) + 1e-300)
    information = np.asarray(information) / sigma[:, None, None] ** 2
    slope, value = np.asarray(unknowns.slope(free)), np.asarray(unknowns.to_physical(free))
    relative = slope / np.where(value != 0, np.abs(value), np.asarray(unknowns.scale))
    information = information / np.outer(relative, relative)
    total = 1e-6 * np.eye(len(unknowns))  # a ± 1000 % prior, so that the first choices are defined
    chosen, path = [], []
    for _ in range(count):
        gains = [
            -np.inf if i in chosen else np.linalg.slogdet(total + information[i])[1] for i in range(len(candidates))
        ]
        chosen.append(int(np.argmax(gains)))
        total = total + information[chosen[-1]]
        path.append(max(gains))
    seen = sum(information[i] for i in chosen) * np.outer(relative, relative)
    limits = describe_information(unknowns.names, seen, slope, value, np.asarray(unknowns.scale))
    return Placement(Sensors([candidates[i] for i in chosen]), np.array(path), limits)


@eqx.filter_jit
def _per_sensor(experiment, unknowns, integrator, driven, dt, loads, substeps, free):
    """Readings (nt, ny) and Σ Jᵀ J of each sensor (ny, p, p) for unit noise."""

    def readings(q):
        made = unknowns.apply(experiment, q)
        model = made.structure.model(loads)
        arrays = made.structure.sensor_arrays(model, made.sensors)
        first = made.initial[0]
        return run(model, integrator, driven, dt, Readings(arrays), Start(first.displacement, first.velocity), substeps)

    jacobian = jax.jacfwd(readings)(free)
    return readings(free), jnp.einsum("tyi,tyj->yij", jacobian, jacobian)
