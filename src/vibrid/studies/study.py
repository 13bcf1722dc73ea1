"""A study: what varies, how it is combined, what is kept, and what ends a run early."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import numpy as np

from vibrid.core.arguments import Numbers, Seed, checked
from vibrid.core.errors import InputError, unknown_name
from vibrid.core.missing import refuse_missing
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.result import Identification
from vibrid.simulation.base import Integrator
from vibrid.simulation.simulate import chosen_integrator
from vibrid.structures.base import Structure
from vibrid.structures.sensors import Sensor, Sensors
from vibrid.studies import layout, running
from vibrid.studies.axes import Axis, check_size, parameter_axes, refuse_twice
from vibrid.studies.digest import digest
from vibrid.studies.fit_study import FitStudy, described_fits
from vibrid.studies.fits import Fits
from vibrid.studies.hunt import Hunt, run_hunt
from vibrid.studies.intensity import IntensityMeasure
from vibrid.studies.kept import KEEPABLE, Collapse, StoreyDrift
from vibrid.studies.laws import Laws, laws_of
from vibrid.studies.motions import as_motions, shared_inputs
from vibrid.studies.program import Batch, StudyProgram
from vibrid.studies.running import Described, run_study
from vibrid.studies.store import Coordinate, Variable
from vibrid.studies.watched import drift_rows, refuse_watched_sections, watched_sensors, watched_storeys

if TYPE_CHECKING:
    import xarray

    from vibrid.studies.engine import Engine


@dataclass(frozen=True, eq=False)
class Study(Described):
    """Many runs of one structure, described and not yet run; `run` computes them.

    program: what one batch computes; parameters: the axes along which parameters change; scales: the ticks of the
    dimension `level` (in the unit of `measure`) or `scale`, None where motions are taken as they are; storeys: the
    drifts that are watched; hunt: how levels are chosen, where they are not given; attributes: what else the dataset
    says of its origin; laws: the programs of the dimension `law`, None where there is one.
    """

    program: StudyProgram
    parameters: tuple[Axis, ...]
    scales: np.ndarray | None
    measure: IntensityMeasure | None
    storeys: tuple[StoreyDrift, ...]
    hunt: Hunt | None = None
    key: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    laws: Laws | None = None

    @property
    def computing(self) -> StudyProgram | Laws:
        return self.program if self.laws is None else self.laws

    @property
    def scale_name(self) -> str | None:
        """The dimension of the size of motions."""
        return None if self.scales is None else "scale" if self.measure is None else "level"

    @property
    def sizes(self) -> dict[str, int]:
        """The dimensions of the study and how many ticks each has."""
        found = {axis.name: axis.size for axis in self.parameters}
        found |= {} if self.laws is None else {"law": len(self.laws.names)}
        found["motion"] = len(self.program.motions)
        if self.hunt is not None:
            return {**found, "trial": self.hunt.most}
        return found if self.scales is None else {**found, str(self.scale_name): len(self.scales)}

    @property
    def longest(self) -> int:
        """Samples of the longest motion."""
        return max(len(motion.record) for motion in self.program.motions)

    @property
    def size(self) -> int:
        """The number of runs, of a hunt at most."""
        return check_size(list(self.sizes.values()))

    @cached_property
    def intensities(self) -> np.ndarray:
        """(motions,) the intensity of every motion as it was given; ones without a measure."""
        motions = self.program.motions
        if self.measure is None:
            return np.ones(len(motions))
        return np.array([self.measure.of(motion.pair) for motion in motions])

    def factors(self) -> np.ndarray:
        """(motions, levels) what every motion is multiplied by at every level; (motions, 1) without levels."""
        if self.scales is None:
            return np.ones((len(self.program.motions), 1))
        if self.measure is None:
            return np.broadcast_to(self.scales, (len(self.program.motions), len(self.scales)))
        measure = self.measure
        return np.stack([measure.factor(self.scales, now) for now in self.intensities])

    def batches(self, before: Sequence[int] | None, shape: Sequence[int], width: int) -> Iterator[Batch]:
        flat = np.arange(int(np.prod(shape)))
        if before is not None:
            places = np.unravel_index(flat, tuple(shape))
            old = np.all([place < size for place, size in zip(places, before, strict=True)], axis=0)
            flat = flat[~old]
        if self.laws is None:
            yield from self._batches(flat, shape, width, self.factors())
            return
        laws, factors = np.unravel_index(flat, tuple(shape))[list(self.sizes).index("law")], self.factors()
        for law in range(len(self.laws.names)):
            for batch in self._batches(flat[laws == law], shape, width, factors):
                yield replace(batch, law=law)

    def _batches(self, flat: np.ndarray, shape: Sequence[int], width: int, factors: np.ndarray) -> Iterator[Batch]:
        """Batches of the runs at these places of the flattened study."""
        at = list(self.sizes).index("motion")
        motions = np.unravel_index(flat, tuple(shape))[at]
        for chosen, length, alike in self.program.batches(motions, width):
            places = np.stack(np.unravel_index(flat[chosen], tuple(shape)), axis=1)
            moved = places[:, at]
            levels = places[:, at + 1] if self.scales is not None else np.zeros(len(places), int)
            values = {
                path: ticks[places[:, i]]
                for i, axis in enumerate(self.parameters)
                for path, ticks in axis.values.items()
            }
            yield Batch(places, moved, factors[moved, levels], values, length, min(width, alike))

    def fingerprint(self) -> str:
        p = self.program
        drawn = [sorted(axis.values.items()) if not axis.grows else sorted(axis.values) for axis in self.parameters]
        content = (p.structure, p.integrator, tuple(p.sensors), p.drifts, p.limits, drawn, p.loads, p.hold, p.substeps)
        said = (p.keep, list(self.sizes), repr((self.measure, self.storeys, self.hunt)))
        return digest("runs", *content, *said)

    def ticks(self) -> dict[str, str]:
        found = {axis.name: axis.name for axis in self.parameters} | {"motion": "fingerprint"}
        found |= {} if self.laws is None else {"law": "law_fingerprint"}
        return found if self.scales is None else {**found, str(self.scale_name): str(self.scale_name)}

    def ordered(self, order: Mapping[str, Sequence[int]]) -> Study:
        axes = tuple(axis.ordered(order[axis.name]) for axis in self.parameters)
        program = replace(self.program, motions=tuple(self.program.motions[i] for i in order["motion"]))
        kept = None if self.scales is None else self.scales[np.asarray(order[str(self.scale_name)], int)]
        laws = None if self.laws is None else self.laws.ordered(order["law"], program.motions)
        return replace(self, program=program, parameters=axes, scales=kept, laws=laws)

    def width(self, runs: int) -> int:
        return running.batch_width(runs, self.longest)

    def variables(self) -> dict[str, Variable]:
        return layout.run_variables(self)

    def coordinates(self) -> dict[str, Coordinate]:
        return layout.coordinates(self)

    def named(self, answer: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return layout.named(answer, layout.variables_of(self))

    def provenance(self) -> dict[str, Any]:
        return layout.provenance(self)

    def quantities(self) -> dict[str, list[int]]:
        """The watched quantities, each with the places of its sensors among all."""
        found: dict[str, list[int]] = {}
        for i, sensor in enumerate(self.program.sensors):
            found.setdefault(sensor.quantity, []).append(i)
        return found

    def run(
        self, out: str | Path | None = None, engine: Engine | None = None, progress: Progress = SILENT
    ) -> xarray.Dataset:
        """Compute all runs that are not there yet, and return the dataset.

        Arguments
            out: a folder, in which the dataset grows batch by batch; one that is there is gone on with. In memory
                without one.
            engine: where batches are computed; in this process by default.
            progress: is told how far it is.
        """
        if self.hunt is not None and self.measure is not None:
            return run_hunt(self, self.hunt, self.measure, out, engine, progress)
        return run_study(self, out, engine, progress)

    def __str__(self) -> str:
        shape = " × ".join(f"{size} {name}" for name, size in self.sizes.items())
        lines = [f"Study of a {type(self.program.structure).__name__}: {shape} = {self.size} runs"]
        for axis in self.parameters:
            lines.append(f"  {axis.name}: " + ", ".join(axis.values))
        if self.laws is not None:
            lines.append(f"  law: {', '.join(self.laws.names)}")
        if self.measure is not None and self.scales is not None:
            lines.append(
                f"  level: {self.measure}, {self.scales.min():.4g} to {self.scales.max():.4g} {self.measure.unit}"
            )
        limits = self.program.limits[np.isfinite(self.program.limits)]
        ends = f"drift above {limits.min():.4g} m, or a motion that is not finite" if limits.size else "not finite"
        lines += [f"  kept: {', '.join(self.program.keep)}", f"  collapse: {ends}"]
        return "\n".join(lines)

    __repr__ = __str__


@checked
def study(
    structure: Structure | Identification,
    motions: Any,
    *,
    vary: Mapping[str, Any] | Identification | None = None,
    laws: Mapping[str, Any] | None = None,
    combine: str | None = None,
    count: int | None = None,
    correlation: Numbers | None = None,
    levels: Numbers | Hunt | None = None,
    intensity: str | IntensityMeasure = "sa",
    scales: Numbers | None = None,
    sensors: Sequence[Sensor] | None = None,
    storeys: Sequence[StoreyDrift] | None = None,
    heights: Numbers | None = None,
    keep: Sequence[str] | None = None,
    collapse: Collapse | None = None,
    fits: Fits | None = None,
    integrator: Integrator | None = None,
    hold: str | None = None,
    substeps: int | None = None,
    key: Seed = 0,
) -> Study | FitStudy:
    """Describe many runs of a structure, or many fits: over motions, levels of shaking and parameters. Nothing is
    computed yet.

    Arguments
        structure: what moves; or a fit, whose structure moves with parameters drawn from its uncertainty.
        motions: records, pairs of them (two components with one scale), or a `Suite`.
        vary: by path of a parameter a list of values, or a distribution (`Gaussian`, `LogNormal`, `Uniform`); or a fit.
            `[*]` in a path gives all places one value.
        laws: by name, {path: part} to exchange parts of the structure ({} for the structure as it is), or a whole
            structure with the same places; a dimension `law`. Levels are at the period of `structure` for all.
        combine: "grid" (every list is a dimension) or "zip" (all lists along one dimension `sample`);
            "latin-hypercube", "sobol" or "random" for distributions, drawn along `sample`.
        count: how many samples are drawn.
        correlation: (n, n) of the distributions, in their order.
        levels: of intensity, in m/s² (Arias: m/s), to which every motion is scaled; or a `Hunt` for the collapse of
            each, with trials along the dimension `trial`.
        intensity: of the levels: "pga", "sa", "avgsa", "arias", or an `IntensityMeasure` with its period.
        scales: factors on every motion, instead of levels.
        sensors: quantities and places that are kept; absolute accelerations of all floors by default. Gain, delay and
            noise of sensors are not applied.
        storeys: the drifts that are kept; those of a shear building by default.
        heights: m, of the storeys of a shear building.
        keep: of runs "peaks", "residuals" (last values), "energy" (absorbed by every part), "channels" (all samples),
            by default the first two; of fits "estimates", "intervals", "verdicts", "scores", "seconds", by default the
            first three.
        collapse: limits of drift; a run beyond them, or no longer finite, has collapsed.
        fits: what is fitted to the data of every run, instead of keeping its response.
        integrator, hold, substeps: as in `simulate`, of runs and of the data of fits; these take 4 substeps by default,
            so that a fit does not share their error.
        key: seed of everything that is drawn.

    Example
        >>> ida = study(building, motions, levels=[1.0, 2.0, 4.0], intensity="sa", collapse=Collapse(drift=0.1))
        >>> data = ida.run("ida")
    """
    fit = structure if isinstance(structure, Identification) else None
    if fit is not None:
        if vary is not None:
            raise InputError("A study of a fit varies what the fit found; leave out `vary`, or give its structure.")
        vary, p = fit, fit.problem
        integrator, hold, substeps = integrator or p.integrator, hold or p.hold, substeps or p.substeps
        sensors = Sensors(fit.experiment.sensors) if sensors is None else sensors
    whole = structure.structure if isinstance(structure, Identification) else structure
    hold, substeps = hold or "linear", (1 if fits is None else 4) if substeps is None else substeps
    if substeps < 1:
        raise InputError(f"substeps must be 1 or more, not {substeps}.")
    refuse_missing(whole, integrator)
    if fits is None:
        keep = ("peaks", "residuals") if keep is None else keep
        unknown = [name for name in keep if name not in KEEPABLE]
        if unknown or not keep:
            raise unknown_name("kind of result to keep", unknown[0] if unknown else "", KEEPABLE)
    elif collapse is not None or storeys is not None or heights is not None:
        raise InputError("A fit has no collapse and no drifts: leave out collapse, storeys and heights.")
    axes = parameter_axes(whole, vary, combine, count, correlation, key)
    moving = as_motions(whole, motions)
    hunt = levels if isinstance(levels, Hunt) else None
    if hunt is not None and (axes or laws is not None):
        raise InputError("A hunt for collapse varies nothing but motions: leave out `vary` and `laws`, or give levels.")
    scaled, measure = _scales(whole, levels, intensity, scales)
    refuse_twice(axes, ["motion", "level", "scale", "trial", "law"])
    check_size(
        [axis.size for axis in axes]
        + [len(laws or [0]), len(moving), 1 if scaled is None else len(scaled), hunt.most if hunt else 1]
    )
    watched = watched_storeys(whole, storeys, heights)
    tall = np.array([np.nan if s.height is None else s.height for s in watched])
    limits = (collapse or Collapse()).limits(tall)
    loads = shared_inputs(whole, moving)
    program = StudyProgram(
        whole, loads, chosen_integrator(whole, integrator, hold, substeps), hold, substeps,
        watched_sensors(whole, sensors, watched), drift_rows(whole, watched), limits,
        tuple(name for name in KEEPABLE if name in (keep or ())), moving,
    )  # fmt: skip
    if fits is not None:
        if laws is not None:
            raise InputError("The laws of a study of fits are those that are fitted: Fits(…, laws=…).")
        return described_fits(Study(program, tuple(axes), scaled, measure, watched, hunt, key), fits, sensors, keep)
    chosen = None if laws is None else laws_of(program, laws, integrator, axes)
    for made in [program] if chosen is None else chosen.programs:
        refuse_missing(made.structure, integrator)
        refuse_watched_sections(made.structure)
        eqx.filter_eval_shape(lambda s: s.sensor_arrays(s.model(loads), tuple(program.sensors)), made.structure)
    if "channels" in program.keep and len({motion.record.step for motion in moving}) > 1:
        raise InputError("Whole channels of motions with different steps have no common time: resample the motions.")
    return Study(program, tuple(axes), scaled, measure, watched, hunt, key, laws=chosen)


def _scales(structure, levels, intensity, scales) -> tuple[np.ndarray | None, IntensityMeasure | None]:
    given = levels if levels is not None else scales
    if levels is not None and scales is not None:
        raise InputError("Give either levels of intensity or scale factors, not both.")
    if given is None:
        return None, None
    if isinstance(given, Hunt):
        measure = intensity if isinstance(intensity, IntensityMeasure) else IntensityMeasure(intensity)
        return None, measure.at_period_of(structure)
    values = np.atleast_1d(np.asarray(given, float))
    what = "levels" if levels is not None else "scales"
    if values.ndim != 1 or not np.all(values > 0):
        raise InputError(f"The {what} of a study are a list of positive numbers.")
    if len(set(values.tolist())) < len(values):
        raise InputError(f"The {what} of a study differ; one of these is there twice.")
    if scales is not None:
        return values, None
    measure = intensity if isinstance(intensity, IntensityMeasure) else IntensityMeasure(intensity)
    return values, measure.at_period_of(structure)
