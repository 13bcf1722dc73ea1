"""Training of passive networks on crops: what is cut, what counts, what the port does without its limit."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vibrid.core.errors import InputError
from vibrid.hybrid.learned.crops import Crops, _Tests
from vibrid.hybrid.learned.histories import DeviceTest, stack
from vibrid.hybrid.learned.passive import PassivePort
from vibrid.hybrid.learned.recipes import Recipe, slack, steepest, train_models
from vibrid.hybrid.learned.samples import DeviceSample, Setting
from vibrid.laws.base import Motion

RATE = 64.0
SMALL = Recipe(
    network="passive", rate=RATE, encoded=8, oscillators=2, hidden=(8,), memories=4, states=3, plays=3,
    uses_companion=False, steps=60, crop=3.0, warm_up=0.5, batch=4,
)  # fmt: skip


def friction_tests(count=3, seconds=8.0, offset=0.0):
    """A softened Coulomb device with a spring, under sweeps that begin and end with rest."""
    tests = []
    for k in range(count):
        t = np.arange(int(seconds * RATE)) / RATE
        window = np.clip(np.minimum(t - 1.0, seconds - 1.0 - t), 0.0, 1.0)
        x = 0.01 * window * np.sin(2 * np.pi * (0.4 + 0.2 * k) * t)
        v = np.gradient(x, 1 / RATE)
        force = 8e3 * np.tanh(v / 3e-3) + 2e5 * x
        tests.append(DeviceTest(f"test {k}", x + offset, v, force, np.zeros((len(x), 0)), (1e4, 1e4)))
    return tests


def test_without_its_limit_a_port_gives_the_forces_of_its_steps():
    port, rng = PassivePort(4, 1e-3, 5e-3, limit=1e6), np.random.default_rng(1)
    outputs = jnp.asarray(rng.normal(size=(80, 2, port.outputs)))
    motion = Motion(jnp.asarray(np.cumsum(rng.normal(size=(80, 2)), axis=0) * 3e-4), jnp.zeros((80, 2)))
    setting = Setting(jnp.asarray([[1e4, 2e4], [3e4, 1e4]]), jnp.asarray([2e3, 0.0]))
    stepped, _ = port.along(port.start((2,)), outputs, motion, setting, 1 / 128)
    assert np.allclose(port.unlimited(outputs, motion, setting, 1 / 128), stepped, rtol=1e-9, atol=1e-6)


def test_play_operators_begin_where_the_device_is():
    make = SMALL.maker(friction_tests())
    model = make(jax.random.key(0))
    here, there = (stack(friction_tests(offset=offset)) for offset in (0.0, 0.03))
    for data in (here, there):
        x, v = (jnp.asarray(part[0]) for part in (data.sample.x, data.sample.v))
        seen, _ = model.features.along(model.features.start(), x, v)
        state, steps = model.features.start(), []
        for one in zip(x[:100], v[:100], strict=True):
            state, now = model.features.step(state, *one)
            steps.append(now)
        assert np.allclose(seen[:100], np.stack(steps), atol=1e-6)
    features = [model.features.along(model.features.start(), *map(jnp.asarray, (d.sample.x[0], d.sample.v[0])))[0]
                for d in (here, there)]  # fmt: skip
    assert np.allclose(*features, atol=2e-4)


def test_the_first_force_says_where_a_device_stands_in_its_play():
    tests = friction_tests()
    features = dataclasses.replace(SMALL.maker(tests)(jax.random.key(0)).features, reach=0.0)
    first = 0.4 * features.stiffness * features.widths[-1]
    still = jnp.full(5, 0.03), jnp.zeros(5)
    seen, _ = features.along(features.start(), *still, first)
    place = np.clip(first / features.stiffness / np.array(features.widths), -1.0, 1.0)
    assert np.allclose(seen[:, -len(place) :], place, atol=1e-4) and 0.3 < place[-1] < place[0] == 1.0
    _, now = features.step(features.start(), jnp.asarray(0.03), jnp.asarray(0.0), first)
    assert np.allclose(now, seen[0], atol=1e-6)


def test_a_first_force_says_no_more_than_the_slack_of_the_device():
    """Its force is a spring's while it is small only: beyond it says which way the device stands, not how far."""
    features = SMALL.maker(friction_tests())(jax.random.key(0)).features
    wide = dataclasses.replace(features, widths=(10.0 * features.reach,))
    assert features.reach == pytest.approx(0.05 * 1e4 / features.stiffness)
    for force, placed in ((0.01 * 1e4, 0.02), (0.05 * 1e4, 0.1), (1e4, 0.1), (-1e4, -0.1)):
        seen = wide.step(wide.start(), jnp.asarray(0.03), jnp.asarray(0.0), force)[1]
        assert float(seen[-1]) == pytest.approx(placed, abs=1e-4)
    free = dataclasses.replace(wide, reach=0.0)
    assert float(free.step(free.start(), jnp.asarray(0.03), jnp.asarray(0.0), 1e4)[1][-1]) > 0.15


def test_the_stiffness_of_a_play_is_read_off_the_tests():
    x = 0.02 * np.sin(np.linspace(0.0, 30.0, 4000))
    force = 1e5 * x + 2e6 * np.sign(x) * np.maximum(np.abs(x) - 4e-3, 0.0)  # a soft play of 4 mm to either side
    test = DeviceTest("play", x, np.gradient(x, 1 / RATE), force, np.zeros((len(x), 0)), (2e4, 2e4))
    assert slack([test]) == pytest.approx(1e5, rel=0.02) and steepest([test]) == pytest.approx(2.1e6, rel=0.02)
    assert slack([test._replace(x=np.zeros_like(x))]) == 0.0


def test_the_capacity_is_an_input_over_that_of_the_training_tests():
    tests = [t._replace(capacity=(c, c)) for t, c in zip(friction_tests(), (5e3, 1e4, 2e4), strict=True)]
    model = SMALL.maker(tests)(jax.random.key(0))
    assert model.capacity == pytest.approx(1e4)
    sample = DeviceSample(jnp.zeros(()), jnp.zeros(()), jnp.zeros(0))
    _, own = model.inputs(jnp.zeros(model.features.count), sample, Setting(jnp.asarray([2e4, 2e4]), jnp.asarray(9.0)))
    assert np.allclose(own[-3:], [0.0, np.log(2.0), 9.0 / 2e4], atol=1e-6)


def test_crops_are_pieces_of_tests_at_their_speed():
    tests = friction_tests()
    model = SMALL.maker(tests)(jax.random.key(0))
    data = stack(tests)
    made = _Tests(model, jax.tree.map(jnp.asarray, data), jnp.asarray([1.0, 0.0, 1.0]), 1.0)
    chosen, first = made.drawn(jax.random.key(2), 400, 100)
    assert set(np.unique(chosen)) == {0, 2}  # a weight of zero leaves a test out
    assert np.mean(np.asarray(first) == 0) == pytest.approx(0.3, abs=0.12) and first.max() <= data.samples - 100
    sample, plays, force, counts = made.cut(jnp.asarray([1]), jnp.asarray([40]), jnp.asarray([1.5]), 50)
    times = 40 + 1.5 * np.arange(50)
    assert np.allclose(sample.x[:, 0], np.interp(times, np.arange(data.samples), data.sample.x[1]), atol=1e-8)
    assert np.allclose(sample.v[:, 0], 1.5 * np.interp(times, np.arange(data.samples), data.sample.v[1]), atol=1e-6)
    assert np.allclose(force[:, 0], np.interp(times, np.arange(data.samples), data.force[1]), rtol=1e-5, atol=1e-2)
    assert plays.shape == (50, 1, 3) and counts.min() > 0
    beyond = made.cut(jnp.asarray([1]), jnp.asarray([data.samples - 20]), jnp.asarray([1.0]), 50)[3]
    assert np.array_equal(np.asarray(beyond[:, 0]) > 0, np.arange(50) < 20)


def test_tests_count_alike_and_their_strong_parts_more():
    tests = friction_tests()
    model = SMALL.maker(tests)(jax.random.key(0))
    late = np.linspace(0.0, 1.0, len(tests[2].x)) ** 4
    tests[2] = tests[2]._replace(x=late * tests[2].x, v=late * tests[2].v)
    data = jax.tree.map(jnp.asarray, stack(tests))
    plain, strong = (np.asarray(_Tests(model, data, jnp.ones(3), s).counts) for s in (0.0, 1.0))
    assert np.allclose(plain, 1.0) and np.allclose(strong.sum(axis=1), 512.0, rtol=1e-5)
    assert np.allclose(strong.max(axis=1), 2.0 * strong.min(axis=1), rtol=1e-5)
    assert strong[2].max() > 1.5 > strong[0].max()  # the shorter the strong part, the more its samples count


def test_a_twin_is_trained_without_the_tests_by_which_it_is_scored():
    tests = friction_tests()
    short = SMALL.replace(steps=4)
    (both,) = train_models(short, tests[:2], tests[2:], with_all=True)
    assert both.scored is both.twin and both.twin is not both.model
    assert both.facts["tests"] == [t.name for t in tests] and both.facts["validation"] == ["test 2"]
    changed = [tests[2]._replace(force=-tests[2].force)]
    (other,) = train_models(short, tests[:2], changed, with_all=True)
    same = [jax.tree.leaves(each.twin.trained) for each in (both, other)]
    assert all(np.array_equal(*pair) for pair in zip(*same, strict=True))
    kept = [jax.tree.leaves(each.model.trained) for each in (both, other)]
    assert not all(np.array_equal(*pair) for pair in zip(*kept, strict=True))


def test_a_training_on_crops_learns():
    tests = friction_tests()
    (best,) = train_models(SMALL, tests[:2], tests[2:])
    (first,) = train_models(dataclasses.replace(SMALL, steps=1), tests[:2], tests[2:])
    assert best.facts["scores"]["nrmse"] < 0.6 * first.facts["scores"]["nrmse"]
    assert best.facts["scores"]["nrmse"] < 0.15


def test_only_passive_networks_are_trained_on_crops():
    resonant = Recipe(network="resonant", rate=RATE, uses_companion=False).maker(friction_tests())(jax.random.key(0))
    with pytest.raises(InputError, match="Crops train passive networks"):
        Crops(resonant.fixed)
    passive = SMALL.maker(friction_tests())(jax.random.key(0))
    with pytest.raises(InputError, match="none is left"):
        Crops(passive.fixed, crop=100, warm_up=100)
    assert eqx.is_array(passive.trained.network.bias)
