"""A start for the Bouc–Wen oscillator from the balance of forces along the measured, periodic motion.

Velocity and acceleration follow from the displacement in the band of the force. The hysteretic deformation is simulated
along this motion, where nothing can swing away from it, and `u = m ÿ + c ẏ + k y + α ζ` is linear in m, c, k and α: for
every shape (β, γ, n) they are a linear solve (variable projection, Golub & Pereyra 1973), and only the shape is
searched.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.papers.public.bouc_wen.realisation import RATE, Oscillator

_SHAPES = ((0.5, 0.5, 1.0), (0.5, -0.5, 1.0), (0.5, 0.0, 2.0), (0.2, 0.2, 0.5))
"""Starts of the search beside the guess: β Yⁿ, γ Yⁿ and n, with Y the largest displacement."""
_FINER = 2  # steps of the simulation per sample


def motion_in_band(u: np.ndarray, y: np.ndarray, band: float) -> tuple[np.ndarray, ...]:
    """Force, displacement, velocity and acceleration of a period up to `band` Hz, with more samples than were given."""
    lines = np.fft.rfftfreq(len(u), 1 / RATE)
    omega = 2j * np.pi * lines
    fine = _FINER * len(u)

    def synthesised(spectrum):
        return _FINER * np.fft.irfft(np.where(lines <= band, spectrum, 0.0), fine)

    motion = np.fft.rfft(y)
    return tuple(synthesised(s) for s in (np.fft.rfft(u), motion, omega * motion, omega**2 * motion))


@jax.jit
def hysteretic(shape: jax.Array, w: jax.Array) -> jax.Array:
    """The hysteretic deformation along a path of increments `w` (both over Y), in the second of two equal rounds."""
    beta, gamma, n = shape

    def step(z, dw):
        def slope(z):
            power = jnp.where(z == 0, 1.0, jnp.abs(z)) ** n * (z != 0)
            return dw - power * (beta * jnp.abs(dw) * jnp.sign(z) + gamma * dw)

        middle = z + 0.5 * slope(z)
        after = jnp.clip(z + slope(middle), -1e3, 1e3)  # shapes that diverge are judged, not lost
        return after, after

    round_one, _ = jax.lax.scan(step, jnp.zeros(()), w)
    return jax.lax.scan(step, round_one, w)[1]


def _solved(shape: jax.Array, force, x, v, a, path, largest):
    """The columns of the balance, and m, c, k, α by least squares."""
    matrix = jnp.stack([a, v, x, largest * hysteretic(shape, path)], axis=1)
    size = jnp.sqrt(jnp.sum(matrix**2, axis=0) + 1e-300)
    q, r = jnp.linalg.qr(matrix / size)
    return matrix, jnp.linalg.solve(r, q.T @ force) / size


@jax.jit
def _left(free: jax.Array, *motion) -> jax.Array:
    """What is left of the force, relative to its rms; `free` is β Yⁿ, γ Yⁿ and ln n."""
    matrix, values = _solved(free.at[2].set(jnp.exp(free[2])), *motion)
    force = motion[0]
    return (force - matrix @ values) / jnp.sqrt(jnp.sum(force**2))


_slopes = jax.jit(jax.jacfwd(_left))


def balanced_start(u: np.ndarray, y: np.ndarray, guess: Oscillator, band: float) -> Oscillator:
    """The oscillator whose forces balance best along the measured motion; its β is 1. The search ends when two starts
    lead to the same balance."""
    force, x, v, a = motion_in_band(u, y, band)
    largest = float(np.abs(x).max())
    path = np.diff(np.append(x[-1], x)) / largest
    motion: tuple[Any, ...] = (*map(jnp.asarray, (force, x, v, a, path)), largest)
    scale = guess.beta * guess.alpha ** (guess.nu - 1.0) * largest**guess.nu
    given = (scale * guess.gamma, scale * guess.delta, guess.nu)
    best = None
    for beta, gamma, n in (given, *_SHAPES):
        first = np.clip([beta, gamma, np.log(n)], (-2.9, -2.9, np.log(0.2)), (2.9, 2.9, np.log(4.0)))
        found = scipy.optimize.least_squares(
            lambda free: np.asarray(_left(jnp.asarray(free), *motion)), first,
            lambda free: np.asarray(_slopes(jnp.asarray(free), *motion)),
            bounds=((-3, -3, np.log(0.2)), (3, 3, np.log(4.0))), xtol=1e-4, ftol=1e-4, max_nfev=30,
        )  # fmt: skip
        agrees = best is not None and abs(found.cost - best.cost) < 0.01 * best.cost
        if best is None or found.cost < best.cost:
            best = found
        if agrees:
            break
    assert best is not None
    shape = np.append(best.x[:2], np.exp(best.x[2]))
    m, c, k, alpha = map(float, _solved(jnp.asarray(shape), *motion)[1])
    n = float(shape[2])
    unit = alpha ** (1.0 - n) / largest**n
    return Oscillator(m, c, k, alpha, 1.0, float(shape[0]) * unit, float(shape[1]) * unit, n)
