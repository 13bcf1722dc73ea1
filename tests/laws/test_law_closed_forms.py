"""Laws against closed forms."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.laws.base import absolute_power, simplified


@eqx.filter_jit
def walk(law, e, w, dt, s=None):
    """Forces and states over a path; the first sample is the initial state."""

    def step(s, ends):
        s = law.advance(s, vb.laws.Motion(ends[0], ends[1]), vb.laws.Motion(ends[2], ends[3]), dt)
        return s, (law.force(ends[2], ends[3], s), s)

    return jax.lax.scan(step, law.start() if s is None else s, (e[:-1], w[:-1], e[1:], w[1:]))[1]


def sine(amplitude, omega, cycles, steps):
    t = np.arange(cycles * steps + 1) * (2 * np.pi / omega / steps)
    return t, jnp.asarray(amplitude * np.sin(omega * t)), jnp.asarray(amplitude * omega * np.cos(omega * t))


def loop_energy(law, amplitude, omega, cycles=3, steps=4000):
    """Energy of the last of several sine cycles, J."""
    t, e, w = sine(amplitude, omega, cycles, steps)
    force = np.asarray(walk(law, e, w, t[1])[0])[-steps - 1 :]
    return float(np.sum(0.5 * (force[1:] + force[:-1]) * np.diff(np.asarray(e)[-steps - 1 :])))


def test_maxwell_relaxes():
    """A sudden deformation held: F = k e exp(−k t / c), at any step."""
    law, h = vb.Maxwell(stiffness=50.0, damping=4.0), 1e-9
    zero, held = jnp.zeros(()), jnp.asarray(0.02)
    s = law.advance(law.start(), vb.laws.Motion(zero, held / h), vb.laws.Motion(held, held / h), h)
    for dt in (0.001, 0.1, 3.0):
        after = law.advance(s, vb.laws.Motion(held, zero), vb.laws.Motion(held, zero), dt)
        np.testing.assert_allclose(law.force(held, zero, after), math.exp(-12.5 * dt), rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("omega", [1.0, 12.5, 400.0])
def test_maxwell_complex_modulus(omega):
    """Force over deformation under a sine is k iωτ / (1 + iωτ), τ = c/k, also where the spring is stiff."""
    law, steps = vb.Maxwell(stiffness=50.0, damping=4.0), 2000
    t, e, w = sine(0.01, omega, 60 if omega > 50 else 20, steps)
    force = np.asarray(walk(law, e, w, t[1])[0])[-steps:]
    found = 2j * np.mean(force * np.exp(-1j * omega * t[-steps:])) / 0.01
    ratio = 1j * omega * 4.0 / 50.0
    np.testing.assert_allclose(found, 50.0 * ratio / (1 + ratio), rtol=3e-6)


@pytest.mark.parametrize("velocity", [0.01, 0.3, -0.05, -0.6])
def test_lugre_slides_steadily(velocity):
    """F = g(v) + σ2 v in steady sliding, with the capacities of the direction."""
    law = vb.LuGre(800.0, 4.0, 1.0, 1.2, 1.4, 1.5, 0.1, 0.3)
    e = jnp.asarray(velocity * np.arange(3001) * 0.002)
    force = walk(law, e, jnp.full(3001, velocity), 0.002)[0][-1]
    coulomb, static = (1.0, 1.4) if velocity > 0 else (1.2, 1.5)
    capacity = coulomb + (static - coulomb) * math.exp(-((velocity / 0.1) ** 2))
    np.testing.assert_allclose(force, math.copysign(capacity, velocity) + 0.3 * velocity, rtol=1e-9)


def test_lugre_sticks_as_a_spring():
    """Small deformations below the capacity: stiffness σ0, no matter how long the step."""
    law = vb.LuGre(800.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.1)
    e, dt = 1e-6, 0.5
    s = law.advance(law.start(), vb.laws.Motion(0.0, e / dt), vb.laws.Motion(e, e / dt), dt)
    np.testing.assert_allclose(law.force(e, 0.0, s), 800.0 * e, rtol=1e-3)


@pytest.mark.parametrize("exponent", [1.0, 1.7, 3.0])
def test_bouc_wen_saturates(exponent):
    """z → (β + γ)^(−1/n) under monotonic loading, −(β + γ)^(−1/n) the other way."""
    law = vb.BoucWen(stiffness=40.0, beta=6.0, gamma=2.0, exponent=exponent)
    for way in (1.0, -1.0):
        e = jnp.asarray(way * np.linspace(0.0, 20.0, 20001))
        z = walk(law, e, jnp.full(20001, way), 0.001)[1][-1]
        np.testing.assert_allclose(z, way * 8.0 ** (-1 / exponent), rtol=1e-9)


def test_bouc_wen_loading_and_unloading_curves():
    """n = 1: z = (1 − exp(−(β+γ) e)) / (β+γ), then dz/de = 1 + (β−γ) z. n = 2, β = γ: tanh, then a line."""
    law, n = vb.BoucWen(stiffness=40.0, beta=6.0, gamma=2.0, exponent=1.0), 4001
    up = np.linspace(0.0, 0.3, n)
    z = np.asarray(walk(law, jnp.asarray(up), jnp.full(n, 1.0), 0.3 / (n - 1))[1])
    np.testing.assert_allclose(z, (1 - np.exp(-8.0 * up[1:])) / 8.0, rtol=0, atol=1e-8)
    down = np.linspace(0.3, 0.25, n)
    back = np.asarray(walk(law, jnp.asarray(down), jnp.full(n, -1.0), 0.05 / (n - 1), jnp.asarray(z[-1]))[1])
    b = 4.0
    np.testing.assert_allclose(back, (z[-1] + 1 / b) * np.exp(b * (down[1:] - 0.3)) - 1 / b, rtol=0, atol=1e-9)
    square = vb.BoucWen(stiffness=40.0, beta=8.0, gamma=8.0, exponent=2.0)
    z = np.asarray(walk(square, jnp.asarray(up), jnp.full(n, 1.0), 0.3 / (n - 1))[1])
    np.testing.assert_allclose(z, np.tanh(4.0 * up[1:]) / 4.0, rtol=0, atol=1e-8)
    back = np.asarray(walk(square, jnp.asarray(down), jnp.full(n, -1.0), 0.05 / (n - 1), jnp.asarray(z[-1]))[1])
    np.testing.assert_allclose(back, z[-1] + down[1:] - 0.3, atol=1e-12)


def test_bouc_wen_with_a_known_whole_exponent_is_the_same_law():
    law = vb.BoucWen(stiffness=40.0, beta=6.0, gamma=2.0, exponent=2.0)
    cheap = simplified(law)
    assert cheap.whole_exponent == 2
    assert simplified(law, free=["storeys[0].exponent"]) == law
    assert simplified(vb.BoucWen(40.0, 6.0, 2.0, 1.5)).whole_exponent is None
    mixed = simplified((law, vb.BoucWen(40.0, 6.0, 2.0, 1.0)))
    assert all(part.whole_exponent is None for part in mixed), "laws of one type must still stack"
    inside = simplified(vb.Parallel([law, vb.Linear(1.0)]))
    assert inside.laws[0].whole_exponent == 2
    t, e, w = sine(0.3, 2.0, 2, 200)
    np.testing.assert_allclose(walk(cheap, e, w, t[1])[0], walk(law, e, w, t[1])[0], rtol=1e-12, atol=1e-12)


def test_bilinear_loop_energy():
    """4 (1 − a) k u_y (A − u_y) for a cycle of amplitude A; nothing below yield."""
    law = vb.Bilinear(stiffness=40.0, yield_deformation=0.05, post_yield_ratio=0.1)
    np.testing.assert_allclose(loop_energy(law, 0.2, 1.0), 4 * 0.9 * 40.0 * 0.05 * 0.15, rtol=1e-5)
    assert abs(loop_energy(law, 0.049, 1.0)) < 1e-12


def test_bilinear_by_brute_force():
    """Spring and slider moved by many small slips."""
    law, rng = vb.Bilinear(stiffness=40.0, yield_deformation=0.05, post_yield_ratio=0.1), np.random.default_rng(3)
    turns = rng.uniform(-0.2, 0.2, 12)
    fine = np.interp(np.linspace(0, 11, 220001), np.arange(12), turns)
    fine -= fine[0]
    plastic, forces = 0.0, []
    for e in fine[1:]:
        if e - plastic > 0.05:
            plastic = e - 0.05
        elif e - plastic < -0.05:
            plastic = e + 0.05
        forces.append(4.0 * e + 36.0 * (e - plastic))
    found = walk(law, jnp.asarray(fine[::20000]), jnp.zeros(12), 1.0)[0]
    np.testing.assert_allclose(found, forces[19999::20000], rtol=1e-12, atol=1e-12)


def test_backlash_takes_up_slips_lets_go_and_plays():
    """n = 1: grip grows over d from g/2, slips at F₊; back, it is gone after d/r, plays over g, and grips at −F₋."""
    law = vb.Backlash(slip_positive=2.0, slip_negative=3.0, play=0.02, take_up=0.04, release=4.0, exponent=1.0)
    e = np.array([0.0, 0.01, 0.03, 0.05, 0.2, 0.195, 0.19, 0.17, 0.15, 0.13, -0.1])
    #     play ends | half | slip | slips | half let go | gone | play over | half taken up | slip | slips
    force = walk(law, jnp.asarray(e), jnp.zeros(11), 1.0)[0]
    np.testing.assert_allclose(force, [0.0, 1.0, 2.0, 2.0, 1.0, 0.0, 0.0, -1.5, -3.0, -3.0], atol=1e-12)


def test_cubic_and_polynomial_are_the_slopes_of_their_energy():
    cubic, polynomial = vb.Cubic(30.0, 500.0), vb.Polynomial([30.0, -40.0, 500.0])
    e = np.linspace(-0.3, 0.3, 7)
    np.testing.assert_allclose(jax.vmap(lambda e: cubic.force(e, 0.0, ()))(e), 30 * e + 500 * e**3, rtol=1e-14)
    np.testing.assert_allclose(
        jax.vmap(lambda e: polynomial.force(e, 0.0, ()))(e), 30 * e - 40 * e**2 + 500 * e**3, rtol=1e-13, atol=1e-14
    )
    assert abs(loop_energy(polynomial, 0.3, 2.0)) < 1e-10


@pytest.mark.parametrize("exponent", [0.3, 1.0, 1.8])
def test_nonlinear_viscous_energy_of_a_cycle(exponent):
    """E = 2^(a+2) Γ(1 + a/2)² / Γ(2 + a) · c A^(1+a) ω^a."""
    amplitude, omega, c = 0.05, 7.0, 3.0
    closed = 2 ** (exponent + 2) * math.gamma(1 + exponent / 2) ** 2 / math.gamma(2 + exponent)
    closed *= c * amplitude ** (1 + exponent) * omega**exponent
    np.testing.assert_allclose(loop_energy(vb.NonlinearViscous(c, exponent), amplitude, omega), closed, rtol=2e-5)


def test_thermostat_coefficient():
    """c(t) = c(0) + Λ W² (t/2 + sin 2ωt / 4ω) − b t under w = W cos ωt; the floor's variant obeys its own velocity."""
    law, omega, peak = vb.Thermostat(initial=1.5, rate=10.0, bath=0.2), 3.0, 0.6
    t, e, w = sine(peak / omega, omega, 2, 4000)
    closed = 1.5 + 10.0 * peak**2 * (t / 2 + np.sin(2 * omega * t) / (4 * omega)) - 0.2 * t
    np.testing.assert_allclose(walk(law, e, w, t[1])[1], closed[1:], rtol=1e-6)
    floor = vb.laws.FloorThermostat(initial=1.5, rate=10.0, bath=0.2)
    force, c = walk(floor, jnp.stack([0 * e, e], -1), jnp.stack([jnp.ones_like(w), w], -1), t[1])
    np.testing.assert_allclose(c, closed[1:], rtol=1e-6)
    np.testing.assert_allclose(force[:, 0], c, rtol=1e-14)
    assert not np.any(force[:, 1])


def test_parallel_laws_add_up():
    both = vb.Parallel([vb.Cubic(30.0, 500.0), vb.BoucWen(40.0, 8.0, 6.0)])
    t, e, w = sine(0.2, 2.0, 2, 100)
    parts = [walk(law, e, w, t[1])[0] for law in both.laws]
    np.testing.assert_allclose(walk(both, e, w, t[1])[0], parts[0] + parts[1], rtol=1e-14)


def test_guarded_power():
    """|z|ⁿ and its slope away from zero; value 0 and a finite slope at zero, in both directions."""
    np.testing.assert_allclose(absolute_power(jnp.array([-2.0, 0.5]), 1.7), np.array([2.0, 0.5]) ** 1.7, rtol=1e-14)
    for n in (0.3, 1.0, 2.5):
        for slope in (jax.grad, jax.jacfwd):
            assert np.isfinite(slope(lambda z, n=n: absolute_power(z, n))(0.0))
            assert np.isfinite(slope(lambda n: absolute_power(0.0, n))(n))
        np.testing.assert_allclose(jax.grad(lambda z, n=n: absolute_power(z, n))(0.3), n * 0.3 ** (n - 1), rtol=1e-12)
