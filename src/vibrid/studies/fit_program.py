"""What one fit of a study computes: data, an identification, and what is kept of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vibrid.core import paths
from vibrid.core.errors import InputError, VibridError
from vibrid.identification.experiment import Experiment
from vibrid.identification.identify import identify
from vibrid.identification.method import Method
from vibrid.identification.result import Identification
from vibrid.records.record import EXCITATIONS, Record
from vibrid.simulation.simulate import simulate
from vibrid.structures.base import Structure
from vibrid.structures.sensors import Sensors
from vibrid.studies.fits import ESTIMATED, FAILED, NO_DATA, NOT_CONVERGED, REFUSED, Fits
from vibrid.studies.program import StudyProgram

_MOST_TEXT = 2000


@dataclass(frozen=True)
class FitBatch:
    """One fit: a task of an engine.

    runs: (1, dimensions) its place in the study; motion, law, sensors, method: numbers of each; factor: on the motion;
    values: (1,) of every path that varies; samples: of its data.
    """

    runs: np.ndarray
    motion: int
    factor: float
    values: dict[str, np.ndarray]
    law: int
    sensors: int
    method: int
    noise: float
    seed: int
    samples: int
    labels: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.runs)

    @property
    def shape(self) -> tuple:
        return self.law, self.sensors, self.method, self.samples


@dataclass(frozen=True, eq=False)
class FitProgram:
    """All that a worker needs to compute fits of a study; `moved` says how data are simulated."""

    moved: StudyProgram
    fits: Fits
    laws: dict[str, Structure]
    sensors: dict[str, Sensors | None]
    methods: dict[str, Method]
    unknown: tuple[str, ...]
    channels: tuple[str, ...]
    keep: tuple[str, ...]

    def compute(self, batch: FitBatch) -> dict[str, np.ndarray]:
        """What is kept of the one fit of a batch, with a leading axis; errors become outcomes with their sentence."""
        stage = NO_DATA
        try:
            truth, record = self.data(batch)
            stage = REFUSED
            return self._kept(self.fit(batch, record), batch, truth)
        except VibridError as problem:
            return _ended(stage, str(problem))
        except Exception as problem:  # of a library below: the study goes on
            return _ended(NO_DATA if stage == NO_DATA else FAILED, f"{type(problem).__name__}: {problem}")

    def inputs(self, batch: FitBatch) -> dict[str, np.ndarray]:
        """What a fit that cannot be computed is kept with."""
        chosen = {
            "motion": self.moved.motions[batch.motion].name,
            "law": list(self.laws)[batch.law],
            "sensors": list(self.sensors)[batch.sensors],
            "method": list(self.methods)[batch.method],
        }
        numbers = {"factor": batch.factor, "noise": batch.noise, "seed": batch.seed}
        values = {f"value {path}": values for path, values in batch.values.items()}
        return {name: np.asarray(value) for name, value in (chosen | numbers).items()} | values

    def data(self, batch: FitBatch) -> tuple[Structure, Record]:
        """The structure that moves, and the record that the fit sees."""
        p, fits = self.moved, self.fits
        record = p.motions[batch.motion].record
        if fits.data == "measured":
            return p.structure, record
        structure = paths.replace(p.structure, {path: float(v[0]) for path, v in batch.values.items()})
        motion = record.select(quantity=EXCITATIONS)
        motion = motion if batch.factor == 1.0 else motion.scale(batch.factor)
        response = simulate(structure, motion, integrator=p.integrator, hold=p.hold, substeps=p.substeps)
        sensors = list(self.sensors.values())[batch.sensors]
        assert sensors is not None
        measured = response.measure(sensors, noise=batch.noise, key=batch.seed)
        if fits.every == 1:
            return structure, measured
        coarse = {"data": measured.data[:: fits.every], "step": float(measured.step or 0.0) * fits.every}
        return structure, measured.replace(f"one of {fits.every} samples taken", **coarse)

    def fit(self, batch: FitBatch, record: Record) -> Identification:
        """The identification of one fit."""
        fits, law = self.fits, list(self.laws)[batch.law]
        made = identify(
            self.laws[law],
            record,
            fits.unknowns(law),
            list(self.methods.values())[batch.method],
            sensors=list(self.sensors.values())[batch.sensors],
            integrator=fits.integrator,
            hold=fits.hold,
            substeps=fits.substeps,
            hold_out=fits.hold_out,
            checks=fits.checks,
            key=batch.seed,
        )
        if made.cut_short:  # Ctrl-C, which the method turned into an answer: no result of the study
            raise KeyboardInterrupt
        return made

    def _kept(self, fit: Identification, batch: FitBatch, truth: Structure) -> dict[str, np.ndarray]:
        places = [self.unknown.index(name) for name in fit.names]

        def spread(values: Any, *more: int) -> np.ndarray:
            found = np.full((1, len(self.unknown), *more), np.nan)
            found[0, places] = values
            return found

        converged = bool(fit.convergence.get("converged", True))
        made: dict[str, np.ndarray] = _ended(ESTIMATED if converged else NOT_CONVERGED, _sentence(fit))
        if "estimates" in self.keep:
            made["estimate"] = spread(fit.estimate)
            if self.fits.data == "simulated":
                made["true_value"] = spread(true_values(fit, truth))
        if "intervals" in self.keep:
            made["standard_deviation"] = spread(fit.deviation)
            made["interval"] = spread(fit.interval(self.fits.confidence), 2)
            made["cramer_rao_bound"] = spread(fit.limits.bound)
        if "verdicts" in self.keep:
            made["identifiable"] = spread(np.asarray(fit.limits.identifiable, float))
            made["at_bound"] = spread([float(side is not None) for side in fit.at_bound])
            made["model_fits"] = np.array([float(fit.model_fits)])
            found = ", ".join(dict.fromkeys(f"{f.verdict} {f.name}" for f in fit.checks))
            made["findings"] = np.array([found], object)
        if "scores" in self.keep:
            errors = np.full((1, len(self.channels)), np.nan)
            for channel in fit.fits:
                errors[0, self.channels.index(channel.name)] = channel.relative
            made |= {"relative_error": errors, "held_out": np.array([fit.held_out])}
        if "seconds" in self.keep:
            made["seconds"] = np.array([fit.seconds])
        return made


def _ended(outcome: int, sentence: str) -> dict[str, np.ndarray]:
    return {"outcome": np.array([outcome], np.int8), "sentence": np.array([sentence[:_MOST_TEXT]], object)}


def _sentence(fit: Identification) -> str:
    return " ".join(filter(None, [fit.verdict, fit.certificate, *fit.warnings]))


def true_values(fit: Identification, truth: Structure) -> list[float]:
    """The values that the unknowns have in the structure that moved; NaN where another law has the same name for
    something else, or where it is not there."""
    known = dataclasses.replace(fit.problem.experiment, structure=truth)
    return [_true_value(known, fit.problem.experiment, places[0]) for places in fit.problem.unknowns.places]


def _true_value(known: Experiment, fitted: Experiment, place: str) -> float:
    tokens = paths.parse(place)
    try:
        for depth in range(1, len(tokens)):
            owner = paths.spell(tokens[:depth])
            if type(paths.get(known, owner)) is not type(paths.get(fitted, owner)):
                return float("nan")
        return float(paths.get(known, place))
    except InputError:
        return float("nan")
