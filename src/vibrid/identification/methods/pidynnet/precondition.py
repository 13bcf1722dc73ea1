"""The Gauss–Newton matrix of skip weights and unknowns, factorised: it preconditions the training and holds the
information about the unknowns.

Weights of neighbouring windows alone are coupled, so the matrix is block-tridiagonal with a border of unknowns:

    [ A  B ]      A = 𝓛 𝓛ᵀ (windows in turn),   Y = 𝓛⁻¹ B,   S = D − Yᵀ Y
    [ Bᵀ D ]      S is the information about φ when every weight is free to follow.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import cholesky, solve_triangular

from vibrid.core.errors import Divergence
from vibrid.identification.methods.pidynnet.task import BENT_RIDGE, RIDGE, STEPS, Task
from vibrid.identification.weak.equations import model_at, residual_at

_CAUTION = 0.01  # network weights act together: a step along one must not spoil that of the skip path


class Factor(eqx.Module):
    """Inverse Cholesky blocks (windows, w, w), couplings to the window before (windows, w, w), Y, and S with its
    Cholesky factor."""

    inverse: jax.Array
    coupling: jax.Array
    border: jax.Array  # (windows, w, p)
    corner: jax.Array  # (p, p) lower
    bent: jax.Array  # what one step of the networks' own weights is worth
    information: jax.Array

    def solve(self, weights, unknowns):
        """(windows, w) and (p,): the inverse of the whole matrix times a right side."""

        def forward(before, own):
            inverse, coupling, g = own
            z = inverse @ (g - coupling @ before)
            return z, z

        zero = jnp.zeros(weights.shape[1], weights.dtype)
        _, z = jax.lax.scan(forward, zero, (self.inverse, self.coupling, weights))
        left = jax.scipy.linalg.solve_triangular(
            self.corner, unknowns - jnp.einsum("kwp,kw->p", self.border, z), lower=True
        )
        phi = jax.scipy.linalg.solve_triangular(self.corner.T, left, lower=False)
        z = z - self.border @ phi

        def backward(carry, own):
            coupling_after, after = carry
            inverse, coupling, z = own
            w = inverse.T @ (z - coupling_after.T @ after)
            return (coupling, w), w

        start = (jnp.zeros_like(self.coupling[0]), zero)
        _, w = jax.lax.scan(backward, start, (self.inverse, self.coupling, z), reverse=True)
        return w, phi


@eqx.filter_jit
def _linearised(task: Task, skip, networks, free):
    """Slopes of the weak equations at the points in the outputs (intervals, points, e, 3, o), and in φ."""
    motion, _ = task.motion(skip, networks)
    n = task.freedoms
    at = task.at_intervals(motion)

    def scaled(m):
        return jnp.concatenate([m.y, m.s]), jnp.concatenate([m.dy, m.ds])

    def equations(q, ground, inputs):
        """From outputs in physical units but in drifts."""
        own = type(at)(q[0, :n], q[1, :n], q[2, :n], q[0, n:], q[1, n:])
        return residual_at(model_at(task.problem, free, task.record), own, ground, inputs)

    def slope(own, ground, inputs):
        s, ds = scaled(own)
        q = jnp.stack([s, ds, jnp.concatenate([own.ddy, jnp.zeros_like(own.s)])])
        return jax.jacfwd(equations)(q, ground, inputs)

    made = jax.vmap(jax.vmap(slope))(at, task.intervals.ground, task.intervals.inputs)  # (i, g, e, 3, n + m)
    response = jnp.einsum("igeax,xo->igeao", made[..., :n], task.mix * task.sizes[:n])
    latent = made[..., n:] * task.sizes[n:]
    weighted = jnp.concatenate([response, latent], axis=-1) * task.intervals.weights[:, None, None, None]
    weighted = weighted / (task.equations * task.eps)[:, None, None]
    in_free = jax.jacfwd(lambda phi: task.equation_residuals(phi, motion))(free)
    start = jax.jacfwd(lambda phi: task.start_residuals(phi, motion))(free)
    prior = jax.jacfwd(task.problem.unknowns.prior_residual)(free)
    return weighted, in_free, start, prior


@eqx.filter_jit
def _start_slopes(task: Task, free):
    """(rows, 2, o): how the start of the record changes with the outputs and their rates there."""
    o = task.sizes.shape[0]

    def residuals(q):
        moved = task.unscaled(jnp.stack([q[0], q[1], jnp.zeros(o)])[:, None])
        return task.start_residuals(free, moved)

    return jax.jacfwd(residuals)(jnp.zeros((2, o)))


def factorise(task: Task, skip, networks, free, fixed: bool = False) -> Factor:
    """Assemble and factorise the Gauss–Newton matrix at one point; with `fixed` unknowns it is that of the weights."""
    w = task.windows
    parts = _linearised(task, skip, networks, jnp.asarray(free))
    slopes, in_free, start_free, prior = (np.asarray(p) for p in parts)
    if fixed:
        in_free, start_free, prior = np.zeros_like(in_free), np.zeros_like(start_free), np.eye(prior.shape[1])
    intervals, _, equations, _, outputs = slopes.shape
    basis = np.asarray(w.basis)
    read = basis if w.averaged is None else np.asarray(w.averaged)
    features, length, size = w.features, w.length, w.features * outputs
    wide = np.pad(basis, ((0, 0), (STEPS, STEPS + 1), (0, 0)))
    own = length // STEPS + 1
    nodes = STEPS * np.arange(own)[:, None] + np.arange(STEPS + 1)
    at_nodes = wide[:, nodes].transpose(1, 3, 2, 0).reshape(own, features, -1)  # (own, F, points · 3)
    slopes = slopes.transpose(0, 1, 3, 2, 4).reshape(intervals, -1, equations * outputs)
    first = [(k * w.hop - STEPS - w.overlap) // STEPS for k in range(w.count)]
    shared = w.overlap // STEPS + 1

    def rows(k):
        """Slopes of the equations that touch window k in its weights (own, e, size), and in φ (own, e, p)."""
        index = first[k] + np.arange(own)
        good = (index >= 0) & (index < intervals)
        index = np.clip(index, 0, intervals - 1)
        made = (at_nodes @ slopes[index]).reshape(own, features, equations, outputs).transpose(0, 2, 1, 3)
        made = made.reshape(own, equations, size) * good[:, None, None]
        return made, in_free[index] * good[:, None, None]

    through = np.asarray(task.rows @ task.mix * task.sizes[: task.freedoms])
    noise, counts = np.asarray(task.noise), np.asarray(task.counts)
    weight = counts.mean(axis=0) / noise**2
    orders = np.array(task.orders)
    heavy = []
    for a in range(3):
        chosen = through[orders == a]
        block = np.zeros((outputs, outputs))
        block[: task.freedoms, : task.freedoms] = (chosen * weight[orders == a, None]).T @ chosen
        heavy.append(block)
    inside = np.zeros(w.points)
    inside[w.overlap : w.overlap + task.grid.points] = 1.0

    def data(k, left, right):
        """What readings say of a pair of stretches (of window k) of the basis."""
        mask = inside[k * w.hop + left.start : k * w.hop + left.stop]
        total = np.zeros((features, outputs, features, outputs))
        for a in range(3):
            if heavy[a].any():
                gram = (read[a, left] * mask[:, None]).T @ read[a, right]
                total += gram[:, None, :, None] * heavy[a][None, :, None, :]
        return total.reshape(size, size)

    p = in_free.shape[-1]
    corner = np.einsum("iep,ieq->pq", in_free, in_free) + start_free.T @ start_free + prior.T @ prior
    begin = np.asarray(_start_slopes(task, jnp.asarray(free)))  # (rows, 2, o)
    local = basis[:2, w.overlap]  # the first sample in window 0
    begin = np.einsum("rao,af->rfo", begin, local).reshape(len(begin), size)
    inverse, coupling, border = [], [], []
    made, thetas = rows(0)
    for k in range(w.count):
        flat = made.reshape(-1, size)
        block = flat.T @ flat + data(k, slice(0, length), slice(0, length))
        side = flat.T @ thetas.reshape(-1, p)
        if k == 0:
            block += begin.T @ begin
            side += begin.T @ start_free
        block[np.diag_indices(size)] += RIDGE**2
        if k:
            block -= coupling[-1] @ coupling[-1].T
            side -= coupling[-1] @ border[-1]
        lower = _cholesky(block)
        border.append(solve_triangular(lower, side, lower=True, check_finite=False))
        inverse.append(solve_triangular(lower, np.eye(size), lower=True, check_finite=False))
        corner -= border[-1].T @ border[-1]
        if k + 1 == w.count:
            break
        later, thetas = rows(k + 1)
        cross = later[:shared].reshape(-1, size).T @ made[own - shared :].reshape(-1, size)
        cross += data(k, slice(w.hop, length), slice(0, w.overlap)).T
        coupling.append(solve_triangular(lower, cross.T, lower=True, check_finite=False).T)
        made = later
    coupling = [np.zeros((size, size)), *coupling]
    corner = 0.5 * (corner + corner.T)
    scale = np.sqrt(np.maximum(np.diag(corner), 1e-12 * np.max(np.diag(corner)) + 1e-300))
    safe = corner / np.outer(scale, scale)
    shift = max(0.0, 1e-10 - np.linalg.eigvalsh(safe)[0])
    lower = np.linalg.cholesky(safe + shift * np.eye(p)) * scale[:, None]
    bent = _CAUTION / (BENT_RIDGE**2 + _typical(heavy, length, slopes))
    return Factor(
        *(jnp.asarray(np.stack(b)) for b in (inverse, coupling, border)), jnp.asarray(lower), jnp.asarray(bent, float),
        jnp.asarray(corner),
    )  # fmt: skip


def _cholesky(block: np.ndarray) -> np.ndarray:
    """Lower factor; where rounding makes the block indefinite its diagonal is raised until there is one."""
    for raised in (1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        try:
            return cholesky(block + raised * np.diag(np.diag(block)), lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise Divergence("The networks' equations have become singular; give a smaller bandwidth or shorter windows.")


def _typical(heavy, length, slopes) -> float:
    """Curvature along a weight whose activity is about one throughout its window."""
    return float(np.mean(np.diag(heavy[0])) * length + np.mean(np.sum(slopes**2, axis=(0, 1))))

