"""Sizes of measured force–deformation loops, and first guesses of a law from them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vibrid.core.errors import InputError
from vibrid.laws.base import Law
from vibrid.records.cycles import CyclicReading, read_cycles
from vibrid.records.unit_text import factors_of

_ENOUGH = 6  # points of an envelope through which straight lines are laid
_MOVING = 0.1  # of the largest speed, from which a device moves one way


@dataclass(frozen=True)
class LoopSizes:
    """What loops of force over deformation say before any law is fitted to them.

    forward, backward: N, force while it moves that way, both positive: the median of those above half of the largest.
    stiffness: N/m, between half of the one force and half of the other.
    displacement, velocity: m and m/s, the largest.
    readings: envelope and cycles of every test, where they can be read.
    """

    forward: float
    backward: float
    stiffness: float
    displacement: float
    velocity: float
    readings: tuple[CyclicReading, ...] = ()

    @staticmethod
    def of(tests: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> LoopSizes:
        """From (deformation, rate, force) of every test; missing samples (NaN) are left out."""
        x, v, force = (np.concatenate([test[i] for test in tests]) for i in range(3))
        seen = np.isfinite(x + v + force)
        speed, largest = float(np.abs(v[seen]).max(initial=0.0)), float(np.abs(force[seen]).max(initial=0.0))
        reach = max((float(np.ptp(test[0][np.isfinite(test[0])])) / 2 for test in tests), default=0.0)
        if not (speed > 0.0 and largest > 0.0 and reach > 0.0):
            raise InputError("The tests show no loop: displacement, velocity and force must all change.")
        forward, backward = (_capacity(way * force[seen & (way * v > _MOVING * speed)], largest) for way in (1, -1))
        slopes = np.concatenate([_slopes(test[0], test[2], 0.5 * forward, 0.5 * backward) for test in tests])
        stiffness = float(np.median(slopes)) if slopes.size else 0.5 * (forward + backward) / reach
        return LoopSizes(forward, backward, stiffness, reach, speed, _readings(tests))

    @property
    def force(self) -> float:
        """N, the mean of the two directions."""
        return 0.5 * (self.forward + self.backward)

    @property
    def elastic(self) -> float:
        """m, deformation at which the stiffness reaches the force."""
        return self.force / self.stiffness

    @property
    def first_stiffness(self) -> float:
        """N/m, at small deformations; the mean over the tests, as the values below."""
        return self._read("stiffness", self.stiffness)

    @property
    def yielding(self) -> float:
        """N, force at which the envelope yields."""
        return self._read("yield_force", self.force)

    @property
    def peak(self) -> float:
        """N, largest force of the envelope."""
        return self._read("peak", self.force)

    @property
    def peak_at(self) -> float:
        """m, where that is."""
        return self._read("peak_at", self.displacement)

    @property
    def last(self) -> float:
        """N, force at the largest deformation."""
        return max(self._read("last", self.force), 0.0)

    @property
    def fall(self) -> float:
        """m, over which the envelope would fall from its peak to zero; where it does not fall, 4 times the largest."""
        lost, way = 1.0 - self.last / self.peak, self._read("reach", self.displacement) - self.peak_at
        return way / lost if lost > 0.05 and way > 0.0 else 4.0 * self.displacement

    @property
    def energy_travel(self) -> float:
        """m, energy dissipated in a test over the force at yield."""
        return max(self._read("energy", 20.0 * self.force * self.displacement) / self.yielding, self.displacement)

    def envelope_points(self) -> tuple[list[float], list[float]]:
        """Deformations and forces of the three straight lines from the origin that are closest to the envelope."""
        elastic = self.yielding / self.first_stiffness
        top = max(self.peak_at, 1.2 * elastic)
        usual = [elastic, top, max(self.displacement, 1.2 * top)], [self.yielding, self.peak, self.last]
        if not self.readings:
            return usual
        curves = [reading.mean_envelope for reading in self.readings]
        grid = max((curve[0] for curve in curves), key=lambda x: x[-1])
        force = np.nanmean([np.interp(grid, *curve, right=np.nan) for curve in curves], axis=0)
        if grid.size < _ENOUGH:
            return usual
        best = (np.inf, usual)
        for i, j in itertools.combinations(range(1, grid.size - 1), 2):
            knots = grid[[0, i, j, -1]]
            hats = np.stack([np.interp(grid, knots, row) for row in np.eye(4)[1:]], axis=1)
            forces = np.linalg.lstsq(hats, force)[0]
            off = float(np.sum(np.square(force - hats @ forces)))
            if off < best[0] and forces[0] > 0.0 and forces.min() >= 0.0:
                best = off, (knots[1:].tolist(), forces.tolist())
        return best[1]

    def _read(self, name: str, otherwise: float) -> float:
        return float(np.mean([getattr(r, name) for r in self.readings])) if self.readings else otherwise

    def size(self, unit: str) -> float:
        """A typical value of a parameter with this unit: products of powers of N, m and s."""
        special = {"": 1.0, "m": self.elastic, "N/m": self.stiffness}
        if unit in special:
            return special[unit]
        of = {"newton": self.force, "meter": self.displacement, "second": self.displacement / self.velocity}
        return float(np.prod([of[factor.unit.pint] ** factor.power for factor in factors_of(unit)]))


def _readings(tests: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> tuple[CyclicReading, ...]:
    """Those of the tests whose force follows the deformation; a damper has no envelope."""
    made = []
    for x, _, force in tests:
        try:
            made.append(read_cycles(x, force))
        except InputError:
            continue
    return tuple(made)


def first_guess(kind: type[Law], loop: LoopSizes) -> Law:
    """A law of a kind with first guesses: what the law itself says (`Law.first_guess`), the defaults of its parameters,
    and for the others a typical value for their unit."""
    values = kind.first_guess(loop)
    for f in dataclasses.fields(kind):
        if f.init and f.name not in values and f.default is dataclasses.MISSING:
            values[f.name] = _by_unit(kind, f, loop)
    return kind(**values)


def _by_unit(kind: type[Law], field: Any, loop: LoopSizes) -> float:
    info = field.metadata.get("parameter")
    try:
        return loop.size(info.unit)
    except (AttributeError, KeyError, InputError):
        raise InputError(
            f"The first value of '{field.name}' of {kind.__name__} does not follow from the measured loops: give the "
            f"law with its values, {kind.__name__}({field.name}=…), instead of its name."
        ) from None


def _capacity(pushing: np.ndarray, largest: float) -> float:
    """N: the median of the forces above half of their 95th percentile, which single peaks do not move."""
    top = float(np.percentile(pushing, 95)) if pushing.size else 0.0
    return float(np.median(pushing[pushing > 0.5 * top])) if top > 0.01 * largest else largest


def _slopes(x: np.ndarray, force: np.ndarray, above: float, below: float) -> np.ndarray:
    """N/m, of every change from a force above the one limit to one below the other (negative) or back."""
    side = np.where(force > above, 1, np.where(force < -below, -1, 0))
    strong = np.flatnonzero(side)
    turn = np.flatnonzero(np.diff(side[strong]))
    i, j = strong[turn], strong[turn + 1]
    way = np.abs(x[j] - x[i])
    return np.abs(force[j] - force[i])[way > 0] / way[way > 0]
