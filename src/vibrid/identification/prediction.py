"""Predicted readings with a band: what the uncertainty of the parameters leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from vibrid.core.attached import attach, attached
from vibrid.core.errors import InputError
from vibrid.core.missing import refuse_missing
from vibrid.core.shown import InNotebooks
from vibrid.identification.diagnostics import relative_error
from vibrid.identification.experiment import without_offsets
from vibrid.identification.problem_data import channel_of
from vibrid.identification.result import Identification
from vibrid.records.record import QUANTITIES, Record
from vibrid.simulation.simulate import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vibrid.simulation.initial import Initial


@dataclass(frozen=True, eq=False)
class Prediction(InNotebooks):
    """Readings of the sensors under a record, as the identified structure predicts them: arrays (samples, sensors).

    deviation: standard deviation due to the uncertainty of the parameters, to first order; NaN where the method gives
    none. noise: standard deviation of every sensor's noise. measured: readings of the record, NaN where it has none.
    """

    record: Record
    names: tuple[str, ...]
    units: tuple[str, ...]
    time: np.ndarray
    values: np.ndarray
    deviation: np.ndarray
    noise: np.ndarray
    measured: np.ndarray

    def table(self) -> list[dict[str, Any]]:
        """One row per sensor: name, unit, peak with its standard deviation and time, measured peak, and the error of
        the prediction over the signal."""
        rows = []
        for i, (name, unit) in enumerate(zip(self.names, self.units, strict=True)):
            top = int(np.argmax(np.abs(self.values[:, i])))
            known = np.isfinite(self.measured[:, i])
            rows.append(
                {
                    "name": name,
                    "unit": unit,
                    "peak": float(self.values[top, i]),
                    "standard_deviation": float(self.deviation[top, i]),
                    "time_of_peak": float(self.time[top]),
                    "measured_peak": _peak(self.measured[known, i]),
                    "relative_error": relative_error(self.measured[:, i], self.values[:, i]) if known.any() else None,
                }
            )
        return rows

    def __str__(self) -> str:
        width = max(len(name) for name in self.names) + 2
        lines = [f"Prediction for '{self.record.name}'", f"{'sensor':<{width}}{'peak':>12}{'± 2σ':>10}{'measured':>12}"]
        for r in self.table():
            band, measured = 2 * r["standard_deviation"], r["measured_peak"]
            shown = "–" if measured is None else f"{measured:.4g}"
            lines.append(f"{r['name']:<{width}}{r['peak']:>12.4g}{band:>10.2g}{shown:>12}  [{r['unit']}]")
        return "\n".join(lines)

    __repr__ = __str__

    @attached
    def plot(self, most: int = 8) -> Figure:
        """The prediction with its band, and the measured readings where there are some; at most `most` sensors."""
        ...


def predict_readings(fit: Identification, record: Record, start: Initial | dict[str, Any] | None = None) -> Prediction:
    """Readings of the sensors of a result under another excitation, with a band from its parameters' uncertainty.

    The band is of first order: the readings are computed again with the parameters moved by one standard deviation to
    both sides along every axis of their covariance.
    """
    p = fit.problem
    refuse_missing(p.experiment.structure, p.integrator)
    sensors = fit.experiment.sensors

    def readings(free: np.ndarray) -> np.ndarray:
        experiment = p.unknowns.apply(p.experiment, jnp.asarray(free))
        motion = without_offsets(record, experiment)
        settings = {"integrator": p.integrator, "hold": p.hold, "substeps": p.substeps}
        response = simulate(experiment.structure, motion, start=start, **settings)
        return np.asarray(response.readings(experiment.sensors))

    values = readings(fit.free)
    deviation = np.full_like(values, np.nan)
    if fit.free_covariance is not None:
        deviation = np.sqrt(sum((readings(fit.free + d) - readings(fit.free - d)) ** 2 / 4 for d in _axes(fit)))
    measured = np.stack([_measured(record, sensor, len(values)) for sensor in sensors], axis=1)
    units = tuple(QUANTITIES[s.quantity] for s in sensors)
    time = np.asarray(record.time)[: len(values)]
    names = tuple(s.label for s in sensors)
    return Prediction(record, names, units, time, values, np.broadcast_to(deviation, values.shape), fit.noise, measured)


def _axes(fit: Identification) -> list[np.ndarray]:
    """Steps of one standard deviation along the axes of the covariance; an unknown without one does not move."""
    covariance = np.asarray(fit.free_covariance, float)
    covariance = np.where(np.isfinite(covariance), covariance, 0.0)
    sizes, axes = np.linalg.eigh(covariance)
    return [np.sqrt(size) * axis for size, axis in zip(sizes, axes.T, strict=True) if size > 1e-14 * sizes.max() > 0]


def _measured(record: Record, sensor, samples: int) -> np.ndarray:
    try:
        return np.asarray(record[channel_of(record, sensor)], float)[:samples]
    except InputError:
        return np.full(samples, np.nan)


def _peak(values: np.ndarray) -> float | None:
    return float(values[np.argmax(np.abs(values))]) if values.size else None


attach(Identification, predict_readings=predict_readings)
