"""Masing laws against a large number of parallel sliders, closed forms and quadrature."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import vibrid as vb
from vibrid.identification.method import refuse_impossible
from vibrid.identification.online.live import live_problem
from vibrid.papers.masing.sliders import quantiles, sliders

SPREADS = {
    "uniform": (vb.laws.UniformYield(0.02, 0.12), stats.uniform(0.02, 0.10)),
    "rayleigh": (vb.laws.RayleighYield(0.07), stats.rayleigh(scale=0.07 * np.sqrt(2 / np.pi))),
    "weibull": (vb.laws.WeibullYield(2.1, 0.07, 0.02), stats.weibull_min(2.1, loc=0.02, scale=0.07)),
}
SLIDERS, BATCH = 20000, 400


@eqx.filter_jit
def walk(law, e, w):
    """Force and state at every sample of a path that starts at rest."""

    def step(s, ends):
        s = law.advance(s, vb.laws.Motion(ends[0], 0.0), vb.laws.Motion(ends[1], 0.0), 0.01)
        return s, (law.force(ends[1], ends[2], s), s)

    return jax.lax.scan(step, law.start(), (jnp.append(0.0, e[:-1]), e, w))[1]


@eqx.filter_jit
def recalled(law, memories):
    return jax.vmap(lambda m: (law.recall(m, 1.0), law.recall_turns(m)))(memories)


def history() -> np.ndarray:
    """Virgin loading on both sides, nested loops, closing loops, equal extremes, then white noise; 400 samples."""
    turns = [0, 1, 0.2, 0.8, 0.3, 1.4, -1.5, 0.5, -0.4, 0.2, -0.1, 0.1, 1.5, -1.5, 2.2, -0.3, -3.0, 3.0]
    smooth = 0.05 * np.interp(np.arange(300) / 299 * 17, np.arange(18), turns)
    return np.concatenate([smooth, 0.06 * np.random.default_rng(1).standard_normal(BATCH - 300)])


@pytest.mark.parametrize("ductility", [2.5, np.inf])
@pytest.mark.parametrize("kind", SPREADS)
def test_it_is_the_limit_of_many_breaking_sliders(kind, ductility):
    distribution, spread = SPREADS[kind]
    e = history()
    law = vb.Masing(40.0, distribution, ductility)
    force, (memory, _) = walk(law, jnp.asarray(e), jnp.zeros(BATCH))
    brute = sliders(quantiles(spread, SLIDERS), ductility, 40.0, e)
    assert np.abs(force - brute).max() < 5e-5 * np.abs(brute).max()
    assert memory.count.max() >= 5, "the history must nest loops"
    assert memory.count[-101] == 0, "and return to the virgin curve"


def test_the_complete_iwan_assembly_is_its_parts():
    e = history()
    law = vb.Iwan(40.0, SPREADS["uniform"][0], 2.5, 5.0, 8.0, 0.03, damping=2.0)
    w = np.sin(np.arange(BATCH))
    force = walk(law, jnp.asarray(e), jnp.asarray(w))[0]
    plastic, parts = 0.0, []
    for x, v in zip(e, w, strict=True):
        plastic = x - np.clip(x - plastic, -0.03, 0.03)
        parts.append(5.0 * x + 8.0 * (x - plastic) + 2.0 * v)
    brute = sliders(quantiles(SPREADS["uniform"][1], SLIDERS), 2.5, 40.0, e) + parts
    assert np.abs(force - brute).max() < 5e-5 * np.abs(brute).max()


@pytest.mark.parametrize("kind", SPREADS)
def test_a_snapshot_of_the_memory_gives_the_force_of_any_parameters(kind):
    """The memory does not depend on the parameters: recalled with others, it gives their force."""
    e, w = jnp.asarray(history()), jnp.ones(BATCH)
    law = vb.Masing(40.0, SPREADS[kind][0], 2.5, damping=0.7)
    other = jax.tree.map(lambda leaf: 1.2 * leaf, law)
    snapshots = walk(law, e, w)[1][0]
    force, (_, at_turns) = walk(other, e, w)
    total, turns = recalled(other, snapshots)
    np.testing.assert_allclose(total, force, rtol=1e-12, atol=1e-12)
    kept = np.arange(32) < np.asarray(snapshots.count)[:, None]
    np.testing.assert_allclose(np.where(kept, turns, 0.0), np.where(kept, at_turns, 0.0), rtol=1e-12, atol=1e-12)


PLACES = np.array([0.0, 0.005, 0.03, 0.08, 0.11, 0.3])


@eqx.filter_jit
def examined(distribution):
    """S, I and φ at the places, and the slopes of I in every parameter."""
    flat, unravel = jax.flatten_util.ravel_pytree(distribution)
    x = jnp.asarray(PLACES)
    slope = jax.jacfwd(lambda p: unravel(p).integral(x))(flat)
    return distribution.survival(x), distribution.integral(x), jax.vmap(distribution.density)(x), slope


@pytest.mark.parametrize("kind", SPREADS)
def test_distributions_are_those_of_scipy(kind):
    """S, I and φ against SciPy, the slopes of I against finite differences."""
    distribution, spread = SPREADS[kind]
    survival, integral, density, slope = examined(distribution)
    np.testing.assert_allclose(survival, spread.sf(PLACES), atol=1e-14)
    exact = [integrate.quad(spread.sf, 0.0, x, points=[0.02, 0.12], epsabs=1e-13)[0] for x in PLACES]
    np.testing.assert_allclose(integral, exact, atol=1e-12)
    np.testing.assert_allclose(density[1:], spread.pdf(PLACES[1:]), atol=1e-11)
    leaves, tree = jax.tree.flatten(distribution)
    for i, value in enumerate(leaves):
        h = 1e-6 * float(value)
        ends = [examined(jax.tree.unflatten(tree, [*leaves[:i], value + s, *leaves[i + 1 :]]))[1] for s in (h, -h)]
        np.testing.assert_allclose(slope[:, i], (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-9)


def test_rayleigh_is_a_weibull():
    same = vb.laws.WeibullYield(2.0, 2 * 0.07 / np.sqrt(np.pi))
    np.testing.assert_allclose(examined(same)[1], examined(vb.laws.RayleighYield(0.07))[1], atol=1e-14)


def test_stretched_virgin_curve_meets_the_other_side():
    """Curve2(2m, m) = 2 Curve1(m): a half loop at the largest amplitude ends on the virgin curve of the other side."""
    law = vb.Masing(40.0, SPREADS["rayleigh"][0], 2.5)
    path = jnp.full(BATCH, -0.1).at[:2].set(jnp.array([0.1, -0.1 + 1e-12]))
    force = walk(law, path, jnp.zeros(BATCH))[0][:3]
    np.testing.assert_allclose(force, [force[0], -force[0], -force[0]], rtol=1e-9)


class TwoStrengths(vb.laws.YieldDistribution):
    """A user's own: half of the elements yield at 0.02 m, the others at 0.1 m."""

    def survival(self, x):
        return 0.5 * (x < 0.02) + 0.5 * (x < 0.1)

    def integral(self, x):
        return 0.5 * jnp.minimum(x, 0.02) + 0.5 * jnp.minimum(x, 0.1)


def test_a_distribution_of_ones_own():
    e = history()
    force = walk(vb.Masing(40.0, TwoStrengths()), jnp.asarray(e), jnp.zeros(BATCH))[0]
    by_hand = sum(walk(vb.Bilinear(20.0, limit), jnp.asarray(e), jnp.zeros(BATCH))[0] for limit in (0.02, 0.1))
    np.testing.assert_allclose(force, by_hand, rtol=1e-11, atol=1e-12)


def cyclic(amplitudes) -> vb.Record:
    return vb.Record(np.asarray(amplitudes), [vb.Channel("imposed", "imposed_displacement")], step=0.1)


def test_a_full_memory_is_an_error_that_states_what_to_do():
    shrinking = 0.1 * (-0.9) ** np.arange(12)
    small = vb.Device(vb.Parallel([vb.Masing(40.0, SPREADS["rayleigh"][0], capacity=8), vb.Linear(1.0)]))
    with pytest.raises(vb.Divergence, match=r"memory of Parallel was full at 0\.9 s"):
        vb.simulate(small, cyclic(shrinking))
    enough = vb.Device(vb.Masing(40.0, SPREADS["rayleigh"][0], capacity=12))
    assert np.isfinite(vb.simulate(enough, cyclic(shrinking)).part("device")[1]).all()
    many = vb.simulate_many(small, cyclic(shrinking), {"law.laws[1].stiffness": np.array([1.0, 2.0])}, observe=Force())
    assert np.isnan(many[:, -1]).all() and np.isfinite(many[:, 7]).all()


class Force(eqx.Module):
    def __call__(self, model, state, u):
        return model.part_forces(state.x, state.v, state.s)[0]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: vb.Masing(1.0, 0.3), "need a distribution"),
        (lambda: vb.Masing(1.0, TwoStrengths(), capacity=1), "at least 2"),
    ],
)
def test_what_cannot_be_is_refused(made, words):
    with pytest.raises(vb.InputError, match=words):
        made()


def test_it_moves_a_building_and_filters_refuse_to_average_it(motion):
    """The storey forces are those of sliders under the drifts; a Kalman filter states why it cannot."""
    storey = vb.Masing(40.0, SPREADS["rayleigh"][0], ductility=3.0, damping=0.5)
    building = vb.ShearBuilding(masses=[1.0, 1.0], storeys=[storey, storey])
    response = vb.simulate(building, motion, integrator=vb.CentralDifference())
    drift, force = response.part("storeys[0]")
    assert np.abs(drift).max() > 0.1, "the storeys must yield and break"
    brute = sliders(quantiles(SPREADS["rayleigh"][1], 2000), 3.0, 40.0, drift)
    assert np.abs(force - brute - 0.5 * response.velocity[:, 0]).max() < 1e-3 * np.abs(brute).max()
    data = response.measure(vb.Sensors(displacement=[0, 1]), noise=0.01)
    problem = live_problem(building, vb.Sensors.of(data), ["storeys[*].stiffness"], data)
    with pytest.raises(vb.Refusal, match="cannot be averaged") as refusal:
        refuse_impossible(problem, vb.UnscentedKalman())
    assert "trajectory" in str(refusal.value)
