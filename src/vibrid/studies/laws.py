"""Laws of a study of runs: the same structure with other parts, along the dimension `law`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import numpy as np

from vibrid.core import paths
from vibrid.core.errors import InputError
from vibrid.simulation.base import Integrator
from vibrid.simulation.simulate import chosen_integrator
from vibrid.structures.base import Structure
from vibrid.studies.axes import Axis
from vibrid.studies.digest import digest
from vibrid.studies.motions import StudyMotion
from vibrid.studies.program import Batch, StudyProgram


def exchanged(structure: Structure, name: str, given: Any) -> Structure:
    """The structure of a law: itself, or that of the study with some parts exchanged."""
    if isinstance(given, Structure):
        return given
    if not isinstance(given, Mapping):
        raise InputError(f"The law '{name}' is a structure, or a dictionary of paths and parts, not {given!r:.80}.")
    if not given:
        return structure
    changed = paths.replace(structure, given)
    paths.check(changed, given)
    return changed


@dataclass(frozen=True, eq=False)
class Laws:
    """The programs of all laws as one; a batch has one law."""

    names: tuple[str, ...]
    programs: tuple[StudyProgram, ...]

    @property
    def fingerprints(self) -> list[str]:
        return [digest(program.structure, program.integrator) for program in self.programs]

    def compute(self, batch: Batch) -> dict[str, np.ndarray]:
        return self.programs[batch.law].compute(batch)

    def inputs(self, batch: Batch) -> dict[str, np.ndarray]:
        return {"law": np.array(self.names[batch.law])} | self.programs[batch.law].inputs(batch)

    def ordered(self, order: Sequence[int], motions: tuple[StudyMotion, ...]) -> Laws:
        """The same laws in another order, with motions in another order."""
        programs = tuple(replace(self.programs[i], motions=motions) for i in order)
        return Laws(tuple(self.names[i] for i in order), programs)


def laws_of(
    program: StudyProgram, laws: Mapping[str, Any], integrator: Integrator | None, axes: Sequence[Axis]
) -> Laws:
    """The programs of laws; refused where one has not what is varied or kept."""
    if not laws:
        raise InputError("`laws` is empty: leave it out, or name some.")
    base, programs = program.structure, []
    for name, given in laws.items():
        structure = exchanged(base, str(name), given)
        if type(structure) is not type(base) or structure.places() != base.places() or _size(structure) != _size(base):
            raise InputError(f"The law '{name}' has other places than the structure of the study: exchange parts only.")
        try:
            for axis in axes:
                paths.check_values(structure, axis.values)
        except InputError as problem:
            raise InputError(f"With the law '{name}': {problem}") from None
        chosen = chosen_integrator(structure, integrator, program.hold, program.substeps)
        made = replace(program, structure=structure, integrator=chosen)
        if "energy" in program.keep and part_names(made) != part_names(program):
            raise InputError(f"The law '{name}' has other parts than the structure, so that energies have no place.")
        programs.append(made)
    return Laws(tuple(map(str, laws)), tuple(programs))


def _size(structure: Structure) -> int:
    return eqx.filter_eval_shape(lambda s: s.matrices()[0], structure).shape[-1]


def part_names(program: StudyProgram) -> list[str]:
    """The names of the parts whose energy is kept, in the order of their forces."""
    model = eqx.filter_eval_shape(lambda structure: structure.model(program.loads), program.structure)
    names = {place: name for name, place in model.part_places.items()}  # "part.component" comes after "part"
    return [names[place] for place in sorted(names)]
