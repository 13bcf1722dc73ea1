"""Identifiability: Fisher information, Cramér–Rao bounds, and combinations that the data cannot separate."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.moved import renamed_attribute
from vibrid.core.numbers import as_array
from vibrid.identification.levenberg import gauss_newton, prior_at
from vibrid.identification.places import kind_of

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem

WEAK = 0.5
"""A parameter (or combination) is called identifiable when its bound is below this share of its size."""


@dataclass(frozen=True)
class Identifiability:
    """Fisher information of the free variables φ, and the limits that follow from it.

    `bound` is the Cramér–Rao bound: the smallest standard deviation of any unbiased method, per unknown in its unit; it
    is infinite where the data carry no information.
    """

    names: tuple[str, ...]
    information: np.ndarray  # (p, p), free space
    bound: np.ndarray  # (p,), physical
    relative_bound: np.ndarray  # bound over the size of the value
    correlation: np.ndarray  # (p, p)
    inseparable: tuple[str, ...]  # combinations that the data cannot separate, in words
    faint = renamed_attribute("faint", "inseparable")

    @property
    def identifiable(self) -> np.ndarray:
        return self.relative_bound < WEAK

    def without(self, unseen: np.ndarray) -> Identifiability:
        """The limits where a mask of unknowns turned out to have none, beyond the neighbourhood of the estimate."""
        bounds = (np.where(unseen, np.inf, bound) for bound in (self.bound, self.relative_bound))
        return dataclasses.replace(self, bound=next(bounds), relative_bound=next(bounds))


def fisher_information(problem: Problem, free: Array, deviations: Array) -> np.ndarray:
    """Σ Jᵀ J / σ² over all samples, J = d(reading)/dφ through the whole simulation. Priors are not counted."""
    free = np.asarray(free)
    _, _, normal = gauss_newton(problem, free[None], deviations)
    _, prior = prior_at(problem, free)
    return np.asarray(normal)[0] - prior.T @ prior


def identifiability(problem: Problem, free: np.ndarray, deviations: np.ndarray, information=None) -> Identifiability:
    """The limits at θ(φ) when the sensors have the given noise; `information` (p, p) about φ where it is known."""
    information = fisher_information(problem, free, deviations) if information is None else np.array(information)
    slope = np.asarray(problem.unknowns.slope(as_array(free)))
    value = np.asarray(problem.unknowns.to_physical(as_array(free)))
    counts = problem.counts()
    for i, sensors in problem.unknowns.noise().items():  # n samples of white noise hold 2 n of information about ln σ
        information[i, i] += 2.0 * counts[list(sensors)].sum() * (slope[i] / value[i]) ** 2
    return describe_information(problem.unknowns, information, slope, value)


def describe_information(unknowns, information, slope, value) -> Identifiability:
    """Bounds, correlations and weakly identifiable combinations of an information matrix.

    Bounds are relative to the values; for offsets and initial states, which may be zero, to their scales where these
    are larger.
    """
    names, scale = unknowns.names, np.asarray(unknowns.scale)
    around = np.array([kind_of(places[0]).about_zero for places in unknowns.places], dtype=bool)
    size = np.where(value != 0, np.abs(value), scale)
    size = np.where(around, np.maximum(size, scale), size)
    terms = [
        f"{n}/({s:.2g} {u})" if z else f"ln({n})"
        for n, s, u, z in zip(names, size, unknowns.units, around, strict=True)
    ]
    relative = slope / size  # d ln θ / dφ
    per_log = information / np.outer(relative, relative)  # information about relative changes
    covariance, variances, directions = _inverse(per_log)
    deviation = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore"):
        correlation = covariance / np.outer(deviation, deviation)
    correlation = np.where(np.isfinite(correlation), correlation, np.eye(len(names)))
    inseparable = tuple(
        _in_words(terms, directions[:, i], float(np.sqrt(variances[i])))
        for i in np.argsort(-variances)
        if np.sqrt(variances[i]) > WEAK
    )
    return Identifiability(tuple(names), information, deviation * size, deviation, correlation, inseparable)


def _inverse(information: np.ndarray):
    """Covariance with infinite entries where the information vanishes; variances and directions of its axes."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    seen = values > 1e-12 * len(values)
    safe = np.where(seen, values, 1.0)
    inverse = ((vectors * np.where(seen, 1.0 / safe, 0.0)) @ vectors.T) / np.outer(scale, scale)
    blind = (vectors[:, ~seen] ** 2).sum(axis=1) > 1e-6
    covariance = inverse.copy()
    covariance[blind, :] = covariance[:, blind] = 0.0
    covariance[blind, blind] = np.inf
    raw_values, raw_vectors = np.linalg.eigh(information)
    variances = np.where(raw_values > 1e-14 * raw_values.max(), 1.0 / np.maximum(raw_values, 1e-300), np.inf)
    return covariance, variances, raw_vectors


def _in_words(terms, direction: np.ndarray, deviation: float) -> str:
    """`0.71 ln(k1) − 0.70 ln(c1)`: the combination and its uncertainty."""
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    order = [i for i in np.argsort(-np.abs(direction)) if abs(direction[i]) > 0.1]
    text = ""
    for i in order:
        sign = ("" if direction[i] > 0 else "−") if not text else (" + " if direction[i] > 0 else " − ")
        text += f"{sign}{abs(direction[i]):.2f} {terms[i]}"
    known = "not at all" if not np.isfinite(deviation) or deviation > 1e3 else f"only to ± {100 * deviation:.0f} %"
    return f"{text} is known {known}"
