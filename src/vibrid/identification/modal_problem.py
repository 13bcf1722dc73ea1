"""The problem of `ModalFit`: unknowns of a structure from measured frequencies and shapes, and its residuals."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jax.scipy.linalg import solve_triangular

from vibrid.core.arguments import Array
from vibrid.core.errors import InputError
from vibrid.identification.experiment import Experiment
from vibrid.identification.loads.unknown_load import UnknownLoad
from vibrid.identification.problem import Problem
from vibrid.identification.unknowns import Unknowns, UnknownSet, compile_unknowns, listed
from vibrid.modal.measured import MeasuredModes
from vibrid.simulation.simulate import default_integrator
from vibrid.structures.base import Structure
from vibrid.structures.device import ImposedTest
from vibrid.structures.pairing import mac, pair_cost
from vibrid.structures.sensors import MEASURABLE, Sensor

CLOSE = 1e-6
"""Relative difference of eigenvalues below which their shapes are one space, in which any shape is a mode."""

_ACROSS = 1e-9  # variance, over the largest, below which a direction carries none: that of the shape's own length


class ModalProblem(Problem):
    """Estimate the unknowns of a structure from measured modes; there are no records.

    Functions take the free vector φ. The residuals of a mode are those of its frequency and of its shape, whose scale
    is free, whitened by the covariance of both.
    """

    _: dataclasses.KW_ONLY
    rows: jax.Array  # (places, n): motion of every measured place
    frequencies: jax.Array  # (k,) Hz
    shapes: jax.Array  # (places, k), unit length
    whitening: jax.Array  # (k, 1 + places, 1 + places); rows of zeros where nothing is known

    def modes_at(self, free: Array) -> tuple[np.ndarray, np.ndarray]:
        """(n,) frequencies in Hz and (places, n) shapes of the structure at φ."""
        values, shapes = _modes_at(self, jnp.asarray(free))
        return np.sqrt(np.maximum(np.asarray(values), 0.0)) / (2 * np.pi), np.asarray(self.rows @ shapes)

    def pairs_at(self, free: Array) -> np.ndarray:
        """(k,): the mode of the structure at φ that each measured one is, by shape and frequency."""
        frequencies, shapes = self.modes_at(free)
        if not (np.isfinite(frequencies).all() and np.isfinite(shapes).all()):
            return np.arange(len(self.frequencies))
        cost = pair_cost(mac(np.asarray(self.shapes), shapes), np.asarray(self.frequencies), frequencies)
        return scipy.optimize.linear_sum_assignment(cost)[1]

    def normal_equations(self, free: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cost ½‖r‖², gradient and Gauss–Newton matrix at each of (starts, p) free vectors, priors included."""
        parts = [residuals_and_slopes(self, jnp.asarray(phi), jnp.asarray(self.pairs_at(phi))) for phi in free]
        sums = [(0.5 * r @ r, j.T @ r, j.T @ j) for r, j in ((np.asarray(r), np.asarray(j)) for r, j in parts)]
        return tuple(np.stack(part) for part in zip(*sums, strict=True))  # pyright: ignore[reportReturnType]


def make_modal_problem(
    structure: Structure,
    measured: MeasuredModes,
    unknown: Unknowns,
    frequency_error: float,
    shape_error: float,
    further: np.ndarray | None = None,
) -> ModalProblem:
    """Check the modes against the structure and make the problem.

    Arguments
        frequency_error: share of each frequency by which a model may miss it, added to the standard deviations.
        shape_error: the same of shapes of unit length, at every place.
        further: (k, 1 + places, 1 + places) covariance of what else may move frequency and shape of each mode.
    """
    if isinstance(structure, ImposedTest):
        raise InputError("The motion of a device in a testing machine is imposed: it has no modes to be fitted.")
    entries = listed(unknown)
    if any(isinstance(entry, UnknownLoad) for entry in entries):
        raise InputError("Modes do not depend on loads: an unknown load cannot be found from them.")
    experiment = Experiment(structure, (), ())
    unknowns = compile_unknowns(experiment, [entry for entry in entries if not isinstance(entry, UnknownLoad)])
    places = zip(measured.channels, measured.places, strict=True)
    sensors = tuple(Sensor(c.quantity, place, name=c.name) for c, place in places if c.quantity in MEASURABLE)
    experiment = dataclasses.replace(experiment, sensors=sensors)  # for predictions; they are no unknowns of modes
    return modal_problem_of(experiment, unknowns, measured, frequency_error, shape_error, further)


def modal_problem_of(
    experiment: Experiment,
    unknowns: UnknownSet,
    measured: MeasuredModes,
    frequency_error: float,
    shape_error: float,
    further: np.ndarray | None = None,
) -> ModalProblem:
    """The problem of unknowns that are compiled already; the arguments are those of `make_modal_problem`."""
    structure = experiment.structure
    rows = np.stack([np.asarray(structure.row(place), float) for place in measured.places])
    size = rows.shape[1]
    if len(measured) > size:
        raise InputError(f"{len(measured)} modes were measured, and the structure has {size}: leave some out.")
    return ModalProblem(
        experiment=experiment,
        unknowns=unknowns,
        data=(),
        held_out=(),
        integrator=default_integrator(structure),
        substeps=1,
        hold="linear",
        rows=jnp.asarray(rows),
        frequencies=jnp.asarray(measured.frequencies),
        shapes=jnp.asarray(measured.shapes / np.linalg.norm(measured.shapes, axis=0)),
        whitening=jnp.asarray(_whitening(measured, frequency_error, shape_error, further)),
    )


def _whitening(
    measured: MeasuredModes, frequency_error: float, shape_error: float, further: np.ndarray | None
) -> np.ndarray:
    """(k, 1 + l, 1 + l) W with WᵀW the inverse of the covariance of frequency and shape of each mode.

    The covariance of N pieces is shrunk towards its diagonal by the share l/N, and its inverse by the factor that makes
    it unbiased (J. Hartlap et al., 2007).
    """
    l, k = measured.shapes.shape
    if measured.covariances is None and not (frequency_error > 0 and shape_error > 0):
        raise InputError(
            f"These modes ({measured.method}) have no standard deviations: state them, for instance "
            "ModalFit(frequency_error=0.01, shape_error=0.05), or take modes of `ssi`."
        )
    made = np.zeros((k, 1 + l, 1 + l))
    own = [0, *range(2, 2 + l)]
    for i in range(k):
        shape = measured.shapes[:, i] / np.linalg.norm(measured.shapes[:, i])
        across = np.eye(1 + l)
        across[1:, 1:] -= np.outer(shape, shape)
        covariance = np.zeros((1 + l, 1 + l))
        shrink = 1.0
        if measured.covariances is not None:
            covariance = measured.covariances[i][np.ix_(own, own)]
            n = measured.independent
            share = min(1.0, l / n) if n else 0.0
            covariance = (1.0 - share) * covariance + share * np.diag(np.diag(covariance))
            shrink = max((n - l - 2.0) / (n - 1.0), 1.0 / n) if n else 1.0
        errors = np.diag([(frequency_error * measured.frequencies[i]) ** 2, *[shape_error**2] * l])
        errors += 0.0 if further is None else further[i]
        covariance = across @ (covariance + errors) @ across
        size = np.sqrt(np.diag(covariance))
        size[1:] = np.sqrt(np.mean(size[1:] ** 2))
        values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
        known = values > _ACROSS * values.max()
        scale = np.where(known, np.sqrt(shrink / np.where(known, values, 1.0)), 0.0)
        made[i] = (scale[:, None] * vectors.T) / size @ across
    return made


# -- the eigenproblem, differentiated ------------------------------------------------------------------------------


@jax.custom_jvp
def eigenpairs(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Eigenvalues, lowest first, and eigenvectors of a symmetric matrix.

    dλ = qᵀ dA q, dqⱼ = Σᵢ qᵢ (qᵢᵀ dA qⱼ)/(λⱼ − λᵢ); turns inside a space of equal eigenvalues (`CLOSE`) are left out,
    since they change nothing that does not depend on the choice of its basis.
    """
    values, vectors = jnp.linalg.eigh(matrix)
    return values, vectors


@eigenpairs.defjvp
def _eigenpairs_jvp(primals, tangents):
    values, vectors = jnp.linalg.eigh(primals[0])
    inner = vectors.T @ tangents[0] @ vectors
    gap = values[None, :] - values[:, None]
    apart = ~_are_close(values[None, :], values[:, None])
    turn = jnp.where(apart, inner / jnp.where(apart, gap, 1.0), 0.0)
    return (values, vectors), (jnp.diag(inner), vectors @ turn)


def _are_close(one: jax.Array, other: jax.Array) -> jax.Array:
    return jnp.abs(one - other) <= CLOSE * jnp.maximum(jnp.abs(one), jnp.abs(other))


def _matrices(problem: ModalProblem, free):
    structure = problem.unknowns.apply(problem.experiment, free).structure
    mass, _, stiffness = structure.model(()).initial_matrices()
    return mass, stiffness


def _eigen(mass, stiffness):
    """Eigenvalues (n,) and shapes (n, n) of unit modal mass."""
    lower = jnp.linalg.cholesky(mass)
    half = solve_triangular(lower, stiffness, lower=True)
    dynamic = solve_triangular(lower, half.T, lower=True)
    values, vectors = eigenpairs(0.5 * (dynamic + dynamic.T))
    return values, solve_triangular(lower.T, vectors, lower=False)


@eqx.filter_jit
def _modes_at(problem: ModalProblem, free):
    return _eigen(*_matrices(problem, free))


def _residuals(problem: ModalProblem, free: jax.Array, pairs: jax.Array) -> jax.Array:
    mass, stiffness = _matrices(problem, free)
    values, shapes = _eigen(mass, stiffness)
    seen = problem.rows @ shapes

    def of_mode(frequency, shape, whitening, pair):
        same = _are_close(values, values[pair])  # itself, and modes of the same frequency
        space = seen * same
        weights = jnp.linalg.solve(space.T @ space + jnp.diag(jnp.where(same, 1e-12, 1.0)), space.T @ shape)
        nearest = space @ weights  # of all shapes in that space the nearest to the measured one
        whole = jax.lax.stop_gradient(shapes @ weights)
        value = (whole @ stiffness @ whole) / (whole @ mass @ whole)  # dλ = φᵀ(dK − λ dM)φ: φ itself may stay
        found = jnp.sqrt(jnp.maximum(value, 1e-300)) / (2 * jnp.pi)
        along = nearest @ shape
        away = nearest / jnp.where(jnp.abs(along) > 1e-9, along, 1e-9) - shape
        return whitening @ jnp.concatenate([(found - frequency)[None], away])

    each = jax.vmap(of_mode, in_axes=(0, 1, 0, 0))(problem.frequencies, problem.shapes, problem.whitening, pairs)
    return jnp.concatenate([each.reshape(-1), problem.unknowns.prior_residual(free)])


@eqx.filter_jit
def residuals_and_slopes(problem: ModalProblem, free: jax.Array, pairs: jax.Array):
    """Residuals of all modes and of the priors for given pairs, and their derivatives with respect to φ."""

    def both(phi):
        r = _residuals(problem, phi, pairs)
        return r, r

    slopes, r = jax.jacfwd(both, has_aux=True)(free)
    return r, slopes
