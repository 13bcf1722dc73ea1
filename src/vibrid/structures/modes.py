"""Modes: natural frequencies, shapes, damping ratios and how much mass moves with each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jax.scipy.linalg import solve_triangular

from vibrid.core import native
from vibrid.core.arguments import checked
from vibrid.core.attached import attached
from vibrid.core.errors import InputError
from vibrid.core.shown import InNotebooks
from vibrid.structures.base import Structure
from vibrid.structures.lanczos import factor
from vibrid.structures.modal_bulk import LinearBulk, uncoupled
from vibrid.structures.sparse import SparseMatrices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LARGE = 500
"""Degrees of freedom from which few modes are found by Lanczos iterations."""
_MOST_SHOWN = 20
"""Modes that are printed."""


@dataclass(frozen=True, eq=False)
class Modes(InNotebooks, ABC):
    """Modes, lowest first: computed (`StructureModes`) or measured (`vibrid.modal.MeasuredModes`).

    Both are compared, paired (`pair_modes`) and drawn by the same functions.

    Fields
        frequencies: (k,) Hz, undamped.
        ratios: (k,) share of critical damping.
        shapes: (n, k), real.
        poles: (k,) 1/s, −ζω + iω√(1 − ζ²).
        complex_shapes: (n, k) complex, where they are; None where shapes are real (classical damping).
    """

    frequencies: np.ndarray
    ratios: np.ndarray
    shapes: np.ndarray
    poles: np.ndarray
    complex_shapes: np.ndarray | None

    def __len__(self) -> int:
        return len(self.frequencies)

    @property
    def periods(self) -> np.ndarray:
        """(k,) s; infinite for a rigid-body motion."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.frequencies

    @property
    def is_classical(self) -> bool:
        """Whether damping leaves the undamped shapes as they are."""
        return self.complex_shapes is None

    @property
    @abstractmethod
    def places(self) -> tuple[str, ...]:
        """Names of places where the motion of the modes is known."""

    @abstractmethod
    def at(self, place: str) -> np.ndarray:
        """(k,) motion of a place in each mode."""

    @attached
    def plot(self, other: Modes | None = None) -> Figure:
        """Draw the shapes, those of other modes beside them; returns the figure."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class StructureModes(Modes):
    """The modes of a structure about rest; printing them gives a table.

    Fields, beside those of `Modes`
        shapes: (n, k), scaled to unit modal mass: φᵀ M φ = 1.
        structure: the structure of these modes.
        participation: (k,) Γ = φᵀ M r for the direction of ground motion; √kg with this scaling.
        effective_mass: (k,) kg, Γ²: the mass that moves with each mode.
        moving_mass: kg, the sum over all modes, those not listed included.
    """

    structure: Structure
    participation: np.ndarray
    effective_mass: np.ndarray
    moving_mass: float

    @property
    def places(self) -> tuple[str, ...]:
        return self.structure.places()

    def at(self, place: str) -> np.ndarray:
        return self.structure.row(place) @ self.shapes

    def __repr__(self) -> str:
        share = np.zeros(len(self)) if self.moving_mass == 0 else 100 * self.effective_mass / self.moving_mass
        lines = [
            "mode  frequency   period     damping  participation  effective mass      sum",
            "             Hz        s           %            √kg       kg        %        %",
        ]
        columns = zip(
            self.frequencies,
            self.periods,
            100 * self.ratios,
            self.participation,
            self.effective_mass,
            share,
            np.cumsum(share),
            strict=True,
        )
        for i, (f, period, ratio, gamma, mass, part, total) in enumerate(islice(columns, _MOST_SHOWN), 1):
            lines.append(
                f"{i:4d} {f:10.4g} {period:8.4g} {ratio:11.4g} {gamma:14.4g} {mass:8.4g} {part:8.2f} {total:8.2f}"
            )
        if len(self) > _MOST_SHOWN:
            lines.append(f"   … and {len(self) - _MOST_SHOWN} more modes")
        if not self.is_classical:
            lines.append("Damping couples the modes: ratios are those of the complex modes.")
        return "\n".join(lines)


@checked
def modes(structure: Structure, count: int | None = None, direction: str = "") -> StructureModes:
    """The modes of small motions about rest, every law (attachments too) replaced by its first slope.

    Arguments
        structure: any structure.
        count: how many, lowest first; all by default. Few of a structure of 500 degrees of freedom or more are found by
            Lanczos iterations, without the others.
        direction: of the ground motion for participation and effective mass; the structure's own by default.

    Where damping is classical, ζ = φᵀ C φ / 2ω. Where it couples the modes, the ratios come from the complex
    eigenvalues of the damped structure, each pair given to the undamped mode it resembles most; a mode damped beyond
    oscillation keeps φᵀ C φ / 2ω.

    Example
        >>> modes(ShearBuilding(masses=[1, 1], storeys=[Linear(40)] * 2, damping=Modal(0.02)))
    """
    size = structure.size
    if count is not None and count < size and (isinstance(structure, SparseMatrices) or count < size // 10):
        few = _few_modes(structure, count, direction)
        if few is not None:
            return few
    mass, damping, stiffness, inertia = (np.asarray(a) for a in _about_rest(structure, direction))
    n = len(mass)
    count = n if count is None else count
    if not 1 <= count <= n:
        raise InputError(f"A structure of {n} degrees of freedom has 1 to {n} modes, not {count}.")
    values, shapes = _undamped(mass, stiffness)
    omega = np.sqrt(np.maximum(values, 0.0))
    shapes = shapes * np.where(shapes[np.abs(shapes).argmax(axis=0), np.arange(n)] < 0, -1.0, 1.0)
    modal = shapes.T @ damping @ shapes
    ratios = np.diag(modal) / np.where(omega > 0, 2 * omega, np.inf)
    poles = omega * (-ratios + 1j * np.sqrt(np.maximum(1 - ratios**2, 0.0)))
    complex_shapes = None
    if not uncoupled(modal, values):
        ratios, poles, modal_shapes = _complex_modes(omega, modal, ratios, poles)
        complex_shapes = (shapes @ modal_shapes)[:, :count]
    participation = shapes.T @ inertia
    return StructureModes(
        frequencies=omega[:count] / (2 * np.pi),
        ratios=ratios[:count],
        shapes=shapes[:, :count],
        poles=poles[:count],
        complex_shapes=complex_shapes,
        structure=structure,
        participation=participation[:count],
        effective_mass=participation[:count] ** 2,
        moving_mass=float(np.sum(participation**2)),
    )


def _undamped(mass: np.ndarray, stiffness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ω² and shapes φ of `K φ = ω² M φ`, with φᵀ M φ = 1."""
    masses = np.diag(mass)
    simple = np.array_equal(mass, np.diag(masses)) and (masses > 0.0).all() and np.isfinite(stiffness).all()
    if simple:  # x = √M φ is an ordinary problem
        root = np.sqrt(masses)
        values, turned = np.linalg.eigh(stiffness / np.outer(root, root))
        return values, turned / root[:, None]
    return scipy.linalg.eigh(stiffness, mass)


def _few_modes(structure: Structure, count: int, direction: str) -> StructureModes | None:
    """The lowest modes by Lanczos iterations; None where damping couples them, or where the structure is small."""
    if structure.size < _LARGE:
        return None
    bulk = LinearBulk(structure, (("ground_acceleration", direction),))
    values, shapes = bulk.modes(count)
    rates = bulk.rates(values, shapes)
    if rates is None:
        return None
    omega, inertia = np.sqrt(np.maximum(values, 0.0)), -bulk.load[:, 0]
    ratios = rates / np.where(omega > 0, 2 * omega, np.inf)
    participation = shapes.T @ inertia
    return StructureModes(
        frequencies=omega / (2 * np.pi),
        ratios=ratios,
        shapes=shapes,
        poles=omega * (-ratios + 1j * np.sqrt(np.maximum(1 - ratios**2, 0.0))),
        complex_shapes=None,
        structure=structure,
        participation=participation,
        effective_mass=participation**2,
        moving_mass=float(inertia @ factor(bulk.mass).solve(inertia)),
    )


@native.jit
def _about_rest(structure, direction):
    """M, C, K and M r."""
    model = structure.model((("ground_acceleration", direction),))
    return (*model.initial_matrices(), -model.load_matrix[:, 0])


def _complex_modes(omega, modal, ratios, poles):
    """Ratios, poles and shapes (in undamped modes, by columns) of `q̈ + D q̇ + Ω² q = 0`, by undamped mode.

    Solved for (Ω q, q̇), whose matrix [[0, Ω], [−Ω, −D]] is well scaled.
    """
    n = len(omega)
    rates, vectors = np.linalg.eig(np.block([[np.zeros((n, n)), np.diag(omega)], [-np.diag(omega), -modal]]))
    swinging = np.imag(rates) > 1e-9 * np.abs(rates).max()
    rates, q = rates[swinging], vectors[n:, swinging] / rates[swinging]
    weight = np.abs(q * omega[:, None]) ** 2
    weight = weight / weight.sum(axis=0)
    mode, pair = weight.argmax(axis=0), np.arange(weight.shape[1])
    if len(np.unique(mode)) < len(mode):
        mode, pair = scipy.optimize.linear_sum_assignment(weight, maximize=True)
    ratios, poles, shapes = ratios.copy(), poles.copy(), np.eye(n, dtype=complex)
    poles[mode] = rates[pair]
    ratios[mode] = -np.real(rates[pair]) / np.abs(rates[pair])
    shapes[:, mode] = q[:, pair] / q[mode, pair]
    return ratios, poles, shapes


@jax.custom_jvp
def eigenvalues(matrix: jax.Array) -> jax.Array:
    """Eigenvalues of a symmetric matrix, lowest first; `dλ = qᵀ dA q`, finite where eigenvalues repeat."""
    return jnp.linalg.eigh(matrix)[0]


@eigenvalues.defjvp
def _eigenvalues_jvp(primals, tangents):
    values, vectors = jnp.linalg.eigh(primals[0])
    return values, jnp.einsum("ki,kl,li->i", vectors, tangents[0], vectors)


def natural_frequencies(mass: jax.Array, stiffness: jax.Array) -> jax.Array:
    """(n,) Hz from M (n, n) and K (n, n), lowest first, to be differentiated: `jax.jacfwd` and `jax.grad` stay finite.

    Where frequencies repeat, a derivative belongs to one choice of shapes; the sum over the repeated ones does not.
    """
    lower = jnp.linalg.cholesky(mass)
    half = solve_triangular(lower, stiffness, lower=True)
    dynamic = solve_triangular(lower, half.T, lower=True)
    values = eigenvalues(0.5 * (dynamic + dynamic.T))
    moving = values > 0
    return jnp.where(moving, jnp.sqrt(jnp.where(moving, values, 1.0)), 0.0) / (2 * jnp.pi)
