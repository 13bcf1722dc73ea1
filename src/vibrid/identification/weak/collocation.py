"""Readings and weak equations together: Gauss–Newton in the weights of splines and the unknowns.

    minimise  Σ (reading − spline)²/σ²  +  Σ (∫ equation dt)²/(ε size)²  +  Σ (state at the start − known)²/…  +  priors

The weights of a record form a band; they are eliminated (Schur complement) and leave a small system for the unknowns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.arguments import Array
from vibrid.identification.problem import Problem
from vibrid.identification.weak.banded import Bordered, Eliminated, add_block, gather_rows, squares, times
from vibrid.identification.weak.equations import (
    AbsoluteMotion,
    Intervals,
    equation_sizes,
    flat_start,
    intervals_of,
    model_at,
    residual_at,
)
from vibrid.identification.weak.pieces import Piece
from vibrid.identification.weak.splines import REACH
from vibrid.identification.weak.start import straight

POINTS = 4  # Gauss points in an interval
_FIRST_HELD = 1e-4  # tolerated residual of the initial state, as a share of its rms
_LONGEST = 0.3  # the longest step of an unknown in one iteration


ENDS = np.array([0, 1, -2, -1])
"""Intervals in which equations are also integrated with a linear weight.

A spline of degree five has four more weights than intervals: without these, states could oscillate between the ends of
intervals, most of all at the ends of a record, without a residual in any equation.
"""


class Linearised(NamedTuple):
    """Weak equations (intervals and four more, equations) and those of the start, with slopes in weights and in φ."""

    residual: np.ndarray  # (E + 4, q)
    slope: np.ndarray  # (E + 4, q, 6 c)
    border: np.ndarray  # (E + 4, q, p)
    first: np.ndarray  # (2 n + m,)
    first_slope: np.ndarray  # (2 n + m, 6 c)
    first_border: np.ndarray  # (2 n + m, p)


class Field(eqx.Module):
    """Data of the equations of one record: Gauss points, splines at them and at time zero, the ground there."""

    intervals: Intervals
    bases: jax.Array  # (3, points, 6): the splines of an interval and two derivatives
    bases_first: jax.Array  # (3, 6)
    ground_first: jax.Array  # (2, n)


def field_of(piece: Piece) -> Field:
    splines = piece.splines
    intervals = intervals_of(piece.ground, splines.edges, POINTS)
    place = 0.5 * (np.polynomial.legendre.leggauss(POINTS)[0] + 1.0)
    return Field(
        intervals,
        jnp.asarray([splines.local(place, order) for order in range(3)]),
        jnp.asarray([splines.local(0.0, order) for order in range(3)]),
        jnp.asarray(piece.ground.motion(0.0)[:2]),
    )


def _motion(field: Field, local, n: int) -> AbsoluteMotion:
    """The motion at the Gauss points from local weights (E, 6, c)."""
    y, dy, ddy = (jnp.einsum("gk,ekc->egc", b, local[..., :n]) for b in field.bases)
    s, ds = (jnp.einsum("gk,ekc->egc", b, local[..., n:]) for b in field.bases[:2])
    return AbsoluteMotion(y, dy, ddy, s, ds)


def _local(weights):
    """(E, 6, c): the weights that act on each interval."""
    count = weights.shape[0] - REACH + 1
    return weights[jnp.arange(count)[:, None] + jnp.arange(REACH)]


@eqx.filter_jit
def sizes_of(problem: Problem, free: Array, record: int, field: Field, weights):
    """Sizes of the equations, and rms of the motion and the states about their initial values."""
    model = model_at(problem, free, record)
    motion = _motion(field, _local(weights), model.size)
    x_g, v_g, _ = field.intervals.ground
    about = jnp.concatenate([motion.y - x_g, motion.dy - v_g, motion.s - flat_start(model)], axis=-1)
    return equation_sizes(model, motion, field.intervals), jnp.sqrt(jnp.mean(about**2, axis=(0, 1))) + 1e-12


def linearise(problem: Problem, free: Array, record: int, field: Field, weights) -> Linearised:
    """The weak equations of one record and their slopes."""
    arrays = _linearise(problem, jnp.asarray(free), record, field, jnp.asarray(weights))
    return Linearised(*(np.asarray(array) for array in arrays))


@eqx.filter_jit
def _linearise(problem: Problem, free, record: int, field: Field, weights) -> tuple[jax.Array, ...]:
    """The arrays of `Linearised`."""
    local = _local(weights)
    model = model_at(problem, free, record)
    n = model.size
    motion = _motion(field, local, n)

    def at_point(here: AbsoluteMotion, ground, u):
        """The equations at one Gauss point with slopes in (y, ẏ, ÿ, s, ṡ) and φ."""

        def equations(here, free):
            r = residual_at(model_at(problem, free, record), here, ground, u)
            return r, r

        (slopes, border), r = jax.jacfwd(equations, argnums=(0, 1), has_aux=True)(here, free)
        return r, slopes, border

    r, slopes, border = jax.vmap(jax.vmap(at_point))(motion, field.intervals.ground, field.intervals.inputs)
    by_order = ((slopes.y, slopes.dy, slopes.ddy), (slopes.s, slopes.ds))

    def integrated(test, chosen):
        """The equations of the chosen intervals integrated with weights (points,)."""
        parts = [
            sum(
                jnp.einsum("g,gk,egqc->eqkc", test, b, slope[chosen])
                for b, slope in zip(field.bases, orders, strict=False)
            )
            for orders in by_order
        ]
        slope = jnp.concatenate(parts, axis=-1)
        return (
            jnp.einsum("g,egq->eq", test, r[chosen]),
            slope.reshape(*slope.shape[:2], -1),
            jnp.einsum("g,egqp->eqp", test, border[chosen]),
        )

    weights = field.intervals.weights
    linear = weights * np.sqrt(3.0) * np.polynomial.legendre.leggauss(POINTS)[0]
    everywhere, ends = integrated(weights, slice(None)), integrated(linear, ENDS)

    def first(local, free):
        experiment = problem.unknowns.apply(problem.experiment, free)
        start = experiment.initial[record]
        y, dy = (field.bases_first[order] @ local[:, :n] for order in range(2))
        x, v = y - field.ground_first[0], dy - field.ground_first[1]
        s = field.bases_first[0] @ local[:, n:] - flat_start(model_at(problem, free, record))
        residual = jnp.concatenate([x - start.displacement, v - start.velocity, s])
        return residual, residual

    (first_slope, first_border), at_start = jax.jacfwd(first, argnums=(0, 1), has_aux=True)(local[0], free)
    residual, slope, border = (jnp.concatenate(pair) for pair in zip(everywhere, ends, strict=True))
    return residual, slope, border, at_start, first_slope.reshape(first_slope.shape[0], -1), first_border


@dataclass(frozen=True, eq=False)
class RecordEquations:
    """One record inside the minimisation: its piece, its equations and the normal equations of its readings."""

    piece: Piece
    field: Field
    sizes: np.ndarray  # (q,) of the equations
    first_sizes: np.ndarray  # (2 n + m,)
    band: np.ndarray  # of the readings, at the noise in use
    side: np.ndarray

    def weighted(self, noise: np.ndarray) -> RecordEquations:
        """The same with another noise."""
        band, side = self.piece.readings.normal(noise, self.piece.weights.shape[1])
        return replace(self, band=band, side=side)

    def moved(self, weights: np.ndarray) -> RecordEquations:
        return replace(self, piece=replace(self.piece, weights=weights))


def record_of(problem: Problem, free: Array, piece: Piece, number: int, noise) -> RecordEquations:
    field = field_of(piece)
    sizes, first = sizes_of(problem, jnp.asarray(free), number, field, jnp.asarray(piece.weights))
    none = np.zeros(0)
    return RecordEquations(piece, field, np.asarray(sizes), _FIRST_HELD * np.asarray(first), none, none).weighted(noise)


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the minimisation: unknowns, records, and the equations with their slopes."""

    free: np.ndarray
    records: tuple[RecordEquations, ...]
    slopes: tuple[Linearised, ...]
    prior: tuple[np.ndarray, np.ndarray]  # residual and slope


@eqx.filter_jit
def _prior(problem: Problem, free):
    return problem.unknowns.prior_residual(free), problem.unknowns.prior_slope(free)


def point_at(problem: Problem, free: Array, records) -> Point:
    slopes = tuple(linearise(problem, free, i, r.field, r.piece.weights) for i, r in enumerate(records))
    residual, slope = (np.asarray(part) for part in _prior(problem, jnp.asarray(free)))
    return Point(np.asarray(free), tuple(records), slopes, (residual, slope))


def cost_of(point: Point, noise: np.ndarray, softness: np.ndarray) -> float:
    """Half the sum of squares."""
    total = np.sum(point.prior[0] ** 2)
    for record, linear in zip(point.records, point.slopes, strict=True):
        total += np.sum(record.piece.readings.misfit(record.piece.weights) / noise**2)
        total += np.sum((linear.residual / (softness * record.sizes)) ** 2)
        total += np.sum((linear.first / record.first_sizes) ** 2)
    return 0.5 * float(total)


def bordered(record: RecordEquations, linear: Linearised, softness: np.ndarray) -> Bordered:
    """Normal equations of one record: readings, weak equations and start."""
    weight = 1.0 / (softness * record.sizes)
    slope = linear.slope * weight[:, None]
    residual, border = linear.residual * weight, linear.border * weight[:, None]
    first_slope = linear.first_slope / record.first_sizes[:, None]
    first_border, first = linear.first_border / record.first_sizes[:, None], linear.first / record.first_sizes
    band = record.band + squares(slope[: -len(ENDS)])
    for interval, ending in zip(ENDS % record.piece.splines.count, slope[-len(ENDS) :], strict=True):
        add_block(band, ending.T @ ending, interval)
    add_block(band, first_slope.T @ first_slope)
    turned = slope.transpose(0, 2, 1)
    cross, sides = _added(turned @ border), -_added((turned @ residual[..., None])[..., 0])
    cross[0] += first_slope.T @ first_border
    sides[0] -= first_slope.T @ first
    corner = np.einsum("eqa,eqb->ab", border, border, optimize=True) + first_border.T @ first_border
    unknowns_side = -np.einsum("eqa,eq->a", border, residual) - first_border.T @ first
    readings = record.side - times(record.band, record.piece.weights.reshape(-1))
    return Bordered(band, gather_rows(cross), corner, gather_rows(sides) + readings, unknowns_side)


def _added(values: np.ndarray) -> np.ndarray:
    """(E, …): the last four entries added to the intervals they belong to."""
    sums = values[: -len(ENDS)]
    sums[ENDS] += values[-len(ENDS) :]
    return sums


class Solved(NamedTuple):
    """The reduced system of the unknowns at a point, and the predicted decrease of the cost."""

    parts: tuple[Eliminated, ...]
    information: np.ndarray  # (p, p)
    side: np.ndarray  # (p,)
    promise: float  # decrease of the cost if only the weights change

    def spent(self, point: Point, noise: np.ndarray) -> np.ndarray:
        """(sensors,): how many samples of each sensor are spent on weights."""
        spent = np.zeros(len(noise))
        for part, record in zip(self.parts, point.records, strict=True):

            def solve(sides, factor=part.factor):
                return scipy.linalg.cho_solve_banded((factor, True), sides, check_finite=False)

            spent = spent + record.piece.readings.spent(noise, solve, record.piece.weights.shape[1])
        return spent


def eliminate(point: Point, softness: np.ndarray, damping: float = 0.0) -> Solved:
    parts = tuple(
        bordered(record, linear, softness).eliminate(damping)
        for record, linear in zip(point.records, point.slopes, strict=True)
    )
    residual, slope = point.prior
    return Solved(
        parts,
        sum(part.information for part in parts) + slope.T @ slope,
        sum(part.side for part in parts) - slope.T @ residual,
        0.5 * sum(part.promise for part in parts),
    )


def trial(problem: Problem, point: Point, solved: Solved, damping: float, hold: bool) -> tuple[Point, float]:
    """The point after one Gauss–Newton step, and the predicted decrease of the cost.

    `hold` keeps the unknowns fixed. The step is taken in the physical unknowns: most of them enter the equations
    linearly.
    """
    free, step, promise = point.free, np.zeros_like(point.free), solved.promise
    if not hold and len(step):
        step, free = straight(problem, free, solved.information, -solved.side, damping, _LONGEST)
        promise += float(solved.side @ step - 0.5 * step @ solved.information @ step)
    records = [
        record.moved(record.piece.weights + part.weights_step(step).reshape(record.piece.weights.shape))
        for record, part in zip(point.records, solved.parts, strict=True)
    ]
    return point_at(problem, free, records), promise
