"""The study of a project: from its tables to `vibrid.study`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vibrid.core import paths
from vibrid.core.errors import InputError
from vibrid.identification.archive import load_identification
from vibrid.project.build import Notes
from vibrid.project.quantities import in_si, numbers
from vibrid.project.study_fits import changed
from vibrid.project.study_tables import MotionsTable, StudyTable, VaryTable
from vibrid.records.motions.synthetic import synthetic_motion
from vibrid.records.readers import read_described
from vibrid.records.record import Record
from vibrid.structures.base import Structure
from vibrid.studies.distributions import Gaussian, LogNormal, Uniform
from vibrid.studies.fit_study import FitStudy
from vibrid.studies.hunt import Hunt
from vibrid.studies.intensity import IntensityMeasure
from vibrid.studies.kept import Collapse, StoreyDrift
from vibrid.studies.motions import read_motions
from vibrid.studies.study import Study, study


@dataclass(frozen=True)
class StudyPlan:
    """The study that a project file describes; its motions are not read yet. `arguments` are those of `study`."""

    table: StudyTable
    arguments: dict[str, Any]


def make_plan(table: StudyTable, structure: Structure, notes: Notes) -> StudyPlan:
    """The plan of a study; what is wrong in its table is noted with its place."""
    given: dict[str, Any] = {"combine": table.combine, "count": table.count, "correlation": table.correlation}
    given |= {"keep": table.keep, "key": table.seed}
    measure = None
    with notes.at("study", "intensity"):
        measure = IntensityMeasure(table.intensity.kind, table.intensity.period, table.intensity.damping)
    if table.levels and measure is not None:
        given["intensity"] = measure
        with notes.at("study", "levels"):
            given["levels"] = [in_si(level, measure.unit) for level in table.levels]
    if table.hunt is not None and measure is not None:
        given["intensity"] = measure
        with notes.at("study", "hunt"):
            if table.levels:
                raise InputError("a study has levels or hunts for collapse, not both.")
            first = in_si(table.hunt.first, measure.unit)
            given["levels"] = Hunt(first, table.hunt.growth, table.hunt.resolution, table.hunt.fill, table.hunt.most)
    if table.scales:
        given["scales"] = table.scales
    vary: dict[str, Any] = {}
    for i, varied in enumerate(table.vary):
        with notes.at("study", "vary", i):
            if varied.path in vary:
                raise InputError(f"'{varied.path}' varies twice.")
            vary[varied.path] = _varied(varied, structure)
    if table.laws:
        given["laws"] = {}
        for i, law in enumerate(table.laws):
            other = changed(law, structure, ("study", "laws", i), notes)
            if law.name in given["laws"]:
                notes.add(("study", "laws", i, "name"), f"two laws are called '{law.name}'.")
            if other is not None:
                given["laws"][law.name] = other
        if table.fits is not None:
            notes.add(("study", "laws"), "the laws of a study of fits are [[study.fits.laws]].")
    if vary and table.fit:
        notes.add(("study", "fit"), "parameters vary by [[study.vary]] or by a fit, not by both.")
    given["vary"] = vary or None
    if table.storeys:
        with notes.at("study", "storeys"):
            given["storeys"] = [StoreyDrift(s.top, s.bottom, s.height) for s in table.storeys]
            for s in table.storeys:
                _ = structure.row(s.top), s.bottom is None or structure.row(s.bottom)
    with notes.at("study", "heights"):
        if table.heights is not None:
            given["heights"] = numbers(table.heights, "m", positive=True, zero=False)
    if table.collapse is not None:
        with notes.at("study", "collapse", "drift"):
            drift: Any = None if table.collapse.drift is None else numbers(table.collapse.drift, "m", positive=True)
            given["collapse"] = Collapse(drift, table.collapse.ratio)
    return StudyPlan(table, given)


def _varied(table: VaryTable, structure: Structure):
    """The values or the distribution of a parameter."""
    unit = paths.info(structure, paths.expand(structure, table.path)[0]).unit
    kinds = [name for name in ("values", "normal", "lognormal", "uniform") if getattr(table, name)]
    if len(kinds) != 1:
        raise InputError("a parameter that varies has one of values, normal, lognormal and uniform.")
    if table.normal is not None:
        return Gaussian(*(in_si(v, unit) for v in table.normal))
    if table.lognormal is not None:
        return LogNormal(in_si(table.lognormal[0], unit), table.lognormal[1])
    if table.uniform is not None:
        return Uniform(*(in_si(v, unit) for v in table.uniform))
    return [in_si(v, unit) for v in table.values]


def make_study(project, plan: StudyPlan, skip_unreadable: bool = False) -> tuple[Study | FitStudy, tuple[str, ...]]:
    """The study of a project with its motions read, and what is wrong with those that were left out."""
    fits = plan.table.fits
    if fits is not None and fits.data == "measured":
        motions, problems = _measured(project, plan.table.motions)
    else:
        motions, problems = _motions(project, plan.table.motions, skip_unreadable)
    settings = project.simulation.arguments
    if fits is not None:
        if project.initial:
            raise InputError("Fits of a study begin at rest: leave out [[initial]].")
        settings |= {} if "substeps" in project.simulation.given else {"substeps": None}
    sensors = list(project.sensors) if project.sensors is not None else None
    what, given = project.structure, dict(plan.arguments)
    if plan.table.fit:
        what = load_identification(project.beside(plan.table.fit))
        given.pop("vary")
    made = study(what, motions, sensors=sensors, **settings, **given)
    text = Path(project.path).read_text(encoding="utf-8")
    files = ", ".join(f"{file.name} {file.sha256}" for file in project.files)
    made.attributes.update({"title": project.title, "project": text, "files": files})
    return made, problems


def _measured(project, table: MotionsTable | None) -> tuple[list[Record], tuple[str, ...]]:
    """The records of the project, which have their own motions."""
    if table is not None:
        raise InputError("Measured data are [records] files, not [study.motions]: leave out one of them.")
    records = project.records()
    if not records:
        raise InputError("The fits of the study have no measured data: name them under [records] files.")
    return records, ()


def _motions(project, table: MotionsTable | None, skip_unreadable: bool):
    if table is None:
        return [project.excitation()], ()

    def read(path: str | Path) -> Record:
        return table.preparation()(read_described(path, {}, **table.reading))

    names = [found for entry in table.files for found in _found(project, entry)]
    motions, problems = read_motions(names, skip_unreadable, read) if names else ([], ())
    if table.synthetic is not None:
        motions = [*motions, *_synthetic(table)]
    if not motions:
        raise InputError("The study of the project has no motions: give [study.motions] files, or synthetic ones.")
    return motions, problems


def _found(project, entry: str | tuple[str, str]) -> list:
    """The files that an entry names; a pattern names those that are there, in the order of their names."""
    if not isinstance(entry, str):
        return [tuple(project.beside(name) for name in entry)]
    if not set("*?") & set(entry):
        return [project.beside(entry)]
    found = sorted(project.path.parent.glob(entry))
    if not found:
        raise InputError(f"No file beside the project is called '{entry}'.")
    return found


def _synthetic(table: MotionsTable) -> list[Record]:
    suite = table.synthetic
    assert suite is not None
    known = inspect.signature(synthetic_motion).parameters
    given = {name: value for name, value in suite.model_dump().items() if name in known}
    seeds = range(suite.seed, suite.seed + suite.count)
    return [table.preparation()(synthetic_motion(seed, name=f"synthetic {seed}", **given)) for seed in seeds]
