"""A training of a device model: from its file to what `vibrid hybrid train` needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, create_model

from vibrid.core import paths
from vibrid.core.errors import FileProblem, InputError
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.learned.answers import ScaledLaw
from vibrid.hybrid.learned.from_records import device_test, heard_names
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.hybrid.learned.recipes import Recipe
from vibrid.project.build import Notes, make
from vibrid.project.law_tables import maker_of_laws
from vibrid.project.learning import TrainingTable
from vibrid.project.load import load_project, read_table
from vibrid.project.problems import ProjectProblem
from vibrid.project.quantities import in_si
from vibrid.project.section import Section
from vibrid.records.readers import read_record
from vibrid.records.record import Record


@dataclass(frozen=True)
class Loop:
    """A virtual test to choose models by."""

    test: HybridTest
    excitation: Record
    place: str
    watch: str
    capacity: Any
    rest: float


@dataclass(frozen=True)
class Training:
    """A training with all it needs."""

    title: str
    recipe: Recipe
    law: ScaledLaw | None
    fit_law: tuple[str, ...]  # what of the law is fitted to the training tests first
    training: list[DeviceTest]
    validation: list[DeviceTest]
    heard_names: list[str]
    loop: Loop | None


def training_file(plugins: bool = False) -> type[Section]:
    """The pydantic model of a file that describes the training of a device model, for what is registered now."""
    maker = maker_of_laws(plugins)
    recipe, law = maker.table(Recipe, "a recipe"), maker.table(ScaledLaw, "a law for any capacity")
    made = create_model(
        "TrainingFile",
        __base__=TrainingTable,
        recipe=(recipe | None, Field(None, description="how the model is made and trained")),
        law=(law | None, Field(None, description="the law of a law layer or a correction")),
    )
    made.__doc__ = "A training of a device model, for `vibrid hybrid train`."
    return made


def load_training(path, trust: bool = False) -> Training:
    """The training that a TOML file describes; problems, plugins and `trust` are those of project files."""
    path = Path(path)
    text, table = read_table(path, training_file, trust)
    notes = Notes()
    recipe = make(table.recipe, ("recipe",), notes) if table.recipe else Recipe()
    law = make(table.law, ("law",), notes) if table.law else None
    for name in table.fit_law:
        with notes.at("fit_law"):
            if law is None:
                raise InputError("there is no [law] to fit.")
            paths.get(law.law, name)
    made, heard = {"training": [], "validation": []}, []
    for i, own in enumerate(table.tests if recipe is not None else ()):
        capacity = float("nan")
        with notes.at("tests", i, "capacity"):
            capacity = _capacity(own.capacity)
        with notes.at("tests", i):
            record = read_record(path.parent / own.file)
            other = read_record(path.parent / own.heard) if own.heard else None
            if other is not None and not heard:
                heard = heard_names(other)
            made[own.use].append(
                device_test(record, other, capacity, recipe.rate, corner=table.velocity_corner, name=own.file)
            )
    if not made["training"] and not notes.found:
        raise FileProblem(path, "none of its tests is for training.")
    loop = None
    if table.closed_loop is not None:
        own = table.closed_loop
        with notes.at("closed_loop", "project"):
            project = load_project(path.parent / own.project, trust)
            if project.hybrid is None:
                notes.add(("closed_loop", "project"), "it describes no hybrid test; it needs a [hybrid] table.")
            else:
                loop = Loop(project.hybrid.test, project.excitation(), own.place, project.hybrid.watch,
                            _capacity(own.capacity), own.rest)  # fmt: skip
    if notes.found:
        raise ProjectProblem(path, text, notes.found)
    own = recipe, law, tuple(table.fit_law), made["training"], made["validation"], heard, loop
    return Training(table.title or path.stem, *own)


def _capacity(value):
    """N, one number or a pair."""
    return [in_si(v, "N") for v in value] if isinstance(value, list) else in_si(value, "N")
