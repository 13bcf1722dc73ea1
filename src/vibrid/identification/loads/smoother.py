"""A square-root filter and smoother for `LoadSystem`: exact least squares for the loads, linear in the samples.

With noise σ on the sensors and innovations of standard deviation √q on the loads the smoother minimises

    Σ |(y_k − C s_k)/σ|² + Σ |w_k|²/q        (Rauch, Tung & Striebel; here in Bryson & Frazier's form)

Its gains do not depend on the data. For a structure that does not change they converge after a few hundred steps and
are stored only so far, which makes a long record cheap. Factors are square roots (Kailath's array form), so very small
noise is no problem.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from vibrid.identification.loads.recursion import LoadSystem

_CHUNK = 128
_SETTLED = 1e-13  # relative change of the gains at which their recursion ends
_ROUNDING = 1e-9  # below this, a change that no longer decreases is rounding


class Factors(eqx.Module):
    """Gains of the filter, one entry per step until they converge; step k uses entry min(k, entries − 1).

    `rows` are the requested combinations of the state; e are whitened innovations (unit covariance).
    """

    gain: jax.Array  # (T, m, ny): s_{k+1} = A s_k + gain e_k
    root: jax.Array  # (T, ny, ny), lower triangular: y_k − C s_k = root e_k
    seen: jax.Array  # (T, rows, ny): gain of the rows at k from e_k
    later: jax.Array  # (T, rows, m): covariance of the rows at k with the state at k + 1
    variance: jax.Array  # (T, rows): of the rows at k, given the readings up to k
    rows: jax.Array  # (1 or samples, rows, m)
    samples: int = eqx.field(static=True)

    @property
    def entries(self) -> int:
        return self.gain.shape[0]

    def log_determinant(self) -> float:
        """ln |covariance of all readings|."""
        each = np.asarray(2.0 * jnp.log(jnp.abs(jnp.diagonal(self.root, axis1=1, axis2=2))).sum(axis=1))
        return float(each.sum() + (self.samples - len(each)) * each[-1])


def _at(array, k):
    return array[jnp.minimum(k, array.shape[0] - 1)]


def _over(array, steps: np.ndarray):
    """Entries of an array at given steps; a single entry is used for all."""
    if array.shape[0] == 1:
        return jnp.broadcast_to(array, (len(steps), *array.shape[1:]))
    return array[np.minimum(steps, array.shape[0] - 1)]


@jax.jit
def _chunk(root, cross, output, transition, drive, noise, spread, rows):
    """Steps of the array algorithm (one QR each): the square root of the covariance, and the gains of each step."""
    ny, m = output.shape[1:]
    count = rows.shape[1]

    def step(carry, matrices):
        root, before = carry
        c, a, g, sigma, wanted = matrices
        top = jnp.concatenate([jnp.diag(sigma), jnp.zeros((ny, m + count))], axis=1)
        middle = root.T @ jnp.concatenate([c.T, a.T, wanted.T], axis=1)
        bottom = jnp.concatenate([jnp.zeros((g.shape[1], ny)), (g * spread).T, jnp.zeros((g.shape[1], count))], axis=1)
        upper = jnp.linalg.qr(jnp.concatenate([top, middle, bottom]), mode="r")
        upper = upper * jnp.where(jnp.diagonal(upper) < 0, -1.0, 1.0)[: upper.shape[0], None]
        innovation, gain, seen = upper[:ny, :ny].T, upper[:ny, ny : ny + m].T, upper[:ny, ny + m :].T
        following, shared, rest = (
            upper[ny : ny + m, ny : ny + m].T,
            upper[ny : ny + m, ny + m :],
            upper[ny + m :, ny + m :],
        )
        size = jnp.linalg.norm(following, axis=1)[:, None]
        change = jnp.max(jnp.abs(gain - before) / jnp.where(size > 0, size, 1.0))
        variance = (shared**2).sum(axis=0) + (rest**2).sum(axis=0)
        return (following, gain), (gain, innovation, seen, shared.T @ following.T, variance, change)

    return jax.lax.scan(step, (root, cross), (output, transition, drive, noise, rows))


def factorise(system: LoadSystem, noise, spread, first, samples: int, rows=None, settled: float = _SETTLED) -> Factors:
    """Gains for sensors of standard deviation `noise` (ny,) and innovations of standard deviation `spread` (loads,).

    Arguments
        first: (m,) standard deviations of the state at the first sample.
        rows: (1 or samples, rows, m) requested combinations of the state; the loads by default.
        settled: relative change of the gains in a step below which they are constant.
    """
    rows = system.load_rows[None] if rows is None else rows
    noise, spread = jnp.asarray(noise), jnp.asarray(spread)
    carry = (jnp.diag(jnp.asarray(first)), jnp.full((system.transition.shape[-1], len(noise)), jnp.inf))
    settles = system.constant and rows.shape[0] == 1
    size = _CHUNK if settles else samples
    gains, done, least = [], 0, np.inf
    while done < samples:
        now = done + np.arange(size)
        output, transition, drive, wanted = (
            _over(m, now) for m in (system.output, system.transition, system.drive, rows)
        )
        sigma = jnp.broadcast_to(noise, (size, len(noise)))
        carry, steps = _chunk(*carry, output, transition, drive, sigma, spread, wanted)
        gains.append(steps[:-1])
        done += size
        if settles:
            smallest = float(steps[-1].min())
            if smallest < settled or (smallest < _ROUNDING and smallest > 0.5 * least):  # no longer decreasing
                break
            least = min(least, smallest)
    stacked = [jnp.concatenate(parts)[:samples] for parts in zip(*gains, strict=True)]
    return Factors(*stacked, rows=rows, samples=samples)


@eqx.filter_jit
def filtered(system: LoadSystem, factors: Factors, readings, push=None, first=None):
    """Whitened innovations (samples, ny, columns) of readings (samples, ny, columns), and the rows given the past.

    The sum of their squares is the minimum of the criterion at the top of this file. `push` (samples, loads,
    columns) are known means of the innovations w, `first` (m, columns) that of the first state.
    """

    def step(s, given):
        k, y, w = given
        e = solve_triangular(_at(factors.root, k), y - _at(system.output, k) @ s, lower=True)
        following = _at(system.transition, k) @ s + _at(factors.gain, k) @ e
        if w is not None:
            following = following + _at(system.drive, k) @ w
        return following, (e, _at(factors.rows, k) @ s + _at(factors.seen, k) @ e)

    start = jnp.zeros((system.transition.shape[-1], readings.shape[2])) if first is None else first
    return jax.lax.scan(step, start, (jnp.arange(factors.samples), readings, push))[1]


@eqx.filter_jit
def smoothed(system: LoadSystem, factors: Factors, white, past):
    """(samples, rows, columns): the rows given all readings, from the result of `filtered`."""

    def step(adjoint, given):
        k, e, guess = given
        better = guess + _at(factors.later, k) @ adjoint
        back = solve_triangular(_at(factors.root, k), e - _at(factors.gain, k).T @ adjoint, lower=True, trans=1)
        return _at(system.transition, k).T @ adjoint + _at(system.output, k).T @ back, better

    start = jnp.zeros((system.transition.shape[-1], white.shape[2]))
    return jax.lax.scan(step, start, (jnp.arange(factors.samples), white, past), reverse=True)[1]


@jax.jit
def _information_chunk(information, output, transition, gain, root, later):
    def step(information, matrices):
        c, a, k, r, rows = matrices
        less = jnp.einsum("ri,ij,rj->r", rows, information, rows)
        seen = solve_triangular(r, c, lower=True)
        closed = a - k @ seen
        new = closed.T @ information @ closed + seen.T @ seen
        change = jnp.max(jnp.abs(new - information)) / jnp.max(jnp.abs(new))
        return 0.5 * (new + new.T), (less, change)

    return jax.lax.scan(step, information, (output, transition, gain, root, later), reverse=True)


def deviations(system: LoadSystem, factors: Factors) -> np.ndarray:
    """(samples, rows): standard deviation of the smoothed rows, for a known structure."""
    samples, entries = factors.samples, factors.entries
    information = jnp.zeros((system.transition.shape[-1],) * 2)
    out = np.zeros((samples, factors.rows.shape[1]))
    end = samples
    while end > 0:
        k = np.arange(max(end - _CHUNK, 0), end)
        matrices = (system.output, system.transition, factors.gain, factors.root, factors.later)
        information, (less, change) = _information_chunk(information, *(_over(m, k) for m in matrices))
        out[k] = np.asarray(_over(factors.variance, k) - less)
        end = int(k[0])
        if system.constant and end > entries and float(change[0]) < _ROUNDING:
            out[entries:end] = out[end]  # constant down to the samples where the gains still change
            end = entries
    return np.sqrt(np.maximum(out, 0.0))
