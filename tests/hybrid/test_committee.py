"""The mean of passive networks: the mean of their forces, passive, in files, C, ONNX and a training."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_learned import CAPACITY, test_of
from test_passive import RECIPE, moved

from vibrid.core.errors import InputError
from vibrid.hybrid.learned import (
    DeviceSample,
    MeanPort,
    Recipe,
    SavedModel,
    Setting,
    conduct,
    load_model,
    mean_model,
    save_model,
)
from vibrid.hybrid.learned.beside import mean_beside
from vibrid.hybrid.learned.deploy import compiled_model, write_model
from vibrid.networks.export.compiled import compiler

PORT = MeanPort(states=3, length=1e-3, soft=5e-3, members=3)
BOTH = jnp.array([CAPACITY, 0.8 * CAPACITY])


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31), wild=st.floats(0.0, 30.0), log_step=st.floats(-5.0, 0.5), first=st.floats(-2e4, 2e4))
def test_losses_of_a_mean_are_never_negative(seed, wild, log_step, first):
    rng = np.random.default_rng(seed)
    x = 1e-3 * np.cumsum(rng.standard_normal(50) * (rng.random(50) < 0.7))
    outputs = wild * rng.standard_normal((50, PORT.outputs))
    force, energy = map(np.asarray, moved(PORT, outputs, x, jnp.asarray(10.0**log_step), Setting(BOTH, first)))
    work = force[1:] * np.diff(x)
    assert (work - np.diff(energy)).min() >= -1e-12 * (np.abs(work).max() + energy.max() + 1e-300)


@pytest.fixture(scope="module")
def models():
    """Three networks with weights of their own, as large as those of a training."""
    make = RECIPE.maker([test_of(0), test_of(1)])
    return [make(jax.random.key(seed)) for seed in range(3)]


def along(model, tests=1, first=0.1 * CAPACITY):
    """Forces (100, …) of a model, on one test or on several at once, and the motion."""
    shape = (100,) if tests == 1 else (100, tests)
    x, v = (np.stack([part[:100]] * tests, axis=1).reshape(shape) for part in (test_of(7).x, test_of(7).v))
    sample = DeviceSample(jnp.asarray(x), jnp.asarray(v), jnp.zeros((*shape, 0)))
    setting = Setting(jnp.broadcast_to(BOTH, (*shape[1:], 2)), jnp.full(shape[1:], first))
    return np.asarray(model.along(model.start(shape[1:]), sample, setting)[0]), x, v


@pytest.mark.long
def test_its_force_is_the_mean(models):
    mean = mean_model(models)
    expected = np.mean([along(model)[0] for model in models], axis=0)
    np.testing.assert_allclose(along(mean)[0], expected, rtol=1e-6, atol=1e-6 * CAPACITY)
    np.testing.assert_allclose(along(mean, tests=2)[0], np.stack([expected] * 2, axis=1), rtol=1e-6, atol=1e-1)
    assert conduct(mean, CAPACITY).is_fit


def test_its_file_c_and_onnx_are_the_same(models, tmp_path):
    mean = mean_model(models)
    again = load_model(save_model(tmp_path / "mean.npz", SavedModel(mean))).model
    np.testing.assert_array_equal(along(mean)[0], along(again)[0])
    assert again.answer == mean.answer
    if compiler() is None:
        pytest.skip("no C compiler")
    expected, x, v = along(mean)
    step = compiled_model(mean)
    inputs = np.column_stack([x, v, np.tile(BOTH, (100, 1)), np.full(100, 0.1 * CAPACITY)])
    found = [float(step(row)[0]) for row in inputs]
    np.testing.assert_allclose(found, expected, atol=1e-4 * CAPACITY)
    assert write_model(SavedModel(mean), tmp_path / "mean.onnx").files[0].exists()


def test_a_training_offers_the_mean_of_its_networks(models):
    saved = [SavedModel(model, 1e6, {"seed": i, "training_error": 0.1}) for i, model in enumerate(models)]
    (mean,) = mean_beside(saved, [test_of(3)])
    assert mean.facts["seed"] == [0, 1, 2] and mean.facts["scores"]["nrmse"] > 0
    assert mean_beside(saved[:1], [test_of(3)]) == []


def test_only_passive_models_of_one_recipe_have_a_mean(models):
    with pytest.raises(InputError, match="two or more"):
        mean_model(models[:1])
    other = dataclasses.replace(models[1], capacity=2.0 * models[1].capacity)
    with pytest.raises(InputError, match="the same features"):
        mean_model([models[0], other])
    free = RECIPE.replace(
        network="resonant", steps=Recipe().steps, crop=10.0, warm_up=2.0, encoded=None, oscillators=None
    )
    with pytest.raises(InputError, match="passive"):
        mean_model([free.maker([test_of(0)])(jax.random.key(0))] * 2)
