"""Reading a project file: text, tables, objects; each step reports all of its errors at once."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from vibrid.core.errors import FileProblem, missing_file
from vibrid.project.build import Notes, make, make_initial, make_sensors, make_unknown_loads, make_unknowns
from vibrid.project.display_units import given_units
from vibrid.project.hybrid import make_hybrid
from vibrid.project.inputs import named_files
from vibrid.project.plugins import load_plugins
from vibrid.project.problems import Keys, Mistake, ProjectProblem, keys_of
from vibrid.project.project import Project, Simulation
from vibrid.project.quantities import in_si
from vibrid.project.section import Section
from vibrid.project.sections import ExcitationTable, ProjectTable
from vibrid.project.tables import project_file
from vibrid.records.record import QUANTITIES
from vibrid.structures.base import Structure

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
    text, table = read_table(path, project_file, trust)
    notes = Notes()
    project = _project(path, table, notes)
    if notes.problems or project is None:
        raise ProjectProblem(path, text, notes.problems)
    data = tomllib.loads(text)
    return replace(project, files=named_files(path, data), given=given_units(data))


def read_table(path: Path, model: Callable[[bool], type[AnyTable]], trust: bool = False) -> tuple[str, AnyTable]:
    """The text of a TOML file, and its content as a table; its plugins are run first.

    The model knows the registered names; installed plugins are searched only where the file does not fit it.
    """
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
    with contextlib.suppress(ValidationError):
        return text, model(False).model_validate(data)
    try:
        return text, model(True).model_validate(data)
    except ValidationError as problem:
        mistakes = [Mistake(keys_of(e["loc"], data), e["msg"]) for e in problem.errors(include_url=False)]
        raise ProjectProblem(path, text, list(dict.fromkeys(mistakes))) from None


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


def _project(path: Path, table: ProjectTable, notes: Notes) -> Project | None:
    structure = make(table.structure, ("structure",), notes)
    settings = table.simulation
    integrator = settings.integrator and make(settings.integrator, ("simulation", "integrator"), notes)
    method = table.method and make(table.method, ("method",), notes)
    if structure is None:
        return None
    with notes.at("structure"):
        sensors, units = make_sensors(table.sensors, structure, notes)
    if notes.problems:
        return None
    initial = make_initial(table.initial, structure, notes)
    unknown = make_unknowns(table.unknown, structure, sensors, notes, table.excitation)
    unknown += make_unknown_loads(table.unknown_loads, structure, notes)
    if table.excitation is not None:
        _check_excitation(table.excitation, structure, notes)
    hybrid = make_hybrid(table.hybrid, structure, path.parent, notes) if table.hybrid is not None else None
    return Project(
        path=path,
        title=table.title or path.stem,
        structure=structure,
        sensors=sensors,
        initial=initial,
        unknown=unknown,
        method=method,
        simulation=Simulation(integrator, settings.hold, settings.substeps, settings.noise, settings.seed),
        units=units,
        excitation_table=table.excitation,
        records_table=table.records,
        hybrid=hybrid,
    )


def _check_excitation(table: ExcitationTable, structure: Structure, notes: Notes) -> None:
    """At most one source, loads at places that exist, ground motions in directions of the structure."""
    sources = [name for name in ("file", "synthetic", "cyclic", "free") if getattr(table, name)]
    if len(sources) > 1:
        notes.add(("excitation",), f"{' and '.join(sources)} are given; an excitation has one source.")
    if not sources and not table.channels:
        notes.add(
            ("excitation",),
            "give a file, a synthetic motion, a cyclic protocol, a free vibration, or channels of measured files.",
        )
    for key in ("quantity", "place"):
        if table.cyclic is None and key in table.model_fields_set:
            notes.add(("excitation", key), "it describes a cyclic protocol; describe columns of files in channels.")
    directions = [(("excitation", "channels", i, "direction"), c.direction) for i, c in enumerate(table.channels)]
    for keys, direction in (*directions, (("excitation", "direction"), table.direction)):
        if direction:
            with notes.at(*keys):
                structure.ground_axis(direction)
    driven: list[tuple[Keys, str, str]] = [
        (("excitation", "channels", i, "place"), c.quantity, c.place) for i, c in enumerate(table.channels)
    ]
    if table.cyclic is not None:
        driven.append((("excitation", "place"), table.quantity, table.place))
        for i, amplitude in enumerate(table.cyclic.amplitudes):
            with notes.at("excitation", "cyclic", "amplitudes", i):
                in_si(amplitude, QUANTITIES[table.quantity])
    for keys, quantity, place in driven:
        if quantity == "load":
            with notes.at(*keys):
                structure.row(place)
