"""A device to be served by `vibrid hybrid serve`, from its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, create_model

from vibrid.core.errors import FileProblem
from vibrid.hybrid.device import SPECIMENS, LawDevice, LoopDevice
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.substructure import Connection
from vibrid.hybrid.wire.listener import Listener
from vibrid.hybrid.wire.watchdog import Watchdog
from vibrid.project.build import Notes, make
from vibrid.project.hybrid import read_files
from vibrid.project.law_tables import maker_of_laws
from vibrid.project.load import read_table
from vibrid.project.problems import ProjectProblem
from vibrid.project.serving import RecordTable, ServeTable, SpecimenTable
from vibrid.project.tables import texts


@dataclass(frozen=True)
class Specimen:
    """A device with all that is needed to serve it."""

    path: Path
    title: str
    device: LoopDevice
    table: ServeTable
    limits: SafetyLimits
    record: RecordTable | None
    watchdog: Watchdog

    @property
    def stops(self) -> Path:
        """The file that keeps the safety stops of the device, beside its own."""
        return stops_file(self.path)

    def listener(self, **changed) -> Listener:
        """Its address and clients; values of the command line (`changed`) take precedence."""
        names = ("host", "port", "protocol", "allow", "greeting", "idle", "spin")
        table: dict[str, Any] = {name: getattr(self.table, name) for name in names}
        table |= {name: value for name, value in changed.items() if value is not None}
        table["allow"] = tuple(table["allow"])
        return Listener(**table)


def specimen_file(data: Mapping[str, Any] | None = None) -> type[SpecimenTable]:
    """The pydantic model of a file that describes a device to be served, with every registered name; data: the content
    of a file, for a model with the names that are in it."""
    named = None if data is None else texts(data)
    specimens = SPECIMENS.choices(named).items()
    known = {n: c for n, c in specimens if not (isinstance(c, type) and issubclass(c, Connection))}
    fields: dict[str, Any] = {
        "device": (maker_of_laws(named).choice("specimen", "kind", known), Field(description="the served device"))
    }
    model = create_model("SpecimenFile", __base__=SpecimenTable, **fields)
    model.__doc__ = "A device that `vibrid hybrid serve` offers to other programs."
    return model


def stops_file(specimen: Path) -> Path:
    """The file that keeps the safety stops of the device of a specimen file."""
    return specimen.with_suffix(".stops.json")


def load_specimen(path, trust: bool = False) -> Specimen:
    """The device that a TOML file describes; errors, plugins and `trust` are those of project files."""
    path = Path(path)
    text, table = read_table(path, specimen_file, trust)
    notes = Notes()
    device = read_files(make(table.device, ("device",), notes), ("device",), path.parent, notes)
    limits = make(table.limits, ("limits",), notes)
    watchdog = Watchdog()
    with notes.at("serve"):
        watchdog = Watchdog(table.serve.watchdog, table.serve.when_silent, table.serve.ramp_velocity)
    if notes.problems:
        raise ProjectProblem(path, text, notes.problems)
    if isinstance(device, LawDevice) and device.law.components != 1:
        raise FileProblem(path, "a served device has one deformation; this law has several.")
    return Specimen(path, table.title or path.stem, device, table.serve, limits, table.record, watchdog)
