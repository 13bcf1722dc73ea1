"""The tables of a project file that do not depend on the registries."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from vibrid.identification.auto_start import STARTS
from vibrid.project.quantities import ChannelUnit, Number, OfTheQuantity, OneOf
from vibrid.project.section import Plugins, Section, Text
from vibrid.records.prepare import BASELINES, Preparation
from vibrid.records.readers import formats
from vibrid.records.record import EXCITATIONS
from vibrid.simulation.excitation import HOLDS
from vibrid.structures.sensors import MEASURABLE

MOST_SENSORS = 2000

Places = Annotated[
    list[Text],
    BeforeValidator(lambda v: v if isinstance(v, list) else [v], json_schema_input_type=Text | list[Text]),
    Field(min_length=1, max_length=MOST_SENSORS),
]
Seconds = Annotated[float, Number("time", "s")]
WithUnit = Annotated[Any, Field(description="a number in SI units, or a text with a number and a unit")]


def _known_formats(schema: dict) -> None:
    """The known formats, for editors; other spellings are allowed, because upper and lower case are equal."""
    schema["examples"] = list(formats())


class SensorTable(Section):
    """A sensor: its quantity, place and noise."""

    words: ClassVar[str] = "a sensor"
    quantity: Annotated[str, OneOf(MEASURABLE)] = Field(description="measured quantity")
    place: Places = Field(description="name of the place on the structure, or a list of them")
    channel: str = Field(default="", description="name of its channel; made from quantity and place when not given")
    unit: ChannelUnit = Field(default="", description="unit of the channel in files without units; SI when not given")
    gain: Annotated[float, Number("reading / true value")] = 1.0
    delay: Seconds = 0.0
    offset: OfTheQuantity = Field(default=0.0, description="constant added to the reading, in SI units or with a unit")
    noise: OfTheQuantity = Field(
        default=None, description="standard deviation of the noise, in SI units or with a unit"
    )


class SyntheticTable(Section):
    """A synthetic earthquake: filtered noise whose strength and frequency change with time."""

    words: ClassVar[str] = "a synthetic motion"
    seed: int = Field(default=0, ge=0, description="the same seed gives the same motion")
    duration: Annotated[float, Number("length of the motion", "s", positive=True)] = 30.0
    rate: Annotated[float, Number("samples per second", "Hz", positive=True)] = 200.0
    pga: Annotated[float, Number("largest acceleration", "m/s^2", positive=True)] | None = None
    arias: Annotated[float, Number("Arias intensity, instead of pga", "m/s", positive=True)] | None = None
    significant_duration: Annotated[float, Number("time from 5 to 95 % of the energy", "s", positive=True)] | None = (
        None
    )
    middle: Annotated[float, Number("time of 45 % of the energy", "s", positive=True)] | None = None
    frequency: Annotated[float, Number("frequency of the ground in the middle", "Hz", positive=True)] = 4.0
    frequency_slope: Annotated[float, Number("change of that frequency per second", "Hz/s")] = -0.1
    bandwidth: Annotated[float, Number("damping ratio of the ground filter", "", positive=True)] = 0.25
    corner: Annotated[float, Number("corner of the high-pass filter", "Hz", positive=True)] = 0.1


class CyclicTable(Section):
    """Blocks of sine cycles, one block per amplitude: a loading protocol for a device, or a harmonic load."""

    words: ClassVar[str] = "a cyclic protocol"
    amplitudes: list[WithUnit] = Field(min_length=1, max_length=1000, description="of each block, lowest first")
    frequency: Annotated[float, Number("cycles per second", "Hz", positive=True)] = 1.0
    cycles: int = Field(default=3, ge=1, le=10_000, description="cycles in each block")
    rate: Annotated[float, Number("samples per second", "Hz", positive=True)] = 200.0


class FreeTable(Section):
    """A free vibration: the structure is released from its initial state."""

    words: ClassVar[str] = "a free vibration"
    duration: Annotated[float, Number("length of the motion", "s", positive=True)]
    rate: Annotated[float, Number("samples per second", "Hz", positive=True)] = 200.0


class InitialTable(Section):
    """The state of the structure at the first sample of a record."""

    words: ClassVar[str] = "an initial state"
    displacement: dict[str, WithUnit] | list[WithUnit] | None = Field(
        default=None, description="a table from place to displacement, or one for each degree of freedom [m]"
    )
    velocity: dict[str, WithUnit] | list[WithUnit] | None = Field(
        default=None, description="a table from place to velocity, or one for each degree of freedom [m/s]"
    )


class InputTable(Section):
    """A column of a file that is an excitation."""

    words: ClassVar[str] = "an excitation channel"
    column: str = Field(description="name of the column in the file")
    quantity: Annotated[str, OneOf(EXCITATIONS)] = Field(
        default="ground_acceleration", description="its quantity; by default that of the file, else ground acceleration"
    )
    place: Text = Field(default="", description="place of a load")
    direction: str = Field(
        default="", description="direction of a ground motion: x, y, lateral; by default that of the file"
    )
    unit: ChannelUnit = Field(default="", description="unit of the column, if the file does not give it")


class FilterTable(Section):
    """A Butterworth filter, run forwards and backwards: no phase."""

    words: ClassVar[str] = "a filter"
    low: Annotated[float, Number("lower corner", "Hz", positive=True)] | None = None
    high: Annotated[float, Number("upper corner", "Hz", positive=True)] | None = None
    order: int = Field(default=4, ge=1, le=20, description="order of the filter")


class ReadingTable(Section):
    """How files are read and prepared."""

    format: str | None = Field(
        default=None, description="format of the files; detected when not given", json_schema_extra=_known_formats
    )
    rate: Annotated[float, Number("samples per second, if a file does not give it", "Hz", positive=True)] | None = None
    decimal: Literal[".", ","] | None = Field(default=None, description="decimal mark, if a file leaves it open")
    dates: Literal["dmy", "mdy", "ymd"] | None = Field(default=None, description="order of day, month and year")
    missing: Annotated[
        list[float] | None,
        BeforeValidator(
            lambda v: [v] if isinstance(v, int | float) else v, json_schema_input_type=float | list[float] | None
        ),
    ] = Field(default=None, description="numbers that stand for missing samples, such as -9999; [] for none")
    drop: list[str] = Field(default=[], max_length=1000, description="columns that are not read")
    sheet: str | None = Field(default=None, description="sheet of a workbook")
    time: str | None = Field(default=None, description="name of the time column, if it is not recognised")
    start: Seconds | None = None
    end: Seconds | None = None
    fill: Annotated[float, Number("longest gap that is bridged by a line", "s", positive=True)] | None = None
    baseline: Annotated[str, OneOf(BASELINES)] | None = Field(default=None, description="what is removed as baseline")
    filter: FilterTable | None = Field(default=None, description="a filter of every channel")
    resample: Annotated[float, Number("samples per second wanted", "Hz", positive=True)] | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """The arguments of `read_described`."""
        keys = ("format", "rate", "time", "decimal", "dates", "missing", "drop", "sheet")
        return {key: getattr(self, key) for key in keys}

    def preparation(self, start: float | None = None, end: float | None = None) -> Preparation:
        """What is done to a record that was read; a window that is given takes the place of the table's."""
        corners = self.filter or FilterTable()
        window = (start, end) if start is not None or end is not None else (self.start, self.end)
        return Preparation(
            *window, self.fill, self.baseline, corners.low, corners.high, corners.order, rate=self.resample
        )


class FileTable(Section):
    """A measured file, or a part of one."""

    words: ClassVar[str] = "a measured file"
    file: str = Field(description="name of the file, relative to the project file")
    start: Seconds | None = None
    end: Seconds | None = None


MeasuredFile = Annotated[
    FileTable,
    BeforeValidator(lambda v: {"file": v} if isinstance(v, str) else v, json_schema_input_type=str | FileTable),
]


class ExcitationTable(ReadingTable):
    """The excitation: a file, a synthetic earthquake, a cyclic protocol, measured columns, or a free vibration."""

    words: ClassVar[str] = "the excitation"
    file: str = Field(default="", description="record file, relative to the project file")
    synthetic: SyntheticTable | None = Field(default=None, description="a synthetic earthquake")
    cyclic: CyclicTable | None = Field(default=None, description="blocks of sine cycles")
    free: FreeTable | None = Field(default=None, description="a free vibration from [[initial]]")
    channels: list[InputTable] = Field(
        default=[], max_length=100, description="the excitation columns; no others are used"
    )
    quantity: Annotated[str, OneOf(EXCITATIONS)] = Field(
        default="ground_acceleration", description="quantity of a cyclic protocol"
    )
    place: Text = Field(default="", description="place of a cyclic load")
    direction: str = Field(default="", description="direction of a ground motion with one component")
    scale: Annotated[float, Number("factor on the excitation")] = 1.0


class UnknownTable(Section):
    """A parameter to be identified; `[*]` stands for every index."""

    words: ClassVar[str] = "an unknown"
    path: str | list[str] = Field(description='e.g. "storeys[*].stiffness"; several paths share one value')
    bounds: tuple[WithUnit, WithUnit] | None = Field(default=None, description="lowest and highest value")
    start: WithUnit = Field(default=None, description="initial value; by default the value in [structure]")
    prior: tuple[WithUnit, WithUnit] | None = Field(
        default=None, description="mean and standard deviation of a normal prior"
    )
    tied: bool = Field(default=False, description="all places of the path share one value")
    scale: WithUnit = Field(default=None, description="a typical size of the change, if the initial value is zero")
    name: str = Field(default="", description="name in tables")


class UnknownLoadTable(Section):
    """A load whose history is to be identified."""

    words: ClassVar[str] = "an unknown load"
    place: Text = Field(description="place where it acts; only a name for a moving load")
    quantity: Literal["load", "ground_acceleration"] = "load"
    deviation: OfTheQuantity = Field(default=None, description="prior standard deviation of its size, if known")
    speed: Annotated[float, Number("speed of a load that crosses a beam", "m/s", positive=True)] | None = None
    enters: Annotated[float, Number("when it enters the beam", "s")] = 0.0


class SimulationTable(Section):
    """Settings of the simulation, and noise of simulated sensors."""

    words: ClassVar[str] = "the simulation"
    hold: Annotated[str, OneOf(HOLDS)] = Field(default="linear", description="the excitation between its samples")
    substeps: int = Field(default=1, ge=1, le=100_000, description="integrator steps per sample")
    noise: Annotated[float, Number("noise / signal of each sensor without a noise of its own")] = 0.0
    seed: int = Field(default=0, ge=0, description="the same seed gives the same noise")


class RecordsTable(ReadingTable):
    """Measured files, and how they are read."""

    words: ClassVar[str] = "the table of records"
    files: list[MeasuredFile] = Field(
        default=[], max_length=1000, description="files to identify from, or parts of them, relative to the project"
    )
    validation: list[MeasuredFile] = Field(
        default=[], max_length=1000, description="files, or parts of them, for validation"
    )


class ProjectTable(Section):
    """The whole file, without the tables that depend on the registries."""

    words: ClassVar[str] = "a project file"
    title: str = Field(default="", max_length=200, description="name of the project in tables and reports")
    plugins: Plugins = Field(
        default=[], description="Python files, relative to this one, that register laws, methods, …"
    )
    structure: Any
    sensors: list[SensorTable] = Field(default=[], max_length=MOST_SENSORS, description="the sensors")
    excitation: ExcitationTable | None = Field(default=None, description="the excitation")
    initial: list[InitialTable] = Field(
        default=[], max_length=1000, description="initial state of each record; by default rest"
    )
    unknown: list[UnknownTable] = Field(default=[], max_length=1000, description="parameters to be identified")
    unknown_loads: list[UnknownLoadTable] = Field(default=[], max_length=100, description="loads to be identified")
    method: Any = None
    start: Annotated[str, OneOf(STARTS)] = Field(
        default="given", description="first guess: that of the file, or auto: looked for in the records"
    )
    simulation: Any = None
    hybrid: Any = None
    study: Any = None
    records: RecordsTable = Field(default_factory=RecordsTable, description="measured files")
