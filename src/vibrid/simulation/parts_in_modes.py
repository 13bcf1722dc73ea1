"""Newmark's method in the modes of a linear bulk, with laws on few rows: a step solves for these rows alone.

    Aᵢ aᵢ = φᵢᵀ L u₁ − dᵢ ṽᵢ − ωᵢ² q̃ᵢ − (BΦ)ᵢᵀ g,      Aᵢ = 1 + γ dt dᵢ + β dt² ωᵢ²

with the predictions q̃, ṽ of Newmark's method. The acceleration α = BΦ a of the rows obeys

    α = α_free − F g(ẽ + β dt² α, w̃ + γ dt α),      F = BΦ A⁻¹ (BΦ)ᵀ

which is as many equations as rows. With T = dg/dα and S = (F⁻¹ + T)⁻¹ a Newton step is `δ = −(r − S T r)`. Where every
law acts on one row, T is diagonal, few of its entries change from step to step (a hinge yields or unloads), and S
follows by a rank-one correction for each of these: no matrix is factored. Other laws, and steps where that stalls, take
full Newton steps.

It is the step of `Newmark` in other coordinates: with all modes the answers are equal up to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.linalg import solve
from vibrid.simulation.excitation import Drive
from vibrid.simulation.newmark import Newmark
from vibrid.structures.model import Model

_CHANGED = 0.02  # change of a slope, relative to the flexibility of its row, that S follows
_STALLED = 0.5  # reduction of the residual above which a step is a poor one
_POOR = 3  # such steps before full Newton steps take over


class Bulk(eqx.Module):
    """The numbers of a run: modes, and the rows of the laws in them."""

    values: jax.Array  # (k,) ω²
    rates: jax.Array  # (k,) d
    participation: jax.Array  # (k, m) Φᵀ L
    rows: jax.Array  # (r, k) B Φ
    taken: jax.Array  # (r, r) slopes in the bulk
    damped: jax.Array  # (r, r) damping in the bulk that the structure does not have
    laws: Model

    @property
    def is_simple(self) -> bool:
        """Whether every law acts on one row."""
        return all(group.components == 1 for group in self.laws.groups)


class Moving(NamedTuple):
    """The state between steps: of the modes, of the rows, of the laws, and of the solution."""

    q: jax.Array
    v: jax.Array
    a: jax.Array
    e: jax.Array
    w: jax.Array
    alpha: jax.Array
    s: Any
    inverse: jax.Array  # S
    slope: jax.Array  # the diagonal of T that belongs to S
    failed: jax.Array


class _RowTry(NamedTuple):
    tries: jax.Array
    alpha: jax.Array
    residual: jax.Array
    miss: jax.Array
    poor: jax.Array  # steps that reduced it little
    done: jax.Array
    inverse: jax.Array
    slope: jax.Array


def run_parts(
    bulk: Bulk, method: Newmark, drive: Drive, step: jax.Array | float, substeps: int, start: Any,
    pushed: jax.Array | None = None, read: tuple[jax.Array, ...] | None = None,
) -> Any:  # fmt: skip
    """(q, q̇, q̈, states, failed) at every sample. Pure: it can be differentiated.

    `start` is (q, q̇, states) at the first sample. `pushed` (samples, k) are further forces on the modes, with one step
    a sample. Instead of the motion, `read` = (Rd, Rv, Ra) gives Rd q + Rv q̇ + Ra q̈.
    """
    h = step / substeps
    beta, gamma = method.beta, method.gamma
    diagonal = 1.0 + gamma * h * bulk.rates + beta * h * h * bulk.values
    flexible = (bulk.rows / diagonal) @ bulk.rows.T
    simple = bulk.is_simple
    size = flexible.shape[0]
    taken, damped = (jnp.diagonal(m) if simple else m for m in (bulk.taken, bulk.damped))
    model, dx, dv = bulk.laws, beta * h * h, gamma * h

    def times(matrix, vector):
        return matrix * vector if matrix.ndim == 1 else matrix @ vector

    def forces(e, w, s):
        return model.forces(e, w, s) - times(taken, e) - times(damped, w)

    def slopes(state: Moving, e, w):
        """T at an end of step: its diagonal where every law acts on one row."""
        if not simple:
            return model.tangent(state.s, (state.e, state.w), (e, w), dx, dv, h) - dx * taken - dv * damped
        total = -dx * taken - dv * damped
        before, after = model.deformations(state.e, state.w), model.deformations(e, w)
        for g, own in zip(model.groups, state.s, strict=True):

            def slope(law, own, e0, w0, e1, w1):
                return law.slope(own, type(before)(e0, w0), type(before)(e1, w1), h, dx, dv)

            total = g.add(
                total, jax.vmap(slope)(g.law, own, g.cut(before.e), g.cut(before.w), g.cut(after.e), g.cut(after.w))
            )
        return total

    def one(state: Moving, load) -> Moving:
        q = state.q + h * state.v + (0.5 - beta) * h * h * state.a
        v = state.v + (1.0 - gamma) * h * state.a
        e0 = state.e + h * state.w + (0.5 - beta) * h * h * state.alpha
        w0 = state.w + (1.0 - gamma) * h * state.alpha
        free = (load - bulk.rates * v - bulk.values * q) / diagonal
        alpha_free = bulk.rows @ free

        def end(alpha):
            e, w = e0 + dx * alpha, w0 + dv * alpha
            return e, w, model.advance(state.s, (state.e, state.w), (e, w), h)

        def balance(alpha):
            return alpha - alpha_free + flexible @ forces(*end(alpha))

        def judge(now: _RowTry, correction) -> _RowTry:
            alpha = now.alpha - correction
            pulled = flexible @ forces(*end(alpha))
            residual = alpha - alpha_free + pulled
            miss = _largest(residual)
            small = miss <= method.tolerance * (_largest(alpha) + _largest(alpha_free) + _largest(pulled))
            still = (_largest(correction) <= method.tolerance * _largest(alpha)) & (now.tries >= 0)
            poor = now.poor + (miss > _STALLED * now.miss)
            return _RowTry(now.tries + 1, alpha, residual, miss, poor, small | still, now.inverse, now.slope)

        def followed(inverse, old, new):
            """S for other slopes, one row after the other."""

            def change(old):
                return jnp.abs(new - old) * jnp.abs(jnp.diagonal(inverse))

            def more(carry):
                count, _, _, worst = carry
                return (worst > _CHANGED) & (count < size)

            def correct(carry):
                count, inverse, old, _ = carry
                i = jnp.argmax(jnp.abs(new - old) * jnp.abs(jnp.diagonal(inverse)))
                column, delta = inverse[:, i], new[i] - old[i]
                pivot = 1.0 + delta * column[i]
                sound = jnp.abs(pivot) > 1e-6
                share = jnp.where(sound, delta / jnp.where(sound, pivot, 1.0), 0.0)
                inverse = inverse - share * column[:, None] * column
                old = old.at[i].set(new[i])
                return count + 1, inverse, old, jnp.max(jnp.abs(new - old) * jnp.abs(jnp.diagonal(inverse)))

            begun = (jnp.zeros((), int), inverse, old, jnp.max(change(old)))
            return jax.lax.while_loop(more, correct, begun)[1:3]

        def quick(now: _RowTry) -> _RowTry:
            e, w, _ = end(now.alpha)
            inverse, slope = followed(now.inverse, now.slope, slopes(state, e, w))
            now = now._replace(inverse=inverse, slope=slope)
            return judge(now, now.residual - inverse @ (slope * now.residual))

        def newton(now: _RowTry) -> _RowTry:
            e, w, _ = end(now.alpha)
            own = slopes(state, e, w)
            whole = jnp.eye(size) + (flexible * own if simple else flexible @ own)
            moved = judge(now, solve(whole, now.residual))
            return moved if not simple else moved._replace(inverse=flexible, slope=jnp.zeros(size))  # S from anew

        def iterate(_, guess):
            far = jnp.asarray(jnp.inf)
            first = judge(
                _RowTry(
                    jnp.asarray(-1), guess, guess, far, jnp.zeros((), int), jnp.asarray(False), state.inverse,
                    state.slope,
                ),
                jnp.zeros_like(guess),
            )  # fmt: skip

            def more(now: _RowTry):
                return ~now.done & (now.tries < method.iterations)

            if simple:
                first = jax.lax.while_loop(lambda now: more(now) & (now.poor < _POOR), quick, first)
            at = jax.lax.while_loop(more, newton, first)
            return at.alpha, (jnp.where(at.done, 0.0, 1.0), at.inverse, at.slope)

        def tangent_solve(slope, r):
            return solve(jax.vmap(slope, out_axes=1)(jnp.eye(size)), r)

        alpha, (failed, inverse, slope) = jax.lax.custom_root(
            balance, state.alpha, iterate, tangent_solve, has_aux=True
        )
        e, w, s = end(alpha)
        a = free - (forces(e, w, s) @ bulk.rows) / diagonal
        return Moving(
            q + dx * a, v + dv * a, a, e, w, alpha, s, inverse, slope, jnp.maximum(state.failed, failed)
        )  # fmt: skip

    def seen(state: Moving):
        if read is not None:
            return sum(rows @ own for rows, own in zip(read, (state.q, state.v, state.a), strict=True))
        return state.q, state.v, state.a, model.recorded(state.s), state.failed

    q, v, s = start
    e, w = bulk.rows @ q, bulk.rows @ v
    load = bulk.participation @ drive.samples[0] + (0.0 if pushed is None else pushed[0])
    a = load - bulk.rates * v - bulk.values * q - forces(e, w, s) @ bulk.rows
    still = jax.lax.stop_gradient(flexible) if simple else jnp.zeros((0, 0))
    first = Moving(q, v, a, e, w, bulk.rows @ a, s, still, jnp.zeros(size if simple else 0), jnp.zeros(()))
    loads = _loads(drive, substeps) @ bulk.participation.T  # (samples − 1, substeps, k)
    if pushed is not None:
        loads = loads + pushed[1:, None]

    def body(state, own):
        after, _ = jax.lax.scan(lambda now, load: (one(now, load), None), state, own)
        return after, seen(after)

    rest = jax.lax.scan(body, first, loads)[1]
    return jax.tree.map(lambda one, more: jnp.concatenate([one[None], more]), seen(first), rest)


@eqx.filter_jit
def loops(bulk: Bulk, q: jax.Array, v: jax.Array, states: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """At every sample: deformations and forces of the parts, and (r,) what laws add to the forces of the bulk."""

    def at(q, v, s):
        e, w = bulk.rows @ q, bulk.rows @ v
        beyond = bulk.laws.forces(e, w, s) - bulk.taken @ e - bulk.damped @ w
        return bulk.laws.part_deformations(e, w).e, bulk.laws.part_forces(e, w, s), beyond

    return jax.vmap(at)(q, v, states)


def _loads(drive: Drive, substeps: int) -> jax.Array:
    """(samples − 1, substeps, m): the inputs at the end of every step."""
    pieces, powers = drive.coefficients.shape[1:3]
    places = jnp.arange(1, substeps + 1) * pieces / substeps
    piece = jnp.minimum(jnp.ceil(places).astype(int) - 1, pieces - 1)
    fraction = (places - piece)[:, None] ** jnp.arange(powers)
    inside = jnp.einsum("nspm,sp->nsm", drive.coefficients[:, piece], fraction)
    return inside.at[:, -1].set(drive.samples[1:])


def steps_of(drive: Drive, substeps: int) -> jax.Array:
    """The inputs at every step, the first sample among them."""
    inside = _loads(drive, substeps)
    return jnp.concatenate([drive.samples[:1], inside.reshape(-1, inside.shape[-1])])


def _largest(values):
    return jnp.max(jnp.abs(values), initial=0.0)
