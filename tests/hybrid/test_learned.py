"""Device networks: what they see, how they answer, how they are trained and written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.traced import trace
from vibrid.hybrid.learned import (
    Constant,
    Corrected,
    DeviceModel,
    DeviceNetwork,
    DeviceSample,
    DeviceTest,
    Direct,
    LawLayer,
    MotionFeatures,
    ScaledLaw,
    Setting,
    fit_models,
    predict,
    stack,
)
from vibrid.networks.export import CompiledStep
from vibrid.networks.export.compiled import compiler

RATE, CAPACITY = 256.0, 2e4
TRUTH = vb.LuGre(8e6, 2e3, 2e4, 2e4, 2.3e4, 2.3e4, 0.05)
LAW = ScaledLaw(
    vb.LuGre(4e6, 1e3, 2e4, 2e4, 2.3e4, 2.3e4, 0.05), CAPACITY,
    ("coulomb_positive", "static_positive"), ("coulomb_negative", "static_negative"),
)  # fmt: skip
LEARNED = ("bristle_stiffness", "bristle_damping")
FEATURES = MotionFeatures(0.02, 0.1, (5e-4, 2e-3))


def test_of(key: int, samples: int = 240) -> DeviceTest:
    """A LuGre device moved by two sines, simulated by the package's own law, with noise of 1 %."""
    rng = np.random.default_rng(key)
    t = np.arange(samples) / RATE
    x = 0.01 * (np.sin(2 * np.pi * rng.uniform(1, 3) * t) + 0.4 * np.sin(2 * np.pi * rng.uniform(4, 8) * t))
    v = np.gradient(x, 1 / RATE)
    s, force = 0.0, []
    for e, w in zip(x, v, strict=True):
        s = (s + w / RATE) / (1 + 8e6 * abs(w) / RATE / float(TRUTH.capacity(w)))
        force.append(float(TRUTH.force(e, w, s)))
    force = np.array(force) + 200.0 * rng.standard_normal(samples)
    return DeviceTest(str(key), x, v, force, np.stack([force, x], axis=1), (CAPACITY, CAPACITY))


test_of.__test__ = False


@pytest.fixture(scope="module")
def histories():
    return stack([test_of(0), test_of(1), test_of(2, 200)], 64)


def network(answer, **options):
    return lambda key: DeviceModel(
        FEATURES,
        DeviceNetwork.make(key, 2, DeviceModel.own_inputs(FEATURES), answer.outputs, branch=6, joined=(6,), **options),
        answer, (CAPACITY, 0.02), RATE,
    )  # fmt: skip


def test_plays_remember_what_sliders_with_a_gap_do():
    x = 3e-3 * np.sin(np.arange(300) / 11) * np.sin(np.arange(300) / 70)
    state, r = FEATURES.start(), np.array(FEATURES.widths)
    by_hand = np.zeros(2)
    for value in x:
        state, seen = FEATURES.step(state, value, 0.0)
        for i in range(2):
            by_hand[i] = min(max(by_hand[i], value - r[i]), value + r[i])
        np.testing.assert_allclose(seen[2:], (value - by_hand) / r, atol=1e-5)
    assert np.abs(np.asarray(seen[2:])).max() <= 1 + 1e-6


@pytest.mark.parametrize("widths", [(5e-4, 2e-3), ()])
def test_features_of_many_samples_are_those_of_each_without_a_loop(widths):
    features = MotionFeatures(0.02, 0.1, widths)
    x, v = 3e-3 * jax.random.normal(jax.random.key(0), (2, 75, 3))
    start = 1e-3 * jax.random.normal(jax.random.key(1), (3, len(widths)), jnp.float32)
    last, each = jax.lax.scan(lambda state, now: features.step(state, *now), start, (x, v))
    seen, state = features.along(start, x, v)
    np.testing.assert_array_equal(state, last)
    np.testing.assert_allclose(seen, each, rtol=1e-6, atol=1e-6)
    assert not {"scan", "while"} & {e.primitive.name for e in jax.make_jaxpr(features.along)(start, x, v).eqns}


def test_tests_are_filled_up_with_rest_that_does_not_count(histories):
    assert histories.samples == 256 and histories.counts.sum() == 240 + 240 + 200
    np.testing.assert_array_equal(histories.sample.v[2, 200:], 0.0)
    np.testing.assert_array_equal(histories.sample.x[2, 200:], histories.sample.x[2, 199])


def test_a_law_with_constant_outputs_is_identified(histories):
    """The true stiffness of the bristles is twice the guess: e^0.69."""
    answer = LawLayer(LAW, LEARNED, 2.0)
    make = lambda key: DeviceModel(FEATURES, Constant.make(key, 2, 0.0), answer, (CAPACITY, 0.02), RATE)  # noqa: E731
    keys = jax.random.split(jax.random.key(0), 1)
    (model,), made = fit_models(
        make, keys, np.ones((1, 3)), histories, dict(rate=0.05, stretch=256, decay=0.9), 60, key=jax.random.key(1)
    )
    assert made.history[-1, 0] < 0.02 < made.history[0, 0]
    np.testing.assert_allclose(np.exp(2.0 * np.tanh(model.network.bias[0])), 2.0, rtol=0.1)


@pytest.mark.long
def test_networks_learn_side_by_side_and_leave_tests_out(histories):
    """Two seeds and one that never sees test 0: its error there is larger."""
    weights = np.ones((3, 3))
    weights[2, 0] = 0.0
    keys = jax.random.split(jax.random.key(0), 3)[np.array([0, 1, 0])]
    models, made = fit_models(
        network(Direct()), keys, weights, histories, dict(rate=1e-2, stretch=64, turned=0.5, doubt=0.05), 20,
        key=jax.random.key(2),
    )  # fmt: skip
    assert (made.history[-1] < 0.6 * made.history[0]).all()
    missed = [np.asarray(predict(m, histories))[0] - histories.force[0] for m in (models[0], models[2])]
    assert np.std(missed[1]) > np.std(missed[0])


def test_a_correction_is_bounded_and_masks_keep_the_mean():
    answer = Corrected(LAW, bound=0.1)
    model = network(answer, dropout=0.5)(jax.random.key(3))
    state, setting = model.start(), Setting(jnp.array([CAPACITY, CAPACITY]), jnp.zeros(()))
    plain = LawLayer(LAW, LEARNED).start()
    for x in (1e-3, 5e-3, -2e-3):
        sample = DeviceSample(jnp.asarray(x), jnp.asarray(0.1), jnp.array([1e7, 1.0]))
        state, force = model.step(state, sample, setting)
        plain, alone = LawLayer(LAW, LEARNED).step(
            plain, jnp.zeros(2), vb.laws.Motion(sample.x, sample.v), setting, 1 / RATE
        )
        assert abs(float(force - alone)) <= 0.1 * CAPACITY
    drawn = jnp.stack([model.network.masks(jax.random.key(i))[0] for i in range(200)])
    np.testing.assert_allclose(drawn.mean(), 1.0, atol=0.1)


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_a_model_with_its_law_is_written_as_c(histories):
    """A network that gives the parameters of a law, as one C function."""
    model = network(LawLayer(LAW, LEARNED))(jax.random.key(4))
    setting = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), histories.setting)

    def step(state, u):
        state, force = model.step(state, DeviceSample(u[0], u[1], u[2:]), setting)
        return force, state

    inputs = np.concatenate([np.stack(histories.sample[:2], axis=-1), histories.sample.companion], axis=-1)[0]
    compiled = CompiledStep(trace(step, model.start(), 4))
    found = np.array([compiled(u)[0] for u in inputs])
    np.testing.assert_allclose(found, predict(model, histories)[0], atol=1e-5 * CAPACITY)
