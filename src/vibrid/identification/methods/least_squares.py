"""LeastSquares and SparseRegression: linear regression on the equations of motion at the measured motion."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.errors import require
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import conclude
from vibrid.identification.method import METHODS, SETTINGS, Method
from vibrid.identification.problem import Problem
from vibrid.identification.regression import regression

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification


def _scatter(a: np.ndarray, b: np.ndarray, theta: np.ndarray, kept) -> float:
    """Variance of the residuals of a regression."""
    return float(np.sum((a @ theta - b) ** 2) / max(len(b) - len(kept), 1))


def _free_covariance(problem: Problem, free, a: np.ndarray, scatter: float, kept) -> np.ndarray:
    """Covariance of the kept terms of a regression as free variables, for residuals of variance `scatter`."""
    slope = np.asarray(problem.unknowns.slope(jnp.asarray(free)))[kept]
    root = np.linalg.pinv(a[:, kept])
    return scatter * root @ root.T / np.outer(slope, slope)


def _prior_rows(problem: Problem, scatter: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows and right sides of the priors, weighted for equations with residuals of variance `scatter`."""
    u = problem.unknowns
    given = np.flatnonzero(np.isfinite(u.prior_mean))
    weight = np.sqrt(scatter) / np.asarray(u.prior_deviation)[given]
    return weight[:, None] * np.eye(len(u))[given], weight * np.asarray(u.prior_mean)[given]


@METHODS.register("least-squares")
class LeastSquares(Method):
    """Constrained linear least squares on `M a + f(x, v; θ) = L u` with x, v, a measured.

    Takes a fraction of a second and needs no first guess, where every degree of freedom is measured and the unknowns
    enter linearly. Noise in the measured motion biases it: the more noise, the smaller the stiffness.
    """

    abilities: ClassVar[frozenset[str]] = frozenset(
        {"latent states", "path laws", "several records", "different loads", "priors"}
    )
    independent_of: ClassVar[frozenset[str]] = frozenset(SETTINGS)  # it uses only values at the samples

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        started = time.perf_counter()
        a, b = regression(problem)
        u = problem.unknowns
        low = np.where(np.isfinite(u.low), u.low, -np.inf)
        high = np.where(np.isfinite(u.high), u.high, np.inf)
        size = np.linalg.norm(a, axis=0)
        scale = np.where(size > 0.0, size, 1.0)  # 1 for an unknown without any force

        def solved(rows, sides):
            bounds = (low * scale, high * scale)
            return scipy.optimize.lsq_linear(rows / scale, sides, bounds, lsq_solver="exact").x / scale

        theta, every = solved(a, b), np.arange(len(scale))
        rows, scatter = a, _scatter(a, b, theta, every)
        prior_rows, sides = _prior_rows(problem, scatter)
        if len(sides):
            rows = np.concatenate([a, prior_rows])
            theta = solved(rows, np.concatenate([b, sides]))
        free = u.to_free(theta)
        left = float(np.sqrt(np.mean((a @ theta - b) ** 2)))
        warning = (
            (
                f"The residual of the equations of motion is {100 * left:.2g} % of the inertia force: noise in the "
                "measured motion biases this estimate; TrajectoryFit does not have this bias.",
            )
            if left > 0.01
            else ()
        )
        return conclude(
            problem,
            self,
            free,
            started=started,
            covariance=_free_covariance(problem, free, rows, scatter, every),
            warnings=warning,
            convergence={"unbalance": left, "condition": float(np.linalg.cond(a / scale))},
            seed=key,
        )


@METHODS.register("sparse")
class SparseRegression(Method):
    """Sequentially thresholded least squares (pysindy's STLSQ): keeps the candidate terms that contribute to the force.

    Name every candidate as an unknown; terms whose share of the total force is below `threshold` are set to zero.

    Arguments
        threshold: smallest share of the force for a term to be kept.
        ridge: weight of the ridge penalty inside STLSQ.
    """

    threshold: float = eqx.field(static=True, default=0.02)
    ridge: float = eqx.field(static=True, default=1e-6)
    abilities: ClassVar[frozenset[str]] = frozenset(
        {"latent states", "path laws", "several records", "different loads"}
    )
    independent_of: ClassVar[frozenset[str]] = frozenset(SETTINGS)  # it uses only values at the samples

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        started = time.perf_counter()
        pysindy = require("pysindy", "sparse", "SparseRegression")
        a, b = regression(problem)
        scale = np.linalg.norm(a, axis=0) / np.linalg.norm(b) + 1e-300
        optimiser = pysindy.STLSQ(threshold=self.threshold, alpha=self.ridge)
        optimiser.fit(a / scale, b[:, None])
        theta = np.ravel(optimiser.coef_) / scale
        free = problem.unknowns.to_free(theta)
        kept = np.flatnonzero(theta)
        covariance = np.zeros((len(theta),) * 2)
        covariance[np.ix_(kept, kept)] = _free_covariance(problem, free, a, _scatter(a, b, theta, kept), kept)
        dropped = [n for i, n in enumerate(problem.unknowns.names) if i not in kept]
        warning = (
            f"Set to zero, because their share of the force is below {100 * self.threshold:g} %: {', '.join(dropped)}.",
        )
        return conclude(
            problem,
            self,
            free,
            started=started,
            covariance=covariance,
            warnings=warning if dropped else (),
            convergence={"terms": len(kept)},
            seed=key,
        )
