"""Laws of cyclic tests: plain loops in small steps, closed forms, and the balance of energy."""

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import opensees_hinges as reference
import pytest
import scipy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_hinges_opensees import BACKBONE, along, forces

import vibrid as vb
from examples import EXAMPLES
from vibrid.conformance.law import walk
from vibrid.laws.loops import LoopSizes

laws = vb.laws


def small_steps(law, e):
    """An IMK hinge in small steps, from its rules: a corner is met within one step, the energy is a sum."""
    p = {f.name: float(getattr(law, f.name)) for f in dataclasses.fields(law) if f.init}
    k, c = p["stiffness"], p["exponent"]
    sides = {}
    for way, end in ((1, ""), (-1, "_negative")):
        first = p["yield_force" + end]
        sides[way] = {
            "first": first, "plastic": p["plastic_deformation" + end], "pc": p["post_capping_deformation" + end],
            "strength": 1.0, "capping": 1.0, "target": first / k, "permanent": 0.0, "peak": (0.0, 0.0),
        }  # fmt: skip

    def backbone(side, x):
        top = p["capping_ratio"] * side["first"]
        rise = side["strength"] * (side["first"] + (top - side["first"]) / side["plastic"] * (
            x - side["strength"] * side["first"] / k))  # fmt: skip
        meets = side["capping"] * top * (1 + (side["first"] / k + side["plastic"]) / side["pc"])
        return max(
            min(rise, max(meets - top / side["pc"] * x, p["residual_ratio"] * side["strength"] * side["first"])), 0
        )

    unloading, way, zero, f, energy, work = k, 1, 0.0, 0.0, 0.0, 0.0
    corners = [(0.0, 0.0), (sides[1]["target"], backbone(sides[1], sides[1]["target"]))]
    made, farthest = [0.0], (0.0, 0.0)
    for before, after in itertools.pairwise(e):
        trial = f + way * unloading * (after - before)
        if trial < 0.0:
            place = before - way * f / unloading
            spent = max(work - 0.5 * f * f / unloading, 0.0)
            energy, work = energy + spent, 0.0
            sides[way]["peak"] = farthest
            way, zero, f = -way, -way * place, 0.0
            side = sides[way]

            def beta(name):
                total = p.get(name, math.inf) * p["yield_force"]
                return 0.0 if math.isinf(total) else min((spent / max(total - energy, 1e-12)) ** c, 1.0)  # noqa: B023

            side["strength"] *= 1 - beta("strength_capacity")
            side["capping"] *= 1 - beta("capping_capacity")
            unloading *= 1 - beta("unloading_capacity")
            side["target"] *= 1 + beta("reloading_capacity")
            corners, target = [(zero, 0.0)], (side["target"], backbone(side, side["target"]))
            if isinstance(law, laws.IMKPinching):
                bend = (1 - p["pinching_deformation"]) * side["permanent"]
                if zero < bend < target[0]:
                    slope = p["pinching_force"] * target[1] / (target[0] - zero)
                    corners.append((bend, slope * (bend - zero)))
            x, g = corners[-1]
            peak = side["peak"]
            if x < peak[0] < target[0] and (peak[1] - g) / (peak[0] - x) > (target[1] - g) / (target[0] - x):
                corners.append(peak)
            corners.append(target)
            farthest, before = (0.0, 0.0), place
            trial = way * unloading * (after - before)
        side, x = sides[way], way * after
        if isinstance(law, laws.IMKBilinear):
            ahead = min(unloading * (x - zero), backbone(side, x))
        else:
            ahead = np.interp(x, *zip(*corners, strict=True)) if x < corners[-1][0] else math.inf
            ahead = min(ahead, backbone(side, x))
        now = min(trial, ahead)
        if trial >= ahead:
            farthest = (x, now)
        work += 0.5 * (f + now) * way * (after - before)
        f = now
        side["target"], side["permanent"] = max(side["target"], x), max(side["permanent"], x - f / unloading)
        made.append(way * f)
    return np.array(made)


WEAR = {"strength_capacity", "capping_capacity", "unloading_capacity", "reloading_capacity"}


@pytest.mark.parametrize("name", ["imk-bilinear", "imk-peak-oriented", "imk-pinching"])
def test_deterioration_in_small_steps(name):
    law, size = EXAMPLES[name]
    turns = size * np.array(
        [0.0, 0.5, -0.5, 0.8, -0.7, 0.3, 0.5, -0.2, 0.9, -1.0, 1.2, -1.1, 0.2, -0.4, 1.3, -1.3, 0.0]
    )
    e = along(turns, 2000)
    found, wanted = forces(law, e), small_steps(law, e)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-3 * np.abs(wanted).max())
    unworn = forces(dataclasses.replace(law, **dict.fromkeys(WEAR & set(law.__dataclass_fields__), 1e9)), e)
    assert np.abs(unworn - wanted).max() > 0.05 * np.abs(wanted).max()  # the deterioration is seen


def test_one_cycle_of_deterioration_by_hand():
    """Strength of a perfectly plastic hinge after one excursion: F_y (1 − E₁/(Λ F_y − E₁))."""
    law = laws.IMKBilinear(40.0, 2.0, 10.0, 100.0, 1.0 + 1e-12, strength_capacity=1.0)
    dissipated = 2.0 * 0.25  # plastic way from 0.05 to 0.3
    worn = 2.0 * (1.0 - dissipated / (2.0 - dissipated))
    assert forces(law, [0.0, 0.3, 0.0, -0.3])[-1] == pytest.approx(-worn, rel=1e-9)


@pytest.mark.parametrize("name", ["imk-pinching", "pinching"])
def test_partial_unloading_leaves_no_trace(name):
    law, size = EXAMPLES[name]
    plain = forces(law, size * np.array([0.0, 0.7, 0.7, 0.7, -0.6, -0.6, -0.6, 0.8, 0.8, 0.8, -1.0, 0.0]))
    wiggled = forces(law, size * np.array([0.0, 0.7, 0.68, 0.7, -0.6, -0.59, -0.6, 0.5, 0.49, 0.8, -1.0, 0.0]))
    np.testing.assert_allclose(wiggled[-2:], plain[-2:], rtol=1e-12)


def test_rounding_decides_nothing():
    """Elastic cycles end in ties: at zero force, and on the line to the target. Laws that differ by 1e-4 and less have
    forces that differ as little, and none passes its backbone."""
    sizes = 0.09 / 1.4 ** np.repeat(np.arange(8, -1, -1), 2)
    e = jnp.asarray(along(np.array([0.0, *(way * a for a in sizes for way in (1.0, -1.0)), 0.0]), 25))
    values = np.linspace(0.997, 1.003, 64)
    batch = jax.vmap(lambda f: laws.IMKPeakOriented(19.6e6, f, 0.032, 0.089, 1.12, 0.0, 1.4, 1.5))(361e3 * values)
    made = np.asarray(jax.jit(jax.vmap(lambda law: walk(law, e, 0.0 * e, 1.0)[0]))(batch))
    assert np.abs(np.diff(made, axis=0)).max() < 1e-3 * 361e3
    assert np.abs(made).max() < 1.12 * 361e3 * 1.003


def test_a_line_along_the_envelope():
    """From a peak on the envelope to a target on it, which reloading moved away: the line between them is the envelope
    but for rounding."""
    law = laws.IMKPeakOriented(*BACKBONE, reloading_capacity=reference.CAPACITY)
    noise = 1e-15 * np.random.default_rng(0).standard_normal((64, 1 + reference.TURNS * reference.DIVIDED))
    made = jnp.asarray(reference.path(8)) * (1.0 + noise)
    found = np.asarray(jax.jit(jax.vmap(lambda e: walk(law, e, 0.0 * e, 1.0)[0]))(made))
    assert np.ptp(found, axis=0).max() < 1e-9


def test_ramberg_osgood_branches():
    """The virgin curve inverts its equation; a full loop is the curve stretched twice."""
    law = laws.RambergOsgood(40.0, 2.0, 5.0, 0.8)
    f = np.linspace(0.05, 2.6, 9)
    e = f / 40.0 * (1 + 0.8 * (f / 2.0) ** 4)
    np.testing.assert_allclose([forces(law, [0.0, x])[-1] for x in e], f, rtol=1e-12)
    np.testing.assert_allclose([forces(law, [0.0, e[-1], e[-1] - 2 * x])[-1] for x in e], f[-1] - 2 * f, atol=1e-12)


def test_baber_noori_against_an_adaptive_solver():
    values = (40.0, 8.0, 6.0, 1.5, 0.05, 0.02, 0.05, 0.6, 0.2, 0.1, 0.3, 0.01, 0.4)
    k, beta, gamma, n, a, nu, eta, zs, p, q, psi, d_psi, lam = values
    u = (beta + gamma) ** (-1 / n)

    def rate(t, s):
        w, (z, eps) = 0.2 * 3.0 * np.cos(3.0 * t), s
        v = 1 + nu * eps
        z1 = zs * (1 - np.exp(-p * eps))
        z2 = (psi + d_psi * eps) * (lam + z1) * u
        zu = (v * (beta + gamma)) ** (-1 / n)
        h = 1 - z1 * np.exp(-((z * np.sign(w) - q * zu) ** 2) / z2**2)
        bend = v * (beta * abs(w) * abs(z) ** (n - 1) * z + gamma * w * abs(z) ** n)
        return [h * (w - bend) / (1 + eta * eps), (1 - a) * z * w / u**2]

    t = np.linspace(0.0, 12.0, 24001)
    exact = scipy.integrate.solve_ivp(
        rate, (0, 12), [0.0, 0.0], t_eval=t[::1000], rtol=1e-10, atol=1e-13, max_step=0.01
    )
    law = laws.BoucWenBaberNoori(*values)
    e = 0.2 * np.sin(3.0 * t)
    found = np.append(0.0, walk(law, jnp.asarray(e), jnp.asarray(0.6 * np.cos(3.0 * t)), t[1])[0])[::1000]
    np.testing.assert_allclose(found, k * (a * e[::1000] + (1 - a) * exact.y[0]), atol=1e-5 * np.abs(found).max())
    assert zs * (1 - np.exp(-p * exact.y[1, -1])) > 0.3  # the slip has grown


def test_energy_of_a_flag():
    """Two parallelograms, (1 − a) β F_a high and as wide as the way after activation; no permanent deformation."""
    law = laws.Flag(40.0, 2.0, 0.1, 0.7)
    e = along([0.0, 0.2, -0.2, 0.0], 4000)
    f = forces(law, e)
    energy = scipy.integrate.trapezoid(f, e)
    assert energy == pytest.approx(2 * 0.9 * 0.7 * 2.0 * (0.2 - 0.05), rel=1e-5)
    assert np.all(f * e >= 0.0)


def test_rubber_at_a_constant_velocity_and_at_rest():
    """z = F₀ (v/v₀)ⁿ; at rest it relaxes to the slow spring."""
    law = laws.RateRubber(10.0, 50.0, 400.0, 1.0, 0.4, 0.1)
    for v in (0.02, 0.5):
        e = v * np.arange(20001) * 1e-4
        found = walk(law, jnp.asarray(e), jnp.full(e.shape, v), 1e-4)[0][-1]
        assert found == pytest.approx(10.0 * e[-1] + 50.0 * e[-1] ** 3 + (v / 0.1) ** 0.4, rel=1e-6)
    e = np.append(np.linspace(0.0, 0.1, 1001), np.full(200000, 0.1))
    w = np.append(np.full(1000, 1.0), np.zeros(200001))
    held = walk(law, jnp.asarray(e), jnp.asarray(w), 1e-4)[0][-1]
    assert held == pytest.approx(10.0 * 0.1 + 50.0 * 1e-3, rel=0.03)


def test_lead_heats_as_it_slides():
    """Without cooling Q = Q₀/(1 + a Q₀ d/C) after a way d of steady sliding."""
    law = laws.LeadRubber(10.0, 2.0, 1e-3, 0.02, 0.01)
    e = np.linspace(0.0, 3.0, 60001)
    force = np.append(0.0, walk(law, jnp.asarray(e), jnp.full(e.shape, 0.5), e[1] / 0.5)[0]) - 10.0 * e
    sliding = e - e[1000]
    start = 2.0 / (1 + 0.01 * 2.0 * e[1000] / 0.02)
    close = force[1000:] / (force[1000] / (1 + 0.01 * force[1000] * sliding[1000:] / 0.02))
    np.testing.assert_allclose(close, 1.0, rtol=1e-4)
    assert force[1000] == pytest.approx(start, rel=0.01)


NEW = [
    "bouc-wen-baber-noori", "flag", "friction-gap", "giuffre-menegotto-pinto", "giuffre-menegotto-pinto-fatigue",
    "imk-bilinear", "imk-peak-oriented", "imk-pinching", "lead-rubber", "multilinear", "pinching", "ramberg-osgood",
    "rate-rubber", "tension-only",
]  # fmt: skip


@pytest.mark.parametrize("name", NEW)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(turns=st.lists(st.floats(-2.0, 2.0), min_size=10, max_size=10))
def test_no_closed_path_gives_energy(name, turns):
    """The work over any path from zero deformation back to it is not negative."""
    law, size = EXAMPLES[name]
    e = along(size * np.array([0.0, *turns, 0.0]), 100)
    w = np.gradient(e, 0.01)
    f = np.append(0.0, np.asarray(walk(law, jnp.asarray(e), jnp.asarray(w), 0.01)[0]))
    work = scipy.integrate.trapezoid(f, e)
    assert work >= -1e-3 * np.abs(f).max() * size


def test_steel_is_finite_for_every_parameter():
    """Small reversals about yield, with R near zero (c₁ above 1), b near 1, sharp bends; forces and slopes by all."""
    random = np.random.default_rng(3)
    steps = np.exp(random.uniform(-4.0, 0.5, (64, 1))) * 0.05 * random.standard_normal((64, 100))
    values = np.array([40.0, 2.0, 0.02, 10.0, 1.2, 0.15, 0.05, 1.0]) * np.exp(0.7 * random.standard_normal((64, 8)))
    values[0, 2], values[1, 4], values[2, 3] = 1.0, 8.0, 1e6

    def along(p, e):
        return walk(laws.GiuffreMenegottoPinto(*p), e, 0.0 * e, 1.0)[0]

    def both(p, e):
        return along(p, e), jax.jacfwd(along)(p, e)

    e = np.hstack([np.zeros((64, 1)), np.cumsum(steps, axis=1)])
    force, slope = jax.jit(jax.vmap(both))(values, e)
    assert np.isfinite(np.asarray(force)).all() and np.isfinite(np.asarray(slope)).all()
    assert np.abs(np.asarray(force)[values[:, 2] < 0.5]).max() < 100.0 * values[:, 1].max()


def test_the_points_of_an_envelope_are_read_off_the_test():
    """The three lines of a monotonic test, to the 60th part of its way; no number where points have changed places."""
    law = laws.Multilinear([0.021, 0.05, 0.12], [360e3, 450e3, 250e3])
    x = np.linspace(0.0, 0.12, 601)
    loop = LoopSizes.of([(x, np.full(x.size, 0.1), forces(law, x))])
    deformations, pushes = loop.envelope_points()
    np.testing.assert_allclose(deformations, [0.021, 0.05, 0.12], atol=0.0021)
    np.testing.assert_allclose(pushes, [360e3, 450e3, 250e3], rtol=0.03)
    turned = jax.jit(lambda d: walk(laws.Multilinear(d, [1.0, 2.0]), jnp.asarray(x), 0.0 * x, 1.0)[0])
    assert (
        np.isnan(np.asarray(turned(jnp.array([0.05, 0.04])))[-1]) and np.isfinite(turned(jnp.array([0.04, 0.05]))).all()
    )


def test_envelopes_that_make_no_sense_are_refused():
    with pytest.raises(vb.InputError, match="must grow from point to point"):
        laws.Multilinear([0.04, 0.03], [1.0, 2.0])
    with pytest.raises(vb.InputError, match="as many deformations as forces; it has 2 and 3"):
        laws.Pinching([0.04, 0.08], [1.0, 2.0, 1.0])
    with pytest.raises(vb.InputError, match=r"IMKPinching\.yield_force.* must be positive"):
        laws.IMKPinching(40.0, -2.0, 0.1, 0.2)
