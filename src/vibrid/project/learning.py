"""The tables of a training: tests of a device, and the closed loop by which models are chosen."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from vibrid.project.quantities import Number
from vibrid.project.section import Plugins, Section
from vibrid.records.imposed import CORNER


class TestTable(Section):
    """A test of the device, and the record of the tested device whose measurements the network uses."""

    words: ClassVar[str] = "a device test"
    __test__: ClassVar[bool] = False
    file: str = Field(description="record with imposed_displacement and element_force, relative to this file")
    retired: ClassVar[dict[str, str]] = {"heard": "`heard` is called `companion` since 0.2."}
    companion: str = Field(default="", description="record of the tested device at the same samples")
    capacity: Any = Field(description="friction force that the pretension is set for, or one for each direction")
    use: Literal["training", "validation"] = "training"
    setup: str = Field(default="", description="name of the set-up, for `vibrid hybrid fit-law`; else its capacity")
    device: str = Field(default="", description="name of the device that was tested, where there are several")
    group: str = Field(default="", description="tests of one group are left out together; by default each by itself")
    weight: float = Field(default=1.0, ge=0.0, allow_inf_nan=False, description="how much it counts in the training")


class ClosedLoopTable(Section):
    """A virtual hybrid test in which models are compared with the device of its project at a place."""

    words: ClassVar[str] = "the closed loop"
    project: str = Field(description="project file with a [hybrid] table, relative to this one")
    place: str = Field(description="name of the modelled device that the network replaces")
    capacity: Any = Field(description="capacity that the network is given there")
    rest: Annotated[float, Number("time without shaking at the end of the motion", "s", positive=True)] = 2.0


class TrainingTable(Section):
    """The whole file, but for recipe and law."""

    words: ClassVar[str] = "a training file"
    title: str = Field(default="", max_length=200, description="name of the device")
    plugins: Plugins = Field(
        default=[], description="Python files, relative to this one, that register laws, methods, …"
    )
    recipe: Any
    law: Any
    fit_law: list[str] = Field(default=[], description="parameters of the law that are fitted first")
    laws: list[Literal["backlash", "lugre"]] = Field(
        default=["backlash", "lugre"], description="laws that are fitted beside the networks; the best of all is kept"
    )
    tests: list[TestTable] = Field(min_length=1, max_length=10_000, description="tests of the device")
    velocity_corner: Annotated[float, Number("low-pass before differentiating", "Hz", positive=True)] = CORNER
    closed_loop: ClosedLoopTable | None = Field(default=None, description="hybrid test by which models are chosen")
