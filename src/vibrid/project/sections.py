"""The tables of a project file that do not depend on what is registered."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from vibrid.hybrid.recorder import WHEN_FULL
from vibrid.project.quantities import ChannelUnit, OfTheQuantity, number_type
from vibrid.project.section import Plugins, Section, Text
from vibrid.project.serving import LimitsTable
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
Seconds = number_type("time", "s")
WithUnit = Annotated[Any, Field(description="a number in SI units, or a text with a number and a unit")]


def _known_formats(schema: dict) -> None:
    """The formats that can be read now, for editors; any case will do, so other spellings are allowed."""
    schema["examples"] = list(formats())


class SensorTable(Section):
    """What is measured, where, and how well."""

    words: ClassVar[str] = "a sensor"
    quantity: Literal[MEASURABLE] = Field(description="what is measured")
    place: Places = Field(description="where: what the structure calls the spot, or a list of such places")
    channel: str = Field("", description="name of its channel; made from quantity and place when not given")
    unit: ChannelUnit = Field("", description="unit of the channel in files that do not say; SI when not given")
    gain: number_type("reading / true value") = 1.0
    delay: Seconds = 0.0
    offset: OfTheQuantity = Field(0.0, description="constant added to the reading, in SI units or with a unit")
    noise: OfTheQuantity = Field(None, description="standard deviation of the noise, in SI units or with a unit")


class SyntheticTable(Section):
    """A synthetic earthquake: filtered noise whose strength and frequency change with time."""

    words: ClassVar[str] = "a synthetic motion"
    seed: int = Field(0, ge=0, description="the same seed gives the same motion")
    duration: number_type("length of the motion", "s", positive=True) = 30.0
    rate: number_type("samples per second", "Hz", positive=True) = 200.0
    pga: number_type("largest acceleration", "m/s^2", positive=True) | None = None
    arias: number_type("Arias intensity, instead of pga", "m/s", positive=True) | None = None
    significant_duration: number_type("time from 5 to 95 % of the energy", "s", positive=True) | None = None
    middle: number_type("time of 45 % of the energy", "s", positive=True) | None = None
    frequency: number_type("frequency of the ground in the middle", "Hz", positive=True) = 4.0
    frequency_slope: number_type("change of that frequency per second", "Hz/s") = -0.1
    bandwidth: number_type("damping ratio of the ground filter", "", positive=True) = 0.25
    corner: number_type("corner of the high-pass filter", "Hz", positive=True) = 0.1


class CyclicTable(Section):
    """Blocks of sine cycles, one block an amplitude: a loading protocol for a device, or a harmonic load."""

    words: ClassVar[str] = "a cyclic protocol"
    amplitudes: list[WithUnit] = Field(min_length=1, max_length=1000, description="of each block, lowest first")
    frequency: number_type("cycles per second", "Hz", positive=True) = 1.0
    cycles: int = Field(3, ge=1, le=10_000, description="cycles in each block")
    rate: number_type("samples per second", "Hz", positive=True) = 200.0


class FreeTable(Section):
    """A free vibration: nothing drives the structure, it is released from its initial state."""

    words: ClassVar[str] = "a free vibration"
    duration: number_type("length of the motion", "s", positive=True)
    rate: number_type("samples per second", "Hz", positive=True) = 200.0


class InitialTable(Section):
    """How the structure stands at the first sample of a record."""

    words: ClassVar[str] = "an initial state"
    displacement: dict[str, WithUnit] | list[WithUnit] | None = Field(
        None, description="a table from place to displacement, or one for each degree of freedom [m]"
    )
    velocity: dict[str, WithUnit] | list[WithUnit] | None = Field(
        None, description="a table from place to velocity, or one for each degree of freedom [m/s]"
    )


class InputTable(Section):
    """A column of a file that drives the structure."""

    words: ClassVar[str] = "an excitation channel"
    column: str = Field(description="name of the column in the file")
    quantity: Literal[EXCITATIONS] = Field(
        "ground_acceleration", description="what it is; if not given what the file says, else ground acceleration"
    )
    place: Text = Field("", description="where a load acts")
    direction: str = Field("", description="which way a ground motion acts: x, y, lateral; else what the file says")
    unit: ChannelUnit = Field("", description="unit of the column, where the file does not say")


class ExcitationTable(Section):
    """What drives the structure: a file, a synthetic earthquake, a cyclic protocol, measured columns, or nothing."""

    words: ClassVar[str] = "the excitation"
    file: str = Field("", description="record file, relative to the project file")
    synthetic: SyntheticTable | None = Field(None, description="a synthetic earthquake")
    cyclic: CyclicTable | None = Field(None, description="blocks of sine cycles")
    free: FreeTable | None = Field(None, description="nothing: a free vibration from [[initial]]")
    channels: list[InputTable] = Field([], max_length=100, description="the columns that drive, and no others do")
    quantity: Literal[EXCITATIONS] = Field("ground_acceleration", description="what a cyclic protocol is")
    place: Text = Field("", description="where a cyclic load acts")
    direction: str = Field("", description="which way the ground moves, where one component does")
    format: str | None = Field(
        None, description="format of the file, when it should not be found out", json_schema_extra=_known_formats
    )
    rate: number_type("samples per second, where the file does not say", "Hz", positive=True) | None = None
    scale: number_type("factor on the excitation") = 1.0
    start: Seconds | None = None
    end: Seconds | None = None
    resample: number_type("samples per second wanted", "Hz", positive=True) | None = None


class UnknownTable(Section):
    """A parameter that is to be found from measurements; `[*]` stands for every index."""

    words: ClassVar[str] = "an unknown"
    path: str | list[str] = Field(description='e.g. "storeys[*].stiffness"; several paths share one value')
    bounds: tuple[WithUnit, WithUnit] | None = Field(None, description="lowest and highest value")
    start: WithUnit = Field(None, description="first guess; the value in [structure] when not given")
    prior: tuple[WithUnit, WithUnit] | None = Field(None, description="mean and standard deviation of a normal prior")
    tied: bool = Field(False, description="all places of the path share one value")
    scale: WithUnit = Field(None, description="a typical size of the change, where the first guess is zero")
    name: str = Field("", description="what to call it in tables")


class UnknownLoadTable(Section):
    """A load whose history is to be found."""

    words: ClassVar[str] = "an unknown load"
    place: Text = Field(description="where it acts; only its name for a load that moves")
    quantity: Literal["load", "ground_acceleration"] = "load"
    deviation: OfTheQuantity = Field(None, description="prior standard deviation of its size, where it is known")
    speed: number_type("speed of a load that crosses a beam", "m/s", positive=True) | None = None
    enters: number_type("when it enters the beam", "s") = 0.0


class SimulationTable(Section):
    """How the response is computed, and how noisy simulated sensors are."""

    words: ClassVar[str] = "the simulation"
    hold: Literal[HOLDS] = Field("linear", description="what the excitation does between its samples")
    substeps: int = Field(1, ge=1, le=100_000, description="integrator steps per sample")
    noise: number_type("noise of each sensor over its signal, where a sensor has none of its own") = 0.0
    seed: int = Field(0, ge=0, description="the same seed gives the same noise")


class HybridTable(Section):
    """A hybrid test: devices that are tested or modelled with the structure, which is computed without them."""

    words: ClassVar[str] = "the hybrid test"
    substeps: int = Field(1, ge=1, le=1000, description="commands to the machines in one step of the structure")
    rate: number_type("commands to the machines a second", "Hz", positive=True) = 1024.0
    interpolation: Literal["linear", "cubic"] = Field("linear", description="of commands inside a step")
    length_scale: number_type("length of the structure / of the devices", "", positive=True) = 1.0
    force_scale: number_type("force of the structure / of the devices", "", positive=True) = 1.0
    time_scale: number_type("time of the structure / of the laboratory", "", positive=True) = 1.0
    watch: Text = Field("", description="place whose displacement is shown while the test runs; the top by default")
    limits: LimitsTable = Field(default_factory=LimitsTable, description="what a device outside may not cross")
    when_full: Literal[WHEN_FULL] = Field("continue", description="what to do when the disk is full")


class RecordsTable(Section):
    """Measured files, and how they are read."""

    words: ClassVar[str] = "the table of records"
    files: list[str] = Field([], max_length=1000, description="files to identify from, relative to the project file")
    validation: list[str] = Field([], max_length=1000, description="files kept for checking the answer")
    format: str | None = Field(
        None, description="format of the files, when it should not be found out", json_schema_extra=_known_formats
    )
    rate: number_type("samples per second, where the files do not say", "Hz", positive=True) | None = None
    start: Seconds | None = None
    end: Seconds | None = None
    resample: number_type("samples per second wanted", "Hz", positive=True) | None = None


class ProjectTable(Section):
    """The whole file, but for the tables that depend on what is registered."""

    words: ClassVar[str] = "a project file"
    title: str = Field("", max_length=200, description="what the project is called in tables and reports")
    plugins: Plugins = Field([], description="files of Python, beside this one, that register laws, methods, …")
    structure: Any
    sensors: list[SensorTable] = Field([], max_length=MOST_SENSORS, description="what is measured")
    excitation: ExcitationTable | None = Field(None, description="what drives the structure")
    initial: list[InitialTable] = Field([], max_length=1000, description="how each record begins; at rest by default")
    unknown: list[UnknownTable] = Field([], max_length=1000, description="what is to be found")
    unknown_loads: list[UnknownLoadTable] = Field([], max_length=100, description="loads that are to be found")
    method: Any = None
    simulation: Any = None
    hybrid: Any = None
    records: RecordsTable = Field(default_factory=RecordsTable, description="what was measured")
