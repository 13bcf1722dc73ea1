"""Whether a structure is simulated in its modes, in how many, and the error of those that are left out."""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError, Refusal
from vibrid.core.memory import refuse_without_memory
from vibrid.records.record import Record
from vibrid.simulation.exact import ExactLinear
from vibrid.simulation.excitation import Drive, drive
from vibrid.simulation.in_modes import ModalSystem, modal_accelerations, modal_motion
from vibrid.simulation.initial import Initial
from vibrid.simulation.modal_response import InModes, ModalResponse
from vibrid.simulation.response import Response, RunSettings
from vibrid.structures.base import Structure
from vibrid.structures.device import ImposedTest
from vibrid.structures.lanczos import count_below
from vibrid.structures.modal_bulk import MOST_FULL, LinearBulk
from vibrid.structures.model import Loads

LEAST = 100
"""Degrees of freedom from which modes are taken without being asked for."""
TOLERANCE = 0.02
"""Error of the modes left out, as a share of the response, below which no more are taken."""
_LEAST_MODES = 40
MOST = 600
"""Modes of a structure that has more than `MOST_FULL`."""
_BANDS = 32  # of frequency, for the error


def wants_modes(structure: Structure, modes: str | int | None, size: int, linear: bool) -> bool:
    """Whether a run is made in modes: on demand, or where it is large and linear."""
    if modes is None:
        return False
    if isinstance(modes, str) and modes not in ("auto", "all"):
        raise InputError(f"modes is 'auto', 'all', a number, or None for none, not '{modes}'.")
    if modes == "auto":
        return linear and not isinstance(structure, ImposedTest) and size > LEAST
    if not linear or isinstance(structure, ImposedTest):
        raise Refusal("This structure is not simulated in modes; leave out modes=.")
    if isinstance(modes, int) and not 1 <= modes <= size:
        raise InputError(f"A structure of {size} degrees of freedom has 1 to {size} modes, not {modes}.")
    return True


def simulate_in_modes(
    structure: Structure,
    excitation: Record,
    loads: Loads,
    inputs: np.ndarray,
    hold: str,
    substeps: int,
    start: Initial | None,
    modes: str | int,
    again: partial[Response],
) -> ModalResponse | None:
    """The response in modes; None where "auto" cannot: damping couples them, and the structure is small enough."""
    bulk = LinearBulk(structure, loads)
    driven = drive(inputs, hold, substeps)
    n = bulk.size
    whole = modes == "all" or (modes == "auto" and n <= MOST_FULL)
    most = min(MOST, n - 1)
    chosen = modes if isinstance(modes, int) else n if whole else _first(bulk, inputs, excitation.step, most)
    while True:
        made = _with(bulk, chosen, excitation, inputs, driven, start)
        if made is None:
            if modes == "auto" and not bulk.is_sparse:
                return None
            raise Refusal("The damping of this structure couples its modes; leave out modes=.")
        system, motion, shares = made
        if chosen == n or isinstance(modes, int) or chosen >= most or max(shares.values(), default=1.0) <= TOLERANCE:
            break
        chosen = min(2 * chosen, most)
    settings = RunSettings(again, ExactLinear({"zero": "zero", "linear": "first"}.get(hold, "cubic")), hold, substeps)
    about = InModes(system.count, n, shares, system.static is not None)
    return ModalResponse(structure, excitation, loads, inputs, system, motion, settings, about)


def _first(bulk: LinearBulk, inputs: np.ndarray, step: float | None, most: int) -> int:
    """Modes for a first try: those up to 1.3 times the frequency that 99.9 % of the input's mean square lies below."""
    power, frequencies = _bands(inputs, step, 400)
    share = np.cumsum(power.sum(axis=1)) / max(power.sum(), 1e-300)
    highest = 1.3 * frequencies[min(int(np.searchsorted(share, 0.999)), len(frequencies) - 1)]
    below = count_below(bulk.mass, bulk.stiffness, highest**2)
    return most if below is None else int(np.clip(below, min(_LEAST_MODES, most), most))


def _with(bulk: LinearBulk, count: int, excitation: Record, inputs: np.ndarray, driven: Drive, start: Initial | None):
    """System, motion and error with so many modes; None where damping couples them."""
    refuse_without_memory(
        f"The motion of {count} modes at {len(inputs)} samples", 24.0 * count * len(inputs),
        "take fewer modes (modes=) or a shorter record",
    )  # fmt: skip
    values, shapes = bulk.modes(count)
    rates = bulk.rates(values, shapes)
    if rates is None:
        return None
    system = ModalSystem(values, rates, shapes, shapes.T @ bulk.load, None)
    rest = np.zeros(count)
    first = (rest, rest)
    if start is not None:
        weighted = bulk.mass @ shapes
        first = tuple(np.asarray(part) @ weighted for part in (start.displacement, start.velocity))
    numbers = [jnp.asarray(part) for part in (values, rates, system.participation)]
    q, v = modal_motion(*numbers, driven, excitation.step, tuple(jnp.asarray(part) for part in first))
    motion = (np.asarray(q), np.asarray(v))
    if system.is_whole:
        return system, motion, {}
    power, frequencies = _bands(inputs, excitation.step)
    others = bulk.left_out(shapes, np.concatenate([[0.0], frequencies]))
    static = None if others is None else others[0]
    system = ModalSystem(values, rates, shapes, system.participation, static)
    return system, motion, {} if others is None else _shares(system, motion, inputs, others, power, frequencies)


def _bands(inputs: np.ndarray, step: float | None, count: int = _BANDS) -> tuple[np.ndarray, np.ndarray]:
    """(bands, m) mean square of the inputs in bands of frequency, and the centres of these in rad/s."""
    spectrum = np.fft.rfft(inputs, axis=0)
    density = 2.0 * np.abs(spectrum) ** 2 / len(inputs) ** 2
    bands = np.array_split(np.arange(len(density)), min(count, len(density)))
    frequencies = 2 * np.pi * np.fft.rfftfreq(len(inputs), step or 1.0)
    return np.stack([density[b].sum(axis=0) for b in bands]), np.array([frequencies[b].mean() for b in bands])


def _shares(system: ModalSystem, motion, inputs, others, power, frequencies) -> dict[str, float]:
    """The error of the modes left out by quantity: largest root mean square of what they add over that of all.

    What they add is taken at the middle of every band of frequency, without damping: too large where they resonate.
    """
    static, dynamic = others[0], others[1:]
    missed = {"displacement": dynamic - static}
    missed["velocity"] = dynamic * frequencies[:, None, None]
    missed["acceleration"] = dynamic * frequencies[:, None, None] ** 2
    moved = (*motion, modal_accelerations(system, motion[0], motion[1], inputs))
    shares = {}
    for (name, own), coordinates in zip(missed.items(), moved, strict=True):
        covariance = coordinates.T @ coordinates / len(coordinates)
        whole = np.sqrt(np.maximum(np.einsum("ik,ik->i", system.shapes @ covariance, system.shapes), 0.0))
        error = np.sqrt(np.einsum("fnm,fm->n", own**2, power))
        shares[name] = float(error.max() / max(whole.max(), 1e-300))
    return shares
