"""Natural sizes of unknowns whose first guess is zero: typical values of offsets and initial states."""

from __future__ import annotations

import numpy as np

from vibrid.core import paths
from vibrid.identification.experiment import Experiment
from vibrid.records.record import Record

_RATES = {
    "displacement": 0,
    "drift": 0,
    "velocity": 1,
    "drift_velocity": 1,
    "acceleration": 2,
    "absolute_acceleration": 2,
}


class NaturalSizes:
    """A typical size of the parameter at a place of an experiment, from the records; None where they do not give one.

    Arguments
        readings: for every sensor its samples of all records.
        inputs: for every load of the experiment its samples of all records.
        duration: s, of the longest record.
    """

    def __init__(self, experiment: Experiment, readings: list[np.ndarray], inputs: list[np.ndarray], duration: float):
        self.experiment, self.readings, self.inputs, self.duration = experiment, readings, inputs, duration

    def __call__(self, place: str) -> float | None:
        tokens = paths.parse(place)
        if tokens[-1] == "offset":
            samples = self.readings if tokens[0] == "sensors" else self.inputs
            return _spread(samples[int(tokens[1])]) or None
        return self._motion(str(tokens[2])) if tokens[0] == "initial" else None

    def _motion(self, quantity: str) -> float | None:
        """A typical displacement or velocity, from readings of the nearest derivative."""
        pace = self._pace()
        wanted = 0 if quantity == "displacement" else 1
        sizes = sorted(
            (abs(_RATES[s.quantity] - wanted), _spread(samples) * pace ** (wanted - _RATES[s.quantity]))
            for s, samples in zip(self.experiment.sensors, self.readings, strict=True)
            if s.quantity in _RATES
        )
        nearest = [size for far, size in sizes if far == sizes[0][0] and size > 0]
        return max(nearest, default=None)

    def _pace(self) -> float:
        """rad/s: the lowest natural frequency about rest; one cycle per record where the structure has no stiffness."""
        mass, _, stiffness = (np.asarray(part) for part in self.experiment.structure.model(()).initial_matrices())
        lowest = np.min(np.linalg.eigvals(np.linalg.solve(mass, stiffness)).real)
        return max(float(np.sqrt(max(lowest, 0.0))), 2 * np.pi / self.duration)


def sizes_in(experiment: Experiment, records: list[Record], channels, inputs) -> NaturalSizes:
    """Sizes from records; `channels` (record, sensor) names the channel, `inputs` (record,) are (names, samples)."""
    readings = [
        np.concatenate([record[channels(record, sensor)] for record in records]) for sensor in experiment.sensors
    ]
    driven = [
        np.concatenate([samples[:, names.index(load)] for names, samples in inputs if load in names])
        for load in ((load.quantity, load.place) for load in experiment.loads)
    ]
    return NaturalSizes(experiment, readings, driven, max(r.duration for r in records))


def _spread(samples: np.ndarray) -> float:
    """Standard deviation of the samples present; their size where they are constant."""
    present = samples[np.isfinite(samples)]
    return float(np.std(present) or np.max(np.abs(present), initial=0.0)) if present.size else 0.0
