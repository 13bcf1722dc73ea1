"""Linear structures in their modes: each mode is stepped exactly, and a step costs as many operations as modes.

    q̈ᵢ + 2 ζᵢ ωᵢ q̇ᵢ + ωᵢ² qᵢ = φᵢᵀ L u(t),      x = Φ q  (+ (K⁻¹ − Φ Ω⁻² Φᵀ) L u where modes are left out)

With all modes this is the exact step of the whole structure. The static correction gives the displacement of the modes
that are left out, as if they followed the load at once; what it leaves is estimated by `truncation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.linalg import input_integrals
from vibrid.simulation.excitation import Drive


@dataclass(frozen=True, eq=False)
class ModalSystem:
    """The modes of a linear structure and how inputs act on them; arrays of NumPy.

    Fields
        values: (k,) ω².
        rates: (k,) 2ζω.
        shapes: (n, k) with unit modal mass.
        participation: (k, m) Φᵀ L.
        static: (n, m) displacement of the modes left out per unit input; None where all are there.
    """

    values: np.ndarray
    rates: np.ndarray
    shapes: np.ndarray
    participation: np.ndarray
    static: np.ndarray | None

    @property
    def size(self) -> int:
        return self.shapes.shape[0]

    @property
    def count(self) -> int:
        return self.shapes.shape[1]

    @property
    def is_whole(self) -> bool:
        return self.count == self.size


def modal_steps(
    values: jax.Array, rates: jax.Array, step: jax.Array | float, degree: int
) -> tuple[jax.Array, jax.Array]:
    """The exact step of every mode for a polynomial input: A (k, 2, 2) and Γ (k, powers, 2)."""
    inside = jnp.array([[0.0], [1.0]])

    def one(value, rate):
        a, gamma = input_integrals(jnp.array([[0.0, 1.0], [-value, -rate]]), inside, step, degree)
        return a, gamma[:, :, 0]

    return jax.vmap(one)(values, rates)


@jax.jit
def modal_motion(
    values: jax.Array, rates: jax.Array, participation: jax.Array, drive: Drive, step: jax.Array | float, start: Any
) -> tuple[jax.Array, jax.Array]:
    """(samples, k) q and q̇ under a drive. Pure: it can be differentiated with respect to all of its arguments.

    `start` is (q, q̇) at the first sample.
    """
    pieces, powers = drive.coefficients.shape[1:3]
    a, gamma = modal_steps(values, rates, step / pieces, powers - 1)
    from_q, from_v = a[:, :, 0].T, a[:, :, 1].T  # (2, k)
    pushed = jnp.einsum("kps,km->pmsk", gamma, participation).reshape(-1, 2, len(values))

    def body(state, coefficients):
        def piece(state, own):
            q, v = state
            force = jnp.einsum("i,isk->sk", own.reshape(-1), pushed)
            moved = from_q * q + from_v * v + force
            return (moved[0], moved[1])

        after = state
        for j in range(pieces):
            after = piece(after, coefficients[j])
        return after, state

    beyond = jnp.zeros_like(drive.coefficients[:1])
    return jax.lax.scan(body, start, jnp.concatenate([drive.coefficients, beyond]))[1]


def modal_accelerations(system: ModalSystem, q: np.ndarray, v: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """(samples, k) q̈ from the equation of motion."""
    return inputs @ system.participation.T - system.rates * v - system.values * q
