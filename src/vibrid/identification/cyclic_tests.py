"""Records of cyclic tests: which channel is what, what they show, and where their zeros are."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.cycles import CyclicReading, read_cycles
from vibrid.records.imposed import one_of, velocity_of
from vibrid.records.record import Channel, Record

SAMPLES = 4000
"""Samples of a test in a fit; of longer ones every second, third, … is used."""
ZEROS = ("deformation", "force")
"""Constants of the measurement that may be unknown."""
_KINDS = {
    "deformation": ("imposed_displacement", ("displacement", "drift", "relative_displacement", "rotation")),
    "force": ("element_force", ("load", "force")),
}
_UNITS = {"deformation": ("m", "rad", ""), "force": ("N", "N*m", "")}


class Zeros(NamedTuple):
    """What a test reads where deformation (m) and force (N) are zero."""

    deformation: float = 0.0
    force: float = 0.0


def as_cyclic_test(record: Record, deformation: str = "", force: str = "") -> Record:
    """The record with the quantities of a cyclic test. Channels are found by quantity, else by name: give it where
    there are several of a kind. Rotations (rad) and moments (N m) stand for deformations and forces."""
    chosen = []
    for what, name in (("deformation", deformation), ("force", force)):
        quantity, others = _KINDS[what]
        found = [c for c in record.channels if c.name == name] if name else []
        if name and not found:
            raise InputError(f"'{record.name}' has no channel '{name}'; it has {', '.join(record.names)}.")
        for kind in () if found else ((quantity,), others):
            found = found or [c for c in record.channels if c.quantity in kind]
        if what == "force":  # a moment has no quantity of its own
            found = found or [c for c in record.channels if c.unit == "N*m"]
        if len(found) != 1:
            listed = ", ".join(c.name for c in found or record.channels)
            raise InputError(f"Which channel of '{record.name}' is the {what}? Give --{what} with one of: {listed}.")
        if found[0].unit not in _UNITS[what]:
            raise InputError(
                f"Channel '{found[0].name}' of '{record.name}' is in {found[0].unit}, which is no {what}: name another "
                f"one with --{what}."
            )
        chosen.append(record[found[0].name])
    channels = (Channel("deformation", "imposed_displacement"), Channel("force", "element_force"))
    return record.replace("deformation and force of a cyclic test", data=np.stack(chosen, axis=1), channels=channels)


def thinned(records: list[Record]) -> list[Record]:
    """Records of at most `SAMPLES` samples, of the quantities of a cyclic test."""
    if not records:
        raise InputError("No test was given.")
    made = []
    for record in records:
        every = max(1, math.ceil(len(record) / SAMPLES))
        if every > 1:
            step = None if record.step is None else every * record.step
            record = record.replace(f"every {every}. sample", data=record.data[::every], step=step)
        made.append(record)
    return made


def motion_of(record: Record) -> tuple:
    """(deformation, rate, force, step) of a test."""
    x, f = one_of(record, "imposed_displacement"), one_of(record, "element_force")
    return x, velocity_of(record), f, 1.0 / record.rate


def read(record: Record, zeros: Zeros | None = None) -> CyclicReading:
    """What a test shows, with its zeros subtracted."""
    x, f = one_of(record, "imposed_displacement"), one_of(record, "element_force")
    if zeros is not None:
        x, f = x - zeros.deformation, f - zeros.force
    return read_cycles(x, f, f"'{record.name}'")


def zeros_of(records: list[Record], unknown: tuple[str, ...]) -> Zeros:
    """First guess of unknown zeros, one for all tests: the middle of the forces, and the deformation at which the
    first movements are centred on that force."""
    for what in unknown:
        if what not in ZEROS:
            raise InputError(f"The offset of a cyclic test is that of its {' or '.join(ZEROS)}, not of '{what}'.")
    x, f = (np.concatenate([one_of(r, q) for r in records]) for q in ("imposed_displacement", "element_force"))
    force = float(np.nanpercentile(f, (2.0, 98.0)).mean()) if "force" in unknown else 0.0
    return Zeros(_centre(x, f, force) if "deformation" in unknown else 0.0, force)


def _centre(x: np.ndarray, f: np.ndarray, force: float) -> float:
    """m, the median deformation where the force changes its sign; the first deformation where it does not."""
    seen = np.isfinite(x + f)
    x, f = x[seen], f[seen] - force
    change = np.flatnonzero(f[1:] * f[:-1] <= 0.0)
    return float(np.median(x[change])) if change.size else float(x[0])
