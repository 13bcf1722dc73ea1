"""A study of fits: identifications over motions, laws, sensors, methods, noise and seeds, kept in one dataset."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vibrid.core.errors import InputError, unknown_name
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.conclude import settings_of
from vibrid.structures.sensors import Sensors
from vibrid.studies import layout
from vibrid.studies.axes import check_size, refuse_twice
from vibrid.studies.digest import digest
from vibrid.studies.fit_program import FitBatch, FitProgram
from vibrid.studies.fits import FIT_KEEPABLE, FIT_OUTCOMES, Fits, names_and_units
from vibrid.studies.motions import StudyMotion
from vibrid.studies.running import Described, run_study
from vibrid.studies.store import Coordinate, Variable, flags, with_unit

if TYPE_CHECKING:
    import xarray

    from vibrid.studies.engine import Engine
    from vibrid.studies.study import Study

_NAMED = ("law", "sensors", "method_name")
"""Dimensions whose ticks have names; what is behind a name is told apart by its digest."""
_BY_UNKNOWN = {
    "estimates": ("estimate", "true_value"),
    "intervals": ("standard_deviation", "cramer_rao_bound"),
    "verdicts": ("identifiable", "at_bound"),
}
_MEANINGS = {
    "estimate": "in the unit of the coordinate `unit`",
    "true_value": "in the structure that moved; NaN where the fitted law has another meaning for it",
    "standard_deviation": "of the estimate",
    "cramer_rao_bound": "smallest standard deviation that any unbiased method can have",
    "identifiable": "1 where the data determine the unknown, 0 where they do not",
    "at_bound": "1 where the estimate is at a bound",
    "model_fits": "1 where the model explains the data, 0 where it does not",
    "findings": "what the checks found: verdict and name of each",
    "sentence": "the verdict on the fit, or why there is none",
    "interval": "contains the true value with the probability `confidence`, if the model is right",
    "relative_error": "rms of the residual over rms of the signal",
    "held_out": "the same on the samples that were kept for scoring",
    "seconds": "of the fit",
}


@dataclass(frozen=True, eq=False)
class FitStudy(Described):
    """Many identifications, described and not yet made; `run` computes them.

    runs: how the structure moves where data are simulated, over motions, levels and parameters; program: what one fit
    computes; units: of the unknowns, by name; attributes: what else the dataset says of its origin.
    """

    noun: ClassVar[str] = "fits"
    runs: Study
    program: FitProgram
    units: dict[str, str]
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def fits(self) -> Fits:
        return self.program.fits

    @property
    def sizes(self) -> dict[str, int]:
        return self.runs.sizes | {name: len(labels) for name, labels in self._own().items()}

    @property
    def size(self) -> int:
        """The number of fits."""
        return check_size(list(self.sizes.values()))

    def _own(self) -> dict[str, list]:
        """The labels of the dimensions that belong to fits; what was given as one thing is none."""
        p, fits = self.program, self.fits
        found: dict[str, list] = {}
        if fits.laws is not None:
            found["law"] = list(p.laws)
        if fits.sensors is not None:
            found["sensors"] = list(p.sensors)
        if isinstance(fits.method, Mapping | list | tuple):
            found["method_name"] = list(p.methods)
        if np.asarray(fits.noise).ndim:
            found["noise"] = np.asarray(fits.noise, float).tolist()
        return found | {"seed": [int(seed) for seed in fits.seeds]}

    def ticks(self) -> dict[str, str]:
        own = {name: f"{name}_fingerprint" if name in _NAMED else name for name in self._own()}
        return self.runs.ticks() | own

    def ordered(self, order: Mapping[str, Sequence[int]]) -> FitStudy:
        runs, p, fits = self.runs.ordered(order), self.program, self.fits
        own = {name: [labels[i] for i in order[name]] for name, labels in self._own().items()}
        laws = {name: p.laws[name] for name in own.get("law", p.laws)}
        sensors = {name: p.sensors[name] for name in own.get("sensors", p.sensors)}
        methods = {name: p.methods[name] for name in own.get("method_name", p.methods)}
        fits = replace(
            fits,
            laws=None if fits.laws is None else laws,
            sensors=None if fits.sensors is None else sensors,
            method=methods if "method_name" in own else fits.method,
            noise=own.get("noise", fits.noise),
            seeds=own["seed"],
        )
        return described_fits(runs, fits, p.sensors.get(""), p.keep, self.attributes)

    def batches(self, before: Sequence[int] | None, shape: Sequence[int], width: int) -> Iterator[FitBatch]:
        """One fit each, in the order of the dataset: seeds of one problem come after each other."""
        names, factors, own = list(self.sizes), self.runs.factors(), self._own()
        scale = self.runs.scale_name
        lengths = [-(-len(motion.record) // self.fits.every) for motion in self.runs.program.motions]
        for place in np.ndindex(*shape):
            if before is not None and all(i < size for i, size in zip(place, before, strict=True)):
                continue
            at = dict(zip(names, place, strict=True))
            motion = at["motion"]
            values = {
                path: ticks[at[axis.name] : at[axis.name] + 1]
                for axis in self.runs.parameters
                for path, ticks in axis.values.items()
            }
            noise = own["noise"][at["noise"]] if "noise" in own else float(np.asarray(self.fits.noise).ravel()[0])
            yield FitBatch(
                np.array([place]), motion, float(factors[motion, at[scale] if scale else 0]), values,
                at.get("law", 0), at.get("sensors", 0), at.get("method_name", 0), noise, own["seed"][at["seed"]],
                lengths[motion],
            )  # fmt: skip

    def width(self, runs: int) -> int:
        return 1

    def variables(self) -> dict[str, Variable]:
        keep, dims = self.program.keep, tuple(self.sizes)
        found = {"outcome": Variable(dims, np.int8, flags(FIT_OUTCOMES, "how the fit ended"), len(dims))}

        def add(name: str, kind: type, *more: str, **about: Any) -> None:
            found[name] = Variable((*dims, *more), kind, {"long_name": _MEANINGS[name]} | about, len(dims))

        add("sentence", str)
        for part, names in _BY_UNKNOWN.items():
            for name in names if part in keep else ():
                if name != "true_value" or self.fits.data == "simulated":
                    add(name, float, "unknown")
        if "intervals" in keep:
            add("interval", float, "unknown", "end", confidence=self.fits.confidence)
        if "verdicts" in keep:
            add("model_fits", float)
            add("findings", str)
        if "scores" in keep:
            add("relative_error", float, "channel")
            add("held_out", float)
        if "seconds" in keep:
            add("seconds", float, **with_unit("s"))
        return found

    def coordinates(self) -> dict[str, Coordinate]:
        p, runs = self.program, self.runs
        found = layout.motion_coordinates(runs.program.motions)
        if self.fits.data == "measured":
            marks = [_of_record(motion) for motion in runs.program.motions]
            found["fingerprint"] = ("motion", marks, {"long_name": "of the record"})
        if runs.scale_name is not None:
            found |= layout.scale_coordinates(runs)
        for axis in runs.parameters:
            found |= layout.axis_coordinates(axis)
        marks = {
            "law": [digest(structure, self.fits.unknowns(name)) for name, structure in p.laws.items()],
            "sensors": [digest(sensors) for sensors in p.sensors.values()],
            "method_name": [digest(type(method).__name__, settings_of(method)) for method in p.methods.values()],
        }
        for name, labels in self._own().items():
            found[name] = (name, labels, {"long_name": "share of each signal"} if name == "noise" else {})
            if name in marks:
                found[f"{name}_fingerprint"] = (name, marks[name], {})
        found["unknown"] = ("unknown", list(self.units), {})
        found["unit"] = ("unknown", list(self.units.values()), {})
        if "intervals" in p.keep:
            found["end"] = ("end", ["low", "high"], {})
        if "scores" in p.keep:
            found["channel"] = ("channel", list(p.channels), {})
        return found

    def named(self, answer: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(answer)

    def fingerprint(self) -> str:
        fits, p, m, own = self.fits, self.program, self.runs.program, self._own()
        drawn = [sorted(a.values.items()) if not a.grows else sorted(a.values) for a in self.runs.parameters]
        alone = [
            None if "law" in own else [digest(s, fits.unknowns(name)) for name, s in p.laws.items()],
            None if "sensors" in own else list(p.sensors.values()),
            None if "method_name" in own else [(type(x).__name__, settings_of(x)) for x in p.methods.values()],
            None if "noise" in own else float(np.asarray(fits.noise).ravel()[0]),
        ]
        moves = (m.structure, m.integrator, m.loads, m.hold, m.substeps, drawn, str(self.runs.measure))
        fitted = (fits.integrator, fits.hold, fits.substeps, fits.hold_out, fits.checks, fits.every, fits.confidence)
        return digest("fits", list(self.sizes), moves, fitted, fits.data, p.keep, alone)

    def provenance(self) -> dict[str, Any]:
        m, fits = self.runs.program, self.fits
        found: dict[str, Any] = {
            "title": f"Fits of a {type(m.structure).__name__}",
            **layout.made_with(),
            "structure": repr(m.structure),
            "data": fits.data,
            "laws": [f"{name}: {structure!r}" for name, structure in self.program.laws.items()],
            "unknowns": [f"{name}: {fits.unknowns(name)!r}" for name in self.program.laws],
            "methods": [f"{name}: {method!r}" for name, method in self.program.methods.items()],
            "fitted_with": f"integrator {fits.integrator!r}, hold {fits.hold}, substeps {fits.substeps}, checks "
            f"{fits.checks}",
            "key": self.runs.key,
            "history": [f"{motion.name}: {line}" for motion in m.motions for line in motion.record.history],
        }
        if fits.data == "simulated":
            found["simulated_with"] = self._simulated_with()
        return found | self.attributes

    def _simulated_with(self) -> str:
        m, fits = self.runs.program, self.fits
        seen = f", one of {fits.every} samples seen by the fit" if fits.every > 1 else ""
        if fits.every == 1 and (fits.hold, fits.substeps) == (m.hold, m.substeps):
            seen = ", as in the fit: the error of its time step does not show"
        return f"integrator {type(m.integrator).__name__}, hold {m.hold}, substeps {m.substeps}{seen}"

    def run(
        self, out: str | Path | None = None, engine: Engine | None = None, progress: Progress = SILENT
    ) -> xarray.Dataset:
        """Compute all fits that are not there yet, and return the dataset; arguments as for a study of runs."""
        return run_study(self, out, engine, progress)

    def __str__(self) -> str:
        fits, p = self.fits, self.program
        shape = " × ".join(f"{size} {name}" for name, size in self.sizes.items())
        lines = [f"Study of fits of a {type(self.runs.program.structure).__name__}: {shape} = {self.size} fits"]
        lines.append(f"  unknown: {', '.join(self.units)}")
        lines.append(f"  methods: {', '.join(p.methods)}")
        if fits.data == "measured":
            lines.append("  data: measured")
        else:
            lines.append(f"  data: simulated with {self._simulated_with()}; noise {fits.noise} of each signal")
        lines.append(f"  fits: hold {fits.hold}, substeps {fits.substeps}, checks {fits.checks}")
        lines.append(f"  kept: {', '.join(p.keep)}")
        return "\n".join(lines)

    __repr__ = __str__


def described_fits(
    runs: Study, fits: Fits, sensors: Sequence | None, keep: Sequence[str] | None, attributes: dict | None = None
) -> FitStudy:
    """The study of fits of motions, levels and parameters; refused where it cannot be."""
    keep = ("estimates", "intervals", "verdicts") if keep is None else keep
    unknown = [name for name in keep if name not in FIT_KEEPABLE]
    if unknown or not keep:
        raise unknown_name("kind of result of a fit to keep", unknown[0] if unknown else "", FIT_KEEPABLE)
    m = runs.program
    if fits.data == "measured" and (runs.parameters or runs.scales is not None):
        raise InputError("Measured data have their own parameters and size: leave out vary, levels and scales.")
    if runs.hunt is not None:
        raise InputError("A hunt for collapse is made of runs, not of fits: give levels, or leave out the fits.")
    if fits.data == "simulated":
        sets = fits.sensor_sets(m.sensors if sensors is None else sensors)
        channels = [sensor.label for chosen in sets.values() for sensor in chosen or ()]
    else:
        sets = fits.sensor_sets(sensors)
        of_records = [Sensors.of(motion.record) for motion in m.motions] if None in sets.values() else []
        channels = [s.label for chosen in (*sets.values(), *of_records) for s in chosen or ()]
    laws = fits.structures(m.structure)
    shown = {name: chosen or Sensors.of(m.motions[0].record) for name, chosen in sets.items()}
    units = names_and_units(fits, laws, shown, m.loads)
    program = FitProgram(
        m, fits, laws, sets, fits.methods(), tuple(units), tuple(dict.fromkeys(channels)),
        tuple(name for name in FIT_KEEPABLE if name in keep),
    )  # fmt: skip
    made = FitStudy(runs, program, units, dict(attributes or {}))
    refuse_twice(runs.parameters, [*_NAMED, "noise", "seed", "unknown", "unit", "channel", "end"])
    check_size(list(made.sizes.values()))
    return made


def _of_record(motion: StudyMotion) -> str:
    record = motion.record
    found = hashlib.sha256(np.ascontiguousarray(record.data, float).tobytes())
    found.update(repr((record.step, [(c.name, c.quantity, c.location, c.direction) for c in record.channels])).encode())
    return found.hexdigest()[:16]
