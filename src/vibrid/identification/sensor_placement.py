"""Sensor placement: the places whose readings carry the most information about the unknowns."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError, unknown_name
from vibrid.identification.experiment import Experiment, Initial
from vibrid.identification.identifiability import Identifiability, describe_information
from vibrid.identification.loads.recursion import augment, exact_motion
from vibrid.identification.loads.smoother import Factors, factorise, filtered
from vibrid.identification.loads.unknown_load import UnknownLoad
from vibrid.identification.unknowns import Unknowns, compile_unknowns, listed
from vibrid.records.record import Record
from vibrid.simulation.excitation import drive, inputs_of, loads_of
from vibrid.simulation.run import Readings, run
from vibrid.simulation.simulate import default_integrator
from vibrid.structures.base import Structure
from vibrid.structures.sensors import Sensor, Sensors

AIMS = ("parameters", "parameters and loads")
"""What sensors are placed for."""


@dataclass(frozen=True)
class Placement:
    """The chosen sensors in the order of choice, and the identifiability with them and the installed ones."""

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


@checked
def place_sensors(
    structure: Structure,
    candidates: Sequence[Sensor],
    count: int,
    *,
    excitation: Record,
    unknown: Unknowns,
    noise: float = 0.02,
    standing: Sensors | Sequence[Sensor] = (),
    hold: str = "linear",
    substeps: int = 1,
    aim: str = "parameters",
) -> Placement:
    """Choose `count` of the candidate sensors: greedy D-optimal selection, then Fedorov's exchange of single sensors
    until none improves the determinant.

    The information of each candidate comes from differentiating the simulation at the structure's present values. Where
    `unknown` also names loads (`UnknownLoad`), the information is what remains after the loads are eliminated; with the
    aim "parameters and loads" it is the joint information of both, so that the loads are well known too.

    Arguments
        candidates: possible sensors; those with a stated noise keep it.
        excitation: the expected motion or load, including loads that will be unknown.
        unknown: the unknowns, as for `identify`.
        noise: standard deviation of the noise over that of the signal, for sensors that state none.
        standing: sensors that are installed already; `count` more are chosen.
        aim: "parameters", or "parameters and loads" where loads are unknown.
    """
    if aim not in AIMS:
        raise unknown_name("aim", aim, AIMS)
    standing, candidates = tuple(standing), Sensors(candidates)
    if not 1 <= count <= len(candidates):
        raise InputError(f"{count} sensors cannot be chosen from {len(candidates)} candidates.")
    known = len(standing)
    candidates = Sensors([*standing, *candidates])
    loads = loads_of(structure, excitation)
    experiment = Experiment(structure, tuple(candidates), (Initial.rest(structure.model(loads).size),))
    sought = [u for u in listed(unknown) if isinstance(u, UnknownLoad)]
    unknowns = compile_unknowns(experiment, [u for u in listed(unknown) if not isinstance(u, UnknownLoad)])
    driven = drive(inputs_of(structure, excitation), hold, substeps)
    integrator = default_integrator(structure, hold)
    free = jnp.asarray(unknowns.to_free(np.asarray(unknowns.start)))
    y, slopes = _readings_and_slopes(experiment, unknowns, integrator, driven, excitation.step, loads, substeps, free)
    stated = np.array([float(s.noise) for s in candidates])
    sigma = np.where(np.isfinite(stated), stated, noise * np.asarray(y).std(axis=0) + 1e-300)
    slope, value = np.asarray(unknowns.slope(free)), np.asarray(unknowns.to_physical(free))
    relative = slope / np.where(value != 0, np.abs(value), np.asarray(unknowns.scale))
    scale = np.outer(relative, relative)
    if aim != AIMS[0] and not sought:
        raise InputError(f"The aim '{aim}' needs an unknown load: name one with UnknownLoad(…) among the unknowns.")
    if sought:
        information = _Eliminated(structure, candidates, excitation, sought, hold, slopes, sigma)
    else:
        information = _Added(np.asarray(jnp.einsum("tyi,tyj->yij", slopes, slopes)) / sigma[:, None, None] ** 2)
    prior = 1e-6 * np.eye(len(unknowns))  # a ± 1000 % prior, so that the first choices are defined
    every = range(len(candidates))

    def log_determinant(sensors: list[int]) -> float:
        of_parameters = float(np.linalg.slogdet(prior + information(sensors) / scale)[1])
        return of_parameters if aim == AIMS[0] else of_parameters + information.of_loads(sensors)

    chosen = list(range(known))
    for _ in range(count):
        chosen.append(max((i for i in every if i not in chosen), key=lambda i: log_determinant([*chosen, i])))
    chosen = _exchanged(chosen, known, every, log_determinant)
    path = [log_determinant(chosen[: n + 1]) for n in range(known, len(chosen))]
    limits = describe_information(unknowns, information(chosen), slope, value)
    return Placement(Sensors([candidates[i] for i in chosen[known:]]), np.array(path), limits)


def _exchanged(chosen: list[int], known: int, every, log_determinant) -> list[int]:
    """A set that no exchange of one sensor improves; the first `known` are kept."""
    best, again = log_determinant(chosen), True
    while again:
        again = False
        for at in range(known, len(chosen)):
            trials = [[*chosen[:at], i, *chosen[at + 1 :]] for i in every if i not in chosen]
            values = [log_determinant(t) for t in trials]
            if values and max(values) > best + 1e-6:
                best, chosen, again = max(values), trials[int(np.argmax(values))], True
    return chosen


class _Added:
    """Information of a set of sensors when all loads are known: the sum over the sensors."""

    def __init__(self, each: np.ndarray):
        self.each = each

    def __call__(self, chosen: list[int]) -> np.ndarray:
        return self.each[chosen].sum(axis=0)

    def of_loads(self, chosen: list[int]) -> float:
        return 0.0


class _Eliminated:
    """Information of a set of sensors when loads of the expected size are unknown."""

    def __init__(self, structure: Structure, candidates, excitation, sought, hold, slopes, sigma):
        names, samples = loads_of(structure, excitation), len(excitation)
        inputs = inputs_of(structure, excitation)
        places = [names.index((load.quantity, load.at)) for load in sought if (load.quantity, load.at) in names]
        if len(places) < len(sought):
            raise InputError("The excitation must contain the expected history of every unknown load, at its place.")
        shares = np.zeros((1, len(names), len(places)))
        shares[0, places, np.arange(len(places))] = 1.0
        motion = exact_motion(structure, candidates, names, excitation.step, hold)
        self.system = augment(motion, jnp.asarray(shares), "size")
        self.size = np.sqrt(np.mean(inputs[:, places] ** 2, axis=0)) * 3.0
        self.slopes, self.sigma, self.samples = slopes, sigma, samples
        self._last: tuple[tuple[int, ...], Any] = ((), None)

    def __call__(self, chosen: list[int]) -> np.ndarray:
        pick = np.array(chosen)
        white, _ = filtered(self._of(pick), self._factors(pick), self.slopes[:, pick])
        return np.asarray(jnp.einsum("kyp,kyq->pq", white, white))

    def of_loads(self, chosen: list[int]) -> float:
        """ln |I + P HᵀR⁻¹H| of the loads, parameters known: H from the loads to the readings, P their expected size.

        It equals ln |HPHᵀ + R| − ln |R|, the determinant of the readings' covariance over that of their noise. With
        the information of the parameters after elimination it is the determinant of the joint information.
        """
        pick = np.array(chosen)
        return self._factors(pick).log_determinant() - 2.0 * self.samples * float(np.log(self.sigma[pick]).sum())

    def _of(self, pick: np.ndarray):
        return dataclasses.replace(self.system, output=self.system.output[:, pick])

    def _factors(self, pick: np.ndarray) -> Factors:
        system = self._of(pick)
        first = np.zeros(system.transition.shape[-1])
        first[system.size :] = np.tile(self.size, (len(first) - system.size) // system.loads)
        key = tuple(pick.tolist())
        if key != self._last[0]:
            self._last = key, factorise(system, self.sigma[pick], self.size, first, self.samples, settled=1e-6)
        return self._last[1]


@eqx.filter_jit
def _readings_and_slopes(experiment, unknowns, integrator, driven, dt, loads, substeps, free):
    """Readings (nt, ny) and their derivatives (nt, ny, p)."""

    def readings(q):
        changed = unknowns.apply(experiment, q)
        model = changed.structure.model(loads)
        arrays = changed.structure.sensor_arrays(model, changed.sensors)
        first = changed.initial[0]
        return run(model, integrator, driven, dt, Readings(arrays), first, substeps)

    return readings(free), jax.jacfwd(readings)(free)
