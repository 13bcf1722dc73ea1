"""What a cyclic test shows before any law is fitted to it: envelope, stiffness, energy and strength cycle by cycle."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from vibrid.core.errors import InputError

_LEAST = 0.01  # of the reach: smaller reversals are noise or play
_SAME = 0.08  # amplitudes that differ by less are one step of the protocol
_POINTS = 60  # of an envelope
_BACKWARDS = 0.05  # share of 4 × amplitude × force that cycles may give back: noise, small delays
_CENTRED = 0.05  # of the peak: how far the first cycle may be off the origin
_ELASTIC, _GROWS = 0.85, 0.08  # of the peak, below which cycles are small; of their stiffness, as play makes it grow
_SURE = 4.0  # standard deviations of that
_FAR = 3.0  # m or rad: no specimen is moved so far


@dataclass(frozen=True)
class LoadCycle:
    """One cycle, from one turn on the negative side to the next."""

    positive: float  # m, deformation at its turn
    negative: float
    force_positive: float  # N, largest force
    force_negative: float
    stiffness: float  # N/m, from one turn to the other
    energy: float  # J, ∫ F de
    first: int  # samples
    last: int

    @property
    def amplitude(self) -> float:
        """m, half of its way from turn to turn."""
        return 0.5 * (self.positive - self.negative)

    @property
    def push(self) -> float:
        """N, half of the way from its largest force to its smallest."""
        return 0.5 * (self.force_positive - self.force_negative)


@dataclass(frozen=True)
class CyclicReading:
    """Read off a test: its cycles, envelope and protocol. Deformations in m, forces in N.

    envelope: (deformation, positive force, negative force as a positive number), NaN beyond what a direction reached.
    stiffness: slope at small deformations. yield_force: that of the bilinear curve with this stiffness that ends at the
    peak and has the same area as the envelope. peak, peak_at: the largest force and its place. last: force at the
    largest deformation. All are means of the two directions.
    ultimate: deformation at which the envelope has fallen to 80 % of its peak; infinite where it has not.
    strength_loss: 1 − force of the last cycle over that of the first at equal amplitude, one for every step of two
    cycles or more. protocol: its name, with the steps it was recognised by. warnings: what looks like a wrong unit or a
    zero that is none.
    """

    cycles: tuple[LoadCycle, ...]
    envelope: tuple[np.ndarray, np.ndarray, np.ndarray] = field(repr=False)
    stiffness: float
    yield_force: float
    peak: float
    peak_at: float
    last: float
    reach: float
    ultimate: float
    energy: float
    strength_loss: tuple[float, ...]
    protocol: str
    warnings: tuple[str, ...] = ()

    @property
    def mean_envelope(self) -> tuple[np.ndarray, np.ndarray]:
        """(deformation, force), the mean of the two directions, as far as one of them reached."""
        grid, *both = self.envelope
        mean = _mean(np.stack(both))
        known = np.isfinite(mean)
        return grid[known], mean[known]

    @property
    def ductility(self) -> float:
        """Ultimate deformation (or the largest reached) over that at yield."""
        return min(self.ultimate, self.reach) * self.stiffness / self.yield_force


def read_cycles(deformation: np.ndarray, force: np.ndarray, name: str = "the test") -> CyclicReading:
    """Read a cyclic (or monotonic) test off its samples; missing ones (NaN) are left out."""
    x, f = np.asarray(deformation, dtype=float), np.asarray(force, dtype=float)
    seen = np.isfinite(x + f)
    whole, place, x, f = (x, f), np.flatnonzero(seen), x[seen], f[seen]
    reach = float(np.abs(x).max(initial=0.0))
    if x.size < 10 or not (np.ptp(x) > 0.0 and np.ptp(f) > 0.0):
        raise InputError(
            f"{name} shows no cyclic test: deformation and force must both change, over ten samples or more."
        )
    turn = turns(x, _LEAST * reach)
    sides = [_envelope(way * x, way * f, reach) for way in (1.0, -1.0)]
    grid = np.linspace(0.0, reach, _POINTS + 1)
    both = np.stack([np.interp(grid, *side, right=np.nan) if side[0].size > 1 else grid * np.nan for side in sides])
    if np.isnan(both[:, 1:]).all():
        raise InputError(f"{name} shows no envelope: it does not move away from zero deformation.")
    mean = _mean(both)
    known = np.isfinite(mean)
    curve, shape = grid[known], mean[known]
    top = int(np.argmax(shape))
    peak, peak_at = float(shape[top]), float(curve[top])
    if not peak > 0.0:
        raise InputError(
            f"{name}: the force is not in the direction of the deformation; check the sign of one of them."
        )
    stiffness = _first_slope(x, f, sides, peak)
    if not stiffness > 0.0:
        raise InputError(f"{name}: the force does not grow with the deformation at first, so that it has no stiffness.")
    cycles = _cycles(x, f, turn, place)
    _refuse_backwards(cycles, name)
    fallen = np.flatnonzero((curve > peak_at) & (shape < 0.8 * peak))
    return CyclicReading(
        cycles, (grid, *both), stiffness, _bilinear(curve[: top + 1], shape[: top + 1], stiffness), peak, peak_at,
        float(shape[-1]), reach, float(curve[fallen[0]]) if fallen.size else float("inf"),
        float(scipy.integrate.trapezoid(f, x)), *_steps(cycles), _warnings(*whole, cycles, peak),
    )  # fmt: skip


def _refuse_backwards(cycles: Sequence[LoadCycle], name: str) -> None:
    """Refuse loops that give energy: no specimen does."""
    energy, around = sum(c.energy for c in cycles), 4.0 * sum(c.amplitude * c.push for c in cycles)
    if energy < -_BACKWARDS * around:
        raise InputError(
            f"{name}: its cycles give energy instead of using it up: deformation and force are exchanged, or the force "
            "is recorded later than the deformation; name the channels, or shift one of them in time."
        )


def _warnings(x: np.ndarray, f: np.ndarray, cycles: Sequence[LoadCycle], peak: float) -> tuple[str, ...]:
    """What looks like a wrong unit, or like a zero that is none."""
    made, reach = [], float(np.nanmax(np.abs(x)))
    if reach > _FAR:
        made.append(f"Its deformation reaches {reach:.3g} m (or rad): check the unit of that channel.")
    if cycles:
        one = cycles[0]
        middle = 0.5 * (one.force_positive + one.force_negative)
        off = middle - one.stiffness * 0.5 * (one.positive + one.negative)
        if abs(off) > _CENTRED * peak:
            made.append(
                f"Its first cycle is not centred on zero: at no deformation its force is {off:.3g} N, "
                f"{100 * abs(off) / peak:.2g} % of the peak. Where that is the zero of an instrument, have it fitted: "
                "offset of the force, or of the deformation."
            )
    softer = _play(x, f, cycles, peak)
    if softer is not None:
        made.append(
            f"Its stiffness grows from {softer[0]:.4g} to {softer[1]:.4g} N/m over the cycles before yield: "
            "play in the test rig, or cracks that close. Measure the deformation on the specimen itself."
        )
    return tuple(made)


def _play(x: np.ndarray, f: np.ndarray, cycles: Sequence[LoadCycle], peak: float) -> tuple[float, float] | None:
    """N/m, slope of the smallest and the largest cycles before yield, where it clearly grows: a specimen softens, play
    makes small cycles softer than large ones."""
    elastic = list(itertools.takewhile(lambda cycle: cycle.push < _ELASTIC * peak, cycles))
    if len(elastic) < 4:
        return None
    (small, a), (large, b) = (_slope(x, f, some) for some in (elastic[:2], elastic[-2:]))
    clear = small < (1.0 - _GROWS) * large and large - small > _SURE * np.hypot(a, b)
    return (small, large) if clear and small > 0.0 else None


def _slope(x: np.ndarray, f: np.ndarray, cycles: Sequence[LoadCycle]) -> tuple[float, float]:
    """N/m, of force over deformation in some cycles, by least squares, with its standard deviation."""
    here = slice(cycles[0].first, cycles[-1].last + 1)
    seen = np.isfinite(x[here] + f[here])
    a, b = x[here][seen], f[here][seen]
    a, b = a - a.mean(), b - b.mean()
    slope = float(a @ b / (a @ a))
    return slope, float(np.sqrt(np.mean(np.square(b - slope * a)) / (a @ a)))


def turns(x: np.ndarray, least: float) -> np.ndarray:
    """Samples at which a path turns by more than `least`, its two ends included; high and low ones alternate."""
    high, low = (scipy.signal.find_peaks(way * x, prominence=least)[0] for way in (1.0, -1.0))
    found = np.sort(np.concatenate([high, low]))
    kind = np.isin(found, high)
    while found.size > 1 and np.any(same := kind[1:] == kind[:-1]):  # of two of a kind the farther one stays
        i = np.flatnonzero(same)
        farther = np.where(kind[i], x[found[i]] >= x[found[i + 1]], x[found[i]] <= x[found[i + 1]])
        drop = np.unique(np.where(farther, i + 1, i))
        found, kind = np.delete(found, drop), np.delete(kind, drop)
    return np.unique(np.concatenate([[0], found, [x.size - 1]]))


def _envelope(x, f, reach) -> tuple[np.ndarray, np.ndarray]:
    """Force where the deformation is larger than ever before, as medians over short ways."""
    farthest = np.maximum.accumulate(np.maximum(x, 0.0))
    fresh = (x > 0.0) & (x >= farthest)
    x, f = x[fresh], f[fresh]
    if x.size < 2:
        return np.zeros(0), np.zeros(0)
    part = np.minimum((x / reach * _POINTS).astype(int), _POINTS - 1)
    edges = np.flatnonzero(np.diff(part)) + 1
    last = np.median(f[-3:])
    return np.concatenate([[0.0], _medians(x, edges), x[-1:]]), np.concatenate([[0.0], _medians(f, edges), [last]])


def _medians(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The median of each of the parts between these edges."""
    begins, counts = np.concatenate([[0], edges]), np.diff(np.concatenate([[0], edges, [values.size]]))
    ordered = values[np.lexsort((values, np.repeat(np.arange(counts.size), counts)))]
    return 0.5 * (ordered[begins + (counts - 1) // 2] + ordered[begins + counts // 2])


def _mean(both) -> np.ndarray:
    """The mean of the two directions, or the one that is known."""
    count = np.isfinite(both).sum(axis=0)
    return np.where(count > 0, np.nansum(both, axis=0) / np.maximum(count, 1), np.nan)


def _first_slope(x, f, sides, peak) -> float:
    """N/m: over the samples before the force first passes a third of the peak, by least squares."""
    over = np.flatnonzero(np.abs(f) > peak / 3.0)
    end = max(int(over[0]) if over.size else x.size, 3)
    a, b = x[:end] - np.mean(x[:end]), f[:end] - np.mean(f[:end])
    slope = float(np.sum(a * b) / np.sum(a * a)) if np.any(a) else 0.0
    chord = max((float(np.nanmax(g[1:4] / h[1:4])) for h, g in sides if h.size > 3), default=0.0)
    return slope if slope > 0.3 * chord else chord


def _bilinear(x, f, stiffness) -> float:
    """N: yield force of the bilinear curve with a first stiffness, the same end and the same area."""
    top, end = float(f[-1]), float(x[-1])
    area, plastic = float(scipy.integrate.trapezoid(f, x)), end - top / stiffness
    return float(np.clip((2.0 * area - top * end) / plastic, 0.3 * top, 0.98 * top)) if plastic > 0.0 else 0.98 * top


def _cycles(x, f, turn, place) -> tuple[LoadCycle, ...]:
    """Cycles of a high and a low turn, each from the zero of the deformation before to that after, in order."""
    made = []
    inner = turn[1:-1]
    for i in range(0, len(inner) - 1, 2):
        high, low = (inner[i], inner[i + 1]) if x[inner[i]] > x[inner[i + 1]] else (inner[i + 1], inner[i])
        first = _crossing(x, turn[i], inner[i], turn[i])
        last = _crossing(x, inner[i + 1], turn[i + 3], turn[i + 3])
        here = slice(first, last + 1)
        way = x[high] - x[low]
        slope = (f[high] - f[low]) / way if way > 0 else float("nan")
        made.append(
            LoadCycle(
                float(x[high]), float(x[low]), float(f[here].max()), float(f[here].min()), float(slope),
                float(scipy.integrate.trapezoid(f[here], x[here])), int(place[first]), int(place[last]),
            )
        )  # fmt: skip
    return tuple(made)


def _crossing(x, start, end, otherwise) -> int:
    """The first sample between two turns at which the deformation has passed zero, or another where there is none."""
    sign = np.sign(x[start : end + 1])
    change = np.flatnonzero(sign[1:] * sign[0] <= 0)
    return int(start + 1 + change[0]) if change.size and sign[0] != 0 else int(otherwise)


def _steps(cycles: Sequence[LoadCycle]) -> tuple[tuple[float, ...], str]:
    """Strength lost within each step of equal amplitudes, and the protocol."""
    if len(cycles) < 2:
        return (), "monotonic" if not cycles else "one cycle"
    size = np.array([cycle.amplitude for cycle in cycles])
    new = np.append(True, np.abs(np.diff(size)) > _SAME * np.maximum(size[1:], size[:-1]))
    groups = np.split(np.arange(size.size), np.flatnonzero(new)[1:])
    counts, sizes = [len(g) for g in groups], np.array([size[g].mean() for g in groups])
    push = np.array([cycle.push for cycle in cycles])
    lost = tuple(float(1.0 - push[g[-1]] / push[g[0]]) for g in groups if len(g) > 1 and push[g[0]] > 0.0)
    return lost, _protocol(counts, sizes)


def _protocol(counts: list[int], sizes: np.ndarray) -> str:
    """The name of a loading protocol by its steps: cycles of each, and the growth of the amplitude."""
    steps = f"{len(counts)} steps of " + ", ".join(str(c) for c in counts) + " cycles"
    if len(counts) == 1:
        return f"constant amplitude, {counts[0]} cycles"
    growth = sizes[1:] / sizes[:-1]
    if np.all(growth > 1.0):
        if set(counts[:-1]) == {2} and np.all(np.abs(growth - 1.4) < 0.12):
            return f"FEMA 461: {steps}, each 1.4 times the one before"
        if counts[:3] == [6, 6, 6] and counts[3:5] == [4, 2][: len(counts[3:5])]:
            return f"SAC: {steps}"
        if len(counts) > 3 and counts[0] >= 6 and set(counts[2:-1]) <= {2, 3}:
            return f"ATC-24: {steps}"
        if set(counts[:-1]) == {3}:
            return f"three cycles at every amplitude (ACI 374.1, ISO 16670): {steps}"
        return f"growing amplitudes: {steps}"
    highest = np.maximum.accumulate(sizes)
    primary = sizes >= highest * (1.0 - _SAME)
    trailing = sizes[~primary] / highest[~primary]
    if trailing.size and np.all(np.abs(trailing - 0.75) < 0.1):
        return f"CUREE: primary cycles with trailing ones of 75 %, {int(primary.sum())} primary steps"
    return f"irregular: {len(counts)} amplitudes"
