"""A training of a device model for `vibrid hybrid train`, from its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, create_model

from vibrid.core import paths
from vibrid.core.errors import FileProblem, InputError
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.learned.answers import ScaledLaw
from vibrid.hybrid.learned.from_records import companion_names, device_test
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.hybrid.learned.recipes import Recipe
from vibrid.project.build import Notes, make
from vibrid.project.law_tables import maker_of_laws
from vibrid.project.learning import TrainingTable
from vibrid.project.load import load_project, read_table
from vibrid.project.problems import ProjectProblem
from vibrid.project.quantities import in_si
from vibrid.project.tables import texts
from vibrid.records.readers import read_record
from vibrid.records.record import Record


@dataclass(frozen=True)
class Loop:
    """A virtual test by which models are chosen."""

    test: HybridTest
    excitation: Record
    place: str
    watch: str
    capacity: Any
    rest: float


@dataclass(frozen=True)
class Training:
    """The content of a training file."""

    title: str
    recipe: Recipe
    law: ScaledLaw | None
    fit_law: tuple[str, ...]  # parameters of the law that are fitted to the training tests first
    training: list[DeviceTest]
    validation: list[DeviceTest]
    companion_names: list[str]
    loop: Loop | None
    laws: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # groups of training tests that became validation tests, for there were none
    devices: int = 1  # that were tested


def training_file(data: Mapping[str, Any] | None = None) -> type[TrainingTable]:
    """The pydantic model of a file that describes the training of a device model, with every registered name; data: the
    content of a file, for a model with the names that are in it."""
    maker = maker_of_laws(None if data is None else texts(data))
    recipe, law = maker.table(Recipe, "a recipe"), maker.table(ScaledLaw, "a law for any capacity")
    fields: dict[str, Any] = {
        "recipe": (recipe | None, Field(None, description="network and training settings")),
        "law": (law | None, Field(None, description="the law of a law layer or a correction")),
    }
    model = create_model("TrainingFile", __base__=TrainingTable, **fields)
    model.__doc__ = "A training of a device model, for `vibrid hybrid train`."
    return model


def load_training(path, trust: bool = False) -> Training:
    """The training that a TOML file describes; errors, plugins and `trust` are those of project files."""
    path = Path(path)
    text, table = read_table(path, training_file, trust)
    notes = Notes()
    recipe: Recipe | None = make(table.recipe, ("recipe",), notes) if table.recipe else Recipe()
    law = make(table.law, ("law",), notes) if table.law else None
    for name in table.fit_law:
        with notes.at("fit_law"):
            if law is None:
                raise InputError("there is no [law] to fit.")
            paths.get(law.law, name)
    tests, companion = ({}, []) if recipe is None else _device_tests(path.parent, table, recipe, notes)
    if recipe is not None and not tests["training"] and not notes.problems:
        raise FileProblem(path, "none of its tests is for training.")
    if recipe is not None and not notes.problems and not any(test.weight for test in tests["training"]):
        raise FileProblem(path, "all of its training tests have a weight of 0.")
    loop, settings = None, table.closed_loop
    if settings is not None:
        with notes.at("closed_loop", "project"):
            project = load_project(path.parent / settings.project, trust)
            if project.hybrid is None:
                notes.add(("closed_loop", "project"), "it describes no hybrid test; it needs a [hybrid] table.")
            else:
                loop = Loop(project.hybrid.test, project.excitation(), settings.place, project.hybrid.watch,
                            _capacity(settings.capacity), settings.rest)  # fmt: skip
    if notes.problems or recipe is None:
        raise ProjectProblem(path, text, notes.problems)
    training, validation, left_out = tests["training"], tests["validation"], ()
    if not validation:
        groups = [entry.group or entry.file for entry in table.tests]
        left_out = left_out_groups(groups)
        validation = [test for test, group in zip(training, groups, strict=True) if group in left_out]
        training = [test for test, group in zip(training, groups, strict=True) if group not in left_out]
    content = recipe, law, tuple(table.fit_law), training, validation, companion, loop, tuple(table.laws), left_out
    return Training(table.title or path.stem, *content, devices=len({entry.device for entry in table.tests}))


def left_out_groups(groups: Sequence[str]) -> tuple[str, ...]:
    """Every fifth group of tests, in the order of their names, for validation; none of fewer than three."""
    names = sorted(set(groups))
    return tuple(names[2::5])


def load_setups(path, trust: bool = False) -> dict[str, tuple[list[Record], list[Record]]]:
    """The records for training and for validation of every set-up of a training file: tests of the same `setup`, or
    else of the same capacity."""
    path = Path(path)
    text, table = read_table(path, training_file, trust)
    notes, setups = Notes(), {}
    for i, entry in enumerate(table.tests):
        with notes.at("tests", i):
            groups = setups.setdefault(entry.setup or _capacity_text(entry.capacity), ([], []))
            groups[entry.use == "validation"].append(read_record(path.parent / entry.file))
    if notes.problems:
        raise ProjectProblem(path, text, notes.problems)
    return setups


def _capacity_text(value) -> str:
    """A capacity as the name of a set-up."""
    values = value if isinstance(value, list) else [value]
    return ", ".join(v if isinstance(v, str) else f"{v:g} N" for v in values)


def _device_tests(
    folder: Path, table: TrainingTable, recipe: Recipe, notes: Notes
) -> tuple[dict[str, list[DeviceTest]], list[str]]:
    """The tests for training and for validation, and the names of the measurements that accompany them."""
    tests, companion = {"training": [], "validation": []}, []
    for i, entry in enumerate(table.tests):
        capacity = float("nan")
        with notes.at("tests", i, "capacity"):
            capacity = _capacity(entry.capacity)
        with notes.at("tests", i):
            record = read_record(folder / entry.file)
            other = read_record(folder / entry.companion) if entry.companion and recipe.uses_companion else None
            if other is None and recipe.uses_companion and any(test.companion for test in table.tests):
                raise InputError(
                    "it has no companion, and others have one: give it one, or say uses_companion = false in [recipe]."
                )
            if other is not None and not companion:
                companion = companion_names(other)
            made = device_test(record, other, capacity, recipe.rate, corner=table.velocity_corner, name=entry.file)
            tests[entry.use].append(made._replace(weight=entry.weight))
    return tests, companion


def _capacity(value):
    """N, one number or a pair."""
    return [in_si(v, "N") for v in value] if isinstance(value, list) else in_si(value, "N")
