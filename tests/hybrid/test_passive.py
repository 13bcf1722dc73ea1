"""The passive network: force times motion is the change of stored energy plus losses, whatever its weights do."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_learned import CAPACITY, RATE, test_of

from vibrid.core.errors import InputError
from vibrid.hybrid.learned import (
    DeviceSample,
    DeviceTest,
    PassivePort,
    Recipe,
    Setting,
    conduct,
    load_model,
    save_model,
    score_tests,
    train_models,
)
from vibrid.hybrid.learned.deploy import compiled_model, traced_model, write_model
from vibrid.hybrid.learned.passive import _shares
from vibrid.hybrid.learned.recipes import forces
from vibrid.laws.base import Motion
from vibrid.networks.export.compiled import compiler

PORT = PassivePort(states=3, length=1e-3, soft=5e-3)
LEARNING = PassivePort(states=3, length=1e-3, soft=5e-3, learns_first=True)
SETTING = Setting(jnp.array([2e4, 1.5e4]), jnp.zeros(()))
RECIPE = Recipe(
    network="passive", uses_companion=False, rate=RATE, steps=150, crop=2.0, warm_up=0.5, batch=4, plays=4, encoded=12,
    memories=4, oscillators=2, hidden=(12,), states=4, learning_rate=1e-2,
)  # fmt: skip


@eqx.filter_jit
def moved(port, outputs, x, dt, setting):
    """Forces (samples,) along displacements with outputs (samples, n), and the energy stored after each."""

    def one(state, now):
        state, force = port.step(state, now[0], Motion(now[1], 0.0 * now[1]), setting, dt)
        return state, (force, port.energy(state, setting))

    return jax.lax.scan(one, port.start(), (outputs, x))[1]


@pytest.mark.parametrize("port", [PORT, LEARNING])
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31), size=st.floats(1e-6, 1.0), wild=st.floats(0.0, 30.0), log_step=st.floats(-5.0, 0.5),
    first=st.floats(-2e4, 2e4),
)  # fmt: skip
def test_losses_are_never_negative(port, seed, size, wild, log_step, first):
    """For any outputs, motion, step and first force: F Δx = ΔH + losses, losses ≥ 0; force and H₀ are bounded."""
    rng = np.random.default_rng(seed)
    x = size * np.cumsum(rng.standard_normal(50) * (rng.random(50) < 0.7))
    outputs = wild * rng.standard_normal((50, port.outputs))
    setting, step = SETTING._replace(first_force=jnp.asarray(first)), jnp.asarray(10.0**log_step)
    force, energy = map(np.asarray, moved(port, outputs, x, step, setting))
    work = force[1:] * np.diff(x)
    losses = work - np.diff(energy)
    assert losses.min() >= -1e-12 * (np.abs(work).max() + energy.max() + 1e-300)
    assert np.abs(force).max() <= (PORT.limit + PORT.most_friction) * 2e4
    # |z₀| ≤ f (√(2 states) + 1/√0.01), in mean capacities × length
    assert energy[0] <= 0.5 * 17.5e3 * 1e-3 * (first / 17.5e3) ** 2 * (6**0.5 + 10.0) ** 2


def test_work_falls_below_zero_by_no_more_than_what_was_stored_first():
    """A device that begins with a force may give back H₀, and nothing without one."""
    rng = np.random.default_rng(2)
    outputs = 2.0 * rng.standard_normal((400, LEARNING.outputs))
    for first in (0.0, 1.2e4):
        x = -1e-5 * np.arange(400.0)  # against a positive force: it is unloaded
        force, energy = map(np.asarray, moved(LEARNING, outputs, x, 1 / 256, SETTING._replace(first_force=first)))
        taken = np.cumsum(force[1:] * np.diff(x))
        assert taken.min() >= -energy[0] - 1e-9 and (energy[0] > 0) == (first > 0)
    assert taken.min() < -1e-3 * energy[0]


def test_learned_first_states_keep_the_first_force():
    rng = np.random.default_rng(3)
    outputs = np.tile(np.append(LEARNING.first_bias(), rng.standard_normal(LEARNING.of_first)), (2, 1))
    for port, some in ((LEARNING, outputs), (PORT, outputs[:, : PORT.outputs])):
        force, energy = map(np.asarray, moved(port, some, np.zeros(2), 1e-6, SETTING._replace(first_force=7e3)))
        assert force[0] == pytest.approx(7e3, rel=1e-3)
    learned = np.asarray(moved(LEARNING, outputs, np.zeros(2), 1e-6, SETTING._replace(first_force=7e3))[1])
    assert learned[0] > 1.2 * energy[0]  # those of least energy are the other port's
    far, most = (
        moved(LEARNING, outputs, np.zeros(2), 1e-6, SETTING._replace(first_force=f))[1][0] for f in (1e9, 28e3)
    )
    assert far == pytest.approx(float(most))  # a force beyond 1.6 mean capacities is none that it can have


def test_the_first_memory_follows_the_first_force(saved):
    """It is a function of the constants of the test, bounded, and used at the first sample alone."""
    network = saved.model.network
    assert network.first is not None and saved.model.is_told_first
    constants = jnp.asarray([0.1, -0.2, 0.7])
    seen = jnp.append(jnp.zeros(saved.model.features.count), constants).astype(jnp.float32)
    start = network.start()
    kept, begun, outputs = network._begun(start, seen)
    assert np.allclose(
        kept, np.tanh(constants @ network.first[0] + network.first[1])[: network.memory.count], atol=1e-6
    )
    after, answer = network.step(start, jnp.zeros(0), seen)
    assert np.allclose(answer[-saved.model.answer.of_first :], outputs[0]) and begun[0] == after[2] == 1.0
    again, _ = network.step(after, jnp.zeros(0), seen.at[-1].set(-1.0))
    np.testing.assert_array_equal(again[0], network.step(after, jnp.zeros(0), seen)[0][0])


def test_a_network_without_first_states_is_as_before(tmp_path):
    """Its file says nothing of them, as files did before there were any."""
    model = RECIPE.replace(learns_first=False).maker([test_of(0), test_of(1)])(jax.random.key(0))
    assert model.network.first is None and len(model.network.start()) == 2 and "first" not in model.network.sizes()
    assert model.answer.outputs == 5 * RECIPE.states + 1 and not model.is_told_first


def test_shares_of_a_step_are_those_of_the_formula():
    y = np.array([1e-12, 1e-6, 1e-3, 0.0499, 0.0501, 0.3, 3.0, 300.0])
    phi, psi = map(np.asarray, _shares(jnp.asarray(y)))
    fine = np.array(y, dtype=np.longdouble)
    series = sum((-fine) ** k / np.prod(np.arange(1, k + 2, dtype=np.longdouble)) for k in range(12))
    expected = np.where(y < 0.5, series, (1 - np.exp(-fine)) / fine)
    np.testing.assert_allclose(phi, expected.astype(float), rtol=1e-9)
    np.testing.assert_allclose(psi[2:], ((1 - expected) / fine).astype(float)[2:], rtol=1e-6)
    np.testing.assert_allclose(psi[:2], 0.5, rtol=1e-6)


def test_it_starts_with_the_first_force_and_is_silent_at_rest():
    outputs = np.tile(PORT.first_bias(), (30 * 256, 1))
    force, energy = map(np.asarray, moved(PORT, outputs, np.full(30 * 256, 0.01), 1 / 256, SETTING._replace(
        first_force=5e3)))  # fmt: skip
    assert force[0] == pytest.approx(5e3, rel=0.1)
    assert abs(force[20 * 256]) < 0.02 * 5e3 and energy[-1] < energy[0]


@pytest.fixture(scope="module")
def saved():
    return train_models(RECIPE, [test_of(0), test_of(1), test_of(2)], [test_of(3)])[0]


def test_it_learns_a_friction_device(saved):
    assert saved.facts["scores"]["nrmse"] < 0.12
    untrained = RECIPE.maker([test_of(0), test_of(1), test_of(2)])(jax.random.key(0))
    assert saved.facts["scores"]["nrmse"] < 0.5 * score_tests(untrained, [test_of(3)])[0].nrmse


def test_along_is_step_many_times(saved):
    test, model = test_of(5, 100), saved.model
    sample = DeviceSample(jnp.asarray(test.x), jnp.asarray(test.v), jnp.zeros((100, 0)))
    setting = Setting(jnp.array([CAPACITY, CAPACITY]), jnp.asarray(test.force[0]))
    along, end = model.along(model.start(), sample, setting)
    state, each = model.start(), []
    step = eqx.filter_jit(model.step)
    for k in range(100):
        state, force = step(state, jax.tree.map(lambda leaf, k=k: leaf[k], sample), setting)
        each.append(float(force))
    np.testing.assert_allclose(along, each, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(end.answer.real, state.answer.real, rtol=1e-4, atol=1e-7)


def test_the_trained_network_gives_no_energy_whatever_the_motion(saved):
    rng, model = np.random.default_rng(0), saved.model
    x = np.cumsum(rng.standard_normal(2000)) * np.repeat([1e-4, 1e-3, 1e-2, 0.1], 500)
    v = np.gradient(x, 1 / RATE)
    sample = DeviceSample(jnp.asarray(x), jnp.asarray(v), jnp.zeros((2000, 0)))
    force, _ = model.along(model.start(), sample, Setting(jnp.array([CAPACITY, CAPACITY]), jnp.zeros(())))
    running = np.cumsum(np.asarray(force)[1:] * np.diff(x))
    assert running.min() >= -1e-9 * np.abs(running).max() and running[-1] > 0


def test_a_file_from_before_first_states_gives_the_forces_it_gave():
    """Written and computed by the version before; the forces are at samples 1, 50, 200 and 511."""
    saved, t = load_model(Path(__file__).parent / "files" / "passive-before-first-states.npz"), np.arange(512) / 256.0
    x = 0.01 * np.sin(7 * t)
    v = np.gradient(x, 1 / 256.0)
    test = DeviceTest("", x, v, 1e4 * np.tanh(v / 0.01), np.zeros((512, 0)), (1.1e4, 0.9e4))
    assert not saved.model.is_told_first and not saved.model.answer.learns_first
    before = {True: [7181.366, 6959.925, 6960.866, 7037.559], False: [3643.719, 6901.794, 6960.860, 7037.559]}
    for told, then in before.items():
        np.testing.assert_allclose(forces(saved.model, [test], told)[0][[1, 50, 200, 511]], then, rtol=1e-4)


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_its_fmu_begins_with_the_first_force(saved, tmp_path):
    fmpy = pytest.importorskip("fmpy")
    (file, *_) = write_model(saved, tmp_path / "device.fmu").files
    test = test_of(5, 60)
    t, given = np.arange(60) / RATE, {"displacement": test.x, "velocity": test.v, "first_force": np.full(60, 4e3)}
    given |= {"capacity_positive": np.full(60, CAPACITY), "capacity_negative": np.full(60, CAPACITY)}
    found = fmpy.simulate_fmu(
        str(file), stop_time=t[-1], step_size=1 / RATE, output_interval=1 / RATE, output=["force", "flags"],
        input=np.rec.fromarrays([t, *given.values()], names=["time", *given]),
    )  # fmt: skip
    sample, capacity = DeviceSample(jnp.asarray(test.x), jnp.asarray(test.v), jnp.zeros((60, 0))), jnp.full(2, CAPACITY)
    told, untold = (
        saved.model.along(saved.model.start(), sample, Setting(capacity, jnp.asarray(first)))[0] for first in (4e3, 0.0)
    )
    n = len(found) - 1
    np.testing.assert_allclose(found["force"][1:], told[:n], rtol=1e-3, atol=1e-4 * CAPACITY)
    assert abs(float(told[0] - untold[0])) > 0.1 * 4e3


def test_it_survives_its_file(saved, tmp_path):
    again = load_model(save_model(tmp_path / "device.npz", saved))
    for one, two in zip(jax.tree.leaves(saved.model), jax.tree.leaves(again.model), strict=True):
        np.testing.assert_array_equal(one, two)
    assert again.model.answer == saved.model.answer and again.model.features == saved.model.features


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_its_c_and_onnx_follow_it(saved, tmp_path):
    test, model = test_of(7, 200), saved.model
    first = 0.1 * CAPACITY
    inputs = np.column_stack([test.x, test.v, np.full((200, 2), CAPACITY), np.full(200, first)])
    step = compiled_model(model)
    found = [float(step(row)[0]) for row in inputs]
    sample = DeviceSample(jnp.asarray(test.x), jnp.asarray(test.v), jnp.zeros((200, 0)))
    expected, _ = model.along(model.start(), sample, Setting(jnp.array([CAPACITY, CAPACITY]), jnp.asarray(first)))
    np.testing.assert_allclose(found, expected, atol=2e-3 * CAPACITY)
    assert traced_model(model) and write_model(saved, tmp_path / "device.onnx").files[0].exists()


def test_it_has_its_own_answer():
    with pytest.raises(InputError, match="its own answer"):
        Recipe(network="passive", answer="law-layer")
    with pytest.raises(InputError, match="positive length"):
        PassivePort(length=0.0)


def test_it_is_fit_for_a_loop(saved):
    found = conduct(saved.model, CAPACITY)
    assert min(cycle.energy for cycle in found.cycles) >= 0.0 and min(cycle.least for cycle in found.cycles) > -1e-6
    assert found.is_fit, found.reasons
