"""The tables of a training: tests of a device, and the closed loop that models are chosen by."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from vibrid.hybrid.learned.from_records import CORNER
from vibrid.project.quantities import number_type
from vibrid.project.section import Plugins, Section


class TestTable(Section):
    """A test of the device, and the one of the physical device that is heard beside it."""

    words: ClassVar[str] = "a device test"
    __test__: ClassVar[bool] = False
    file: str = Field(description="record with imposed_displacement and element_force, relative to this file")
    heard: str = Field("", description="record of the physical device, sample by sample beside it")
    capacity: Any = Field(description="friction force that the pretension is set for, or one for each direction")
    use: Literal["training", "validation"] = "training"


class ClosedLoopTable(Section):
    """A virtual hybrid test in which models are compared with the device that its project has at a place."""

    words: ClassVar[str] = "the closed loop"
    project: str = Field(description="project file with a [hybrid] table, relative to this one")
    place: str = Field(description="name of the modelled device that the network replaces")
    capacity: Any = Field(description="capacity that the network is told there")
    rest: number_type("time without shaking at the end of the motion", "s", positive=True) = 2.0


class TrainingTable(Section):
    """The whole file, but for recipe and law."""

    words: ClassVar[str] = "a training file"
    title: str = Field("", max_length=200, description="what the device is called")
    plugins: Plugins = Field([], description="files of Python, beside this one, that register laws, methods, …")
    recipe: Any
    law: Any
    fit_law: list[str] = Field([], description="parameters of the law that are fitted to the training tests before")
    tests: list[TestTable] = Field(min_length=1, max_length=10_000, description="tests of the device")
    velocity_corner: number_type("low-pass before differentiating", "Hz", positive=True) = CORNER
    closed_loop: ClosedLoopTable | None = Field(None, description="where models are chosen by")
