"""What is followed from window to window: the modes of a reference, or the parameters of a structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.errors import InputError
from vibrid.identification.conclude import covariance_of
from vibrid.identification.levenberg import descend
from vibrid.identification.modal_problem import ModalProblem, make_modal_problem, residuals_and_slopes
from vibrid.identification.unknowns import Unknowns
from vibrid.modal.measured import MeasuredModes, measured_modes
from vibrid.structures.base import Structure
from vibrid.structures.modes import StructureModes, modes
from vibrid.structures.pairing import mac, pair_cost

_ALIKE = 0.6  # MAC below which two modes are not the same
_NEAR = 0.3  # |ln of the ratio of frequencies| above which they are not
_NEAR_OF_A_STRUCTURE = 0.6  # the same where a structure is fitted: a wrong pair shows as a misfit
_APART = 5.0  # widths of a peak beyond which a neighbour adds next to nothing: 1/26 of its shape
_MOST_MODES = 16
_ITERATIONS = 120  # close modes turn into each other slowly
_MOST_ROUNDS = 4
_EXACT = 1e-9  # cost at which modes are met to rounding


class Followed(Protocol):
    """Turns the modes of a window into positive quantities that stay the same while the structure does."""

    names: tuple[str, ...]
    units: tuple[str, ...]

    def estimate(self, found: MeasuredModes) -> tuple[np.ndarray, np.ndarray]:
        """(q,) values and standard deviations; NaN where the window gives none."""
        ...

    def sensitivity(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """(q, p) ∂ ln y/∂ ln θ and the names of the parameters θ; none where no structure is known."""
        ...


class FollowedModes:
    """The frequencies of the modes of a reference, recognised by shape and frequency.

    Arguments
        frequencies: (k,) Hz; shapes: (places, k); places: where shapes are known.
    """

    def __init__(self, frequencies: np.ndarray, shapes: np.ndarray, places: Sequence[str]):
        self.frequencies, self.shapes, self.places = np.asarray(frequencies), np.asarray(shapes), tuple(places)
        self.names = tuple(f"mode {i + 1}" for i in range(len(self.frequencies)))
        self.units = ("Hz",) * len(self.names)

    @classmethod
    def of(cls, found: MeasuredModes) -> FollowedModes:
        """Those of a first window."""
        return cls(found.frequencies, found.shapes, found.places)

    def estimate(self, found: MeasuredModes) -> tuple[np.ndarray, np.ndarray]:
        values, deviations = np.full((2, len(self.names)), np.nan)
        for i, j in _pairs(found, self.frequencies, self.shapes, self.places):
            values[j], deviations[j] = found.frequencies[i], found.frequency_deviations[i]
        return values, deviations

    def sensitivity(self) -> tuple[np.ndarray, tuple[str, ...]]:
        return np.zeros((len(self.names), 0)), ()


class FollowedParameters:
    """The unknowns of a structure, fitted to the modes of each window from the same first guess.

    Arguments
        structure: as it is thought to be when sound; its modes are recognised by shape and frequency.
        unknown: paths, as for `vibrid.identify`; positive ones.
        model_error: share by which a right model may miss a frequency; ten times this for shapes of unit length. It
            keeps the weights of the modes alike in all windows.
    """

    def __init__(self, structure: Structure, unknown: Unknowns, model_error: float = 0.002):
        if not model_error >= 0:
            raise InputError(f"The error of a model is a share, 0 or more, not {model_error}.")
        self.structure, self.unknown, self.error = structure, unknown, float(model_error)
        self._modes = modes(structure)
        unknowns = make_modal_problem(structure, _plain(self._modes, 1), unknown, 1.0, 1.0).unknowns
        if np.any(np.asarray(unknowns.start) <= 0):
            raise InputError("Only positive parameters are followed: stiffnesses and masses, for instance.")
        self.names, self.units = unknowns.names, unknowns.units

    def estimate(self, found: MeasuredModes) -> tuple[np.ndarray, np.ndarray]:
        """The values of a window; modes are recognised again by those of the fitted structure, until no more are."""
        frequencies, shapes = self._modes.frequencies, np.stack([self._modes.at(place) for place in found.places])
        values = deviations = np.full(len(self.names), np.nan)
        chosen: list[int] = []
        for _ in range(_MOST_ROUNDS):
            pairs = _pairs(found, frequencies, shapes, found.places, _NEAR_OF_A_STRUCTURE)
            pairs = sorted(pairs, key=lambda pair: pair[1])[: min(len(self._modes), _MOST_MODES)]
            if len(pairs) <= len(chosen):
                break
            chosen = [i for i, _ in pairs]
            taken = found.only(chosen)
            mixed = _mixed_with_neighbours(taken, [j for _, j in pairs], frequencies, shapes)
            made = self._fitted(taken, mixed)
            if made is None:  # what fewer modes gave stays
                break
            values, deviations, modes_there = made
            if len(chosen) == len(found):
                break
            frequencies, shapes = modes_there
        return values, deviations

    def _fitted(self, found: MeasuredModes, mixed: np.ndarray):
        """Values and deviations from measured modes, and the modes of the structure there; None without a fit."""
        size = min(len(self._modes), _MOST_MODES)
        made = make_modal_problem(self.structure, found, self.unknown, self.error, 10 * self.error, mixed)
        problem = _padded(made, size).boxed()
        assert isinstance(problem, ModalProblem)
        descent = descend(
            problem,
            np.asarray(problem.start)[None],
            None,
            evaluate=lambda free: _normal_equations(problem, free, len(found)),
            iterations=_ITERATIONS,
        )
        free, held = jnp.asarray(descent.free[0]), descent.side[0] != 0
        if not (descent.converged[0] or descent.cost[0] < _EXACT):
            return None
        covariance = covariance_of(descent.normal[0], held)
        values, slope = (np.asarray(part(free)) for part in (problem.unknowns.to_physical, problem.unknowns.slope))
        deviations = np.abs(slope) * np.sqrt(np.diag(covariance))
        free_enough = (deviations < values) & ~held
        kept = (np.where(free_enough, part, np.nan) for part in (values, deviations))
        return *kept, problem.modes_at(free)

    def sensitivity(self) -> tuple[np.ndarray, tuple[str, ...]]:
        return np.eye(len(self.names)), self.names


def frequency_sensitivity(structure: Structure, unknown: Unknowns, count: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """(count, p) ∂ ln f/∂ ln θ of the lowest modes of a structure, and the names of θ."""
    computed = modes(structure)
    k = min(count, len(computed))
    problem = make_modal_problem(structure, _plain(computed, k), unknown, 1.0, 1.0)
    u, free = problem.unknowns, jnp.asarray(problem.start)
    values = np.asarray(u.to_physical(free))
    slope = np.asarray(u.slope(free))
    _, slopes = residuals_and_slopes(problem, free, jnp.arange(k))
    size, whitening = problem.whitening.shape[1], np.asarray(problem.whitening)
    rows = np.asarray(slopes)[: k * size].reshape(k, size, -1)
    frequency = np.stack([np.linalg.pinv(whitening[i])[0] @ rows[i] for i in range(k)])
    return frequency / computed.frequencies[:k, None] * (values / slope)[None, :], u.names


def _pairs(
    found: MeasuredModes, frequencies, shapes: np.ndarray, places: Sequence[str], near: float = _NEAR
) -> list[tuple[int, int]]:
    """(measured, reference) modes that are the same."""
    common = [place for place in places if place in found.places]
    if len(common) < 2:
        raise InputError("Modes are recognised by their shapes: at least two places of the reference must be measured.")
    own = np.stack([found.at(place) for place in common])
    other = shapes[[list(places).index(place) for place in common]]
    alike = mac(own, other)
    away = np.abs(np.log(found.frequencies[:, None] / np.asarray(frequencies)[None, :]))
    cost = pair_cost(alike, found.frequencies, frequencies)
    rows, columns = scipy.optimize.linear_sum_assignment(cost)
    return [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if alike[i, j] > _ALIKE and away[i, j] < near]


def _mixed_with_neighbours(
    found: MeasuredModes, own: list[int], frequencies: np.ndarray, shapes: np.ndarray
) -> np.ndarray:
    """(k, 1 + places, 1 + places) covariance of what its neighbours may add to each measured mode.

    Where two modes are closer than the width of their peaks, b = ζ f, a record tells the space of both shapes and
    hardly each of them, and may show one mode instead of two. A share s = b²/(b² + Δf²) of a neighbour at a distance Δf
    may be in a shape, less where the neighbour hardly moves the places, and then moves the frequency by
    s²/(1 + s²) Δf. Modes that are further apart are left as they are.

    Arguments
        own: the mode of the structure that each is; frequencies, shapes: (n,) Hz and (places, n) of the structure.
    """
    frequencies, size, made = np.asarray(frequencies), np.linalg.norm(shapes, axis=0), []
    for width, j in zip(found.ratios * found.frequencies, own, strict=True):
        near = np.abs(frequencies - frequencies[j]) < _APART * width
        others = np.flatnonzero(near & (np.arange(len(frequencies)) != j))
        away = frequencies[others] - frequencies[j]
        share = width**2 / (width**2 + away**2) * np.minimum(size[others] / size[j], 1.0)
        unit = shapes[:, others] / np.maximum(size[others], 1e-300)
        moved = np.concatenate([[share**2 / (1 + share**2) * away], share * unit])
        made.append(moved @ moved.T)
    return np.stack(made)


def _plain(computed: StructureModes, count: int) -> MeasuredModes:
    """The lowest modes of a structure, at all of its places, as if they were measured."""
    structure = computed.structure
    places = computed.places or getattr(structure, "names", ()) or tuple(map(str, range(structure.size)))  # matrices
    shapes = np.stack([computed.at(place)[:count] for place in places])
    return measured_modes(computed.frequencies[:count], shapes, places)


def _padded(problem: ModalProblem, size: int) -> ModalProblem:
    """The problem with modes of no weight added, so that all windows share one compiled program."""
    missing = size - len(problem.frequencies)
    if missing <= 0:
        return problem
    l = problem.shapes.shape[0]
    more = (
        jnp.concatenate([problem.frequencies, jnp.ones(missing)]),
        jnp.concatenate([problem.shapes, jnp.full((l, missing), l**-0.5)], axis=1),
        jnp.concatenate([problem.whitening, jnp.zeros((missing, 1 + l, 1 + l))]),
    )
    return eqx.tree_at(lambda p: (p.frequencies, p.shapes, p.whitening), problem, more)


def _normal_equations(problem: ModalProblem, free: np.ndarray, known: int):
    """Cost, gradient and Gauss–Newton matrix at each row of `free`; only the first `known` modes are paired."""
    sums = []
    for phi in free:
        frequencies, shapes = problem.modes_at(phi)
        pairs = np.zeros(len(problem.frequencies), int)
        if np.isfinite(frequencies).all() and np.isfinite(shapes).all():
            own = np.asarray(problem.shapes)[:, :known]
            cost = pair_cost(mac(own, shapes), np.asarray(problem.frequencies)[:known], frequencies)
            pairs[:known] = scipy.optimize.linear_sum_assignment(cost)[1]
        r, j = (np.asarray(part) for part in residuals_and_slopes(problem, jnp.asarray(phi), jnp.asarray(pairs)))
        sums.append((0.5 * r @ r, j.T @ r, j.T @ j))
    return tuple(np.stack(part) for part in zip(*sums, strict=True))
