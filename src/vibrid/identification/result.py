"""The result of every method: estimates, their uncertainty, and whether the model fits."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from vibrid.core.attached import attach, attached
from vibrid.core.digits import with_uncertainty
from vibrid.core.errors import InputError
from vibrid.core.findings import KNOWN, ODD, WRONG, Finding
from vibrid.core.inputs import InputFile
from vibrid.core.missing import refuse_missing
from vibrid.core.numbers import as_array
from vibrid.core.progress import SILENT, Progress
from vibrid.core.shown import InNotebooks
from vibrid.identification.diagnostics import ChannelFit, convergence_message, correlation, relative_error, verdict
from vibrid.identification.display import displayed
from vibrid.identification.experiment import without_offsets
from vibrid.identification.identifiability import Identifiability
from vibrid.identification.loads.estimate import LoadEstimate
from vibrid.identification.loads.solution import uncertain_rows
from vibrid.identification.other_answers import OtherAnswer
from vibrid.identification.problem import Problem
from vibrid.identification.problem_data import channel_of
from vibrid.records.record import Record
from vibrid.simulation.response import Response
from vibrid.simulation.simulate import simulate
from vibrid.structures.sensors import Sensors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vibrid.identification.experiment import Experiment
    from vibrid.identification.prediction import Prediction
    from vibrid.identification.quantities import Quantity
    from vibrid.simulation.initial import Initial
    from vibrid.structures.base import Structure
    from vibrid.structures.sensors import Sensor


@dataclass(frozen=True, eq=False)
class Identification(InNotebooks):
    """The result of an identification, the same for all methods.

    `estimate`, `deviation` are physical values in the order of `names`; `free` and `free_covariance` are the same as
    free variables of the method, from which intervals are mapped so that they respect signs and bounds. `samples` are
    posterior samples (physical) where the method has them.
    """

    method: str
    settings: dict[str, Any]
    problem: Problem
    free: np.ndarray
    free_covariance: np.ndarray | None
    noise: np.ndarray  # standard deviation of every sensor's noise, given or estimated
    predictions: list[np.ndarray]
    fits: list[ChannelFit]
    limits: Identifiability
    history: dict[str, np.ndarray] = field(default_factory=dict)  # "cost" (k,), "estimate" (k, p), perhaps "deviation"
    samples: np.ndarray | None = None
    convergence: dict[str, Any] = field(default_factory=dict)  # diagnostics of the method
    warnings: tuple[str, ...] = ()
    seed: int = 0
    seconds: float = float("nan")
    cut_short: bool = False
    versions: dict[str, str] = field(default_factory=dict)
    provenance: tuple[tuple[str, tuple[str, ...]], ...] = ()  # name and history of every record
    loads: tuple[LoadEstimate, ...] = ()  # of every record, where loads were unknown
    files: tuple[InputFile, ...] = ()  # the files that were read
    other_answers: tuple[OtherAnswer, ...] = ()  # others that explain the readings as well, the most likely first
    checks: tuple[Finding, ...] = ()  # what the checks of the result found, the most important first
    display_units: dict[str, str] = field(default_factory=dict)  # by name, where results are shown in another unit
    started_from: str = ""  # a message: the first guess that led to this answer, where it was not the one given

    # -- numbers -----------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        return self.problem.unknowns.names

    @property
    def units(self) -> tuple[str, ...]:
        return self.problem.unknowns.units

    @property
    def estimate(self) -> np.ndarray:
        return np.asarray(self.problem.unknowns.to_physical(jnp.asarray(self.free)))

    @property
    def covariance(self) -> np.ndarray:
        """(p, p) in physical units, to first order; NaN where the method gives none."""
        if self.free_covariance is None:
            return np.full((len(self.names),) * 2, np.nan)
        slope = np.asarray(self.problem.unknowns.slope(jnp.asarray(self.free)))
        return self.free_covariance * np.outer(slope, slope)

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviation of every estimate, in its unit; NaN for an unknown at its bound."""
        return np.where(self._held, np.nan, np.sqrt(np.diag(self.covariance)))

    @property
    def at_bound(self) -> tuple[str | None, ...]:
        """ "low" or "high" for every unknown at its bound, None for the others."""
        return tuple((None, "high", "low")[side] for side in self.problem.unknowns.at_bound(self.free))

    @property
    def _held(self) -> np.ndarray:
        """Unknowns that a descent left at a bound: a normal distribution does not describe their uncertainty."""
        return self.problem.unknowns.box().side(self.free) != 0

    def interval(self, level: float = 0.95) -> np.ndarray:
        """(p, 2) limits that contain the true value with the given probability if the model is right.

        They stay within the bounds; an unknown at its bound has none (NaN).
        """
        if self.samples is not None:
            tail = 50 * (1 - level)
            return np.percentile(self.samples, [tail, 100 - tail], axis=0).T
        if self.free_covariance is None:
            return np.full((len(self.names), 2), np.nan)
        times = NormalDist().inv_cdf(0.5 + level / 2) if level < 1.0 else np.inf
        reach = times * np.sqrt(np.diag(self.free_covariance))
        ends = [np.asarray(self.problem.unknowns.to_physical(as_array(self.free + s * reach))) for s in (-1, 1)]
        return np.where(self._held[:, None], np.nan, np.sort(np.stack(ends, axis=1), axis=1))

    @property
    def values(self) -> dict[str, float]:
        """Estimates by name."""
        return dict(zip(self.names, map(float, self.estimate), strict=True))

    @property
    def model_fits(self) -> bool:
        return verdict(self.fits, findings=self.checks)[0]

    @property
    def verdict(self) -> str:
        """A message: what the checks found, and whether the model explains the data."""
        return " ".join(self.judgement)

    @property
    def judgement(self) -> tuple[str, ...]:
        """The sentences of the verdict: causes of a misfit first, then whether the model fits, then known errors."""
        known = [finding.sentence for finding in self.checks if finding.verdict == KNOWN]
        return (*self._causes, verdict(self.fits, findings=self.checks)[1], *known)

    @property
    def _causes(self) -> list[str]:
        return [finding.sentence for finding in self.checks if finding.verdict in (WRONG, ODD)]

    @property
    def certificate(self) -> str:
        """A message: whether the descent reached a minimum; empty for methods that do not descend."""
        return convergence_message(self.convergence)

    @property
    def held_out(self) -> float:
        """Mean relative error on the samples kept for scoring; NaN when none were kept."""
        scored = [f.held_out for f in self.fits if np.isfinite(f.held_out)]
        return float(np.mean(scored)) if scored else float("nan")

    # -- using the result --------------------------------------------------------------------------------------

    @property
    def experiment(self) -> Experiment:
        """The experiment with the estimated values."""
        return self.problem.unknowns.apply(self.problem.experiment, jnp.asarray(self.free))

    @property
    def structure(self) -> Structure:
        """The identified structure."""
        return self.experiment.structure

    def predict(self, record: Record, start: Initial | dict[str, Any] | None = None) -> Response:
        """Response of the identified structure to another excitation, or from an initial state as in `simulate`."""
        p = self.problem
        refuse_missing(p.experiment.structure, p.integrator)
        settings = {"integrator": p.integrator, "hold": p.hold, "substeps": p.substeps}
        return simulate(self.structure, record, start=start, **settings)

    def validate(self, record: Record, start: Initial | dict[str, Any] | None = None) -> Validation:
        """Predict a record that was not used and compare with the readings of its sensors.

        The sensors and the channels of the excitation are assumed to have the identified offsets.
        """
        refuse_missing(self.problem.experiment.structure, self.problem.integrator)
        sensors = self.experiment.sensors
        channels = []
        for s in sensors:
            try:
                channels.append((s, channel_of(record, s)))
            except InputError:
                continue
        if not channels:
            raise InputError(f"Record '{record.name}' has none of the sensors {', '.join(s.label for s in sensors)}.")
        response = self.predict(without_offsets(record, self.experiment), start)
        predicted = response.readings([s for s, _ in channels])
        measured = np.stack([record[name] for _, name in channels], axis=1)
        return Validation(record, tuple(name for _, name in channels), measured, predicted, response)

    def reconstruct(self, sensors: Sequence[Sensor], record: int = 0) -> Reconstruction:
        """Readings of other sensors in a record that was used, with a band where its loads were unknown."""
        refuse_missing(self.problem.experiment.structure, self.problem.integrator)
        sensors = Sensors(sensors).noiseless()
        experiment = self.experiment
        other = replace(experiment, sensors=tuple(sensors))
        values = np.asarray(self.problem.predict_data(other, self.problem.data[record], record))
        deviation = np.full_like(values, np.nan)
        if self.loads:
            deviation = uncertain_rows(
                self.problem,
                self.free,
                record,
                self.loads[record].weights,
                self.settings["penalty"],
                self.free_covariance,
                sensors,
            )
        return Reconstruction(tuple(s.label for s in sensors), values, deviation)

    def table(self) -> list[dict[str, Any]]:
        """One row per unknown: name, unit, estimate, deviation, interval, at a bound or not, bounds, Cramér–Rao bound,
        identifiable. They are in SI units; `display` has the same numbers in units of display, where there are some."""
        rows = self._rows()
        for row in rows if self.display_units else ():
            row["display"] = displayed(row, self.display_units.get(row["name"]) or row["unit"])
        return rows

    def _rows(self) -> list[dict[str, Any]]:
        u, interval = self.problem.unknowns, self.interval()
        low, high = np.asarray(u.low), np.asarray(u.high)
        return [
            {
                "name": name,
                "unit": u.units[i],
                "estimate": float(self.estimate[i]),
                "standard_deviation": float(self.deviation[i]),
                "interval_95": [float(v) for v in interval[i]],
                "at_bound": self.at_bound[i],
                "bounds": [None if not np.isfinite(b[i]) else float(b[i]) for b in (low, high)],
                "cramer_rao_bound": float(self.limits.bound[i]),
                "identifiable": bool(self.limits.identifiable[i]),
            }
            for i, name in enumerate(self.names)
        ]

    def __str__(self) -> str:
        width = max(len(n) for n in self.names) + 2
        head = f"{'parameter':<{width}}{'estimate':>12}{'± 2σ':>12}{'bound':>12}  identifiable"
        rows = [
            f"{r['name']:<{width}}{_estimate(r):>12}{_twice(r):>12}"
            f"{_shown(r)['cramer_rao_bound']:>12.{2 if 'display' in r else 3}g}"
            f"  {'yes' if r['identifiable'] else 'no'}" + (f"  [{_shown(r)['unit']}]" if r["unit"] else "")
            for r in self.table()
        ]
        causes = self._causes
        warnings = [textwrap.fill(warning, 120) for warning in self.warnings]
        notes = [*self.judgement[len(causes) :], *filter(None, [self.started_from, self.certificate]), *warnings]
        ending = " (cut short)" if self.cut_short else ""
        loads = [str(estimate) for estimate in self.loads]
        return "\n".join([*causes, f"{self.method}: {self.seconds:.2f} s{ending}", head, *rows, *loads, *notes])

    __repr__ = __str__

    def replace(self, **changes: Any) -> Identification:
        return replace(self, **changes)

    @attached
    def predict_readings(self, record: Record, start: Initial | dict[str, Any] | None = None) -> Prediction:
        """Readings of the sensors under another excitation, with a band from the uncertainty of the parameters."""
        ...

    @attached
    def quantities(self) -> list[Quantity]:
        """Periods, damping ratios, and for a shear building drifts and base shear, with their standard deviations."""
        ...

    @attached
    def repair(self, progress: Progress = SILENT) -> Identification:
        """Fit again with the faults of instruments that were found explained: a delay, a gain and an offset as further
        unknowns, a sign, a drift, a clock and exchanged channels put right. Without such a fault it is refused."""
        ...

    # -- files and pictures ------------------------------------------------------------------------------------

    @attached
    def save(self, path: Path | str) -> None:
        """Write to one HDF5 file; `load_identification` reads it back."""
        ...

    @attached
    def plot(self) -> Figure:
        """Estimates, overlays and residuals in one figure."""
        ...

    @attached
    def report(self, path: Path | str, **keywords: Any) -> Path:
        """Write the self-contained HTML report; returns its path."""
        ...


attach(Identification, repair="vibrid.identification.checks.repair:repair")


def _estimate(row: dict[str, Any]) -> str:
    """Text of the column of estimates: in the unit of display with the digits that the uncertainty supports."""
    shown = row.get("display")
    return f"{row['estimate']:.6g}" if shown is None else with_uncertainty(*_number(shown))[0]


def _twice(row: dict[str, Any]) -> str:
    """Text of the column ± 2σ."""
    if row["at_bound"] and not np.isfinite(row["standard_deviation"]):
        return "at bound"
    shown = row.get("display")
    return f"{2 * row['standard_deviation']:.3g}" if shown is None else with_uncertainty(*_number(shown))[1] or "nan"


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a row that a person reads."""
    return row.get("display") or row


def _number(shown: dict[str, Any]) -> tuple[float, float]:
    return shown["estimate"], 2 * shown["standard_deviation"]


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Readings of sensors that were not installed: (samples, sensors), with standard deviations; NaN where unknown."""

    names: tuple[str, ...]
    values: np.ndarray
    deviation: np.ndarray

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[:, self.names.index(name)]


@dataclass(frozen=True, eq=False)
class Validation(InNotebooks):
    """A prediction compared with measurements that were not used."""

    record: Record
    channels: tuple[str, ...]
    measured: np.ndarray
    predicted: np.ndarray
    response: Response

    @property
    def relative_error(self) -> dict[str, float]:
        """rms error over rms signal, by channel."""
        return {name: relative_error(self.measured[:, i], self.predicted[:, i]) for i, name in enumerate(self.channels)}

    @property
    def correlation(self) -> dict[str, float]:
        return {name: correlation(self.measured[:, i], self.predicted[:, i]) for i, name in enumerate(self.channels)}

    def __str__(self) -> str:
        error, rho = self.relative_error, self.correlation
        width = max(len(c) for c in self.channels) + 2
        rows = [f"{c:<{width}}{100 * error[c]:>10.3g} %{rho[c]:>14.5f}" for c in self.channels]
        title = f"Validation on '{self.record.name}'"
        return "\n".join([title, f"{'channel':<{width}}{'error':>12}{'correlation':>14}", *rows])

    __repr__ = __str__

    @attached
    def plot(self) -> Figure:
        """Measured and predicted, channel by channel."""
        ...
