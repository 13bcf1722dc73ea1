"""Before a structure is handed over: its masses, stiffness, damping and periods against those of the recorded model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.bridge.assembly import AssembledScript
from vibrid.bridge.description import BarElement, ScriptModel
from vibrid.bridge.native import damping_matrix, dof_units, place_name
from vibrid.bridge.units import ScriptUnits
from vibrid.core.errors import VibridError
from vibrid.structures import Matrices, RigidFloorBuilding, ShearBuilding, Structure
from vibrid.structures.assembled import Assembled

_SAME = 1e-9
_SHOWN = 6


@dataclass(frozen=True)
class Compared:
    """One quantity of the script, assembled by itself, and of the structure."""

    what: str
    script: float
    structure: float
    unit: str

    @property
    def gap(self) -> float:
        """Difference over the larger of both; 0 where both are 0."""
        size = max(abs(self.script), abs(self.structure))
        return abs(self.script - self.structure) / size if size else 0.0


def compare_with_script(
    structure: Structure, model: ScriptModel, assembled: AssembledScript, units: ScriptUnits, order: dict[str, str]
) -> list[Compared]:
    """Masses, stiffness, damping and periods of both; refused where they differ, which would be a fault of vibrid.

    Arguments
        order: the place in the structure of each place in the script, where they differ.
    """
    names = [place_name(model, *assembled.places[dof]) for dof in assembled.independent]
    mass, stiffness, heavy = assembled.condensed()
    turned = dof_units(model, assembled, units)[heavy]
    scale = units.force * units.length / np.outer(turned, turned)
    mass, stiffness = mass * scale * units.time**2, stiffness * scale
    rows = _rows(structure, [order[names[i]] if names[i] in order else names[i] for i in heavy])
    inside = np.linalg.inv(rows)
    m, c, k = (inside.T @ np.asarray(a) @ inside for a in structure.model(()).initial_matrices())
    found = []
    for d, axis in enumerate(("x", "y", "z")[: model.dimensions]):
        moved = np.array([float(assembled.places[assembled.independent[i]][1] == d) for i in heavy])
        if np.any(moved):
            found.append(
                Compared(f"mass moving in {axis}", float(moved @ mass @ moved), float(moved @ m @ moved), "kg")
            )
    found.append(
        Compared("total stiffness (norm of K)", float(np.linalg.norm(stiffness)), float(np.linalg.norm(k)), "N/m")
    )
    wanted = _damping(model, assembled, units, heavy, scale)
    found.append(
        Compared("total damping (norm of C)", float(np.linalg.norm(wanted)), float(np.linalg.norm(c)), "N s/m")
    )
    for number, (ours, theirs) in enumerate(zip(_periods(m, k), _periods(mass, stiffness), strict=True), 1):
        if number <= _SHOWN:
            found.append(Compared(f"period {number}", theirs, ours, "s"))
    gaps = {"mass": (m, mass), "stiffness": (k, stiffness), "damping": (c, wanted)}
    for what, (ours, theirs) in gaps.items():
        size = np.sqrt(np.outer(np.diag(theirs), np.diag(theirs)).clip(min=0)) + 1e-300
        worst = np.abs(ours - theirs) / np.maximum(size, 1e-9 * np.abs(theirs).max() + 1e-300)
        if worst.max() > _SAME:
            i, j = np.unravel_index(worst.argmax(), worst.shape)
            raise VibridError(
                f"The {what} of the translated structure differs from that of the script between '{names[heavy[i]]}' "
                f"and '{names[heavy[j]]}' by {worst.max():.2g} of its size; a fault of vibrid, please report it."
            )
    return found


def _damping(model: ScriptModel, assembled: AssembledScript, units: ScriptUnits, heavy, scale):
    """C of the script."""
    dashpots = assembled.reduced(assembled.dashpots)[np.ix_(heavy, heavy)] * scale * units.time
    return damping_matrix(model, assembled, units) + dashpots


def _rows(structure: Structure, places: list[str]) -> np.ndarray:
    """(places, n): the motion of the script's degrees of freedom from those of the structure."""
    if isinstance(structure, Assembled | Matrices | RigidFloorBuilding | ShearBuilding):
        return np.stack([np.asarray(structure.row(place)) for place in places])
    raise VibridError(f"A {type(structure).__name__} cannot be compared with a script.")


def _periods(mass: np.ndarray, stiffness: np.ndarray) -> list[float]:
    from scipy.linalg import eigh

    values = eigh(stiffness, mass, eigvals_only=True)
    return [float(2 * np.pi / np.sqrt(v)) if v > 0 else float("inf") for v in values]


def implausible(found: list[Compared], structure: Structure, model: ScriptModel, units: ScriptUnits) -> list[str]:
    """What looks odd in these units."""
    said = []
    size = max(np.ptp([node.at[d] for node in model.nodes.values()]) for d in range(model.dimensions)) * units.length
    if size and not 0.05 < size < 5e3:
        said.append(f"the structure is {size:.3g} m large")
    mass = max((row.structure for row in found if row.unit == "kg"), default=0.0)
    if not 1.0 < mass < 1e9:
        said.append(f"{mass:.3g} kg move")
    period = next((row.structure for row in found if row.what == "period 1"), 1.0)
    if not 5e-3 < period < 30.0:
        said.append(f"the first period is {period:.3g} s")
    modulus = getattr(structure, "modulus", None)
    if modulus is not None and not 1e8 < float(np.max(modulus)) < 2e12:
        said.append(f"the modulus is {float(np.max(modulus)):.3g} N/m²")
    said += _strains(model) + _weight(found, model, units)
    return [f'check the units "{units.text}": {"; ".join(said)}'] if said else []


_STRAINS = {"Steel01": (1e-4, 0.03), "Steel02": (1e-4, 0.03), "ElasticPP": (1e-5, 0.03), "Concrete01": (5e-4, 0.03)}
"""Smallest and largest usual strain at which a material yields or has its largest stress."""


def _strains(model: ScriptModel) -> list[str]:
    """Strains of materials of fibres and bars: no units change them, a number in a wrong unit does."""
    used = {e.material for e in model.elements.values() if isinstance(e, BarElement)}
    used |= {m for section in model.fibres.values() for *_, m in section.fibres}
    said = []
    for material in (model.materials[tag] for tag in sorted(used) if tag in model.materials):
        if material.kind not in _STRAINS:
            continue
        numbers = material.numbers(2)
        least, most = _STRAINS[material.kind]
        strain = abs(numbers[0] / numbers[1] if material.kind.startswith("Steel") else numbers[1])
        if not least <= strain <= most:
            said.append(f"{material.title} yields at a strain of {strain:.3g}")
    return said


def _weight(found: list[Compared], model: ScriptModel, units: ScriptUnits) -> list[str]:
    """Vertical permanent loads beside the weight of the masses, in the plane."""
    mass = next((row.structure for row in found if row.what == "mass moving in y"), 0.0)
    load = 0.0
    for held in model.permanent:
        if not held.along and len(held.values) > 1:
            load += float(np.asarray(held.values)[1]) * units.force
        elif held.along and held.at in model.elements:
            ends = [model.nodes[tag].at for tag in model.elements[held.at].nodes]
            length = float(np.linalg.norm(np.subtract(ends[1], ends[0])))
            load += float(np.asarray(held.values)[0]) * units.force * length
    if model.dimensions != 2 or not mass or not load or 0.02 < abs(load) / (mass * 9.81) < 50.0:
        return []
    return [f"the permanent loads are {abs(load) / (mass * 9.81):.2g} times the weight of the masses"]
