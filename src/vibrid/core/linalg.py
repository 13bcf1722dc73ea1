"""Products of small matrices inside compiled loops, and functions of symmetric matrices."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

_SMALL = 1024


def matvec(matrix, vector, batched: bool = False):
    """`matrix @ vector`, written so that it is fast inside a time loop.

    A multiply-and-sum fuses with its neighbours and beats a library call for small matrices; over a batch of runs
    (`batched`), and for large matrices, the library call wins.
    """
    if batched or matrix.size > _SMALL:
        return matrix @ vector
    return (matrix * vector).sum(-1)


@jax.custom_jvp
def damping_function(dynamic_matrix, ratios):
    """`Q diag(2 ζ_i ω_i) Qᵀ` for the symmetric matrix with eigenvalues ω_i² and eigenvectors Q.

    The derivative is that of a matrix function (Daleckii–Krein): it never differentiates an eigenvector and stays
    finite at repeated frequencies.
    """
    values, vectors = jnp.linalg.eigh(dynamic_matrix)
    omega = jnp.sqrt(jnp.maximum(values, 0.0))
    return (vectors * (2.0 * ratios * omega)) @ vectors.T


@damping_function.defjvp
def _damping_function_jvp(primals, tangents):
    matrix, ratios = primals
    d_matrix, d_ratios = tangents
    values, vectors = jnp.linalg.eigh(matrix)
    values = jnp.maximum(values, 0.0)
    omega = jnp.sqrt(values)
    f = 2.0 * ratios * omega
    slope = jnp.where(omega > 0, ratios / jnp.where(omega > 0, omega, 1.0), 0.0)
    gap = values[:, None] - values[None, :]
    close = jnp.abs(gap) <= 1e-8 * jnp.max(values)
    divided = (f[:, None] - f[None, :]) / jnp.where(close, 1.0, gap)
    kernel = jnp.where(close, 0.5 * (slope[:, None] + slope[None, :]), divided)
    inner = kernel * (vectors.T @ d_matrix @ vectors) + jnp.diag(2.0 * d_ratios * omega)
    out = (vectors * f) @ vectors.T
    return out, vectors @ inner @ vectors.T


@partial(jax.jit, static_argnames=("hold",))
def discretise(state_matrix, input_matrix, dt, hold: str = "first"):
    """Exact step of `ż = A z + B u`: `z₁ = Ad z₀ + B0 u₀ + B1 u₁` by one augmented matrix exponential.

    `hold="zero"` keeps u at u₀ over the step (B1 = 0); `hold="first"` moves it linearly from u₀ to u₁.
    """
    n, m = input_matrix.shape
    size = n + m if hold == "zero" else n + 2 * m
    big = jnp.zeros((size, size)).at[:n, :n].set(state_matrix * dt).at[:n, n : n + m].set(input_matrix * dt)
    if hold == "first":
        big = big.at[n : n + m, n + m :].set(jnp.eye(m))
    power = jax.scipy.linalg.expm(big)
    a_d, gamma1 = power[:n, :n], power[:n, n : n + m]
    if hold == "zero":
        return a_d, gamma1, jnp.zeros_like(gamma1)
    gamma2 = power[:n, n + m :]
    return a_d, gamma1 - gamma2, gamma2
