"""The Gauss–Newton matrix of skip weights and unknowns, factorised: it preconditions the training and holds the
information about the unknowns.

Weights of neighbouring windows alone are coupled, so the matrix is block-tridiagonal with a border of unknowns:

    [ A  B ]      A = 𝓛 𝓛ᵀ (windows in turn),   Y = 𝓛⁻¹ B,   S = D − Yᵀ Y
    [ Bᵀ D ]      S is the information about φ when every weight is free to follow.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.device import cores
from vibrid.core.errors import Divergence
from vibrid.core.linalg import one_blas_thread
from vibrid.identification.methods.pidynnet.task import BENT_RIDGE, RIDGE, STEPS, Task
from vibrid.identification.methods.pidynnet.windows import Windows
from vibrid.identification.weak.equations import model_at, residual_at

(_INVERT_TRIANGLE,) = scipy.linalg.lapack.get_lapack_funcs(("trtri",), dtype=np.float64)
_CAUTION = 0.01  # network weights act together: a step in one must not spoil that of the skip path
_BESIDE, _AHEAD = 3, 4  # threads beside the elimination, and windows they assemble ahead of it


class Factor(eqx.Module):
    """Inverse Cholesky blocks (windows, w, w), couplings to the window before (windows, w, w), Y, and S with its
    Cholesky factor."""

    inverse: jax.Array
    coupling: jax.Array
    border: jax.Array  # (windows, w, p)
    corner: jax.Array  # (p, p) lower
    bent: jax.Array  # scale of a step in the networks' weights
    information: jax.Array

    def solve(self, weights, unknowns):
        """(windows, w) and (p,): the inverse of the whole matrix times a right side."""

        def forward(before, row):
            inverse, coupling, g = row
            z = inverse @ (g - coupling @ before)
            return z, z

        zero = jnp.zeros(weights.shape[1], weights.dtype)
        _, z = jax.lax.scan(forward, zero, (self.inverse, self.coupling, weights))
        left = jax.scipy.linalg.solve_triangular(
            self.corner, unknowns - jnp.einsum("kwp,kw->p", self.border, z), lower=True
        )
        phi = jax.scipy.linalg.solve_triangular(self.corner.T, left, lower=False)
        z = z - self.border @ phi

        def backward(carry, row):
            coupling_after, after = carry
            inverse, coupling, z = row
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
        motion_at = type(at)(q[0, :n], q[1, :n], q[2, :n], q[0, n:], q[1, n:])
        return residual_at(model_at(task.problem, free, task.record), motion_at, ground, inputs)

    def slope(motion_at, ground, inputs):
        s, ds = scaled(motion_at)
        q = jnp.stack([s, ds, jnp.concatenate([motion_at.ddy, jnp.zeros_like(motion_at.s)])])
        return jax.jacfwd(equations)(q, ground, inputs)

    slopes = jax.vmap(jax.vmap(slope))(at, task.intervals.ground, task.intervals.inputs)  # (i, g, e, 3, n + m)
    response = jnp.einsum("igeax,xo->igeao", slopes[..., :n], task.mix * task.sizes[:n])
    latent = slopes[..., n:] * task.sizes[n:]
    weighted = jnp.concatenate([response, latent], axis=-1) * task.intervals.weights[:, None, None, None]
    weighted = weighted / (task.equations * task.eps)[:, None, None]
    in_free = jax.jacfwd(lambda phi: task.equation_residuals(phi, motion))(free)
    start = jax.jacfwd(lambda phi: task.start_residuals(phi, motion))(free)
    prior = task.problem.unknowns.prior_slope(free)
    return weighted, in_free, start, prior


@eqx.filter_jit
def _start_slopes(task: Task, free):
    """(rows, 2, o): how the start of the record changes with the outputs and their rates there."""
    o = task.sizes.shape[0]

    def residuals(q):
        moved = task.unscaled(jnp.stack([q[0], q[1], jnp.zeros(o)])[:, None])
        return task.start_residuals(free, moved)

    return jax.jacfwd(residuals)(jnp.zeros((2, o)))


@dataclass(frozen=True)
class Assembly:
    """The Gauss–Newton matrix at one point, window by window."""

    slopes: np.ndarray  # (intervals, points · 3, e · o) of the weak equations in the outputs
    in_free: np.ndarray  # (intervals, e, p) of the weak equations in φ
    start: np.ndarray  # (rows, size) of the start of the record in the weights of the first window
    start_free: np.ndarray  # (rows, p) and in φ
    corner: np.ndarray  # (p, p)
    heavy: list[np.ndarray]  # (o, o) weights of readings of displacement, velocity and acceleration
    inside: np.ndarray  # (points,) 1 where there is a record
    at_nodes: np.ndarray  # (own, features, points · 3) features at the points of a window's intervals
    windows: Windows

    @classmethod
    def at(cls, task: Task, skip, networks, free, fixed: bool) -> Assembly:
        w, free = task.windows, jnp.asarray(free)
        slopes, in_free, start_free, prior = (np.asarray(p) for p in _linearised(task, skip, networks, free))
        if fixed:
            in_free, start_free, prior = np.zeros_like(in_free), np.zeros_like(start_free), np.eye(prior.shape[1])
        intervals, _, equations, _, outputs = slopes.shape
        basis = np.asarray(w.basis)
        wide = np.pad(basis, ((0, 0), (STEPS, STEPS + 1), (0, 0)))
        nodes = STEPS * np.arange(w.length // STEPS + 1)[:, None] + np.arange(STEPS + 1)
        through = np.asarray(task.rows @ task.mix * task.sizes[: task.freedoms])
        weight = np.asarray(task.counts).mean(axis=0) / np.asarray(task.noise) ** 2
        heavy = []
        for a in range(3):
            measured = np.array(task.orders) == a
            block = np.zeros((outputs, outputs))
            block[: task.freedoms, : task.freedoms] = (through[measured] * weight[measured, None]).T @ through[measured]
            heavy.append(block)
        inside = np.zeros(w.points)
        inside[w.overlap : w.overlap + task.grid.points] = 1.0
        start = np.einsum("rao,af->rfo", np.asarray(_start_slopes(task, free)), basis[:2, w.overlap])
        return cls(
            slopes=slopes.transpose(0, 1, 3, 2, 4).reshape(intervals, -1, equations * outputs),
            in_free=in_free,
            start=start.reshape(len(start), -1),
            start_free=start_free,
            corner=np.einsum("iep,ieq->pq", in_free, in_free) + start_free.T @ start_free + prior.T @ prior,
            heavy=heavy,
            inside=inside,
            at_nodes=wide[:, nodes].transpose(1, 3, 2, 0).reshape(len(nodes), w.features, -1),
            windows=w,
        )

    @property
    def size(self) -> int:
        """Weights of a window."""
        return self.start.shape[1]

    def window(self, k: int):
        """The block of window k (size, size), its border (size, p), and its coupling to the window after (size, size);
        None for the last."""
        w, size = self.windows, self.size
        slopes, thetas = self.rows(k)
        flat = slopes.reshape(-1, size)
        block = flat.T @ flat + self.readings(k, slice(0, w.length), slice(0, w.length))
        side = flat.T @ thetas.reshape(len(flat), -1)
        if k == 0:
            block += self.start.T @ self.start
            side += self.start.T @ self.start_free
        block[np.diag_indices(size)] += RIDGE**2
        if k + 1 == w.count:
            return block, side, None
        shared = w.overlap // STEPS + 1
        later, _ = self.rows(k + 1, shared)
        cross = later.reshape(-1, size).T @ slopes[-shared:].reshape(-1, size)
        cross += self.readings(k, slice(w.hop, w.length), slice(0, w.overlap)).T
        return block, side, cross

    def rows(self, k: int, count: int | None = None):
        """Slopes of the (first) equations that touch window k in its weights (own, e, size), and in φ (own, e, p)."""
        w, nodes = self.windows, self.at_nodes[:count]
        intervals, equations, _ = self.in_free.shape
        index = (k * w.hop - STEPS - w.overlap) // STEPS + np.arange(len(nodes))
        good = ((index >= 0) & (index < intervals))[:, None, None]
        index = np.clip(index, 0, intervals - 1)
        slopes = (nodes @ self.slopes[index]).reshape(len(nodes), w.features, equations, -1).transpose(0, 2, 1, 3)
        return slopes.reshape(len(nodes), equations, self.size) * good, self.in_free[index] * good

    def readings(self, k: int, left: slice, right: slice):
        """Information of the readings on two stretches (of window k) of the basis."""
        w = self.windows
        read = np.asarray(w.basis if w.averaged is None else w.averaged)
        mask = self.inside[k * w.hop + left.start : k * w.hop + left.stop]
        total, outputs = 0.0, len(self.heavy[0])
        for a, heavy in enumerate(self.heavy):
            if heavy.any():
                gram = (read[a, left] * mask[:, None]).T @ read[a, right]
                total = total + gram[:, None, :, None] * heavy[:, None, :]
        return np.broadcast_to(total, (w.features, outputs) * 2).reshape(self.size, self.size)

    @property
    def typical(self) -> float:
        """Curvature for a weight whose activity is about one throughout its window."""
        by_equations = np.mean(np.sum(self.slopes**2, axis=(0, 1)))
        return float(np.mean(np.diag(self.heavy[0])) * self.windows.length + by_equations)


def factorise(task: Task, skip, networks, free, fixed: bool = False) -> Factor:
    """Assemble and factorise the Gauss–Newton matrix at one point; with `fixed` unknowns it is that of the weights.

    Windows are eliminated in turn; work that does not depend on the window before (the assembly, and the inverse
    of a finished block) runs in parallel on the other cores.
    """
    whole = Assembly.at(task, skip, networks, free, fixed)
    count, size, corner = whole.windows.count, whole.size, whole.corner
    coupling, border, inverse = np.zeros((count, size, size)), [], []
    with one_blas_thread(), ThreadPoolExecutor(min(cores(), _BESIDE)) as beside:
        assembled = deque(beside.submit(whole.window, k) for k in range(min(_AHEAD, count)))
        for k in range(count):
            block, side, cross = assembled.popleft().result()
            if k + _AHEAD < count:
                assembled.append(beside.submit(whole.window, k + _AHEAD))
            if k:
                block -= coupling[k] @ coupling[k].T
                side -= coupling[k] @ border[-1]
            lower = _cholesky(block)
            inverse.append(beside.submit(_inverse, lower))
            border.append(scipy.linalg.solve_triangular(lower, side, lower=True, check_finite=False))
            corner = corner - border[-1].T @ border[-1]
            if cross is not None:
                coupling[k + 1] = scipy.linalg.solve_triangular(lower, cross.T, lower=True, check_finite=False).T
        blocks = jnp.asarray(np.stack([each.result() for each in inverse]))
    corner = 0.5 * (corner + corner.T)
    scale = np.sqrt(np.maximum(np.diag(corner), 1e-12 * np.max(np.diag(corner)) + 1e-300))
    safe = corner / np.outer(scale, scale)
    shift = max(0.0, 1e-10 - np.linalg.eigvalsh(safe)[0])
    lower = np.linalg.cholesky(safe + shift * np.eye(len(safe))) * scale[:, None]
    bent = _CAUTION / (BENT_RIDGE**2 + whole.typical)
    arrays = (coupling, np.stack(border), lower, np.asarray(bent), corner)
    return Factor(blocks, *(jnp.asarray(part) for part in arrays))


def _inverse(lower: np.ndarray) -> np.ndarray:
    return _INVERT_TRIANGLE(lower, lower=1)[0]


def _cholesky(block: np.ndarray) -> np.ndarray:
    """Lower factor; where rounding makes the block indefinite its diagonal is raised until there is one."""
    for raised in (1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        try:
            return scipy.linalg.cholesky(block + raised * np.diag(np.diag(block)), lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise Divergence("The networks' equations have become singular; give a smaller bandwidth or shorter windows.")
