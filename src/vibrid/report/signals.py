"""The signals behind the figures: measured and predicted, reduced for drawing without losing a peak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vibrid.identification.experiment import Experiment
from vibrid.identification.loads.solution import inputs_with
from vibrid.identification.result import Identification, Validation
from vibrid.records.readers.assemble import numbered
from vibrid.records.record import QUANTITIES, Channel, Record
from vibrid.simulation.initial import Initial
from vibrid.simulation.response import Response
from vibrid.simulation.simulate import simulate


@dataclass(frozen=True, eq=False)
class SensorTrace:
    """One sensor of one record: its readings and those predicted with the identified structure.

    `measured` is NaN where a sample is missing; `fitted` marks the samples that the method used (the others were held
    out, or belong to a validation).
    """

    name: str
    quantity: str
    time: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    fitted: np.ndarray

    @property
    def unit(self) -> str:
        return QUANTITIES[self.quantity]

    @property
    def step(self) -> float:
        return float(self.time[1] - self.time[0])

    @property
    def residual(self) -> np.ndarray:
        return self.measured - self.predicted

    @property
    def largest(self) -> float:
        return float(np.nanmax(np.abs(np.concatenate([self.measured, self.predicted]))))

    @property
    def relative(self) -> float:
        """rms of the residual over that of the signal."""
        finite = np.isfinite(self.measured)
        size = np.std(self.measured[finite]) if finite.any() else np.nan
        return float(np.sqrt(np.mean(self.residual[finite] ** 2)) / size) if size > 0 else float("nan")


def traces_of(fit: Identification, record: int = 0) -> list[SensorTrace]:
    """Every sensor of one of the fitted records."""
    data, held = fit.problem.data[record], np.asarray(fit.problem.held_out[record]) > 0
    used = np.asarray(data.present) > 0
    measured = np.where(used | held, np.asarray(data.readings), np.nan)
    time = data.step * np.arange(data.samples)
    return [
        SensorTrace(s.label, s.quantity, time, measured[:, i], fit.predictions[record][:, i], used[:, i])
        for i, s in enumerate(fit.problem.sensors)
    ]


def traces_of_validation(validation: Validation) -> list[SensorTrace]:
    """Every channel of a validation; none of its samples was fitted."""
    record = validation.record
    return [
        SensorTrace(
            name,
            record.channel(name).quantity,
            record.time,
            validation.measured[:, i],
            validation.predicted[:, i],
            np.zeros(len(record), bool),
        )
        for i, name in enumerate(validation.channels)
    ]


def worst(traces: list[SensorTrace], count: int) -> list[SensorTrace]:
    """The `count` traces with the worst fit, in the order of the sensors."""
    order = sorted(range(len(traces)), key=lambda i: -np.nan_to_num(traces[i].relative, nan=np.inf))[:count]
    return [traces[i] for i in sorted(order)]


# -- the identified structure in motion ----------------------------------------------------------------------------


def excitation_of(fit: Identification, record: int = 0) -> Record:
    """The excitation of a fitted record: offsets removed, identified loads included.

    Several loads may act at one place (two jacks, the axles of a vehicle): their channels are numbered.
    """
    data = fit.problem.data[record]
    samples = fit.problem.driven(fit.experiment, data).samples
    if fit.loads:
        samples = samples + inputs_with(data, fit.loads[record].values) - data.drive.samples
    channels: list[Any] = [
        Channel(
            " ".join(filter(None, (quantity, place))),
            quantity,
            location=place if quantity == "load" else "",
            direction="" if quantity == "load" else place,
        )
        for quantity, place in data.loads
    ]
    distinct: Any = numbered(channels)
    return Record(np.asarray(samples), tuple(distinct), step=data.step, name=data.name)


def response_of(fit: Identification, record: int = 0) -> Response:
    """Response of the identified structure to a fitted record, from the same initial state."""
    p, experiment = fit.problem, fit.experiment
    return simulate(
        experiment.structure,
        excitation_of(fit, record),
        integrator=p.integrator,
        hold=p.hold,
        substeps=p.substeps,
        start=_start(experiment, record),
    )


def _start(experiment: Experiment, record: int) -> Initial | None:
    """The state at the first sample; None where it is rest."""
    first = experiment.initial[record]
    return first if first.moves else None


def yielding_parts(response: Response) -> list[str]:
    """Parts with a loop worth drawing: laws that are not linear with one deformation, dashpots last."""
    model = response.shape_of_model()
    owners = [group for group in model.groups for _ in range(group.count)]
    bent = [
        name
        for (name, _), group in zip(model.parts, owners, strict=True)
        if not group.law.is_linear and group.components == 1
    ]
    return sorted(bent, key=lambda name: name.startswith("damping"))


# -- fewer points, same picture ------------------------------------------------------------------------------------


def kept_samples(*signals: np.ndarray, most: int = 2000) -> np.ndarray:
    """About `most` indices that keep the least and the greatest value of every signal in every interval."""
    n = len(signals[0])
    if n <= most:
        return np.arange(n)
    intervals = max(most // (2 * len(signals)), 1)
    edges = np.linspace(0, n, intervals + 1).astype(int)[:-1]
    kept = [np.array([0, n - 1])]
    for signal in signals:
        finite = np.isfinite(signal)
        for a, b in zip(edges, [*edges[1:], n], strict=True):
            low, high = np.where(finite[a:b], signal[a:b], np.inf), np.where(finite[a:b], signal[a:b], -np.inf)
            kept.append(np.array([a + np.argmin(low), a + np.argmax(high)]))
    return np.unique(np.concatenate(kept))


def strong_part(traces: list[SensorTrace], share: float = 0.125, shortest: float = 2.0) -> tuple[float, float]:
    """Start and end of the part with the most energy, all signals weighted equally."""
    time = traces[0].time
    n = len(time)
    length = int(min(max(share * n, shortest / traces[0].step), n - 1))
    energy = np.zeros(n)
    for trace in traces:
        square = np.nan_to_num(trace.measured - np.nanmean(trace.measured)) ** 2
        energy += square / max(square.sum(), 1e-300)
    total = np.concatenate([[0.0], np.cumsum(energy)])
    first = int(np.argmax(total[length:] - total[:-length]))
    return float(time[first]), float(time[min(first + length, n - 1)])


# -- residuals -----------------------------------------------------------------------------------------------------


def autocorrelation(residual: np.ndarray, lags: int = 50) -> np.ndarray:
    """(lags + 1,) normalised autocorrelation of a residual, missing samples left out."""
    finite = np.isfinite(residual)
    r = np.where(finite, residual - residual[finite].mean(), 0.0)
    power = np.sum(r**2) / max(finite.sum(), 1)
    lags = min(lags, len(r) - 1)
    if power == 0:
        return np.concatenate([[1.0], np.zeros(lags)])
    pairs = [max(int((finite[lag:] & finite[: len(r) - lag]).sum()), 1) for lag in range(lags + 1)]
    return np.array([np.sum(r[lag:] * r[: len(r) - lag]) / pairs[lag] / power for lag in range(lags + 1)])


def amplitude_spectrum(values: np.ndarray, step: float, bands: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (Hz) and |X(f)| (unit · s), averaged over at most `bands` bands; missing samples count as zero."""
    values = np.where(np.isfinite(values), values - np.nanmean(values), 0.0)
    amplitude = np.abs(np.fft.rfft(values)) * step
    frequency = np.fft.rfftfreq(len(values), step)
    if len(frequency) <= bands:
        return frequency[1:], amplitude[1:]
    edges = np.unique(np.geomspace(1, len(frequency), bands + 1).astype(int))
    counts = np.diff(edges)
    power = np.add.reduceat(amplitude**2, edges[:-1])[: len(counts)]
    centre = np.add.reduceat(frequency, edges[:-1])[: len(counts)]
    return centre / counts, np.sqrt(power / counts)
