"""A study: what varies, how it is combined, what is kept, and what ends a run early."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np

from vibrid.core.arguments import Numbers, Seed, checked
from vibrid.core.errors import InputError, Refusal, unknown_name
from vibrid.core.missing import refuse_missing
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.result import Identification
from vibrid.simulation.base import Integrator
from vibrid.simulation.simulate import chosen_integrator
from vibrid.structures.base import Structure
from vibrid.structures.sensors import Sensor, Sensors
from vibrid.structures.shear import ShearBuilding
from vibrid.studies.axes import Axis, check_size, parameter_axes, refuse_twice
from vibrid.studies.hunt import Hunt, run_hunt
from vibrid.studies.intensity import IntensityMeasure
from vibrid.studies.kept import KEEPABLE, Collapse, StoreyDrift
from vibrid.studies.motions import as_motions, shared_inputs
from vibrid.studies.program import Batch, StudyProgram
from vibrid.studies.running import run_study

if TYPE_CHECKING:
    import xarray

    from vibrid.studies.engine import Engine

MOST_WATCHED = 200
"""The most places of one quantity that are kept without being named."""


@dataclass(frozen=True, eq=False)
class Study:
    """Many runs of one structure, described and not yet run; `run` computes them.

    program: what one batch computes; parameters: the axes along which parameters change; scales: the ticks of the
    dimension `level` (in the unit of `measure`) or `scale`, None where motions are taken as they are; storeys: the
    drifts that are watched; hunt: how levels are chosen, where they are not given; attributes: what else the dataset
    says of its origin.
    """

    program: StudyProgram
    parameters: tuple[Axis, ...]
    scales: np.ndarray | None
    measure: IntensityMeasure | None
    storeys: tuple[StoreyDrift, ...]
    hunt: Hunt | None = None
    key: int = 0
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def scale_name(self) -> str | None:
        """The dimension of the size of motions."""
        return None if self.scales is None else "scale" if self.measure is None else "level"

    @property
    def sizes(self) -> dict[str, int]:
        """The dimensions of the study and how many ticks each has."""
        found = {axis.name: axis.size for axis in self.parameters} | {"motion": len(self.program.motions)}
        if self.hunt is not None:
            return {**found, "trial": self.hunt.most}
        return found if self.scales is None else {**found, str(self.scale_name): len(self.scales)}

    @property
    def size(self) -> int:
        """The number of runs, of a hunt at most."""
        return check_size(list(self.sizes.values()))

    @property
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
        """The batches of all runs within `shape` that are not within the shape `before`."""
        flat = np.arange(int(np.prod(shape)))
        if before is not None:
            places = np.unravel_index(flat, tuple(shape))
            old = np.all([place < size for place, size in zip(places, before, strict=True)], axis=0)
            flat = flat[~old]
        at = list(self.sizes).index("motion")
        motions = np.unravel_index(flat, tuple(shape))[at]
        factors = self.factors()
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
        """The same for studies whose runs can stand in one dataset: all but the ticks of dimensions that grow."""
        p = self.program
        digest = hashlib.sha256()
        drawn = [sorted(axis.values.items()) if not axis.grows else sorted(axis.values) for axis in self.parameters]
        leaves, form = jax.tree.flatten((p.structure, p.integrator, tuple(p.sensors), p.drifts, p.limits, drawn))
        for leaf in leaves:
            if isinstance(leaf, str):
                digest.update(leaf.encode())
            else:
                digest.update(np.ascontiguousarray(np.asarray(leaf)).tobytes())
        said = (str(form), p.loads, p.hold, p.substeps, p.keep, list(self.sizes), self.measure, self.storeys, self.hunt)
        digest.update(repr(said).encode())
        return digest.hexdigest()

    def ordered(self, motions: Sequence[int], scales: Sequence[int], ticks: Mapping[str, Sequence[int]]) -> Study:
        """The same study with motions, scales and ticks of parameters in another order."""
        axes = tuple(
            replace(axis, labels=axis.labels[order], values={p: v[order] for p, v in axis.values.items()})
            for axis, order in ((axis, np.asarray(ticks[axis.name], int)) for axis in self.parameters)
        )
        program = replace(self.program, motions=tuple(self.program.motions[i] for i in motions))
        kept = None if self.scales is None else self.scales[np.asarray(scales, int)]
        return replace(self, program=program, parameters=axes, scales=kept)

    def quantities(self) -> dict[str, list[int]]:
        """The watched quantities, each with the places of its sensors among all."""
        found: dict[str, list[int]] = {}
        for i, sensor in enumerate(self.program.sensors):
            found.setdefault(sensor.quantity, []).append(i)
        return found

    def part_names(self) -> list[str]:
        """The names of the parts whose energy is kept, in the order of their forces."""
        p = self.program
        model = eqx.filter_eval_shape(lambda structure: structure.model(p.loads), p.structure)
        names = {place: name for name, place in model.part_places.items()}  # "part.component" comes after "part"
        return [names[place] for place in sorted(names)]

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
    combine: str | None = None,
    count: int | None = None,
    correlation: Numbers | None = None,
    levels: Numbers | Hunt | None = None,
    intensity: str | IntensityMeasure = "sa",
    scales: Numbers | None = None,
    sensors: Sequence[Sensor] | None = None,
    storeys: Sequence[StoreyDrift] | None = None,
    heights: Numbers | None = None,
    keep: Sequence[str] = ("peaks", "residuals"),
    collapse: Collapse | None = None,
    integrator: Integrator | None = None,
    hold: str | None = None,
    substeps: int | None = None,
    key: Seed = 0,
) -> Study:
    """Describe many runs of a structure: over motions, levels of shaking and parameters. Nothing is computed yet.

    Arguments
        structure: what moves; or a fit, whose structure moves with parameters drawn from its uncertainty.
        motions: records, pairs of them (two components with one scale), or a `Suite`.
        vary: by path of a parameter a list of values, or a distribution (`Gaussian`, `LogNormal`, `Uniform`); or a fit.
            `[*]` in a path gives all places one value.
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
        keep: "peaks", "residuals" (last values), "energy" (absorbed by every part), "channels" (all samples).
        collapse: limits of drift; a run beyond them, or no longer finite, has collapsed.
        integrator, hold, substeps: as in `simulate`.
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
    hold, substeps = hold or "linear", 1 if substeps is None else substeps
    if substeps < 1:
        raise InputError(f"substeps must be 1 or more, not {substeps}.")
    refuse_missing(whole, integrator)
    _refuse_watched_sections(whole)
    unknown = [name for name in keep if name not in KEEPABLE]
    if unknown or not keep:
        raise unknown_name("kind of result to keep", unknown[0] if unknown else "", KEEPABLE)
    axes = parameter_axes(whole, vary, combine, count, correlation, key)
    moving = as_motions(whole, motions)
    hunt = levels if isinstance(levels, Hunt) else None
    if hunt is not None and axes:
        raise InputError("A hunt for collapse varies nothing but motions: leave out `vary`, or give levels.")
    scaled, measure = _scales(whole, levels, intensity, scales)
    refuse_twice(axes, ["motion", "level", "scale", "trial"])
    check_size(
        [axis.size for axis in axes] + [len(moving), 1 if scaled is None else len(scaled), hunt.most if hunt else 1]
    )
    watched = _watched_storeys(whole, storeys, heights)
    tall = np.array([np.nan if s.height is None else s.height for s in watched])
    limits = (collapse or Collapse()).limits(tall)
    loads = shared_inputs(whole, moving)
    program = StudyProgram(
        whole, loads, chosen_integrator(whole, integrator, hold, substeps), hold, substeps,
        _watched_sensors(whole, sensors, watched), _rows(whole, watched), limits,
        tuple(name for name in KEEPABLE if name in keep), moving,
    )  # fmt: skip
    eqx.filter_eval_shape(lambda s: s.sensor_arrays(s.model(loads), tuple(program.sensors)), whole)
    if "channels" in keep and len({motion.record.step for motion in moving}) > 1:
        raise InputError("Whole channels of motions with different steps have no common time: resample the motions.")
    return Study(program, tuple(axes), scaled, measure, watched, hunt, key)


def _refuse_watched_sections(structure: Structure) -> None:
    """Refuse fibre frames whose every step would have to be judged, as `simulate` does after a run."""
    if type(structure).check_states is not Structure.check_states and getattr(structure, "softening", "") != "allow":
        raise Refusal(
            f"A study does not judge the sections of a {type(structure).__name__} step by step: allow them to soften "
            '(softening="allow") and let a limit of drift say what a collapse is.'
        )


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


def _watched_storeys(structure, storeys, heights) -> tuple[StoreyDrift, ...]:
    if storeys is not None:
        if heights is not None:
            raise InputError("Heights are given with the storeys: StoreyDrift(top, bottom, height).")
        names = [s.name for s in storeys]
        if len(set(names)) < len(names):
            raise InputError("A storey is watched twice.")
        return tuple(storeys)
    if not isinstance(structure, ShearBuilding):
        if heights is not None:
            raise InputError("Heights belong to the storeys of a shear building; give storeys=[StoreyDrift(…)] here.")
        return ()
    n = structure.floors
    tall = [None] * n if heights is None else np.broadcast_to(np.asarray(heights, float), (n,)).tolist()
    below = [None, *(str(i) for i in range(n - 1))]
    return tuple(
        StoreyDrift(str(i), bottom, height) for i, (bottom, height) in enumerate(zip(below, tall, strict=True))
    )


def _rows(structure: Structure, storeys: Sequence[StoreyDrift]) -> np.ndarray:
    rows = [structure.row(s.top) - (0.0 if s.bottom is None else structure.row(s.bottom)) for s in storeys]
    size = eqx.filter_eval_shape(lambda s: s.matrices()[0], structure).shape[-1] if not rows else 0
    return np.stack(rows) if rows else np.zeros((0, size))


def _watched_sensors(structure: Structure, sensors, storeys: Sequence[StoreyDrift]) -> Sensors:
    """Plain sensors: of the places that are named, else the absolute accelerations of all places."""
    if sensors is not None:
        return Sensors([Sensor(s.quantity, s.place, name=s.label) for s in Sensors(sensors)])
    places = [s.top for s in storeys] or structure.places()
    if not 0 < len(places) <= MOST_WATCHED:
        raise InputError(
            f"State what is kept of this {type(structure).__name__}: sensors=Sensors(displacement=[…]), and "
            "storeys=[StoreyDrift(top, bottom, height)] for drifts."
        )
    return Sensors(absolute_acceleration=places)
