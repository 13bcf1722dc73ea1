"""The tables of a study in a project file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, create_model

from vibrid.laws.base import Law
from vibrid.project.maker import TableMaker
from vibrid.project.quantities import Number, OneOf
from vibrid.project.section import Section, Text
from vibrid.project.sections import ReadingTable, SyntheticTable, UnknownTable, WithUnit
from vibrid.simulation.excitation import HOLDS
from vibrid.studies.axes import COMBINATIONS, MOST_RUNS
from vibrid.studies.fits import FIT_KEEPABLE
from vibrid.studies.intensity import MEASURES
from vibrid.studies.kept import KEEPABLE

_MANY = 100_000
"""The most entries of a list."""


class VaryTable(Section):
    """A parameter that varies: over values, or by a distribution."""

    words: ClassVar[str] = "a parameter that varies"
    path: str = Field(description='e.g. "storeys[0].stiffness"; [*] gives all places one value')
    values: list[WithUnit] = Field(default=[], description="values", max_length=_MANY)
    normal: tuple[WithUnit, WithUnit] | None = Field(default=None, description="mean and standard deviation")
    lognormal: tuple[WithUnit, float] | None = Field(
        default=None, description="median, and standard deviation of the logarithm"
    )
    uniform: tuple[WithUnit, WithUnit] | None = Field(default=None, description="lowest and highest value")


class StoreyTable(Section):
    """A storey whose drift is watched."""

    words: ClassVar[str] = "a storey"
    top: Text = Field(description="place at its top")
    bottom: Text | None = Field(default=None, description="place at its bottom; the ground when not given")
    height: Annotated[float, Number("height of the storey", "m", positive=True)] | None = None


class CollapseTable(Section):
    """What counts as collapse."""

    words: ClassVar[str] = "a collapse"
    drift: list[WithUnit] | WithUnit = Field(default=None, description="largest drift of a storey [m]")
    ratio: list[float] | float | None = Field(default=None, description="the same as a share of the storey's height")


class IntensityTable(Section):
    """What the levels of a study measure."""

    words: ClassVar[str] = "an intensity measure"
    kind: Annotated[str, OneOf(tuple(MEASURES))] = "sa"
    period: Annotated[float, Number("of the spectral acceleration", "s", positive=True)] | None = None
    damping: Annotated[float, Number("ratio to critical, of the spectrum")] = 0.05


class HuntTable(Section):
    """How the levels of a motion are chosen to find its collapse."""

    words: ClassVar[str] = "a hunt for collapse"
    first: WithUnit = Field(description="the lowest level, and the first step upwards")
    growth: float = Field(default=1.5, description="each step upwards over the one before")
    resolution: float = Field(default=0.1, description="the gap around collapse over its upper end, in the end")
    fill: int = Field(default=3, description="runs that fill gaps below collapse")
    most: int = Field(default=20, ge=1, le=1000, description="runs of one motion, at most")


class SyntheticSuiteTable(SyntheticTable):
    """Synthetic earthquakes that differ in their seeds."""

    words: ClassVar[str] = "a suite of synthetic motions"
    count: int = Field(ge=1, le=100_000, description="how many; the first has the given seed")


class MotionsTable(ReadingTable):
    """The motions of a study: files, pairs of files, and synthetic ones."""

    words: ClassVar[str] = "the motions of a study"
    files: list[str | tuple[str, str]] = Field(
        default=[],
        description="files, or pairs of them with one scale; * and ? as in a shell",
        max_length=_MANY,
    )
    synthetic: SyntheticSuiteTable | None = Field(default=None, description="synthetic earthquakes")


class RunLawTable(Section):
    """A law in place of another."""

    words: ClassVar[str] = "a law of a study"
    name: Text = Field(description="its tick on the dimension `law`")
    path: Text = Field(default="", description='the parts that it replaces, e.g. "storeys[*]"; none when not given')
    law: Any = None


class LawTable(RunLawTable):
    """A law that is fitted in place of another."""

    words: ClassVar[str] = "a law that is fitted"
    unknown: list[UnknownTable] = Field(
        default=[], max_length=1000, description="unknowns of this law; those of the project when not given"
    )


class SensorSetTable(Section):
    """Sensors that are used together."""

    words: ClassVar[str] = "a set of sensors"
    name: Text = Field(description="its tick on the dimension `sensors`")
    channels: list[Text] = Field(min_length=1, max_length=1000, description="channels of [[sensors]]")


class SeedsTable(Section):
    """Seeds that follow each other."""

    words: ClassVar[str] = "a range of seeds"
    first: int = Field(default=0, ge=0, description="the first seed")
    count: int = Field(ge=1, le=MOST_RUNS, description="how many")


class FitsTable(Section):
    """What is fitted to the data of every run: the unknowns of the project, by its method."""

    words: ClassVar[str] = "the fits of a study"
    data: Literal["simulated", "measured"] = Field(
        default="simulated", description="data of the structure as it is described, or [records] files"
    )
    methods: Any = Field(default=[])
    laws: list[Any] = Field(default=[])
    sensors: list[SensorSetTable] = Field(default=[], max_length=1000, description="sets of sensors")
    noise: list[float] | float = Field(default=0.0, description="share of each signal, for sensors without their own")
    seeds: list[int] | SeedsTable = Field(default=[0], description="of the noise and of the method")
    every: int = Field(default=1, ge=1, le=100_000, description="the fit sees one of so many samples")
    substeps: int | None = Field(
        default=None, ge=1, le=100_000, description="integrator steps per sample of the fit; it chooses when not given"
    )
    hold: Annotated[str, OneOf(HOLDS)] | None = Field(
        default=None, description="the excitation between its samples, in the fit; it chooses when not given"
    )
    hold_out: float = Field(default=0.0, description="share of each record that is scored instead of fitted")
    checks: Literal["all", "none"] = Field(default="all", description="of every fit")
    confidence: float = Field(default=0.95, description="of the intervals")


class StudyTable(Section):
    """Many runs of the structure, or many fits."""

    words: ClassVar[str] = "a study"
    motions: MotionsTable | None = Field(default=None, description="the motions; by default the excitation")
    vary: list[VaryTable] = Field(default=[], max_length=1000, description="parameters that vary")
    laws: list[Any] = Field(default=[])
    fit: str = Field(default="", description="file of a result, from whose uncertainty parameters are drawn")
    combine: Annotated[str, OneOf(COMBINATIONS)] | None = Field(default=None, description="how parameters combine")
    count: int | None = Field(default=None, ge=1, le=MOST_RUNS, description="samples of distributions or of the fit")
    correlation: list[list[float]] | None = Field(default=None, description="of the distributions, in their order")
    hunt: HuntTable | None = Field(default=None, description="a hunt for collapse, instead of levels")
    levels: list[WithUnit] = Field(
        default=[], description="intensities to which every motion is scaled", max_length=_MANY
    )
    intensity: Annotated[
        IntensityTable,
        BeforeValidator(
            lambda v: {"kind": v} if isinstance(v, str) else v,
            json_schema_input_type=Literal[tuple(MEASURES)] | IntensityTable,
        ),
    ] = Field(default_factory=IntensityTable, description="what the levels measure")
    scales: list[float] = Field(default=[], description="factors on every motion, instead of levels", max_length=_MANY)
    storeys: list[StoreyTable] = Field(default=[], max_length=1000, description="drifts that are kept")
    heights: Any = Field(default=None, description="of the storeys of a shear building [m]")
    keep: list[Annotated[str, OneOf((*KEEPABLE, *FIT_KEEPABLE))]] | None = Field(
        default=None, min_length=1, description="what is kept of every run, or of every fit"
    )
    collapse: CollapseTable | None = Field(default=None, description="limits beyond which a run has collapsed")
    fits: Any = None
    seed: int = Field(default=0, ge=0, description="of everything that is drawn")


def study_table(maker: TableMaker, method) -> type[Section]:
    """The table of a study, with every registered law and method in its fits."""
    law: dict[str, Any] = {"law": (maker.choices[Law] | None, Field(None, description="that is fitted there"))}
    laws = create_model("LawTable", __base__=LawTable, **law)
    fits: dict[str, Any] = {
        "methods": (
            list[method] | dict[str, method],
            Field([], max_length=1000, description="methods, or methods by name; that of the project when not given"),
        ),
        "laws": (list[laws], Field([], max_length=1000, description="laws that are fitted in place of others")),
    }
    table = create_model("FitsTable", __base__=FitsTable, **fits)
    moving: dict[str, Any] = {"law": (maker.choices[Law] | None, Field(None, description="that stands there"))}
    others = create_model("RunLawTable", __base__=RunLawTable, **moving)
    given: dict[str, Any] = {
        "laws": (list[others], Field([], max_length=1000, description="laws in place of others, a dimension `law`")),
        "fits": (table | None, Field(None, description="fits, instead of responses")),
    }
    return create_model("StudyTable", __base__=StudyTable, **given)
