"""The response and the latent network of the default setting: one network a window, blended where windows overlap.

    q(t) = Σ_k ψ_k(t) [ W_k φ(t − t_k) + N_k(φ(t − t_k)) ]

φ are damped Fourier features of the window's own time, W_k the linear skip path, N_k a small network, and the ψ_k
smooth weights that add up to one (finite-basis networks, Moseley, Markham & Nissen-Meyer 2023). The first n of q are
the response in drifts, the others the latent states, each divided by its size.
"""

from __future__ import annotations

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import unknown_name
from vibrid.networks import Convolution, Dense, Recurrent, carried

_LONGER = 1.25  # period of the slowest feature over the length of a window
_MARGIN = 16  # points before and after a window that a network over a sequence takes as input, against end effects
_VISIBLE = 1e-6  # share of the largest combination of features below which one is not used
_CORNER = 6.0  # rad/s beyond which features are damped by 1/(1 + (ω/6)²)
NETWORKS = {
    "mlp": lambda key, widths: Dense.make(key, widths, activation="tanh", init="glorot"),
    "recurrent": lambda key, widths: Recurrent.make(key, widths),
    "convolution": lambda key, widths: Convolution.make(key, widths),
}
"""Networks beside the linear skip path."""


class Windows(eqx.Module):
    """Where the windows lie on a grid of equal steps, and their features there with two derivatives in time.

    Window k covers the points k·hop … k·hop + hop + overlap − 1 of a grid that starts `overlap` points before the
    record, so that all windows are alike.
    """

    hop: int = eqx.field(static=True)
    overlap: int = eqx.field(static=True)
    count: int = eqx.field(static=True)
    shape: jax.Array  # (3, length) ψ and its derivatives
    inputs: jax.Array  # (3, margin + length + margin, inputs) φ and its derivatives
    basis: jax.Array  # (3, length, features) ψ φ and its derivatives
    averaged: jax.Array | None  # the same, averaged as the readings of a point are, where they are

    @property
    def length(self) -> int:
        return self.hop + self.overlap

    @property
    def features(self) -> int:
        return self.basis.shape[-1]

    @property
    def points(self) -> int:
        """Points of the padded grid."""
        return self.count * self.hop + self.overlap

    @classmethod
    def over(cls, points: int, step: float, hop: int, overlap: int, bandwidth: float, fine: int) -> Windows:
        """Windows over a grid of `points` steps of `step` seconds, each `fine` samples of the record long."""
        length = hop + overlap
        middle = 0.5 * (length - 1)
        period = _LONGER * length * step
        omega = 2 * np.pi / period * np.arange(1, max(int(np.ceil(bandwidth * period)), 2) + 1)
        damping = 1.0 / (1.0 + (omega / _CORNER) ** 2)

        def features(index):
            """(3, …, features) at fractional indices."""
            t = (index - middle) * step
            tau = t / (0.5 * length * step)
            line = np.stack([np.ones_like(t), tau, tau**2], axis=-1)
            rate = np.stack([0 * t, np.ones_like(t), 2 * tau], axis=-1) / (0.5 * length * step)
            second = np.stack([0 * t, 0 * t, 2 * np.ones_like(t)], axis=-1) / (0.5 * length * step) ** 2
            angle = t[..., None] * omega
            c, s = damping * np.cos(angle), damping * np.sin(angle)
            return np.stack(
                [
                    np.concatenate([line, c, s], axis=-1),
                    np.concatenate([rate, -omega * s, omega * c], axis=-1),
                    np.concatenate([second, -(omega**2) * c, -(omega**2) * s], axis=-1),
                ]
            )

        def shape(index):
            """(3, …): ψ and its derivatives; a polynomial of degree seven up and down."""
            up, down = (index + 0.5) / overlap, (length - 0.5 - index) / overlap
            rising, falling = (_smooth_step(np.clip(u, 0.0, 1.0)) for u in (up, down))
            sign = np.array([1.0, -1.0, 1.0]).reshape(3, *[1] * np.ndim(index))
            scale = np.array([1.0, 1 / (overlap * step), 1 / (overlap * step) ** 2]).reshape(sign.shape)
            rising, falling = rising * scale, sign * falling * scale
            return np.where(index <= middle, rising, falling)

        def blended(index):
            p, f = shape(index)[..., None], features(index)
            return np.stack([p[0] * f[0], p[1] * f[0] + p[0] * f[1], p[2] * f[0] + 2 * p[1] * f[1] + p[0] * f[2]])

        index = np.arange(length, dtype=float)
        _, visible, turn = np.linalg.svd(blended(index)[0], full_matrices=False)
        turn = turn[visible > _VISIBLE * visible[0]].T  # combinations that cancel each other in the window are left out
        averaged = None
        if fine > 1:
            offsets, shares = around(fine)
            mean = sum(s * blended(index + o / fine) for s, o in zip(shares, offsets, strict=True))
            averaged = jnp.asarray(mean @ turn)
        count = -(-(points + overlap) // hop)
        longer = np.arange(-_MARGIN, length + _MARGIN, dtype=float)
        basis = blended(index) @ turn
        return cls(
            hop, overlap, count, jnp.asarray(shape(index)), jnp.asarray(features(longer)), jnp.asarray(basis), averaged
        )

    def blend(self, parts: jax.Array) -> jax.Array:
        """(points, …): the sum of the windows' parts (count, length, …)."""
        tail = parts[:, self.hop :]
        rest = self.hop - self.overlap
        tail = jnp.pad(tail, ((0, 0), (0, rest), *[(0, 0)] * (parts.ndim - 2)))
        main = parts[:, : self.hop].reshape(-1, *parts.shape[2:])
        tail = tail.reshape(-1, *parts.shape[2:])
        zeros = [(0, 0)] * (parts.ndim - 2)
        total = jnp.pad(main, ((0, self.hop), *zeros)) + jnp.pad(tail, ((self.hop, 0), *zeros))
        return total[: self.points]

    def project(self, values: np.ndarray) -> np.ndarray:
        """(count, features, channels): skip weights that follow values (points, channels) of the padded grid."""
        basis, psi = np.asarray(self.basis[0]), np.asarray(self.shape[0])
        solve = np.linalg.pinv(basis, rcond=1e-7)
        cut = np.stack([values[k * self.hop : k * self.hop + self.length] for k in range(self.count)])
        return np.einsum("fl,klc->kfc", solve, psi[:, None] * cut)


def around(fine: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the samples that are averaged at a point, and their shares; shared ones count half at both points."""
    offsets = np.arange(-(fine // 2), fine // 2 + 1)
    shares = np.where((fine % 2 == 0) & (np.abs(offsets) == fine // 2), 0.5, 1.0) if fine > 1 else np.ones(1)
    return offsets, shares / shares.sum()


def _smooth_step(u):
    """(3, …): 35u⁴ − 84u⁵ + 70u⁶ − 20u⁷ and its derivatives."""
    return np.stack(
        [
            u**4 * (35 - 84 * u + 70 * u**2 - 20 * u**3),
            140 * u**3 * (1 - u) ** 3,
            420 * u**2 * (1 - u) ** 2 * (1 - 2 * u),
        ]
    )


def make_networks(kind: str, key, count: int, widths):
    """Networks of all windows with a leading axis over them; their outputs start at zero."""
    if kind not in NETWORKS:
        raise unknown_name("network", kind, NETWORKS)

    def of_window(key):
        network = NETWORKS[kind](key, widths)
        return network.with_output(jnp.zeros(widths[-1]), shrink=0.0)

    return jax.vmap(of_window)(jax.random.split(key, count))


def evaluate(windows: Windows, skip, networks):
    """(3, points, outputs) at the points of the padded grid, and the same averaged as readings are.

    `skip` is (windows, features, outputs); `networks` have a leading axis over the windows, or are None.
    """
    at = jnp.stack([windows.blend(jnp.einsum("lf,kfo->klo", b, skip)) for b in windows.basis])
    read = at
    if windows.averaged is not None:
        read = jnp.stack([windows.blend(jnp.einsum("lf,kfo->klo", b, skip)) for b in windows.averaged])
    if networks is None:
        return at, read
    inside = slice(_MARGIN, _MARGIN + windows.length)
    x, first, second = windows.inputs[:, inside] if isinstance(networks, Dense) else windows.inputs
    outputs = jax.vmap(partial(carried, x=x, first=first, second=second))(networks)
    n0, n1, n2 = outputs if isinstance(networks, Dense) else (part[:, inside] for part in outputs)
    p0, p1, p2 = windows.shape[:, None, :, None]
    bent = jnp.stack([windows.blend(p) for p in (p0 * n0, p1 * n0 + p0 * n1, p2 * n0 + 2 * p1 * n1 + p0 * n2)])
    return at + bent, read + bent
