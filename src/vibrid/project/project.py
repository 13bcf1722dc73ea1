"""The project: the content of a project file as objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vibrid.core.errors import FileProblem
from vibrid.core.file_names import as_on_disk
from vibrid.core.inputs import InputFile
from vibrid.project.display_units import GivenUnits
from vibrid.project.excitation import make_excitation, read_measured
from vibrid.project.sections import ExcitationTable, RecordsTable
from vibrid.records.record import Record
from vibrid.simulation.base import Integrator
from vibrid.simulation.initial import Initial
from vibrid.simulation.response import Response
from vibrid.simulation.simulate import simulate
from vibrid.structures.base import Structure
from vibrid.structures.sensors import Sensors

if TYPE_CHECKING:
    from vibrid.project.hybrid import HybridPlan
    from vibrid.project.study import StudyPlan
    from vibrid.studies.fit_study import FitStudy
    from vibrid.studies.study import Study


@dataclass(frozen=True)
class Simulation:
    """How a response is computed: the arguments of `vibrid.simulate`, and the noise of simulated sensors."""

    integrator: Integrator | None = None
    hold: str = "linear"
    substeps: int = 1
    noise: float = 0.0
    seed: int = 0
    given: frozenset[str] = frozenset()  # the keys that the file states

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `simulate`."""
        return {"integrator": self.integrator, "hold": self.hold, "substeps": self.substeps}

    @property
    def fitting(self) -> dict[str, Any]:
        """The arguments of `identify`, which chooses what the file leaves open."""
        return self.arguments | {key: "auto" for key in ("hold", "substeps") if key not in self.given}


@dataclass(frozen=True)
class Project:
    """The content of a project file.

    `structure`, `sensors` and `unknown` are arguments of `vibrid.identify`; `method` is the identification method, None
    when the file names none. `initial` holds the initial state of each record, empty for rest. `units` are the units of
    channels in files, where they are not SI.
    """

    path: Path
    title: str
    structure: Structure
    sensors: Sensors | None
    unknown: tuple
    method: Any
    simulation: Simulation
    units: dict[str, str] = field(default_factory=dict)
    excitation_table: ExcitationTable | None = None
    records_table: RecordsTable = field(default_factory=lambda: RecordsTable())
    hybrid: HybridPlan | None = None
    study_plan: StudyPlan | None = None
    initial: tuple[Initial, ...] = ()
    files: tuple[InputFile, ...] = ()  # the project file, and the files that were read with it
    start: str = "given"  # the argument of `vibrid.identify`
    given: GivenUnits = field(default_factory=GivenUnits)  # units of its numbers, to answer in the same

    @property
    def file(self) -> InputFile | None:
        """The project file itself, as it was read."""
        return self.files[0] if self.files else None

    def excitation(self) -> Record:
        """The record that drives the structure in a simulation."""
        return make_excitation(self)

    def simulate(self, excitation: Record | None = None) -> Response:
        """The response to an excitation, by default that of the project, from its first initial state."""
        excitation = self.excitation() if excitation is None else excitation
        start = self.initial[0] if self.initial else None
        return simulate(self.structure, excitation, start=start, **self.simulation.arguments)

    def measure(self, response: Response) -> Record:
        """The sensor readings of a response, with the project's noise."""
        if self.sensors is None:
            raise FileProblem(self.path, "it names no sensors; add a [[sensors]] table with quantity and place.")
        return response.measure(self.sensors, noise=self.simulation.noise, key=self.simulation.seed)

    def read(self, path, start: float | None = None, end: float | None = None) -> Record:
        """A measured file, its columns named and described by the project's sensors and excitation channels.

        start, end: the part of it in seconds; by default that of the project.
        """
        return read_measured(self, path, start, end)

    def records(self) -> list[Record]:
        """The measured files that the project names for identification."""
        return [self.read(self.beside(part.file), part.start, part.end) for part in self.records_table.files]

    def validation(self) -> list[Record]:
        """The measured files that the project names for validation."""
        return [self.read(self.beside(part.file), part.start, part.end) for part in self.records_table.validation]

    def study(self, skip_unreadable: bool = False) -> tuple[Study | FitStudy, tuple[str, ...]]:
        """The study of the project with its motions read, and what is wrong with motions that were left out."""
        if self.study_plan is None:
            raise FileProblem(self.path, "it describes no study; add a [study] table with motions and what varies.")
        from vibrid.project.study import make_study

        return make_study(self, self.study_plan, skip_unreadable)

    def beside(self, name: str) -> Path:
        """A file named in the project, relative to it."""
        return as_on_disk(self.path.parent, name)
