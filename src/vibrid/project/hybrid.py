"""The hybrid test of a project file."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.device import DeviceFile
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.parts import Scaling
from vibrid.project.build import Notes, make
from vibrid.project.hybrid_tables import HybridTable
from vibrid.project.problems import Keys
from vibrid.simulation.alpha import MKRAlpha
from vibrid.structures.assembled import Assembled
from vibrid.structures.base import Structure
from vibrid.structures.shear import ShearBuilding


@dataclass(frozen=True)
class HybridPlan:
    """A hybrid test, the place whose displacement is shown while it runs, and the limits of an external device."""

    test: HybridTest
    watch: str
    limits: SafetyLimits
    when_full: str


def read_files(device: Any, keys: Keys, folder: Path, notes: Notes) -> Any:
    """The device at `keys`; one that is described by files (`DeviceFile`) is read from them, relative to `folder`."""
    if not isinstance(device, DeviceFile):
        return device
    place = (*keys, "file") if hasattr(device, "file") else keys
    with notes.at(*place):
        try:
            return device.read(folder)
        except (OSError, ValueError) as problem:
            notes.add(place, f"its file cannot be read ({problem}).")
    return device


def _with_files(part, keys: Keys, folder: Path, notes: Notes):
    """The part, its device and the stand-in of its rehearsal read from their files."""
    changes: dict[str, Any] = {"device": read_files(part.device, (*keys, "device"), folder, notes)}
    stand_in = getattr(part, "rehearsal", None)
    if stand_in is not None:
        device = read_files(stand_in.device, (*keys, "rehearsal", "device"), folder, notes)
        changes["rehearsal"] = dataclasses.replace(stand_in, device=device)
    return dataclasses.replace(part, **changes)


def make_hybrid(table: HybridTable, structure: Structure, folder: Path, notes: Notes) -> HybridPlan | None:
    """The test that a table describes; problems are noted at their keys. Files are named relative to `folder`."""
    before = len(notes.problems)
    parts = {}
    for kind in ("experimental", "modelled"):
        parts[kind] = []
        for i, part_table in enumerate(getattr(table, kind)):
            keys = ("hybrid", kind, i)
            part = make(part_table, keys, notes)
            if part is None:
                continue
            for name in filter(None, (part.at, part.to)):
                with notes.at(*keys):
                    structure.row(name)
            parts[kind].append(_with_files(part, keys, folder, notes))
    integrator = make(table.integrator, ("hybrid", "integrator"), notes) if table.integrator else MKRAlpha(0.75)
    watch = table.watch or top_of(structure)
    with notes.at("hybrid", "watch"):
        structure.row(watch)
    limits = make(table.limits, ("hybrid", "limits"), notes)
    if len(notes.problems) > before:
        return None
    scaling = Scaling(table.length_scale, table.force_scale, table.time_scale)
    with notes.at("hybrid"):
        test = HybridTest(
            structure,
            parts["experimental"],
            parts["modelled"],
            integrator,
            table.substeps,
            table.rate,
            table.interpolation,
            scaling,
        )
        return HybridPlan(test, watch, limits, table.when_full)
    return None


def top_of(structure: Structure) -> str:
    """The name of the highest place of a structure that moves with the ground."""
    if isinstance(structure, ShearBuilding):
        return "roof"
    if isinstance(structure, Assembled):
        moved = [name for name, share in zip(structure.degrees_of_freedom, structure.ground(), strict=True) if share]
        nodes = structure.nodes_and_supports()
        height = getattr(structure, "nodes", ())
        if height and moved:
            return max(moved, key=lambda name: (height[nodes.number(nodes.split(name)[0])][-1], name))
        return moved[-1] if moved else structure.degrees_of_freedom[-1]
    names = getattr(structure, "names", ())
    return names[-1] if names else str(int(np.flatnonzero(structure.ground())[-1]))
