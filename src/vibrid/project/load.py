"""Reading a project file: text, tables, objects; each step reports all of its errors at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from vibrid.core.errors import FileProblem, missing_file
from vibrid.project.build import (
    Notes,
    check_excitation,
    make,
    make_initial,
    make_sensors,
    make_unknown_loads,
    make_unknowns,
)
from vibrid.project.display_units import given_units
from vibrid.project.inputs import named_files
from vibrid.project.plugins import load_plugins
from vibrid.project.problems import ProjectProblem
from vibrid.project.project import Project, Simulation
from vibrid.project.repair import draft_of
from vibrid.project.section import Section
from vibrid.project.sections import ProjectTable
from vibrid.project.tables import project_file

AnyTable = TypeVar("AnyTable", bound=Section)
LARGEST = 1_000_000
"""The largest project file in bytes."""


def load_project(path, trust: bool = False) -> Project:
    """The project that a TOML file describes.

    Nothing in the file is executed or imported: it names registered laws, structures, integrators and methods. The
    plugin files that it names (`plugins = ["my_laws.py"]`) are run if `trust` is true or their content was agreed to
    before (`core.trust`), and refused otherwise. An invalid file is refused with all of its errors: file, line, key,
    and the nearest valid name.

    Example
        >>> project = load_project("examples/shear-building.toml")
        >>> project.simulate().displacement.max()
    """
    path = Path(path)
    text, data = _read(path, trust)
    draft = draft_of(data, project_file)
    notes, project = Notes(), None
    if draft.table is not None:
        project = _project(path, draft.table, notes, draft.left_out, draft.numbers_known)
    draft.add(notes.problems)
    if draft.mistakes or project is None:
        raise ProjectProblem(path, text, draft.mistakes)
    return replace(project, files=named_files(path, data), given=given_units(data))


def read_table(path: Path, model: Callable[..., type[AnyTable]], trust: bool = False) -> tuple[str, AnyTable]:
    """The text of a TOML file, and its content as a table; its plugins are run first.

    model: the tables that a file may have; called with a file, those that this one has.
    """
    text, data = _read(path, trust)
    draft = draft_of(data, model)
    if draft.mistakes:
        raise ProjectProblem(path, text, draft.mistakes)
    return text, draft.table


def _read(path: Path, trust: bool) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file and its entries; its plugins are run."""
    text = _text(path)
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        line = re.search(r"at line (\d+)", str(problem))
        message = re.sub(r" \(at .*\)$", "", str(problem))
        if line and re.search(r"=\s*[-+]?\d+,\d", text.split("\n")[int(line[1]) - 1]):
            message = "a number has a decimal comma; write a decimal point, such as 0.5 for 0,5"
        order = "" if path.suffix == ".toml" else " The project file, which ends in .toml, comes first; then records."
        raise FileProblem(path, f"this is not valid TOML: {message}.{order}", int(line[1]) if line else None) from None
    load_plugins(path, text, data, trust)
    return text, data


def _text(path: Path) -> str:
    try:
        if not path.exists():
            raise missing_file(path)
        if not path.is_file():
            raise FileProblem(path, "this is not a file.")
        if path.stat().st_size > LARGEST:
            raise FileProblem(path, f"a project file may have at most {LARGEST // 1_000_000} MB.")
        return path.read_text(encoding="utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise FileProblem(path, "this is not a text file in UTF-8.") from None
    except OSError as problem:
        raise FileProblem(path, f"it cannot be read ({problem.strerror}).") from None


def _project(path: Path, table: ProjectTable, notes: Notes, left_out: set[str], numbers_known: bool) -> Project | None:
    """The project of a table; `left_out` are tables of the file that could not be judged, so that what refers to them
    is not judged either. numbers_known: whether those of the structure are those of the file."""
    settings = table.simulation
    integrator = settings.integrator and make(settings.integrator, ("simulation", "integrator"), notes)
    method = table.method and make(table.method, ("method",), notes)
    structure = None if "structure" in left_out else make(table.structure, ("structure",), notes)
    if table.excitation is not None:
        check_excitation(table.excitation, structure, notes)
    if structure is None:
        return None
    sensors, units = None, {}
    with notes.at("structure"):
        before = len(notes.problems)
        sensors, units = make_sensors(table.sensors, structure, notes)
    if "sensors" in left_out or (sensors is None and len(notes.problems) > before):
        left_out = left_out | {"sensors"}
    initial = make_initial(table.initial, structure, notes)
    unknown = make_unknowns(table.unknown, structure, sensors, notes, table.excitation, left_out, numbers_known)
    unknown += make_unknown_loads(table.unknown_loads, structure, notes)
    hybrid = study = None
    if table.hybrid is not None:
        from vibrid.project.hybrid import make_hybrid

        hybrid = make_hybrid(table.hybrid, structure, path.parent, notes)
    simulation = Simulation(
        integrator,
        settings.hold,
        settings.substeps,
        settings.noise,
        settings.seed,
        frozenset(settings.model_fields_set),
    )
    if table.study is not None:
        from vibrid.project.study import make_plan
        from vibrid.project.study_fits import make_fits

        study = make_plan(table.study, structure, notes)
        if study.table.fits is not None:
            fits = make_fits(study.table.fits, structure, sensors, unknown, simulation, method, notes)
            study.arguments["fits"] = fits
    return Project(
        path=path,
        title=table.title or path.stem,
        structure=structure,
        sensors=sensors,
        initial=initial,
        unknown=unknown,
        method=method,
        start=table.start,
        simulation=simulation,
        units=units,
        excitation_table=table.excitation,
        records_table=table.records,
        hybrid=hybrid,
        study_plan=study,
    )
