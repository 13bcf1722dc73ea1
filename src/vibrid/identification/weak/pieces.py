"""Records as splines: smoothed readings, each weighted by its noise, and the projection of any signal."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.identification.problem import Problem
from vibrid.identification.smoothing import noise_levels
from vibrid.identification.weak.banded import add_block, diagonals, factorise, from_diagonals, gather_rows, squares
from vibrid.identification.weak.equations import AbsoluteMotion
from vibrid.identification.weak.ground import Ground, ground_of
from vibrid.identification.weak.readings import SensorEquations, readings_of, summed
from vibrid.identification.weak.splines import REACH, Splines

_FOLLOWED = 0.8  # share of samples spent on weights above which noise cannot be separated from motion
_FIRST_HELD = 1e-4  # how tightly a known state at the start is held, as a share of the rms of the motion


@dataclass(frozen=True, eq=False)
class Piece:
    """One record: its ground, its readings, and the weights of splines for y and the states (count + 5, n + m)."""

    ground: Ground
    readings: SensorEquations
    weights: np.ndarray

    @property
    def splines(self) -> Splines:
        return self.readings.splines

    @property
    def size(self) -> int:
        return self.readings.rows.shape[1]

    @property
    def unread(self) -> np.ndarray:
        """(intervals, n): where no sensor measures a degree of freedom: gaps in the readings."""
        return self.readings.samples.T @ (self.readings.rows != 0.0) == 0.0

    def motion(self, time) -> AbsoluteMotion:
        """The motion and the states at any times (…)."""
        moving, states = self.weights[:, : self.size], self.weights[:, self.size :]
        y, dy, ddy = (jnp.asarray(self.splines.evaluate(moving, time, order)) for order in range(3))
        s, ds = (jnp.asarray(self.splines.evaluate(states, time, order)) for order in range(2))
        return AbsoluteMotion(y, dy, ddy, s, ds)


def unread(problem: Problem, spacing: float, record: int = 0) -> Piece:
    """A piece without motion yet, from the first sample of a record to the last that is used.

    Intervals are whole numbers of samples, so that the kinks of an excitation fall between them; a rest at the end of
    less than an interval is not used.
    """
    ground = ground_of(problem, record)
    data = problem.data[record]
    last = int(np.flatnonzero(np.asarray(data.present).any(axis=1))[-1])
    samples = max(1, min(round(spacing / data.step), last // REACH))
    readings = readings_of(problem, ground, Splines(samples * data.step, last // samples), record)
    return Piece(ground, readings, np.zeros((readings.splines.weights, readings.rows.shape[1])))


def finer(problem: Problem, piece: Piece, record: int = 0) -> Piece:
    """The same motion and states on splines with intervals half as long, no shorter than a sample."""
    halved = unread(problem, 0.5 * piece.splines.spacing, record)
    points = np.unique(np.linspace(0.0, halved.splines.edges[-1], 3 * halved.splines.count + 1))
    values = piece.splines.evaluate(piece.weights, points)
    return replace(halved, weights=project(halved.splines, points, values))


def smooth(problem: Problem, pieces: list[Piece], rounds: int = 6) -> tuple[np.ndarray, list[Piece]]:
    """Noise of every sensor and the splines that fit all readings best, each weighted by its noise.

    All readings of a motion are used: slow motion follows displacements, quick motion accelerations.
    """
    given, size = problem.given_deviations(), problem.signal_size()
    noise = np.where(np.isfinite(given), given, np.clip(spectral_noise(pieces), 1e-3 * size, 0.05 * size))
    for _ in range(1 if np.isfinite(given).all() else rounds):
        smoothed = [_smooth_one(problem, piece, noise, r) for r, piece in enumerate(pieces)]
        pieces, before = [piece for piece, _ in smoothed], noise
        seen = noise_left(pieces, sum(spent for _, spent in smoothed), noise)
        noise = np.where(np.isfinite(given), given, seen)
        if np.max(np.abs(np.log(noise / before))) < 0.02:
            break
    return noise, pieces


def followed(pieces, spent) -> np.ndarray:
    """(sensors,): whether splines nearly interpolate the readings of a sensor: its noise cannot be estimated then.

    `spent` (sensors,) is how many samples of each sensor went into weights of the splines.
    """
    return spent > _FOLLOWED * sum(piece.readings.counts for piece in pieces)


def spectral_noise(pieces) -> np.ndarray:
    """(sensors,): white noise from the highest fifth of the spectra of the readings of absolute motion: an upper limit.

    No less than a millionth of the readings.
    """
    squares, size = [], []
    for piece in pieces:
        y, there = piece.readings.targets, piece.readings.present > 0
        place = np.arange(len(y))
        whole = [np.interp(place, place[read], column[read]) for column, read in zip(y.T, there.T, strict=True)]
        squares.append(noise_levels(np.stack(whole, axis=1)) ** 2)
        size.append(np.mean(np.square(whole), axis=1))
    return np.sqrt(np.maximum(np.mean(squares, axis=0), 1e-12 * np.mean(size, axis=0)))


def noise_left(pieces, spent, before) -> np.ndarray:
    """Noise of every sensor from the residuals of its readings; `before` where splines interpolate them."""
    left = sum(piece.readings.misfit(piece.weights) for piece in pieces)
    counts = sum(piece.readings.counts for piece in pieces)
    size = np.sqrt(sum(np.sum((p.readings.targets * p.readings.present) ** 2, axis=0) for p in pieces) / counts)
    seen = np.sqrt(left / np.maximum(counts - spent, (1.0 - _FOLLOWED) * counts))
    return np.where(followed(pieces, spent), before, np.maximum(seen, 1e-6 * size))


def _smooth_one(problem: Problem, piece: Piece, noise, record: int) -> tuple[Piece, np.ndarray]:
    """The piece with smoothed motion, and how many samples of each sensor are spent on it."""
    n, splines = piece.size, piece.splines
    band, side = piece.readings.normal(noise, n)
    size = np.mean(band[0])
    first = problem.experiment.initial[record]
    known = "initial state" not in problem.unknowns.needs
    carried = piece.ground.motion(piece.readings.time)
    for order, value in ((0, first.displacement), (1, first.velocity)) if known else ():
        basis = splines.local(0.0, order)
        rms = np.sqrt(np.mean(carried[order] ** 2)) or 1.0
        weight = 1.0 / (_FIRST_HELD * rms) ** 2
        add_block(band, weight * np.kron(np.outer(basis, basis), np.eye(n)))
        side[: REACH * n] += weight * np.kron(basis, np.asarray(value) + carried[order][0])
    third = splines.local(0.5, 3) / np.linalg.norm(splines.local(0.5, 3))  # a little stiffness; more across gaps
    bridge = np.sqrt(np.where(piece.unread, 1e-4, 1e-14) * size)
    band += squares(np.einsum("k,en,nm->enkm", third, bridge, np.eye(n)).reshape(splines.count, n, REACH * n))
    factor = (factorise(band), True)
    solved = scipy.linalg.cho_solve_banded(factor, side)
    spent = piece.readings.spent(noise, lambda sides: scipy.linalg.cho_solve_banded(factor, sides), n)
    return replace(piece, weights=solved.reshape(splines.weights, n)), spent


def project(splines: Splines, time, values) -> np.ndarray:
    """(count + 5, channels): weights of the splines nearest to values (samples, channels)."""
    interval, fraction = splines.place(time)
    basis = splines.local(fraction)
    gram = diagonals(summed(basis[:, :, None] * basis[:, None, :], interval, splines.count))
    side = gather_rows(summed(basis[:, :, None] * np.asarray(values)[:, None, :], interval, splines.count))
    third = splines.local(0.5, 3) / np.linalg.norm(splines.local(0.5, 3))
    bend = squares(np.broadcast_to(1e-6 * np.sqrt(gram[0].mean()) * third, (splines.count, 1, REACH)))
    band = from_diagonals(gram[..., None, None]) + bend
    return scipy.linalg.cho_solve_banded((factorise(band), True), side)
