"""Distributions of uncertain parameters, and draws from several of them that may be correlated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from vibrid.core.arguments import Numbers, checked
from vibrid.core.errors import InputError, unknown_name

SAMPLINGS = ("latin-hypercube", "sobol", "random")


class Distribution:
    """Base of distributions: `quantile` turns probabilities into values."""

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@checked
@dataclass(frozen=True)
class Gaussian(Distribution):
    """A normal distribution.

    Arguments
        mean: in the unit of the parameter.
        deviation: standard deviation, in the same unit.
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        _positive("deviation", self.deviation)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return self.mean + self.deviation * scipy.special.ndtri(probability)


@checked
@dataclass(frozen=True)
class LogNormal(Distribution):
    """A lognormal distribution: for what is always positive.

    Arguments
        median: in the unit of the parameter.
        dispersion: standard deviation of the natural logarithm.
    """

    median: float
    dispersion: float

    def __post_init__(self) -> None:
        _positive("median", self.median)
        _positive("dispersion", self.dispersion)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return self.median * np.exp(self.dispersion * scipy.special.ndtri(probability))


@checked
@dataclass(frozen=True)
class Uniform(Distribution):
    """Every value between two limits is equally likely.

    Arguments
        low, high: the limits, in the unit of the parameter.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise InputError(f"A uniform distribution rises from its lower limit, not from {self.low} to {self.high}.")

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return self.low + (self.high - self.low) * probability


def _positive(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise InputError(f"The {name} of a distribution must be positive, not {value}.")


def draws(
    distributions: Sequence[Distribution],
    count: int,
    sampling: str = "latin-hypercube",
    correlation: Numbers | None = None,
    key: int = 0,
) -> np.ndarray:
    """(count, distributions): values drawn from all of them together; the same key gives the same values.

    `correlation` is that of the underlying normal variables (a Gaussian copula): that of the values themselves for
    normal distributions, that of their logarithms for lognormal ones. Correlated draws of a Latin hypercube are no
    longer one to a stratum in every parameter but the first.
    """
    if sampling not in SAMPLINGS:
        raise unknown_name("sampling", sampling, SAMPLINGS)
    size, generator = len(distributions), np.random.default_rng(key)
    if sampling == "random":
        u = generator.random((count, size))
    elif sampling == "sobol":
        if count & (count - 1):
            raise InputError(f"A Sobol sequence is balanced for a power of two: {_powers(count)} samples, not {count}.")
        u = scipy.stats.qmc.Sobol(size, rng=generator).random(count)
    else:
        u = scipy.stats.qmc.LatinHypercube(size, rng=generator).random(count)
    u = np.clip(u, 1e-12, 1 - 1e-12)
    if correlation is not None:
        u = scipy.special.ndtr(scipy.special.ndtri(u) @ _root(correlation, size).T)
    return np.stack([d.quantile(u[:, i]) for i, d in enumerate(distributions)], axis=1)


def _powers(count: int) -> str:
    below = 1 << (count.bit_length() - 1)
    return f"{below} or {2 * below}"


def _root(correlation: Numbers, size: int) -> np.ndarray:
    """The lower triangular factor of a matrix of correlations."""
    matrix = np.asarray(correlation, float)
    if matrix.shape != (size, size):
        raise InputError(f"The correlations of {size} parameters are a matrix of {size} × {size}, not {matrix.shape}.")
    if not (np.allclose(matrix, matrix.T) and np.allclose(np.diag(matrix), 1.0)):
        raise InputError("A matrix of correlations is symmetric and has ones on its diagonal.")
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise InputError("These correlations contradict each other: their matrix is not positive definite.") from None
