"""A reduction chosen by its error: the smallest structure whose readings are those of the full one within a tolerance.

The error is found, not estimated from a bound: the readings of both structures under the excitation itself, by the
exact step of all their modes, with the laws linear about rest. What the laws do away from rest is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.arguments import checked
from vibrid.core.attached import attach
from vibrid.core.errors import InputError, Refusal
from vibrid.records.record import Record
from vibrid.simulation.excitation import drive, inputs_of, loads_of
from vibrid.simulation.in_modes import ModalSystem, modal_motion
from vibrid.simulation.modal_response import InModes, ModalResponse
from vibrid.simulation.response import Response
from vibrid.structures.base import Structure
from vibrid.structures.modal_bulk import LinearBulk, uncoupled
from vibrid.structures.reduction import Reduced, reduce
from vibrid.structures.sensors import Sensor, Sensors


@dataclass(frozen=True)
class ReductionError:
    """What a reduction costs under one excitation, laws linear about rest.

    Fields
        shares: for every sensor, the root mean square of the difference from the full structure over that of its
            reading; of the largest reading of its kind where its own is smaller than a thousandth of that.
        coordinates, size: of the reduced structure and of the full one.
        coupled: whether damping couples the modes; each then has its own damping alone in both.
    """

    shares: dict[str, float]
    coordinates: int
    size: int
    coupled: bool

    @property
    def largest(self) -> float:
        return max(self.shares.values(), default=0.0)

    def __str__(self) -> str:
        worst = max(self.shares, key=lambda name: self.shares[name], default="")
        coupled = ", without the coupling of modes by damping" if self.coupled else ""
        return (
            f"{self.coordinates} of {self.size} degrees of freedom: readings differ from those of the full structure "
            f"by {100 * self.largest:.2g} % at most ('{worst}'), laws linear about rest{coupled}"
        )


@dataclass(frozen=True)
class Reduction:
    """The structure that was chosen, how it was made, its error, and the largest errors of what did not do."""

    structure: Reduced
    method: str
    modes: int | None
    error: ReductionError
    tried: dict[str, float]

    def __str__(self) -> str:
        how = self.method + (f" with {self.modes} inner modes" if self.modes else "")
        return f"{how}, {self.error}"


@checked
def reduce_to(
    structure: Structure,
    sensors: Sequence[Sensor],
    excitation: Record,
    *,
    tolerance: float = 0.01,
    keep: Sequence[str | int] = (),
    hold: str = "linear",
) -> Reduction:
    """The reduction with the fewest coordinates whose readings err by less than a tolerance under an excitation.

    Guyan's reduction and IRS are tried at the kept places, then Craig–Bampton with 1, 2, 4 … inner modes and what lies
    between. Up to some thousand degrees of freedom: all modes of the full structure are computed.

    Arguments
        structure: what to reduce.
        sensors: the outputs that matter.
        excitation: the record that moves it, or one like it.
        tolerance: the largest error of a reading, as a share of its root mean square.
        keep: places that stay, beside those of the attachments; those of displacement, velocity and acceleration
            sensors by default.

    Example
        >>> chosen = reduce_to(frame, vb.Sensors(acceleration=["roof"]), quake, tolerance=0.01)
        >>> print(chosen)
        >>> response = simulate(chosen.structure, other_quake)
        >>> print(response.reduction_error(sensors))
    """
    if not 0.0 < tolerance < 1.0:
        raise InputError(f"The tolerance is a share between 0 and 1, such as 0.01, not {tolerance}.")
    sensors = Sensors(sensors)
    places = _kept(structure, sensors, [str(place) for place in keep])
    full = _Linear(structure, excitation, hold)
    tried: dict[str, float] = {}

    def attempt(method: str, modes: int | None = None) -> Reduction | None:
        made = reduce(structure, places, method, modes)
        error = full.error(made, sensors)
        if error.largest <= tolerance:
            return Reduction(made, method, modes, error, tried)
        tried[method if modes is None else f"{method} {modes}"] = error.largest
        return None

    found = attempt("guyan") or attempt("irs")
    most = full.bulk.size - len(places) - 1  # inner modes that still leave one out
    few, many = 0, 1
    while found is None and few < most:
        many = min(many, most)
        found = attempt("craig-bampton", many)
        few, many = (few, many) if found else (many, 2 * many)
    if found is None:
        raise Refusal(f"No reduction errs by less than {100 * tolerance:g} %: simulate the full structure.")
    while found.modes is not None and many - few > 1:  # between the last that did not do and the first that did
        middle = (few + many) // 2
        better = attempt("craig-bampton", middle)
        found, few, many = (found, middle, many) if better is None else (better, few, middle)
    return found


def reduction_error(response: Response, sensors: Sequence[Sensor]) -> ReductionError:
    """The error of a reduced structure's readings under the excitation of its response; attached to it."""
    structure = response.structure
    if not isinstance(structure, Reduced):
        raise Refusal(
            f"This response is of a {type(structure).__name__}, which is not reduced: there is no such error."
        )
    sensors, hold = Sensors(sensors), response.settings.hold if response.settings else "linear"
    return _Linear(structure.full, response.excitation, hold).error(structure, sensors)


class _Linear:
    """A structure with its laws linear about rest, moved by a record in all its modes, and reductions of it."""

    def __init__(self, structure: Structure, excitation: Record, hold: str):
        self.structure, self.excitation = structure, excitation
        self.loads, self.inputs = loads_of(structure, excitation), inputs_of(structure, excitation)
        self.bulk, self.driven = LinearBulk(structure, self.loads), drive(self.inputs, hold, 1)
        if self.bulk.full_damping is None:
            raise Refusal("Sparse matrices are not reduced: they are simulated in few modes (modes=).")
        self.reference: np.ndarray | None = None

    def readings(self, sensors: Sensors, t: np.ndarray) -> tuple[np.ndarray, bool]:
        """(samples, sensors) of the structure with `x = t q`; and whether damping couples its modes."""
        bulk = self.bulk
        assert bulk.full_damping is not None
        mass, damping, stiffness = (t.T @ own @ t for own in (bulk.mass, bulk.full_damping, bulk.stiffness))
        values, shapes = scipy.linalg.eigh(stiffness, mass)
        modal = shapes.T @ damping @ shapes
        more = bulk.size - len(values)  # modes that do not move: one compiled program for all reductions
        whole = np.pad(t @ shapes, ((0, 0), (0, more)))
        numbers = np.pad(values, (0, more), constant_values=1.0), np.pad(np.diag(modal), (0, more))
        system = ModalSystem(*numbers, whole, whole.T @ bulk.load, None)
        given = [jnp.asarray(own) for own in (*numbers, system.participation)]
        rest = (jnp.zeros(bulk.size),) * 2
        motion = modal_motion(*given, self.driven, self.excitation.step or 1.0, rest)
        response = ModalResponse(
            self.structure, self.excitation, self.loads, self.inputs, system,
            (np.asarray(motion[0]), np.asarray(motion[1])), None, InModes(len(values), bulk.size, {}, False),
        )  # fmt: skip
        if self.structure.sensor_arrays(response.shape_of_model(), sensors).forces is not None:
            raise Refusal("Sensors of forces read laws away from rest; choose a reduction by motions.")
        return response.readings(sensors), not uncoupled(modal, values)

    def error(self, reduced: Reduced, sensors: Sensors) -> ReductionError:
        if self.reference is None:
            self.reference, self.coupled = self.readings(sensors, np.eye(self.bulk.size))
        small, coupled = self.readings(sensors, reduced.matrix)
        shares = _shares(sensors, self.reference, small)
        return ReductionError(shares, reduced.size, self.bulk.size, coupled or self.coupled)


def _kept(structure: Structure, sensors: Sensors, keep: list[str]) -> list[str]:
    """Places that stay: given or read by sensors, and those of attachments, once each."""
    read = keep or [
        s.place for s in sensors if s.quantity.split("_")[-1] in ("displacement", "velocity", "acceleration")
    ]
    held = [p for a in getattr(structure, "attachments", ()) for p in (a.at, a.to) if p is not None]
    rows, places = set(), []
    for place in map(str, (*read, *held)):
        row = np.flatnonzero(structure.row(place))
        if len(row) and tuple(row) not in rows:
            rows.add(tuple(row))
            places.append(place)
    if not places:
        raise InputError("No place stays: name the sensors' places, or some with keep=.")
    return places


def _shares(sensors: Sensors, full: np.ndarray, small: np.ndarray) -> dict[str, float]:
    size = np.sqrt(np.mean(full**2, axis=0))
    kinds = np.array([s.quantity for s in sensors])
    largest = np.array([size[kinds == kind].max() for kind in kinds])
    missed = np.sqrt(np.mean((small - full) ** 2, axis=0))
    shares = missed / np.maximum(np.where(size > 1e-3 * largest, size, largest), 1e-300)
    return {s.label: float(share) for s, share in zip(sensors, shares, strict=True)}


attach(Response, reduction_error=reduction_error)
