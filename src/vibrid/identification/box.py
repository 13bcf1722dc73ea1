"""The minimum of a quadratic model between bounds: the step of a bounded descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.arguments import Numbers

STEP = 1.5
"""The longest first step of one unknown in φ: a factor of 4.5 where φ is a logarithm."""

WALL = 30.0
"""The limit of a logarithm without bounds, a factor of 1e13: beyond, derivatives are lost in rounding."""


@dataclass(frozen=True)
class Box:
    """The region of a descent: bounds of every component (infinite where there is none) and the longest steps.

    `longest` limits the first steps (they may grow up to `trust`); `trust` is the range of the quadratic model:
    infinite except for logarithms, for which a model of second order is valid only nearby. `wall` is a limit of
    arithmetic, not a
    bound: a component there is not reported as at a bound.
    """

    low: np.ndarray
    high: np.ndarray
    longest: np.ndarray
    trust: np.ndarray
    wall: np.ndarray

    @staticmethod
    def of(low: Numbers, high: Numbers) -> Box:
        """Bounds alone; steps are as long as damping lets them be."""
        low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        return Box(low, high, *np.full((3, *low.shape), np.inf))

    def extended(self, count: int) -> Box:
        """The box with `count` more components, without bounds, whose first steps are no longer than `STEP`."""
        ends = (np.full(count, value) for value in (-np.inf, np.inf, STEP, np.inf, np.inf))
        present = (self.low, self.high, self.longest, self.trust, self.wall)
        return Box(*(np.concatenate(pair) for pair in zip(present, ends, strict=True)))

    def clip(self, free: np.ndarray) -> np.ndarray:
        return np.clip(free, np.maximum(self.low, -self.wall), np.minimum(self.high, self.wall))

    def room(self, free: np.ndarray, longest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far a step no longer than `longest` may go down (≤ 0) and up (≥ 0)."""
        down = np.maximum(np.maximum(self.low, -self.wall) - free, -longest)
        return np.minimum(down, 0.0), np.maximum(np.minimum(np.minimum(self.high, self.wall) - free, longest), 0.0)

    def side(self, free: np.ndarray) -> np.ndarray:
        """−1 at the lower bound, 1 at the upper one, 0 between."""
        edges = (np.nan_to_num(1e-12 * np.abs(edge), posinf=0.0) for edge in (self.low, self.high))
        below, above = (free - next(edges) <= self.low, free + next(edges) >= self.high)
        return above.astype(int) - below.astype(int)


def bounded_step(
    normal: np.ndarray, gradient: np.ndarray, damping: float, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """The step s with low ≤ s ≤ high that minimises gᵀs + ½ sᵀ(N + damping · diag N) s; low ≤ 0 ≤ high.

    Components are scaled by their curvature, so units do not matter. A component at its limit is fixed there and the
    others are solved for again (projected Newton steps with an active set), so it does not shorten their step.
    """
    largest = np.max(np.diag(normal), initial=0.0)
    scale = np.sqrt(np.maximum(np.diag(normal), 1e-30 * max(largest, 1e-270)))
    matrix = normal / np.outer(scale, scale) + max(damping, 1e-13) * np.eye(len(scale))
    side, ends, (low, high) = gradient / scale, (low, high), (low * scale, high * scale)
    step = np.zeros_like(scale)
    value = 0.0
    for _ in range(10 + 4 * len(scale)):
        slope = side + matrix @ step
        held = ((step <= low) & (slope >= 0.0)) | ((step >= high) & (slope <= 0.0))
        if held.all() or np.max(np.abs(slope[~held])) <= 1e-14 * np.max(np.abs(side)):
            break
        move = np.zeros_like(step)
        move[~held] = -_solve(matrix[np.ix_(~held, ~held)], slope[~held])
        step, value, lower = _projected(matrix, side, step, move, slope, value, low, high)
        if not lower:
            break
    return np.clip(step / scale, *ends)


def promise(normal: np.ndarray, gradient: np.ndarray, step: np.ndarray) -> float:
    """The decrease of the quadratic model over a step."""
    return -float(gradient @ step + 0.5 * step @ normal @ step)


def _projected(matrix, side, step, move, slope, value, low, high):
    """The longest of move, move/2, … whose projection lowers the model enough: step, value, whether one did."""
    length = 1.0
    while length > 1e-12:
        there = np.clip(step + length * move, low, high)
        lower = side @ there + 0.5 * there @ matrix @ there
        if lower < value and lower <= value + 0.1 * slope @ (there - step):
            return there, lower, True
        length *= 0.5
    return step, value, False


def _solve(matrix: np.ndarray, side: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(matrix, side)
    except np.linalg.LinAlgError:
        return side / np.diag(matrix)
