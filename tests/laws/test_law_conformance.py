"""Every registered law keeps the contract: a new law is tested the moment it is registered and has an example."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.integrate import solve_ivp

import vibrid as vb
from examples import EXAMPLES
from vibrid.core import paths

NAMES = list(vb.laws.LAWS)
WITH_A_RATE = [n for n in NAMES if jax.tree.leaves(EXAMPLES[n][0].start()) and vb.laws.has_rate(EXAMPLES[n][0])]
SPAN = 4.0  # seconds


def test_every_registered_law_has_an_example():
    assert set(NAMES) == set(EXAMPLES)
    for name, (law, _) in EXAMPLES.items():
        assert type(law) is vb.laws.LAWS[name]


def path(law, size, t):
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
def walk(law, e, w, dt):
    """Forces and states along a path, from rest."""

    def step(s, ends):
        before, after = vb.laws.Motion(ends[0], ends[1]), vb.laws.Motion(ends[2], ends[3])
        s = law.advance(s, before, after, dt)
        return s, (law.force(after.e, after.w, s), s)

    return jax.lax.scan(step, law.start(), (e[:-1], w[:-1], e[1:], w[1:]))[1]


def derivatives(function):
    """Value, forward and reverse derivative of a function of many numbers, from one compiled linearisation."""

    @jax.jit
    def every(p):
        value, slope = jax.linearize(function, p)
        return value, jax.vmap(slope)(jnp.eye(p.size)), jax.linear_transpose(slope, p)(1.0)[0]

    return tuple(lambda p, i=i: every(p)[i] for i in range(3))


def at_rest(law):
    zero = jnp.zeros(() if law.components == 1 else (law.components,))
    return vb.laws.Motion(zero, zero)


@pytest.mark.parametrize("name", NAMES)
def test_no_force_at_rest(name):
    law, _ = EXAMPLES[name]
    rest = at_rest(law)
    np.testing.assert_array_equal(law.force(*rest, law.start()), np.zeros_like(rest.e))
    np.testing.assert_array_equal(law.force(*rest, law.advance(law.start(), rest, rest, 0.01)), np.zeros_like(rest.e))


@pytest.mark.parametrize("name", NAMES)
def test_finite_gradient_at_rest_in_both_directions(name):
    law, _ = EXAMPLES[name]
    flat, unravel = ravel_pytree((law, at_rest(law)))

    def force(values):
        law, motion = unravel(values)
        s = law.advance(law.start(), at_rest(law), motion, 0.01)
        return jnp.sum(law.force(*motion, s))

    _, forward, reverse = derivatives(force)
    assert np.isfinite(forward(flat)).all()
    np.testing.assert_allclose(reverse(flat), forward(flat), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_derivative_equals_finite_difference_along_a_path(name):
    law, size = EXAMPLES[name]
    t = np.linspace(0.0, SPAN, 41)
    e, w = (jnp.asarray(p) for p in path(law, size, t))
    flat, unravel = ravel_pytree(law)
    weights = jnp.asarray(np.random.default_rng(0).standard_normal(e[1:].shape))

    def work(values):
        return jnp.sum(weights * walk(unravel(values), e, w, t[1])[0])

    value, forward, reverse = derivatives(work)
    np.testing.assert_allclose(reverse(flat), forward(flat), rtol=1e-9, atol=1e-12)
    for i, parameter in enumerate(np.asarray(flat)):
        h = 1e-6 * max(abs(parameter), 1e-2)
        numeric = (value(flat.at[i].add(h)) - value(flat.at[i].add(-h))) / (2 * h)
        np.testing.assert_allclose(forward(flat)[i], numeric, rtol=2e-6, atol=1e-8)


def energy_put_in(law, size, cycles=3, steps=4000):
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


@pytest.mark.parametrize("name", NAMES)
def test_no_energy_is_created(name):
    """Every closed path from rest costs work, or none: nothing but what was put in ever comes out."""
    work, scale = energy_put_in(*EXAMPLES[name])
    assert np.all(work >= -1e-4 * scale)


def test_created_energy_would_be_seen():
    work, scale = energy_put_in(paths.replace(vb.Viscous(0.7), {"damping": -0.7}), 0.1)
    assert work[0] < -0.1 * scale


@pytest.mark.parametrize("name", WITH_A_RATE)
def test_advance_follows_the_rate(name):
    """Against SciPy's adaptive solution of ds/dt; the error falls with the step, to the order the law declares."""
    law, size = EXAMPLES[name]
    start, unravel = ravel_pytree(law.start())
    rate = jax.jit(lambda e, w, s: ravel_pytree(law.state_rate(e, w, unravel(s)))[0])
    times = np.linspace(0.0, SPAN, 41)
    exact = solve_ivp(
        lambda t, s: np.asarray(rate(*path(law, size, np.asarray(t)), s)),
        (0.0, SPAN), np.asarray(start), t_eval=times, rtol=1e-9, atol=1e-13, max_step=0.02,
    )  # fmt: skip
    scale, errors = np.abs(exact.y).max(), []
    for steps in (3200, 12800) if law.is_stiff else (800, 3200):
        t = np.linspace(0.0, SPAN, steps + 1)
        e, w = (jnp.asarray(p) for p in path(law, size, t))
        states = np.concatenate([np.asarray(start)[None], np.asarray(walk(law, e, w, t[1])[1]).reshape(steps, -1)])
        errors.append(np.abs(states[:: steps // 40] - exact.y.T).max() / scale)
    if name == "lugre":  # backward Euler: order 1
        assert errors[1] < errors[0] / 3.4 and errors[1] < 5e-3
    else:
        assert errors[1] < max(errors[0] / 12, 1e-8) and errors[1] < 1e-5


@pytest.mark.parametrize("name", [n for n in NAMES if not vb.laws.has_rate(EXAMPLES[n][0])])
def test_path_law_does_not_care_how_a_straight_path_is_cut(name):
    """A path law sees turning points only: a step from one to the next equals fifty small ones."""
    law, size = EXAMPLES[name]
    turns = size * np.array([0.0, 0.4, -0.9, 1.0, 0.2, 0.7, -0.1, 0.1, -1.4, 0.0])
    fine = np.interp(np.linspace(0, 9, 451), np.arange(10), turns)
    coarse_force, _ = walk(law, jnp.asarray(turns), jnp.zeros(10), 1.0)
    fine_force, _ = walk(law, jnp.asarray(fine), jnp.zeros(451), 0.02)
    np.testing.assert_allclose(coarse_force, fine_force[49::50], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_trial_is_not_remembered(name):
    law, size = EXAMPLES[name]
    e, w = (jnp.asarray(p) for p in path(law, size, np.linspace(0.0, SPAN, 41)))
    before, after, other = (vb.laws.Motion(e[i], w[i]) for i in (10, 11, 20))
    first = law.advance(law.start(), before, after, 0.1)
    law.advance(law.start(), before, other, 0.1)
    again = law.advance(law.start(), before, after, 0.1)
    jax.tree.map(np.testing.assert_array_equal, again, first)


@pytest.mark.parametrize("name", NAMES)
def test_laws_stack(name):
    """vmap over three parts with different parameters equals three parts alone."""
    law, size = EXAMPLES[name]
    t = np.linspace(0.0, SPAN, 41)
    e, w = (jnp.asarray(p) for p in path(law, size, t))
    parts = [jax.tree.map(lambda leaf, f=f: leaf * f, law) for f in (0.8, 1.0, 1.1)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *parts)
    batch = eqx.filter_vmap(walk, in_axes=(eqx.if_array(0), None, None, None))
    together = eqx.filter_jit(batch)(stacked, e, w, t[1])[0]
    for one, part in zip(together, parts, strict=True):
        np.testing.assert_allclose(one, walk(part, e, w, t[1])[0], rtol=1e-11, atol=1e-12)
