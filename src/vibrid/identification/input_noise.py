"""The likelihood of readings when the measured excitation has noise too.

Noise of the excitation moves the model, not the structure: measured − predicted is then noise that went through the
structure, in all channels together. Around the motion that the measured excitation causes this is linear, and a Kalman
filter with the noise of the excitation as process noise gives innovations that are independent again, with their
covariance, so the exact likelihood of the unknowns and of the size of both noises, in one pass along each record.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.augmented import Tangents
from vibrid.identification.conclude import covariance_of, predictions_at, residual_deviations
from vibrid.identification.levenberg import Descent, descend
from vibrid.identification.problem import Problem

LEAST = 1e-5
"""Smallest noise of the excitation that is told from none, as a share of it."""

_GUESSES = (3e-3, 1e-2, 3e-2, 1e-1)
_RAISED = 10.0  # nats per reading, which keep the cost above zero


@dataclass(frozen=True)
class NoiseOfInputs:
    """φ and the size of the noise of readings and excitation, at the largest likelihood.

    Fields
        free: φ.
        readings: (ny,) standard deviation of the noise of every sensor.
        inputs: (inputs,) of every channel of the excitation.
        covariance: (p, p) of φ; zero for unknowns that were not moved.
        information: (p, p) about φ when the sizes of the noise are unknown too.
        innovations: (nt, ny) of every record, independent and of unit size.
    """

    free: np.ndarray
    readings: np.ndarray
    inputs: np.ndarray
    covariance: np.ndarray
    information: np.ndarray
    innovations: list[np.ndarray]
    descent: Descent

    @property
    def is_there(self) -> bool:
        return bool(np.any(self.inputs > 0.0))


def sampled(problem: Problem) -> Problem:
    """The problem with a hold that two samples determine."""
    return problem if problem.hold in ("zero", "linear") else problem.integrated(hold="linear")


def input_size(problem: Problem) -> np.ndarray:
    """(inputs,) rms of every channel of the excitation over all records."""
    return np.sqrt(np.mean(np.concatenate([np.asarray(d.drive.samples) for d in problem.data]) ** 2, axis=0)) + 1e-300


def most_likely(
    problem: Problem, free: np.ndarray, movable: np.ndarray, iterations: int = 40, progress: Progress = SILENT
) -> NoiseOfInputs:
    """Descend from φ; unknowns that are not `movable` stay. With none, only the noise is estimated."""
    given, size = problem.given_deviations(), input_size(problem)
    p, ny, m = len(free), len(problem.sensors), len(size)
    evaluate = _Evaluation(problem, sampled(problem))
    known = np.isfinite(given)
    start, cost = None, np.inf
    rough = np.where(
        known,
        given,
        np.maximum(residual_deviations(problem, predictions_at(problem, free)), LEAST * problem.signal_size()),
    )
    for share in _GUESSES:
        for part in (1.0, 0.3):
            tried = np.concatenate([free, np.log(np.where(known, given, part * rough)), np.log(share * size)])
            value = evaluate.cost(tried)
            if value < cost:
                start, cost = tried, value
    if start is None:
        raise ArithmeticError("The likelihood is not finite at the first guess.")
    box = problem.unknowns.box().extended(ny + m)
    box.low[p + ny :] = np.log(LEAST * size)
    active = np.concatenate([movable, ~known, np.ones(m, bool)])
    descent = descend(
        problem, start[None], None, active=active, box=box, iterations=iterations, tolerance=1e-9, evaluate=evaluate,
        progress=progress,
    )  # fmt: skip
    end = descent.free[descent.best]
    held = ~active | (box.side(end) != 0)
    normal = descent.normal[descent.best]
    covariance = covariance_of(normal, held)
    information = _without(normal, p, ~held)
    sizes = np.exp(end[p:])
    inputs = np.where(box.side(end)[p + ny :] < 0, 0.0, sizes[ny:])
    return NoiseOfInputs(
        end[:p], sizes[:ny], inputs, covariance[:p, :p], information, evaluate.innovations(end), descent
    )


class _Evaluation:
    """Cost, gradient and expected information of (φ, ln σ of readings, ln σ of inputs)."""

    def __init__(self, problem: Problem, linear: Problem):
        self.problem, self.linear = problem, linear
        self.raised = _RAISED * float(problem.counts().sum())

    def cost(self, vector: np.ndarray) -> float:
        e, v = (np.concatenate(part) for part in zip(*self._each(_innovations, vector), strict=True))
        return _likelihood(e, v)[0] + self.raised

    def innovations(self, vector: np.ndarray) -> list[np.ndarray]:
        """(nt, ny) of every record, of unit size."""
        made = self._each(_innovations, vector)
        return [np.linalg.solve(np.linalg.cholesky(v), e[:, :, None])[:, :, 0] for e, v in made]

    def __call__(self, vectors: np.ndarray):
        vector, unknowns = vectors[0], self.problem.unknowns
        p = len(unknowns)
        prior, slope = (np.asarray(part(jnp.asarray(vector[:p]))) for part in
                        (unknowns.prior_residual, unknowns.prior_slope))  # fmt: skip
        cost, gradient = self.raised + 0.5 * prior @ prior, np.zeros(len(vector))
        normal = np.zeros((len(vector), len(vector)))
        gradient[:p], normal[:p, :p] = slope.T @ prior, slope.T @ slope
        for (e, v), (de, dv) in self._each(_with_slopes, vector):
            value, inverse = _likelihood(e, v)
            weighted = np.einsum("tij,tj->ti", inverse, e)
            turned = np.einsum("tij,tjkq->tikq", inverse, dv)
            cost += value
            gradient += np.einsum("ti,tiq->q", weighted, de) + 0.5 * np.einsum("tiiq->q", turned)
            gradient -= 0.5 * np.einsum("ti,tijq,tj->q", weighted, dv, weighted)
            normal += np.einsum("tiq,tij,tjr->qr", de, inverse, de) + 0.5 * np.einsum("tikq,tkir->qr", turned, turned)
        return np.asarray(cost)[None], gradient[None], normal[None]

    def _each(self, make, vector):
        for i in range(len(self.problem.data)):
            one, linear = (dataclasses.replace(q, data=(q.data[i],)) for q in (self.problem, self.linear))
            yield jax.tree.map(np.asarray, make(one, linear, jnp.asarray(vector), i))


def _likelihood(e: np.ndarray, v: np.ndarray) -> tuple[float, np.ndarray]:
    """Negative log-likelihood of innovations, without the constant, and the inverse of their covariance."""
    if not (np.isfinite(e).all() and np.isfinite(v).all()):
        return np.inf, np.full_like(v, np.nan)
    sign, size = np.linalg.slogdet(v)
    if (sign <= 0).any():
        return np.inf, np.full_like(v, np.nan)
    inverse = np.linalg.inv(v)
    return 0.5 * float(np.einsum("ti,tij,tj->", e, inverse, e) + size.sum()), inverse


@eqx.filter_jit
def _innovations(problem: Problem, linear: Problem, vector: Array, record: int):
    """Innovations (nt, ny) and their covariances (nt, ny, ny); 0 and 1 where a reading is missing."""
    d = problem.data[0]
    p, m = len(problem.unknowns), d.drive.samples.shape[1]
    free, noise, rough = vector[:p], jnp.exp(2 * vector[p:-m]), jnp.exp(2 * vector[-m:])
    tangents = Tangents(linear, free, record)
    residuals = (d.readings - problem.predict(free, record)) * d.present
    inputs = d.drive.samples
    states = tangents.motion()
    size, eye = states.shape[1], jnp.eye(m)

    def body(carry, row):
        """`mean` and `spread`: deviation of the state from the nominal motion, and noise of the inputs, before the
        reading of a sample."""
        mean, spread = carry
        residual, present, state, u, later = row
        by_state, by_input = jax.jacfwd(tangents.read, argnums=(0, 1))(state, u)
        seen = jnp.concatenate([by_state, -by_input], axis=1) * present[:, None]
        innovation = residual - seen @ mean
        covariance = seen @ spread @ seen.T + jnp.diag(jnp.where(present > 0, noise, 1.0))
        gain = jnp.linalg.solve(covariance, seen @ spread).T
        mean, spread = mean + gain @ innovation, spread - gain @ covariance @ gain.T
        ahead, first, last = jax.jacfwd(tangents.moved, argnums=(0, 1, 2))(state, u, later)
        matrix = jnp.zeros((size + m, size + m)).at[:size].set(jnp.concatenate([ahead, -first], axis=1))
        enters = jnp.concatenate([-last, eye])
        spread = matrix @ spread @ matrix.T + (enters * rough) @ enters.T
        return (matrix @ mean, 0.5 * (spread + spread.T)), (innovation, covariance)

    begin = (jnp.zeros(size + m), jnp.zeros((size + m, size + m)).at[size:, size:].set(jnp.diag(rough)))
    later = jnp.concatenate([inputs[1:], inputs[-1:]])
    return jax.lax.scan(body, begin, (residuals, d.present, states, inputs, later))[1]


@eqx.filter_jit
def _with_slopes(problem: Problem, linear: Problem, vector: Array, record: int):
    """The same, and its derivatives by all components of the vector."""

    def both(q):
        made = _innovations(problem, linear, q, record)
        return made, made

    slopes, values = jax.jacfwd(both, has_aux=True)(vector)
    return values, slopes


def _without(normal: np.ndarray, p: int, keep: np.ndarray) -> np.ndarray:
    """The information about the first p components when the others are unknown too."""
    others = np.flatnonzero(keep[p:]) + p
    if not others.size:
        return normal[:p, :p]
    cross = normal[:p][:, others]
    return normal[:p, :p] - cross @ np.linalg.solve(normal[np.ix_(others, others)], cross.T)
