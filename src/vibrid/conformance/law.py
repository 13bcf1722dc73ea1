"""Requirements on every law: rest, derivatives, energy, repeatable trials, stacking."""

from __future__ import annotations

from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jax.flatten_util import ravel_pytree

from vibrid.conformance.base import Checks, expect, finite, same
from vibrid.laws.base import Law, Motion, RateLaw, has_rate

CHECKS = Checks()
SPAN = 4.0  # seconds


class LawExample(NamedTuple):
    """A law, the deformation (m) at which its nonlinearity shows, and the order of its `advance` where it has a rate:
    2 for the midpoint rule of `RateLaw`, 1 for backward Euler."""

    law: Law
    size: float = 0.1
    order: int = 2


def path(law: Law, size: float, t):
    """A smooth irregular path from rest: deformation and rate at times t, (nt,) or (nt, components)."""
    parts = []
    for i in range(law.components):
        ramp, d_ramp = t**2 / (0.3 + t**2), 0.6 * t / (0.3 + t**2) ** 2
        wave = np.sin((2.1 + 0.3 * i) * t) + 0.6 * np.sin(5.3 * t + i)
        d_wave = (2.1 + 0.3 * i) * np.cos((2.1 + 0.3 * i) * t) + 0.6 * 5.3 * np.cos(5.3 * t + i)
        parts.append((0.6 * size * ramp * wave, 0.6 * size * (d_ramp * wave + ramp * d_wave)))
    e, w = (np.stack([p[k] for p in parts], axis=-1) for k in (0, 1))
    return (e[..., 0], w[..., 0]) if law.components == 1 else (e, w)


@eqx.filter_jit
def walk(law: Law, e, w, dt):
    """Forces and states over a path, from rest."""

    def step(s, ends):
        before, after = Motion(ends[0], ends[1]), Motion(ends[2], ends[3])
        s = law.advance(s, before, after, dt)
        return s, (law.force(after.e, after.w, s), s)

    return jax.lax.scan(step, law.start(), (e[:-1], w[:-1], e[1:], w[1:]))[1]


def at_rest(law: Law) -> Motion:
    zero = jnp.zeros(() if law.components == 1 else (law.components,))
    return Motion(zero, zero)


def _rounding(values) -> float:
    """The rounding error of numbers of this size where they cancel."""
    return 1e-12 * max(1.0, float(np.max(np.abs(np.asarray(values)))))


def _path_of(example: LawExample):
    t = np.linspace(0.0, SPAN, 41)
    e, w = (jnp.asarray(p) for p in path(example.law, example.size, t))
    return e, w, t[1]


@CHECKS("no force at rest")
def no_force_at_rest(example: LawExample) -> None:
    law, rest = example.law, at_rest(example.law)
    same(law.force(*rest, law.start()), np.zeros_like(rest.e), "the force at rest")
    later = law.advance(law.start(), rest, rest, 0.01)
    same(law.force(*rest, later), np.zeros_like(rest.e), "the force after a step at rest")


@eqx.filter_jit
def _linearised(law: Law, motion: Motion, dt, weights, way):
    """The weighted sum of the forces over a path, its forward derivative along `way` and its reverse derivative, by the
    parameters and the motion: one compiled program for every check of a law."""
    numbers, rest = eqx.partition(law, eqx.is_inexact_array)

    def work(own):
        parameters, moved = own
        return jnp.sum(weights * walk(eqx.combine(parameters, rest), moved.e, moved.w, dt)[0])

    value, slope = jax.linearize(work, (numbers, motion))
    return value, slope(way), jax.linear_transpose(slope, (numbers, motion))(1.0)[0]


def _derivatives(law: Law, motion: Motion, dt, weights):
    """Value by the numbers of a law and of a motion, laid out flat, and its forward and reverse derivatives there."""
    numbers, rest = eqx.partition(law, eqx.is_inexact_array)
    leaves, tree = jax.tree.flatten((numbers, motion))
    ends = np.cumsum([leaf.size for leaf in leaves])

    def laid_out(values):
        parts = np.split(values, ends[:-1])
        return jax.tree.unflatten(tree, [p.reshape(leaf.shape) for p, leaf in zip(parts, leaves, strict=True)])

    def every(values, way):
        own, moved = laid_out(values)
        value, forward, reverse = _linearised(eqx.combine(own, rest), moved, dt, weights, laid_out(way))
        return float(value), float(forward), np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(reverse)])

    own = sum(leaf.size for leaf in jax.tree.leaves(numbers))
    return np.concatenate([np.ravel(leaf) for leaf in leaves]), own, every


@CHECKS("a finite gradient at rest, forward and reverse")
def finite_gradient_at_rest(example: LawExample) -> None:
    e, w, _ = _path_of(example)
    weights = jnp.zeros_like(e[1:]).at[0].set(1.0)  # the force after one step
    flat, own, every = _derivatives(example.law, Motion(0.0 * e, 0.0 * w), np.float64(0.01), weights)
    step = np.arange(example.law.components)
    first = own + np.concatenate([e[0].size + step, e.size + w[0].size + step])  # the end of that step, and its rate
    asked = np.concatenate([np.arange(own), first])
    slope = np.array([every(flat, way)[1] for way in np.eye(flat.size)[asked]])
    finite(slope, "the derivative at rest with respect to parameters, deformation and rate")
    reverse = every(flat, np.zeros(flat.size))[2][asked]
    same(reverse, slope, "the reverse derivative at rest", rtol=1e-12, atol=_rounding(slope))


@CHECKS("its derivative equals a finite difference over a path")
def derivative_equals_finite_difference(example: LawExample) -> None:
    e, w, dt = _path_of(example)
    weights = jnp.asarray(np.random.default_rng(0).standard_normal(e[1:].shape))
    flat, own, every = _derivatives(example.law, Motion(e, w), dt, weights)
    ways = np.eye(flat.size)[:own]
    at, _, reverse = every(flat, np.zeros(flat.size))
    slope = np.array([every(flat, way)[1] for way in ways])
    same(reverse[:own], slope, "the reverse derivative over a path", rtol=1e-9, atol=_rounding(slope))
    for i, (parameter, way) in enumerate(zip(flat, ways, strict=False)):
        h = 1e-6 * max(abs(parameter), 1e-2)
        numeric = (every(flat + h * way, way)[0] - every(flat - h * way, way)[0]) / (2 * h)
        noise = 1e-15 * abs(at) / h  # of the difference
        what = f"the derivative with respect to parameter {i + 1}"
        same(slope[i], numeric, what, rtol=2e-6, atol=max(1e-8, noise))


def energy_put_in(law: Law, size: float, cycles: int = 3, steps: int = 4000):
    """Work done on the law, J, after each closed cycle of a growing irregular motion, and its scale."""
    t = np.linspace(0.0, 2 * np.pi * cycles, cycles * steps + 1)
    grow = 0.5 + 0.5 * t / t[-1]
    e = size * grow * (np.sin(t) + 0.4 * np.sin(3 * t))
    w = size * (grow * (np.cos(t) + 1.2 * np.cos(3 * t)) + 0.5 / t[-1] * (np.sin(t) + 0.4 * np.sin(3 * t)))
    if law.components > 1:
        e, w = (np.stack([p] + [0.5 * p] * (law.components - 1), axis=-1) for p in (e, w))
    force = np.asarray(walk(law, jnp.asarray(e), jnp.asarray(w), t[1])[0]).reshape(len(t) - 1, -1)
    first = np.asarray(law.force(*(jnp.asarray(p[0]) for p in (e, w)), law.start())).reshape(1, -1)
    force = np.concatenate([first, force])
    moved = np.diff(e.reshape(len(t), -1), axis=0)
    work = np.cumsum(np.sum(0.5 * (force[1:] + force[:-1]) * moved, axis=1))
    return work[steps - 1 :: steps], np.abs(force).max() * size


@CHECKS("no energy is created")
def no_energy_is_created(example: LawExample) -> None:
    """Every closed path from rest needs work, or none: no more energy is returned than was put in."""
    work, scale = energy_put_in(example.law, example.size)
    least = float(np.min(work))
    expect(least >= -1e-4 * scale, f"a closed path gave back {-least:.3g} J more than was put in.")


def _has_state_rate(example: LawExample) -> bool:
    return bool(jax.tree.leaves(example.law.start())) and has_rate(example.law)


@CHECKS("its advance follows its rate", when=_has_state_rate)
def advance_follows_the_rate(example: LawExample) -> None:
    """Against SciPy's adaptive solution of ds/dt; the error falls with the step, to the order of the example."""
    law, size, order = cast("RateLaw", example.law), example.size, example.order
    start, unravel = ravel_pytree(law.start())
    rate = jax.jit(lambda e, w, s: ravel_pytree(law.state_rate(e, w, unravel(s)))[0])
    times = np.linspace(0.0, SPAN, 41)
    exact = scipy.integrate.solve_ivp(
        lambda t, s: np.asarray(rate(*path(law, size, np.asarray(t)), s)),
        (0.0, SPAN), np.asarray(start), t_eval=times, rtol=1e-9, atol=1e-13, max_step=0.02,
    )  # fmt: skip
    scale, errors = np.abs(exact.y).max(), []
    for steps in (3200, 12800) if law.is_stiff else (800, 3200):
        t = np.linspace(0.0, SPAN, steps + 1)
        e, w = (jnp.asarray(p) for p in path(law, size, t))
        stepped = jax.vmap(lambda s: ravel_pytree(s)[0])(walk(law, e, w, t[1])[1])
        states = np.concatenate([np.asarray(start)[None], np.asarray(stepped)])
        errors.append(np.abs(states[:: steps // 40] - exact.y.T).max() / scale)
    observed = f"four times smaller steps bring the error of the state from {errors[0]:.2g} to {errors[1]:.2g}"
    ratio, largest = (3.4, 5e-3) if order == 1 else (12.0, 1e-5)
    expect(errors[1] < max(errors[0] / ratio, 1e-8) and errors[1] < largest, f"{observed}; order {order} was expected.")


@CHECKS("it does not depend on how a straight path is divided", when=lambda example: not has_rate(example.law))
def path_may_be_cut(example: LawExample) -> None:
    """A path law depends on turning points only: a step from one to the next equals fifty small ones."""
    law, size = example.law, example.size
    turns = size * np.array([0.0, 0.4, -0.9, 1.0, 0.2, 0.7, -0.1, 0.1, -1.4, 0.0])
    fine = np.interp(np.linspace(0, 9, 451), np.arange(10), turns)
    rest = at_rest(law).e
    held = np.append(turns, np.full(fine.size - turns.size, turns[-1]))  # as long as the other: one program
    held, fine = (jnp.asarray(p).reshape(-1, *(1,) * rest.ndim) + rest for p in (held, fine))
    coarse_force, _ = walk(law, held, jnp.zeros_like(held), 1.0)
    fine_force, _ = walk(law, fine, jnp.zeros_like(fine), 0.02)
    same(
        coarse_force[: turns.size - 1],
        fine_force[49::50],
        "the force at a turning point",
        rtol=1e-12,
        atol=_rounding(fine_force),
    )


@CHECKS("a trial is not remembered")
def trial_is_not_remembered(example: LawExample) -> None:
    law, (e, w, _) = example.law, _path_of(example)
    before, after, other = (Motion(e[i], w[i]) for i in (10, 11, 20))
    first = law.advance(law.start(), before, after, 0.1)
    law.advance(law.start(), before, other, 0.1)
    again = law.advance(law.start(), before, after, 0.1)
    for found, wanted in zip(jax.tree.leaves(again), jax.tree.leaves(first), strict=True):
        same(found, wanted, "the state after a second trial")


@CHECKS("laws with different parameters stack")
def laws_stack(example: LawExample) -> None:
    """vmap over three parts with different parameters equals three parts alone."""
    e, w, dt = _path_of(example)
    parts = [jax.tree.map(lambda leaf, f=f: leaf * f, example.law) for f in (0.8, 1.0, 1.1)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *parts)
    batch = eqx.filter_vmap(walk, in_axes=(eqx.if_array(0), None, None, None))
    together = eqx.filter_jit(batch)(stacked, e, w, dt)[0]
    for one, part in zip(together, parts, strict=True):
        alone = walk(part, e, w, dt)[0]
        same(one, alone, "the force of one of three stacked laws", rtol=1e-11, atol=_rounding(alone))
