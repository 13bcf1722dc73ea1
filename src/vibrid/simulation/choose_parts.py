"""Whether a structure with nonlinear laws is simulated in the modes of its linear part, and the run."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError, Refusal
from vibrid.core.memory import refuse_without_memory
from vibrid.laws.base import simplified
from vibrid.records.record import Record
from vibrid.simulation.choose_modes import LEAST, MOST, TOLERANCE
from vibrid.simulation.excitation import drive
from vibrid.simulation.in_modes import ModalSystem
from vibrid.simulation.initial import Initial
from vibrid.simulation.modal_response import InModes, ModalResponse
from vibrid.simulation.parts_in_modes import Bulk, loops, run_parts
from vibrid.simulation.response import RunSettings
from vibrid.structures.base import Structure
from vibrid.structures.bulk_with_parts import BulkModes, BulkWithParts
from vibrid.structures.device import ImposedTest
from vibrid.structures.fiber_frame import FiberFrame
from vibrid.structures.modal_bulk import MOST_FULL
from vibrid.structures.model import Loads
from vibrid.structures.reduction import Reduced
from vibrid.structures.sparse import SparseMatrices

FEW = 4
"""Degrees of freedom for each deformation that laws act on, from which modes are taken without being asked for."""
_FIRST = 80  # modes of a structure with more than MOST_FULL degrees of freedom that are tried first
_BANDS = 32  # of frequency, for the error


def wants_parts(structure: Structure, modes: str | int | None) -> bool:
    """Whether a run is made in the modes of the linear part: on demand, or where it is large and has few laws."""
    if modes is None or isinstance(structure, ImposedTest | FiberFrame):
        return False
    sparse = isinstance(structure, SparseMatrices)
    if not isinstance(structure, Reduced) and not sparse and type(structure).model is not Structure.model:
        return False  # a model with more than M, C, K and laws
    attached = getattr(structure, "attachments", getattr(structure, "full", None))
    if modes == "auto" and not (attached and (sparse or structure.size > LEAST)):
        return False
    laws = structure.laws()
    if all(law.is_linear for law in laws) and not (sparse and laws):
        return False
    rows = sum(law.components for law in laws)
    return modes != "auto" or sparse or FEW * rows <= structure.size


def simulate_parts(
    structure: Structure,
    excitation: Record,
    loads: Loads,
    inputs: np.ndarray,
    start: Initial | None,
    settings: RunSettings,
    modes: str | int,
) -> tuple[ModalResponse, np.ndarray] | None:
    """The response, and whether a step failed up to each sample; None where damping couples the modes and these were
    not demanded."""
    parts = BulkWithParts(simplified(structure), loads)
    n = parts.size
    if isinstance(modes, str) and modes not in ("auto", "all"):
        raise InputError(f"modes is 'auto', 'all', a number, or None for none, not '{modes}'.")
    if isinstance(modes, int) and not 1 <= modes <= n:
        raise InputError(f"A structure of {n} degrees of freedom has 1 to {n} modes, not {modes}.")
    whole = modes in ("all", n) or (modes == "auto" and n <= MOST_FULL)
    most = min(MOST, n - 1)
    count = n if whole else modes if isinstance(modes, int) else min(_FIRST, most)
    try:
        while True:
            found = parts.all_modes() if whole else parts.lowest(count)
            made = _run(parts, found, excitation, inputs, start, settings)
            shares = {} if whole else _shares(parts, found, made, inputs, excitation)
            if whole or isinstance(modes, int) or count >= most or max(shares.values()) <= TOLERANCE:
                break
            count = min(2 * count, most)
    except Refusal:
        if modes != "auto" or parts.is_sparse:
            raise
        return None
    bulk, motion, states, failed = made
    system = ModalSystem(found.values, found.rates, found.shapes, np.asarray(bulk.participation), None)
    about = InModes(len(found.values), n, shares, not whole, parts.count)
    response = ModalResponse(structure, excitation, loads, inputs, system, motion, settings, about, states, bulk)
    return response, failed > 0


def _run(parts: BulkWithParts, found: BulkModes, excitation: Record, inputs, start: Initial | None, settings):
    """The numbers of a run, its motion (q, q̇, q̈), states and failures."""
    refuse_without_memory(
        f"The motion of {len(found.values)} modes at {len(inputs)} samples", 72.0 * len(found.values) * len(inputs),
        "take fewer modes (modes=), a shorter record or a lower sampling rate",
    )  # fmt: skip
    bulk = bulk_of(parts, found)
    q = v = jnp.zeros(len(found.values))
    if start is not None:
        weighted = parts.mass @ found.shapes
        q, v = (jnp.asarray(np.asarray(part) @ weighted) for part in (start.displacement, start.velocity))
    s = bulk.laws.start() if start is None or start.states is None else start.states
    driven = drive(inputs, settings.hold, settings.substeps)
    step = jnp.asarray(excitation.step)
    made = run_bulk(bulk, settings.integrator, driven, step, settings.substeps, (q, v, s))
    *motion, states, failed = jax.tree.map(np.asarray, made)
    return bulk, tuple(motion), states, failed


def _shares(parts: BulkWithParts, found: BulkModes, made, inputs: np.ndarray, excitation: Record) -> dict[str, float]:
    """The error of what is left out by quantity: largest root mean square over that of the response.

    Inputs and forces of the laws act on the whole linear part, and on its modes; the difference is taken at the middle
    of every band of frequency, with damping.
    """
    bulk, motion, states, _ = made
    forces = np.asarray(loops(bulk, jnp.asarray(motion[0]), jnp.asarray(motion[1]), states)[2])
    acting = np.concatenate([inputs, forces], axis=1)
    acting = acting - np.linspace(acting[0], acting[-1], len(acting))  # a jump from end to beginning is no motion
    spectrum = np.sqrt(2.0) * np.fft.rfft(acting, axis=0) / len(acting)
    frequencies = 2 * np.pi * np.fft.rfftfreq(len(acting), excitation.step or 1.0)
    squares = np.zeros((3, parts.size))
    for band in np.array_split(np.arange(1, len(frequencies)), min(_BANDS, len(frequencies) - 1)):
        middle = float(frequencies[band].mean())
        missed = (np.abs(parts.missed(found, middle) @ spectrum[band].T) ** 2).sum(axis=1)
        squares += missed * middle ** (2 * np.arange(3))[:, None]
    shares = {}
    for name, own, coordinates in zip(("displacement", "velocity", "acceleration"), squares, motion, strict=True):
        covariance = coordinates.T @ coordinates / len(coordinates)
        whole = np.maximum(np.einsum("ik,ik->i", found.shapes @ covariance, found.shapes), 0.0)
        shares[name] = float(np.sqrt(own.max() / max(whole.max(), 1e-300)))
    return shares


def bulk_of(parts: BulkWithParts, found: BulkModes) -> Bulk:
    """The numbers of a run in these modes."""
    participation, rows = found.shapes.T @ parts.load, parts.rows @ found.shapes
    return Bulk(
        values=jnp.asarray(found.values),
        rates=jnp.asarray(found.rates),
        participation=jnp.asarray(participation),
        rows=jnp.asarray(rows),
        taken=jnp.asarray(found.taken),
        damped=jnp.asarray(found.damped),
        laws=parts.laws(),
    )


run_bulk = eqx.filter_jit(run_parts)
