"""Damping of a whole structure: Rayleigh, modal, or a given matrix."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from vibrid.core.arguments import Numbers, as_floats
from vibrid.core.errors import InputError
from vibrid.core.linalg import damping_function
from vibrid.core.parameters import Parameter, Parameterised, parameter
from vibrid.core.registry import Registry

DAMPINGS = Registry("damping")


class Damping(Parameterised):
    """Damping of a whole structure: a damping matrix from its mass and initial stiffness."""

    def matrix(self, mass: jax.Array, stiffness: jax.Array) -> jax.Array:
        """C in N s/m from M (n, n) and K (n, n)."""
        raise NotImplementedError


@DAMPINGS.register("rayleigh")
class Rayleigh(Damping):
    """`C = a M + b K`."""

    mass: Parameter = parameter("mass factor a", "1/s", positive=True, zero=True)
    stiffness: Parameter = parameter("stiffness factor b", "s", positive=True, zero=True)

    def matrix(self, mass: jax.Array, stiffness: jax.Array) -> jax.Array:
        return self.mass * mass + self.stiffness * stiffness

    @staticmethod
    def from_ratios(frequencies: Sequence[float], ratios: Numbers) -> Rayleigh:
        """Rayleigh damping with the given ratios at two frequencies in Hz."""
        given = as_floats(frequencies, "frequencies")
        f1, f2 = (2.0 * np.pi * f for f in given) if len(given) == 2 else (0.0, 0.0)
        if not 0 < f1 < f2:
            raise InputError("Rayleigh damping needs two frequencies in Hz, the lower one first.")
        r1, r2 = np.broadcast_to(np.asarray(ratios, float), (2,))
        b = 2.0 * (r2 * f2 - r1 * f1) / (f2**2 - f1**2)
        return Rayleigh(mass=2.0 * r1 * f1 - b * f1**2, stiffness=b)


DAMPINGS.also("rayleigh-ratios", Rayleigh.from_ratios)


@DAMPINGS.register("rayleigh-one-ratio")
class RayleighRatio(Damping):
    """Rayleigh damping by one ratio at two frequencies: `C = ζ (a M + b K)`, with a ratio of 1 at both for ζ = 1.

    The frequencies (Hz) stay as given when the stiffness changes, so that ζ alone can be an unknown.
    """

    ratio: Parameter = parameter("damping ratio at both frequencies", "", positive=True, zero=True)
    frequencies: tuple[float, ...] = eqx.field(static=True, converter=lambda v: as_floats(v, "frequencies"))

    def __check_init__(self) -> None:
        if len(self.frequencies) != 2:
            raise InputError("Rayleigh damping needs two frequencies in Hz, the lower one first.")

    def matrix(self, mass: jax.Array, stiffness: jax.Array) -> jax.Array:
        return self.ratio * Rayleigh.from_ratios(self.frequencies, 1.0).matrix(mass, stiffness)


@DAMPINGS.register("modal")
class Modal(Damping):
    """The same ratio, or one ratio a mode, of critical damping; modes beyond the list take its last ratio.

    `C = L Q diag(2 ζ ω) Qᵀ Lᵀ` with M = L Lᵀ. Its derivative is that of a matrix function, so it is finite at repeated
    frequencies, and the ratios follow the modes in order of frequency.
    """

    ratios: Parameter = parameter("damping ratio of each mode", "", positive=True, zero=True)

    def matrix(self, mass: jax.Array, stiffness: jax.Array) -> jax.Array:
        n = mass.shape[0]
        given = jnp.atleast_1d(self.ratios)[:n]
        ratios = jnp.concatenate([given, jnp.full(n - given.shape[0], given[-1])])
        lower = jnp.linalg.cholesky(mass)
        half = solve_triangular(lower, stiffness, lower=True)
        dynamic = solve_triangular(lower, half.T, lower=True)
        return lower @ damping_function(0.5 * (dynamic + dynamic.T), ratios) @ lower.T


@DAMPINGS.register("matrix")
class Explicit(Damping):
    """A damping matrix given as numbers."""

    values: Parameter = parameter("damping matrix C", "N s/m")

    def matrix(self, mass: jax.Array, stiffness: jax.Array) -> jax.Array:
        return self.values
