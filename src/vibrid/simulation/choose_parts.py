"""Whether a structure with nonlinear laws is simulated in the modes of its linear part, and the run."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import Refusal
from vibrid.core.memory import refuse_without_memory
from vibrid.laws.base import simplified
from vibrid.records.record import Record
from vibrid.simulation.choose_modes import LEAST
from vibrid.simulation.excitation import drive
from vibrid.simulation.in_modes import ModalSystem
from vibrid.simulation.initial import Initial
from vibrid.simulation.modal_response import InModes, ModalResponse
from vibrid.simulation.newmark import Newmark
from vibrid.simulation.parts_in_modes import Bulk, run_parts
from vibrid.simulation.response import RunSettings
from vibrid.structures.base import Structure
from vibrid.structures.bulk_with_parts import BulkModes, BulkWithParts
from vibrid.structures.device import ImposedTest
from vibrid.structures.modal_bulk import MOST_FULL
from vibrid.structures.model import Loads
from vibrid.structures.reduction import Reduced

FEW = 4
"""Degrees of freedom for each deformation that laws act on, from which modes are taken without being asked for."""


def wants_parts(structure: Structure, modes: str | int | None) -> bool:
    """Whether a run is made in the modes of the linear part: on demand, or where it is large and has few laws."""
    if modes not in ("auto", "all") or isinstance(structure, ImposedTest):
        return False
    if not isinstance(structure, Reduced) and type(structure).model is not Structure.model:
        return False  # a model with more than M, C, K and laws
    if modes == "auto" and not getattr(structure, "attachments", getattr(structure, "full", None)):
        return False
    laws = structure.laws()
    if all(law.is_linear for law in laws):
        return False
    size = structure.size
    rows = sum(law.components for law in laws)
    return modes == "all" or (LEAST < size <= MOST_FULL and FEW * rows <= size)


def simulate_parts(
    structure: Structure,
    excitation: Record,
    loads: Loads,
    inputs: np.ndarray,
    start: Initial | None,
    settings: RunSettings,
    demanded: bool,
) -> tuple[ModalResponse, np.ndarray] | None:
    """The response, and whether a step failed up to each sample; None where damping couples the modes and modes were
    not demanded."""
    refuse_without_memory(
        f"The motion of {structure.size} modes at {len(inputs)} samples", 72.0 * structure.size * len(inputs),
        "take a shorter record or a lower sampling rate",
    )  # fmt: skip
    parts = BulkWithParts(simplified(structure), loads)
    try:
        found = parts.all_modes()
    except Refusal:
        if demanded:
            raise
        return None
    bulk = bulk_of(parts, found)
    q = v = jnp.zeros(parts.size)
    if start is not None:
        weighted = parts.mass @ found.shapes
        q, v = (jnp.asarray(np.asarray(part) @ weighted) for part in (start.displacement, start.velocity))
    s = bulk.laws.start() if start is None or start.states is None else start.states
    driven = drive(inputs, settings.hold, settings.substeps)
    assert isinstance(settings.integrator, Newmark)
    made = run_bulk(bulk, settings.integrator, driven, jnp.asarray(excitation.step), settings.substeps, (q, v, s))
    *motion, states, failed = jax.tree.map(np.asarray, made)
    system = ModalSystem(found.values, found.rates, found.shapes, np.asarray(bulk.participation), None)
    about = InModes(parts.size, parts.size, {}, False, parts.count)
    response = ModalResponse(
        structure, excitation, loads, inputs, system, tuple(motion), settings, about, states
    )  # fmt: skip
    return response, failed > 0


def bulk_of(parts: BulkWithParts, found: BulkModes) -> Bulk:
    """The numbers of a run in these modes."""
    participation, rows = found.shapes.T @ parts.load, parts.rows @ found.shapes
    numbers = (found.values, found.rates, participation, rows, found.taken, found.damped)
    return Bulk(*map(jnp.asarray, numbers), parts.laws())


run_bulk = eqx.filter_jit(run_parts)
