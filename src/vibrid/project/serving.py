"""The tables of a device to be served: address, limits, recording."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from vibrid.hybrid.limits import NO_LIMIT, SafetyLimits
from vibrid.hybrid.recorder import WHEN_FULL
from vibrid.hybrid.wire.links import PROTOCOLS, SPIN
from vibrid.hybrid.wire.session import AFTER_STOP
from vibrid.hybrid.wire.watchdog import WHEN_SILENT
from vibrid.project.quantities import Number, OneOf
from vibrid.project.section import Plugins, Section


class ServeTable(Section):
    """Address, clients and timing of the server."""

    words: ClassVar[str] = "the table of the server"
    host: str = Field(default="127.0.0.1", description="address to listen on; by default this computer only")
    port: int = Field(default=8090, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    protocol: Annotated[str, OneOf(PROTOCOLS)] = "tcp"
    allow: list[str] = Field(default=[], max_length=100, description="addresses or networks of allowed clients")
    greeting: Annotated[float, Number("time in which a client must send its first message", "s", positive=True)] = 5.0
    idle: Annotated[
        float, Number("time without a message after which a client is disconnected", "s", positive=True)
    ] = 120.0
    spin: Annotated[float, Number("time of active waiting for each message before sleeping", "s")] = SPIN
    step: Annotated[float, Number("time between commits, if the client sends no time", "s", positive=True)] = 1.0 / 1024
    direction: list[float] = Field(
        default=[1.0], min_length=1, max_length=2, description="[1] or, between two nodes, [-1, 1]"
    )
    damping: Literal["in force", "apart"] = Field(
        default="in force", description="part of the force, or a separate matrix"
    )
    after_stop: Annotated[str, OneOf(AFTER_STOP)] = Field(
        default="answer", description="answer NaN after a stop, or close"
    )
    watchdog: (
        Annotated[float, Number("silence of a client that has moved the device; by default idle", "s", positive=True)]
        | None
    ) = None
    when_silent: Annotated[str, OneOf(WHEN_SILENT)] = Field(
        default="hold", description="hold the device when the client is silent or has gone, or ramp it to zero"
    )
    ramp_velocity: Annotated[float, Number("velocity of that ramp", "m/s", positive=True)] = 5e-3


class LimitsTable(Section):
    """Safety limits of a device, in either direction, each with its unit."""

    words: ClassVar[str] = "the table of limits"
    target: ClassVar[Any] = SafetyLimits
    displacement: Annotated[float, Number("largest deformation of the device", "m", True, True)] = NO_LIMIT
    velocity: Annotated[float, Number("largest velocity, as stated and by differences", "m/s", True, True)] = NO_LIMIT
    force: Annotated[float, Number("largest measured force", "N", True, True)] = NO_LIMIT
    acceleration: Annotated[float, Number("largest acceleration, likewise", "m/s^2", True, True)] = NO_LIMIT
    step: Annotated[float, Number("largest change from one command to the next", "m", True, True)] = NO_LIMIT
    energy: Annotated[float, Number("largest energy in one cycle", "J", True, True)] = NO_LIMIT


class RecordTable(Section):
    """The recording of each test."""

    words: ClassVar[str] = "the table of the recording"
    file: str = Field(description="HDF5 file, relative to this one; a number is added where it exists already")
    when_full: Annotated[str, OneOf(WHEN_FULL)] = Field(
        default="continue", description="what to do when the disk is full"
    )


class SpecimenTable(Section):
    """The whole file, but for the device."""

    words: ClassVar[str] = "a specimen file"
    title: str = Field(default="", max_length=200, description="name of the device in logs and records")
    plugins: Plugins = Field(
        default=[], description="Python files, relative to this one, that register laws, methods, …"
    )
    device: Any
    serve: ServeTable = Field(default_factory=ServeTable, description="address and clients of the server")
    limits: LimitsTable = Field(default_factory=LimitsTable, description="safety limits")
    record: RecordTable | None = Field(default=None, description="recording of each test")
