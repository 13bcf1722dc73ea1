"""The problem: an experiment, its unknowns and the data, with the functions that all methods use."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import native
from vibrid.core.arguments import Array, checked
from vibrid.core.device import on_processor
from vibrid.core.errors import InputError, Refusal
from vibrid.core.numbers import as_array
from vibrid.identification.cheaper import cheaper
from vibrid.identification.checks.words import unit_hint
from vibrid.identification.experiment import Experiment, loads_in
from vibrid.identification.fit_in_modes import readings_in_modes, refuse_modes, refuse_needs
from vibrid.identification.loads.unknown_load import UnknownLoad
from vibrid.identification.needs import needs_of
from vibrid.identification.problem_data import Data, channel_of, data_of, inputs_with, refuse_silent
from vibrid.identification.sizes import sizes_in
from vibrid.identification.unknowns import Unknowns, UnknownSet, compile_unknowns, listed
from vibrid.records.record import Record
from vibrid.simulation.base import Integrator
from vibrid.simulation.exact import ExactLinear
from vibrid.simulation.excitation import Drive, drive
from vibrid.simulation.implicit import pattern_for, with_pattern
from vibrid.simulation.initial import Initial, as_initial
from vibrid.simulation.newmark import Newmark
from vibrid.simulation.response import delayed
from vibrid.simulation.run import Readings, run
from vibrid.simulation.simulate import chosen_integrator, default_integrator
from vibrid.structures.base import Structure
from vibrid.structures.device import ImposedTest
from vibrid.structures.pattern import Pattern
from vibrid.structures.sensors import Sensor, Sensors

_DEAD = 1e-6  # size of a signal, over that of its prediction, below which a channel is dead


class Problem(eqx.Module):
    """Estimate the unknowns of an experiment from data.

    Functions take the free vector φ; `unknowns` maps it to physical values.
    """

    _: dataclasses.KW_ONLY
    # the experiment and its unknowns
    experiment: Experiment
    unknowns: UnknownSet
    unknown_loads: tuple[str, ...] = eqx.field(static=True, default=())  # names of the unknown loads
    load_deviations: tuple[float | None, ...] = eqx.field(static=True, default=())  # prior of their size
    # the data
    data: tuple[Data, ...]
    held_out: tuple[jax.Array, ...]  # 1 where a sample is kept for scoring instead of fitting
    # integration from sample to sample
    integrator: Integrator
    substeps: int = eqx.field(static=True)
    hold: str = eqx.field(static=True)
    backwards: bool = eqx.field(static=True, default=False)  # whether it will be run backwards: with checkpoints
    pattern: Pattern | None = eqx.field(static=True, default=None)  # of the equations of implicit steps, where not full
    modes: str | int | None = eqx.field(static=True, default=None)  # of the linear part, for `fit_in_modes`
    # derived from the above (`completed`)
    delays: bool = eqx.field(static=True, default=False)  # whether a sensor is delayed, or its delay is unknown
    needs: frozenset[str] = eqx.field(static=True, default=frozenset())  # abilities that a method must have

    @property
    def sensors(self) -> tuple[Sensor, ...]:
        return self.experiment.sensors

    @property
    def start(self) -> np.ndarray:
        """φ of the first guess."""
        return self.unknowns.to_free(np.asarray(self.unknowns.start))

    def boxed(self) -> Problem:
        """The same problem with φ in the box, for descents."""
        return dataclasses.replace(self, unknowns=self.unknowns.boxed())

    def integrated(self, *, hold: str | None = None, substeps: int | None = None) -> Problem:
        """The same problem with another assumption about the inputs between samples, or another number of steps."""
        hold, substeps = hold or self.hold, substeps or self.substeps
        exact = isinstance(self.integrator, ExactLinear)
        return dataclasses.replace(
            self,
            integrator=default_integrator(self.experiment.structure, hold) if exact else self.integrator,
            data=tuple(dataclasses.replace(d, drive=self._between(d.drive, hold, substeps)) for d in self.data),
            hold=hold,
            substeps=substeps,
        )

    def _between(self, driven: Drive, hold: str, substeps: int) -> Drive:
        """Inputs with another assumption about what is between the samples, or other steps."""
        if hold == self.hold and hold != "band-limited":  # the only pieces that follow the steps
            return driven
        return drive(np.asarray(driven.samples), hold, substeps)

    def predict(self, free: Array, record: int = 0) -> jax.Array:
        """(nt, ny): predicted readings with the unknowns at θ(φ)."""
        return self.predict_data(self.unknowns.apply(self.experiment, free), self.data[record], record)

    def driven(self, experiment: Experiment, data: Data) -> Drive:
        """The excitation of a record: its inputs without their offsets."""
        return data.drive.shifted(-experiment.offsets(data.loads)) if experiment.loads else data.drive

    def excited(self, experiment: Experiment, inputs: jax.Array) -> jax.Array:
        """The inputs at one instant without their offsets, for a record with the loads of the first."""
        return inputs - experiment.offsets(self.data[0].loads) if experiment.loads else inputs

    def predict_data(self, experiment: Experiment, data: Data, record: int) -> jax.Array:
        """(nt, ny): readings of an experiment under the inputs of one record."""
        model = with_pattern(experiment.structure.model(data.loads), self.pattern)
        sensors = experiment.structure.sensor_arrays(model, experiment.sensors)
        start = experiment.initial[record]
        driven = self.driven(experiment, data)
        settings = {"substeps": self.substeps, "checkpoints": self.backwards}
        y = run(model, self.integrator, driven, data.step, Readings(sensors), start, **settings)
        if self.delays:
            y = delayed(y, jnp.stack([s.delay for s in experiment.sensors]), data.step)
        return y

    def read_by(self, free: Array, sensors: Sequence[Sensor], record: int = 0) -> jax.Array:
        """(nt, len(sensors)): true readings that other sensors would have, with the unknowns at θ(φ)."""
        experiment = self.unknowns.apply(self.experiment, free)
        others = dataclasses.replace(experiment, sensors=tuple(Sensors(sensors).noiseless()))
        return dataclasses.replace(self, delays=False).predict_data(others, self.data[record], record)

    def residuals(self, free: Array, deviations: Array) -> jax.Array:
        """Weighted misfit (measured − predicted)/σ of all records and the priors, one long vector."""
        parts = [
            ((d.readings - self.predict(free, i)) * d.present / deviations).reshape(-1) for i, d in enumerate(self.data)
        ]
        return jnp.concatenate([*parts, -self.unknowns.prior_residual(free)])

    def counts(self) -> np.ndarray:
        """Samples used of every sensor."""
        return np.sum([np.asarray(d.present).sum(axis=0) for d in self.data], axis=0)

    def signal_size(self) -> np.ndarray:
        """Standard deviation of every sensor's readings over all records."""
        sums = np.zeros((3, len(self.sensors)))
        for d in self.data:
            y, m = np.asarray(d.readings), np.asarray(d.present)
            sums += np.stack([m.sum(axis=0), (y * m).sum(axis=0), (y * y * m).sum(axis=0)])
        mean = sums[1] / sums[0]
        return np.sqrt(np.maximum(sums[2] / sums[0] - mean**2, 0.0)) + 1e-300

    def rounding(self, deviations: Array) -> float:
        """½ χ² of readings that are predicted to 11 digits; smaller values are rounding."""
        return 0.5 * float(np.sum(self.counts() * (1e-11 * self.signal_size() / np.asarray(deviations)) ** 2))

    def given_deviations(self) -> np.ndarray:
        """Noise of every sensor as stated; NaN where it is to be estimated."""
        stated = np.array([float(s.noise) for s in self.sensors])
        for sensors in self.unknowns.noise().values():
            stated[list(sensors)] = np.nan
        return stated


@checked
def make_problem(
    structure: Structure,
    data: Record | list[Record],
    unknown: Unknowns,
    *,
    sensors: Sequence[Sensor] | None = None,
    initial: Initial | Mapping[str, Any] | Sequence[Any] | None = None,
    integrator: Integrator | None = None,
    hold: str = "linear",
    substeps: int = 1,
    hold_out: float = 0.0,
    modes: str | int | None = None,
) -> Problem:
    """Check the data against the structure and make the problem. The arguments are those of `identify`."""
    records = [data] if isinstance(data, Record) else list(data)
    if not records:
        raise InputError("No record was given.")
    sensors = Sensors.of(records[0]) if sensors is None else Sensors(sensors)
    if not 0.0 <= hold_out < 0.9:
        raise InputError(f"hold_out is the share of each record kept for scoring, from 0 to 0.9, not {hold_out}.")
    entries = listed(unknown)
    loads = [u for u in entries if isinstance(u, UnknownLoad)]
    parameters = [u for u in entries if not isinstance(u, UnknownLoad)]
    first = _initial(structure, records, initial)
    inputs = [inputs_with(structure, record, loads, True) for record in records]
    experiment = Experiment(structure, tuple(sensors), first, loads_in(names for names, _, _ in inputs))
    size_of = sizes_in(experiment, records, channel_of, [(names, samples) for names, samples, _ in inputs])
    unknowns = compile_unknowns(experiment, parameters, may_be_none=bool(loads), size_of=size_of)
    if "load offset" not in unknowns.needs:
        experiment = dataclasses.replace(experiment, loads=())
    arrays, held_out = [], []
    refuse_silent(sensors, records)
    for i, record in enumerate(records):
        moving = first[i].moves or unknowns.begins(i, len(records))
        used, kept = data_of(structure, record, sensors, hold, substeps, hold_out, loads, moving)
        arrays.append(used)
        held_out.append(kept)
    if modes is not None:
        refuse_modes(structure, modes, integrator)
        integrator = integrator or Newmark()
    integrator = chosen_integrator(structure, integrator, hold, substeps)
    problem = completed(
        Problem(
            experiment=experiment,
            unknowns=unknowns,
            unknown_loads=tuple(str(load.at) for load in loads),
            load_deviations=tuple(None if load.deviation is None else float(load.deviation) for load in loads),
            data=tuple(arrays),
            held_out=tuple(held_out),
            integrator=integrator,
            substeps=substeps,
            hold=hold,
            pattern=None if modes else pattern_for(structure, integrator),
            modes=modes,
        )
    )
    if modes is not None:
        refuse_needs(problem)
    if not loads and "initial state" not in problem.needs:
        with on_processor():
            _check_size(problem)
    return problem


def _initial(structure, records: list[Record], given) -> tuple[Initial, ...]:
    """The initial state of the structure in each record."""
    size = structure.model(structure.inputs if isinstance(structure, ImposedTest) else ()).size
    if given is None or not isinstance(given, list | tuple):
        given = [given] * (len(records) if given is None else 1)
    if len(given) != len(records):
        raise InputError(f"{len(records)} records need as many initial states, not {len(given)}.")
    initial = tuple(as_initial(state, structure, size) for state in given)
    if any(state.states is not None for state in initial):
        raise Refusal(
            "An identification starts with its laws at rest: leave 'states' out of the initial state, and start the "
            "record before the parts were loaded."
        )
    return initial


def _check_size(problem: Problem) -> None:
    """Refuse data that differ by orders of magnitude from the prediction at the first guess: a unit is wrong."""
    measured, boxed = problem.signal_size(), problem.boxed()  # the program that descents and their results use too
    start = as_array(boxed.start)
    each = [np.var(np.asarray(predict(boxed, start, i)), axis=0) for i in range(len(problem.data))]
    predicted = np.sqrt(np.mean(each, axis=0))
    for sensor, m, p in zip(problem.sensors, measured, predicted, strict=True):
        if not (np.isfinite(p) and p > 0) or 1 / 300 < m / p < 300:
            continue
        if m < _DEAD * p:
            raise InputError(
                f"Channel '{sensor.label}' is dead (constant), where the model moves by {p:.3g} in SI units: leave "
                "this sensor out, or repair the channel."
            )
        hint = unit_hint(m / p, sensor.quantity, near=1.0)
        raise InputError(
            f"The readings of '{sensor.label}' are {m / p:.2g} times the prediction at the first guess "
            f"({m:.3g} against {p:.3g} in SI units): check the unit of this channel{f' ({hint})' if hint else ''}, or "
            "the first guess."
        )


def completed(problem: Problem) -> Problem:
    """The problem with its derived parts: delays, and the abilities that a method must have."""
    late = "sensor delay" in problem.unknowns.needs or any(float(s.delay) for s in problem.sensors)
    problem = dataclasses.replace(problem, delays=late)
    return dataclasses.replace(problem, needs=needs_of(problem))


def predict(problem: Problem, free: Array, record: int) -> Any:
    """Compiled `problem.predict`; in modes, where the problem is stated so."""
    if problem.modes is not None:
        return readings_in_modes(problem, free, record)
    return _predict(cheaper(problem), free, record)


@native.jit
def _predict(problem: Problem, free: Array, record: int) -> jax.Array:
    return problem.predict(free, record)
