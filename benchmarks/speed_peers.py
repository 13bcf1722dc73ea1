"""Bouc–Wen shear buildings written out by hand and compiled by numba: the peers of `speed.py`.

    f = k z + c w,    ż = w − |z| (β |w| sign(z) + γ w)

Each fills displacement, velocity, acceleration and z of every sample, as `simulate` does.
"""

import numba
import numpy as np


@numba.njit
def _rates(x, v, z, ground, m, k, beta, gamma, c, f, a, dz):
    n = x.size
    for i in range(n):
        w = v[i] - (v[i - 1] if i else 0.0)
        f[i] = k[i] * z[i] + c * w
        s = 1.0 if z[i] > 0 else (-1.0 if z[i] < 0 else 0.0)
        dz[i] = w - abs(z[i]) * (beta[i] * abs(w) * s + gamma[i] * w)
    for i in range(n):
        a[i] = ((f[i + 1] if i + 1 < n else 0.0) - f[i]) / m[i] - ground


@numba.njit
def runge_kutta(m, k, beta, gamma, c, ground, h):
    """The classical method of order 4."""
    n, samples = m.size, ground.size
    x_all, v_all = np.empty((samples, n)), np.empty((samples, n))
    a_all, z_all = np.empty((samples, n)), np.empty((samples, n))
    x, v, z, f = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    a1, a2, a3, a4 = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    d1, d2, d3, d4 = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    x2, v2, v3, v4, z2 = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    _rates(x, v, z, ground[0], m, k, beta, gamma, c, f, a1, d1)
    for s in range(samples):
        x_all[s], v_all[s], a_all[s], z_all[s] = x, v, a1, z
        if s + 1 == samples:
            break
        middle, end = 0.5 * (ground[s] + ground[s + 1]), ground[s + 1]
        for i in range(n):
            x2[i], v2[i], z2[i] = x[i] + 0.5 * h * v[i], v[i] + 0.5 * h * a1[i], z[i] + 0.5 * h * d1[i]
        _rates(x2, v2, z2, middle, m, k, beta, gamma, c, f, a2, d2)
        for i in range(n):
            x2[i], v3[i], z2[i] = x[i] + 0.5 * h * v2[i], v[i] + 0.5 * h * a2[i], z[i] + 0.5 * h * d2[i]
        _rates(x2, v3, z2, middle, m, k, beta, gamma, c, f, a3, d3)
        for i in range(n):
            x2[i], v4[i], z2[i] = x[i] + h * v3[i], v[i] + h * a3[i], z[i] + h * d3[i]
        _rates(x2, v4, z2, end, m, k, beta, gamma, c, f, a4, d4)
        for i in range(n):
            x[i] += h / 6 * (v[i] + 2 * v2[i] + 2 * v3[i] + v4[i])
            v[i] += h / 6 * (a1[i] + 2 * a2[i] + 2 * a3[i] + a4[i])
            z[i] += h / 6 * (d1[i] + 2 * d2[i] + 2 * d3[i] + d4[i])
        _rates(x, v, z, end, m, k, beta, gamma, c, f, a1, d1)
    return x_all, v_all, a_all, z_all


@numba.njit
def _midpoint(z, w0, w1, beta, gamma, h):
    s = 1.0 if z > 0 else (-1.0 if z < 0 else 0.0)
    half = z + 0.5 * h * (w0 - abs(z) * (beta * abs(w0) * s + gamma * w0))
    w = 0.5 * (w0 + w1)
    s = 1.0 if half > 0 else (-1.0 if half < 0 else 0.0)
    return z + h * (w - abs(half) * (beta * abs(w) * s + gamma * w))


@numba.njit
def newmark(m, k, beta, gamma, c, inverse, ground, h, tolerance):
    """Average acceleration, corrected by the inverse of the matrix of small motions until the forces balance."""
    n, samples = m.size, ground.size
    x_all, v_all = np.empty((samples, n)), np.empty((samples, n))
    a_all, z_all = np.empty((samples, n)), np.empty((samples, n))
    x, v, z, a, f = np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, -ground[0]), np.zeros(n + 1)
    x1, v1, z1, r, w0 = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    for s in range(samples):
        x_all[s], v_all[s], a_all[s], z_all[s] = x, v, a, z
        if s + 1 == samples:
            break
        ground_here = ground[s + 1]
        x_first, v_first = x + h * v + 0.25 * h * h * a, v + 0.5 * h * a
        for i in range(n):
            w0[i] = v[i] - (v[i - 1] if i else 0.0)
        for _ in range(25):
            miss, inertia, force, load = 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                x1[i], v1[i] = x_first[i] + 0.25 * h * h * a[i], v_first[i] + 0.5 * h * a[i]
            for i in range(n):
                w = v1[i] - (v1[i - 1] if i else 0.0)
                z1[i] = _midpoint(z[i], w0[i], w, beta[i], gamma[i], h)
                f[i] = k[i] * z1[i] + c * w
            for i in range(n):
                own = f[i] - (f[i + 1] if i + 1 < n else 0.0)
                r[i] = m[i] * a[i] + own + m[i] * ground_here
                miss, inertia = max(miss, abs(r[i])), max(inertia, abs(m[i] * a[i]))
                force, load = max(force, abs(own)), max(load, abs(m[i] * ground_here))
            if miss <= tolerance * (inertia + force + load):
                break
            for i in range(n):
                a[i] -= inverse[i] @ r
        x[:], v[:], z[:] = x1, v1, z1
    return x_all, v_all, a_all, z_all
