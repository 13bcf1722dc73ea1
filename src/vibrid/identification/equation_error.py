"""The unknowns that balance the equations of motion along the measured motion: a start that needs no good guess.

Displacement, velocity and acceleration follow from the readings, frequency by frequency, inside the band in which the
deformations are more than noise. The laws are driven by that motion, so nothing swings away from it: the residual of
the equations is linear in stiffnesses and dampings, and mildly nonlinear in other parameters. Noise in the motion, and
what lies outside the band, bias the answer: it is a start, not an estimate.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core import native
from vibrid.core.arguments import Array
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.experiment import Experiment
from vibrid.identification.levenberg import Descent, descend, prior_at
from vibrid.identification.problem import Problem
from vibrid.identification.problem_data import Data
from vibrid.identification.regression import forces_along
from vibrid.structures.model import Model

_RIDGE = 1e-6  # weight of a change of φ by 1; the inertia forces, squared, have the weight 1
_POWER = 20.0  # power of the deformations over that of their noise from which a frequency is used
_LONGEST = 0.3  # of the record: the longest period used
_TOLERANCE = 1e-2  # relative decrease below which a descent ends: it is a start
_TAPER = 0.05  # of the record, at its end
_QUIET = 8  # the noise is that of the last eighth of the frequencies


class MotionInBand(NamedTuple):
    """The motion in one record, each part of it inside its band.

    x, v, a: (nt, n) of every degree of freedom; inputs: (nt, m); basis: (n, k) shapes of which the motion consists, and
    with which its equations are multiplied; gain: (f, k) 1 for the frequencies used of each, of twice the record.
    """

    x: jax.Array
    v: jax.Array
    a: jax.Array
    inputs: jax.Array
    basis: jax.Array
    gain: jax.Array


def experiment_at(problem: Problem, free: Array) -> Experiment:
    """The experiment with the unknowns set to θ(φ), as numbers."""
    return problem.unknowns.place(problem.experiment, np.asarray(problem.unknowns.to_physical(jnp.asarray(free))))


def measured_motion(problem: Problem, experiment: Experiment, record: int) -> MotionInBand | None:
    """The motion in a record, from its sensors of displacement, velocity and acceleration; None where they tell none.

    It consists of one shape for each deformation, where these say everything (the storeys of a shear building): the
    equations are then those of the force in each, and each has its own band. Where there are fewer sensors than degrees
    of freedom, it consists of the lowest modes of the structure of the experiment.
    """
    data = problem.data[record]
    model = experiment.structure.model(data.loads)
    arrays = experiment.structure.sensor_arrays(model, experiment.sensors)
    kinds = (arrays.displacement, arrays.velocity, arrays.acceleration)
    rows = np.stack([np.zeros((arrays.count, model.size)) if r is None else np.asarray(r) for r in kinds])
    forces = np.zeros(arrays.count) if arrays.forces is None else np.abs(np.asarray(arrays.forces)).sum(axis=1)
    used = (forces == 0.0) & (np.abs(rows).sum(axis=(0, 2)) > 0.0)
    rank = int(np.linalg.matrix_rank(rows[:, used].sum(axis=0))) if used.any() else 0
    if not rank:
        return None
    basis, parts = _shapes(model)
    if rank < model.size:
        mass, _, stiffness = (np.asarray(part) for part in model.initial_matrices())
        basis = scipy.linalg.eigh(stiffness, mass)[1][:, :rank]
        parts = parts @ basis
    inputs = np.asarray(problem.driven(experiment, data).samples)
    read = (_filled(data) - np.asarray(arrays.offset)) / np.asarray(arrays.gain) - inputs @ np.asarray(arrays.inputs).T
    length = scipy.fft.next_fast_len(2 * data.samples, real=True) // 2 * 2
    end = scipy.signal.windows.tukey(2 * data.samples, 2 * _TAPER)[data.samples :, None]
    y, u = (scipy.fft.rfft(part * end, length, axis=0) for part in (read[:, used], inputs))
    rate = 2j * np.pi * scipy.fft.rfftfreq(length, data.step)
    noise = np.sqrt(np.median(np.abs(y[-len(y) // _QUIET :]) ** 2, axis=0) / np.log(2.0)) + 1e-300
    moved = np.einsum("dsn,nk->dsk", rows[:, used], basis) / noise[:, None]
    inverse, size = _inverse(moved, rate[1:])  # not at zero frequency
    q = np.zeros((len(rate), basis.shape[1]), complex)
    q[1:] = size * (inverse @ (y[1:] / noise)[:, :, None])[:, :, 0]
    signal, scatter = np.abs(q[1:] @ parts.T) ** 2, np.sum(np.abs(parts @ inverse) ** 2, axis=2) * np.abs(size) ** 2
    if len(parts) != basis.shape[1] or rank < model.size:  # one band for all
        signal, scatter = signal.sum(axis=1, keepdims=True), scatter.sum(axis=1, keepdims=True)
    longest = _LONGEST * data.samples * data.step
    bands = [_band(column, rate[1:].imag, longest) for column in (signal / scatter).T]
    gain = np.zeros((len(rate), basis.shape[1]))
    gain[1:] = np.stack(bands, axis=1)
    if not gain.any():
        return None

    def back(spectrum):
        return jnp.asarray(scipy.fft.irfft(spectrum, length, axis=0)[: data.samples])

    whole = gain.max(axis=1, keepdims=True)
    x, v = (back((q * gain * rate[:, None] ** d) @ basis.T) for d in range(2))
    a = back((q * whole * rate[:, None] ** 2) @ basis.T)
    return MotionInBand(x, v, a, back(u * whole), jnp.asarray(basis), jnp.asarray(gain))


def _inverse(moved: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(f or 1, k, s) shapes from readings at each iω, and (f, 1) a factor of them.

    moved: (d, s, k) readings of displacement, velocity and acceleration from shapes.
    """
    kinds = np.flatnonzero(np.abs(moved).sum(axis=(1, 2)))
    if len(kinds) == 1:  # one inverse for all frequencies
        return np.linalg.pinv(moved[kinds], rcond=1e-9), 1.0 / rate[:, None] ** kinds[0]
    transfer = np.einsum("dsk,df->fsk", moved, np.stack([rate**d for d in range(3)]))
    return np.linalg.pinv(transfer, rcond=1e-9), np.ones((len(rate), 1))


def _shapes(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """(n, n) a shape for each deformation, or for each degree of freedom where deformations say less or more; and the
    deformations of each shape."""
    n = model.size
    if model.rows is None:
        return np.eye(n), np.eye(n)
    rows = np.asarray(model.rows)
    if rows.shape == (n, n) and model.stiffness is None and np.linalg.cond(rows) < 1e6:
        return np.linalg.inv(rows), np.eye(n)
    return np.eye(n), rows


def _filled(data: Data) -> np.ndarray:
    """The readings with missing samples interpolated."""
    y, present = np.array(data.readings), np.asarray(data.present) > 0
    number = np.arange(len(y))
    for c in range(y.shape[1]):
        if not present[:, c].all() and present[:, c].any():
            y[:, c] = np.interp(number, number[present[:, c]], y[present[:, c], c])
    return y


def _band(ratio: np.ndarray, omega: np.ndarray, longest: float) -> np.ndarray:
    """(f,): 1 between the lowest and the highest frequency at which there is more than noise."""
    above = scipy.ndimage.median_filter(ratio, 7) > _POWER
    inside = np.flatnonzero(above & (omega > 2 * np.pi / longest))
    gain = np.zeros(len(omega))
    if len(inside):
        gain[inside[0] : inside[-1] + 1] = 1.0
    return gain


def _unbalanced(problem: Problem, motions: tuple[MotionInBand, ...], free: jax.Array) -> tuple[jax.Array, ...]:
    """(nt, k) of each record: what is left of the equations at φ; without forces they have the mean square 1."""
    experiment = problem.unknowns.apply(problem.experiment, free)
    parts = []
    for data, motion in zip(problem.data, motions, strict=True):
        model = experiment.structure.model(data.loads)
        inertia = jax.vmap(model.mass_times)(motion.a) - jax.vmap(model.load)(motion.inputs)
        force = (inertia + forces_along(model, motion.x, motion.v, data.step)) @ motion.basis
        size = jax.lax.stop_gradient(jnp.sqrt(jnp.mean((inertia @ motion.basis) ** 2, axis=0))) + 1e-300
        parts.append(force / (size * np.sqrt(force.size)))
    return tuple(parts)


_unbalanced_and_slopes = native.jacobian(_unbalanced)


def _terms(problem: Problem, free: Array, first: Array, motions: tuple[MotionInBand, ...]):
    """Cost, gradient and Gauss–Newton matrix at φ of what is left of the equations in their bands."""
    prior, prior_slope = prior_at(problem, free)
    held = np.concatenate([np.asarray(free) - np.asarray(first), prior])
    slope = np.concatenate([np.eye(len(prior_slope)), prior_slope])
    cost, gradient, normal = 0.5 * _RIDGE * held @ held, _RIDGE * slope.T @ held, _RIDGE * slope.T @ slope
    for left, slopes, motion in zip(*_unbalanced_and_slopes(problem, motions, jnp.asarray(free)), motions, strict=True):
        left, slopes = np.asarray(left), np.asarray(slopes)
        moving = (slopes != 0.0).any(axis=0)  # of the unknowns, few are in the equation of a storey
        for i, own in enumerate(moving):
            parts = np.concatenate([left[:, i, None], slopes[:, i, own]], axis=1)
            parts = _in_band(parts, np.asarray(motion.gain)[:, i, None])
            r, j = parts[:, 0], parts[:, 1:]
            cost += 0.5 * r @ r
            gradient[own] += j.T @ r
            normal[np.ix_(own, own)] += j.T @ j
    return cost, gradient, normal


def _in_band(values: np.ndarray, gain: np.ndarray) -> np.ndarray:
    length = 2 * (len(gain) - 1)
    return scipy.fft.irfft(scipy.fft.rfft(values, length, axis=0) * gain, length, axis=0)[: len(values)]


def balanced(
    problem: Problem,
    starts: np.ndarray,
    motions: tuple[MotionInBand, ...],
    active: np.ndarray,
    progress: Progress = SILENT,
    iterations: int = 15,
) -> Descent:
    """Minimise the residual of the equations along measured motions from every row of `starts`.

    An unknown of which they say nothing stays at the first row.
    """

    def evaluate(free):
        terms = [_terms(problem, phi, starts[0], motions) for phi in free]
        return tuple(np.stack(column) for column in zip(*terms, strict=True))

    settings = {"active": active, "iterations": iterations, "tolerance": _TOLERANCE, "progress": progress}
    return descend(problem, starts, None, evaluate=evaluate, **settings)
