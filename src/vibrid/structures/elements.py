"""Elements with two ends: bars and Euler–Bernoulli beams, all elements of a structure at once.

Geometry is fixed, so these are NumPy arrays for unit properties, (elements, d, d); a structure multiplies them by its
EA, EI and ρA and assembles. A plane beam element has the local degrees of freedom (u₁, v₁, θ₁, u₂, v₂, θ₂): along the
axis, across it, rotation; `s` runs from 0 to 1 between its ends.

    v(s) = (1 − 3s² + 2s³) v₁ + L(s − 2s² + s³) θ₁ + (3s² − 2s³) v₂ + L(s³ − s²) θ₂      (Hermite)

Source: J. S. Przemieniecki, Theory of Matrix Structural Analysis, 1968, chapters 5 and 11.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

AXIAL, LATERAL = [0, 3], [1, 2, 4, 5]


def _place(block: np.ndarray, where: list[int], size: int = 6) -> np.ndarray:
    out = np.zeros((*block.shape[:-2], size, size))
    out[..., np.array(where)[:, None], where] = block
    return out


def _with_lengths(pattern, length: np.ndarray) -> np.ndarray:
    """A pattern for L = 1 with every rotation multiplied by L."""
    scale = np.stack([np.ones_like(length), length, np.ones_like(length), length], axis=-1)
    return np.asarray(pattern, float) * scale[:, :, None] * scale[:, None, :]


def axial_stiffness(length: np.ndarray) -> np.ndarray:
    """Stiffness of plane beam elements along their axes for EA = 1."""
    return _place(np.array([[1.0, -1.0], [-1.0, 1.0]]) / length[:, None, None], AXIAL)


def bending_stiffness(length: np.ndarray) -> np.ndarray:
    """Stiffness of plane beam elements across their axes for EI = 1."""
    pattern = [[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]]
    return _place(_with_lengths(pattern, length) / length[:, None, None] ** 3, LATERAL)


def beam_mass(length: np.ndarray, lumped: bool = False) -> np.ndarray:
    """Mass of plane beam elements for ρA = 1, rotary inertia of the section neglected.

    Lumped: half the mass at each end and the rotary inertia m L²/78 of Hinton, Rock and Zienkiewicz (1976), which keeps
    the consistent diagonal in proportion, so that no degree of freedom is without mass.
    """
    m = length[:, None, None]
    if lumped:
        across = np.diag([1 / 2, 1 / 78, 1 / 2, 1 / 78])
        along = np.diag([1 / 2, 1 / 2])
    else:
        across = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]]) / 420
        along = np.array([[2, 1], [1, 2]]) / 6
    return m * (_place(along, AXIAL) + _place(_with_lengths(across, length), LATERAL))


def beam_rotation(direction: np.ndarray) -> np.ndarray:
    """(elements, 6, 6): local motion from motion in the plane, for unit vectors along the axes (elements, 2)."""
    c, s = direction[:, 0], direction[:, 1]
    half = np.zeros((len(direction), 3, 3))
    half[:, 0, 0], half[:, 0, 1], half[:, 1, 0], half[:, 1, 1], half[:, 2, 2] = c, s, -s, c, 1.0
    out = np.zeros((len(direction), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = half
    return out


def beam_shapes(s: Any, length) -> np.ndarray:
    """(…, 3, 6): u, v and θ at fractions `s` of elements of the given lengths from their local motion."""
    s, length = np.broadcast_arrays(np.asarray(s, float), np.asarray(length, float))
    out = np.zeros((*s.shape, 3, 6))
    out[..., 0, 0], out[..., 0, 3] = 1 - s, s
    out[..., 1, 1], out[..., 1, 4] = 1 - 3 * s**2 + 2 * s**3, 3 * s**2 - 2 * s**3
    out[..., 1, 2], out[..., 1, 5] = length * (s - 2 * s**2 + s**3), length * (s**3 - s**2)
    out[..., 2, 1], out[..., 2, 4] = -6 * (s - s**2) / length, 6 * (s - s**2) / length
    out[..., 2, 2], out[..., 2, 5] = 1 - 4 * s + 3 * s**2, 3 * s**2 - 2 * s
    return out


def beam_strains(s: float, length: float) -> np.ndarray:
    """(3, 6): u′, v″ and v‴ at a fraction `s` of one element from its local motion."""
    out = np.zeros((3, 6))
    out[0, [0, 3]] = -1 / length, 1 / length
    out[1, LATERAL] = (12 * s - 6) / length**2, (6 * s - 4) / length, (6 - 12 * s) / length**2, (6 * s - 2) / length
    out[2, LATERAL] = 12 / length**3, 6 / length**2, -12 / length**3, 6 / length**2
    return out


def bar_stiffness(direction: np.ndarray, length: np.ndarray) -> np.ndarray:
    """(elements, 2k, 2k): stiffness of bars in k dimensions for EA = 1."""
    row = np.concatenate([-direction, direction], axis=1)
    return row[:, :, None] * row[:, None, :] / length[:, None, None]


def bar_mass(dimension: int, length: np.ndarray, lumped: bool = False) -> np.ndarray:
    """(elements, 2k, 2k): mass of bars for ρA = 1, the same in every direction."""
    pattern = np.eye(2) / 2 if lumped else np.array([[2, 1], [1, 2]]) / 6
    return length[:, None, None] * np.kron(pattern, np.eye(dimension))


def assemble(size: int, dofs: np.ndarray, *terms):
    """Σ over elements of `factor · unit matrix`, added into (size, size).

    `dofs` (elements, d) are the places of each element's degrees of freedom; each term is (factor, unit): factors are
    traced scalars or one value an element, unit matrices (elements, d, d) are constants.
    """
    blocks = sum(jnp.broadcast_to(factor, dofs.shape[:1])[:, None, None] * unit for factor, unit in terms)
    return jnp.zeros((size, size)).at[dofs[:, :, None], dofs[:, None, :]].add(blocks)
