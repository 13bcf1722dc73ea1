"""The tables of a device to be served: where it listens, what no test may cross, what is kept."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from vibrid.hybrid.limits import NO_LIMIT
from vibrid.hybrid.recorder import WHEN_FULL
from vibrid.hybrid.wire.links import PROTOCOLS, SPIN
from vibrid.hybrid.wire.session import AFTER_STOP
from vibrid.project.quantities import number_type
from vibrid.project.section import Plugins, Section


class ServeTable(Section):
    """Where the device is served, for whom, and how."""

    words: ClassVar[str] = "the table of the server"
    host: str = Field("127.0.0.1", description="address to listen on; this machine alone unless said otherwise")
    port: int = Field(8090, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    protocol: Literal[PROTOCOLS] = "tcp"
    allow: list[str] = Field([], max_length=100, description="addresses or networks of clients that may come in")
    greeting: number_type("time in which a client must say what it wants", "s", positive=True) = 5.0
    idle: number_type("time without a message after which a client is given up", "s", positive=True) = 120.0
    spin: number_type("time of waiting awake for each message before sleeping", "s") = SPIN
    step: number_type("time between commits, where the client's time does not say", "s", positive=True) = 1.0 / 1024
    direction: list[float] = Field([1.0], min_length=1, max_length=2, description="[1] or, between two nodes, [-1, 1]")
    damping: Literal["in force", "apart"] = Field("in force", description="whether the damping matrix is told apart")
    after_stop: Literal[AFTER_STOP] = Field("answer", description="answer NaN after a stop, or close")


class LimitsTable(Section):
    """What no test may cross."""

    words: ClassVar[str] = "the table of limits"
    displacement: number_type("largest displacement, either way", "m", positive=True) = NO_LIMIT
    velocity: number_type("largest velocity, either way", "m/s", positive=True) = NO_LIMIT
    force: number_type("largest force, either way", "N", positive=True) = NO_LIMIT


class RecordTable(Section):
    """What is kept of each test."""

    words: ClassVar[str] = "the table of the recording"
    file: str = Field(description="HDF5 file, relative to this one; a number is added where it exists already")
    when_full: Literal[WHEN_FULL] = Field("continue", description="what to do when the disk is full")


class SpecimenTable(Section):
    """The whole file, but for the device."""

    words: ClassVar[str] = "a specimen file"
    title: str = Field("", max_length=200, description="what the device is called in logs and records")
    plugins: Plugins = Field([], description="files of Python, beside this one, that register laws, methods, …")
    device: Any
    serve: ServeTable = Field(default_factory=ServeTable, description="where it is served")
    limits: LimitsTable = Field(default_factory=LimitsTable, description="what no test may cross")
    record: RecordTable | None = Field(None, description="what is kept of each test")
