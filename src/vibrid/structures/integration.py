"""Positions of the sections of a member, and the length that each represents."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError

HINGES = "hinge-radau"
RULES = (HINGES, "gauss-lobatto", "gauss-legendre")


def gauss_legendre(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Places in [0, 1] and weights, exact for polynomials of degree 2n − 1; no section at the ends."""
    x, w = np.polynomial.legendre.leggauss(points)
    return 0.5 * (x + 1.0), 0.5 * w


def gauss_lobatto(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Places in [0, 1] and weights, exact for degree 2n − 3, with a section at each end (the roots of P′ₙ₋₁)."""
    if points < 2:
        raise InputError(f"Gauss–Lobatto integration needs 2 points or more, not {points}.")
    last = np.polynomial.legendre.Legendre.basis(points - 1)
    x = np.concatenate([[-1.0], np.sort(last.deriv().roots().real), [1.0]])
    w = 2.0 / (points * (points - 1) * last(x) ** 2)
    return 0.5 * (x + 1.0), 0.5 * w


def hinge_radau(length, hinges):
    """Plastic hinges at both ends: modified Gauss–Radau (Scott & Fenves 2006), six sections.

    Each hinge of length l_p is integrated over 4 l_p by the two-point Radau rule, so that the end section represents
    exactly l_p; two Gauss points share the rest. Exact for a linear curvature. Places and weights are shares of the
    length.
    """
    first, last = hinges[0] / length, hinges[1] / length
    middle, half = 0.5 + 2.0 * (first - last), 0.5 - 2.0 * (first + last)
    gauss = half / np.sqrt(3.0)
    places = jnp.stack(
        [0.0 * first, 8 / 3 * first, middle - gauss, middle + gauss, 1.0 - 8 / 3 * last, 1.0 + 0.0 * last]
    )
    return places, jnp.stack([first, 3.0 * first, half, half, 3.0 * last, last])


def along_member(rule: str, points: int, length, hinges):
    """(places, weights) of a rule by name, as shares of the length."""
    if rule == HINGES:
        return hinge_radau(length, hinges)
    return tuple(map(jnp.asarray, (gauss_lobatto if rule == "gauss-lobatto" else gauss_legendre)(points)))
