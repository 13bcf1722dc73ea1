"""Products of small matrices inside compiled loops, and functions of symmetric matrices."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from threadpoolctl import threadpool_limits

from vibrid.core import precision  # noqa: F401  (64-bit numbers before the first array)

_SMALL = 1024


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which factorisations use one thread: many small ones run up to ten times faster."""
    return threadpool_limits(limits=1, user_api="blas")


@jax.custom_jvp
def solve(matrix, right):
    """x of `matrix x = right`, written so that a native loop finds it (core/native): a factorisation is shared by all
    right-hand sides, tangents included."""
    return vibrid_solve(matrix, right)


@jax.jit
def vibrid_solve(matrix, right):
    return jnp.linalg.solve(matrix, right)


@solve.defjvp
def _solve_jvp(primals, tangents):
    (matrix, right), (d_matrix, d_right) = primals, tangents
    x = vibrid_solve(matrix, right)
    return x, vibrid_solve(matrix, d_right - d_matrix @ x)


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


@partial(jax.jit, static_argnames=("degree",))
def input_integrals(state_matrix, input_matrix, dt, degree: int = 1):
    """Exact step of `ż = A z + B u` for a polynomial input `u = Σ c_p (t/dt)^p`: `z₁ = Ad z₀ + Σ Γ_p c_p`.

    Returns Ad (n, n) and Γ (degree + 1, n, m), by one augmented matrix exponential. States and inputs are scaled to
    comparable size first: stiffness over mass of a beam is 1e12 beside the 1 of velocity.
    """
    n, m = input_matrix.shape
    scale = balance(state_matrix)
    inside = state_matrix * dt * scale[:, None] / scale
    drive = input_matrix * dt * scale[:, None]
    largest = jax.lax.stop_gradient(jnp.maximum(1.0, jnp.abs(drive).max(initial=0.0)))
    size = n + (degree + 1) * m
    big = jnp.zeros((size, size)).at[:n, :n].set(inside).at[:n, n : n + m].set(drive / largest)
    big = big + jnp.eye(size, k=m).at[:n].set(0.0)  # the chain of derivatives of u
    power = jax.scipy.linalg.expm(big, max_squarings=32)[:n] / scale[:, None]
    factorial = np.cumprod([1.0, *range(1, degree + 1)])
    gamma = [power[:, n + p * m : n + (p + 1) * m] * (largest * factorial[p]) for p in range(degree + 1)]
    return power[:, :n] * scale, jnp.stack(gamma)


def discretise(state_matrix, input_matrix, dt, hold: str = "first"):
    """Exact step of `ż = A z + B u`: `z₁ = Ad z₀ + B0 u₀ + B1 u₁`.

    `hold="zero"` keeps u at u₀ over the step (B1 = 0); `hold="first"` moves it linearly from u₀ to u₁.
    """
    a_d, gamma = input_integrals(state_matrix, input_matrix, dt, 0 if hold == "zero" else 1)
    if hold == "zero":
        return a_d, gamma[0], jnp.zeros_like(gamma[0])
    return a_d, gamma[0] - gamma[1], gamma[1]


def balance(matrix, sweeps: int = 8):
    """Powers of two d for which rows and columns of `d_i A_ij / d_j` have comparable sums (Osborne 1960).

    Constants in differentiation: results computed with them do not depend on them.
    """
    size = jnp.abs(jax.lax.stop_gradient(matrix))
    size = size - jnp.diag(jnp.diagonal(size))

    def sweep(_, d):
        scaled = size * d[:, None] / d
        rows, columns = scaled.sum(axis=1), scaled.sum(axis=0)
        both = (rows > 0) & (columns > 0)
        return d * jnp.where(both, jnp.where(both, columns, 1.0) / jnp.where(both, rows, 1.0), 1.0) ** 0.25

    d = jax.lax.fori_loop(0, sweeps, sweep, jnp.ones(matrix.shape[0]))
    return jnp.exp2(jnp.round(jnp.log2(d)))
