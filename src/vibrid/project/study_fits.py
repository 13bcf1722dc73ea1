"""The fits of a study: from their tables to `vibrid.studies.Fits`."""

from __future__ import annotations

from typing import Any

from vibrid.core import paths
from vibrid.core.errors import InputError, unknown_name
from vibrid.project.build import Notes, make, make_unknowns
from vibrid.structures.base import Structure
from vibrid.structures.sensors import Sensors
from vibrid.studies.fits import Fits


def make_fits(table, structure: Structure, sensors: Sensors | None, unknown: tuple, simulation, method, notes: Notes):
    """The fits that a table describes, or None where something is wrong with it; the reasons are in the notes.

    unknown, simulation, method: of the project. Its [simulation] says how data are simulated; for measured data it says
    how the fit simulates, as in `vibrid identify`.
    """
    before = len(notes.problems)
    given: dict[str, Any] = {"data": table.data, "every": table.every, "hold_out": table.hold_out}
    given |= {"checks": table.checks, "confidence": table.confidence}
    given |= {"hold": table.hold or "auto", "substeps": table.substeps or "auto"}
    if table.data == "measured":
        given |= simulation.fitting | {k: v for k, v in (("hold", table.hold), ("substeps", table.substeps)) if v}
    else:
        given["noise"] = table.noise if "noise" in table.model_fields_set else simulation.noise
    seeds = table.seeds
    given["seeds"] = seeds if isinstance(seeds, list) else range(seeds.first, seeds.first + seeds.count)
    given["method"] = _methods(table, method, notes)
    if table.sensors:
        with notes.at("study", "fits", "sensors"):
            given["sensors"] = _sets(table.sensors, sensors)
    given["unknown"] = unknown
    if table.laws:
        given["laws"], given["unknown"] = {}, {}
        for i, law in enumerate(table.laws):
            other = changed(law, structure, ("study", "fits", "laws", i), notes)
            if law.name in given["laws"]:
                notes.add(("study", "fits", "laws", i, "name"), f"two laws are called '{law.name}'.")
            if other is not None:
                own = make_unknowns(law.unknown, other, sensors, notes) if law.unknown else unknown
                given["laws"][law.name], given["unknown"][law.name] = other, own
    with notes.at("study", "fits"):
        if not unknown and not all(law.unknown for law in table.laws or [table]):
            raise InputError('nothing is unknown: add [[unknown]] with path = "storeys[*].stiffness" or the like.')
        if len(notes.problems) == before:
            return Fits(**given)
    return None


def _methods(table, method, notes: Notes) -> Any:
    where = ("study", "fits", "methods")
    if isinstance(table.methods, dict):
        return {name: make(chosen, (*where, name), notes) for name, chosen in table.methods.items()}
    made = [make(chosen, (*where, i), notes) for i, chosen in enumerate(table.methods)]
    return made or method or "trajectory"


def _sets(tables, sensors: Sensors | None) -> dict[str, Sensors]:
    known = {sensor.label: sensor for sensor in sensors or ()}
    found: dict[str, Sensors] = {}
    for table in tables:
        if table.name in found:
            raise InputError(f"two sets are called '{table.name}'.")
        for channel in table.channels:
            if channel not in known:
                raise unknown_name("sensor of the project", channel, known)
        found[table.name] = Sensors([known[channel] for channel in table.channels])
    return found


def changed(table, structure: Structure, where: tuple, notes: Notes) -> Structure | None:
    """The structure with the parts at a path replaced by a law."""
    if bool(table.path) != (table.law is not None):
        notes.add(where, "a law replaces the parts at a path: give both, or none for the structure as it is.")
        return None
    if table.law is None:
        return structure
    law = make(table.law, (*where, "law"), notes)
    if law is None:
        return None
    with notes.at(*where, "path"):
        made = paths.replace(structure, {table.path: law})
        paths.check(made, {table.path: law})
        return made
    return None
