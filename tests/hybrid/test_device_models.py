"""Device models from tests to a hybrid test: recipes, files, the loop, records and commands."""

import dataclasses
import json
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.core.errors import FileProblem, InputError
from vibrid.core.progress import Progress
from vibrid.hybrid import Experimental, HybridTest, Modelled, NetworkDevice
from vibrid.hybrid.learned import search
from vibrid.hybrid.learned.answers import ScaledLaw
from vibrid.hybrid.learned.closed_loop import loop_errors, with_device
from vibrid.hybrid.learned.deploy import traced_model
from vibrid.hybrid.learned.files import SavedModel, load_model, save_model
from vibrid.hybrid.learned.from_records import companion_names, device_test
from vibrid.hybrid.learned.recipes import Recipe, forces, score_tests, steepest, train_models
from vibrid.hybrid.learned.search import search_recipes
from vibrid.networks.checkpoint import Checkpoint
from vibrid.networks.export import CompiledStep
from vibrid.networks.export.compiled import compiler
from vibrid.networks.lstm import LSTM, along_beside
from vibrid.networks.resonators import Resonators
from vibrid.networks.training import train
from vibrid.papers.ocpnn.as_published import PUBLISHED
from vibrid.records.force_scores import force_scores
from vibrid.records.record import Channel, Record

RATE = 256.0
LAW = vb.LuGre(4e6, 1e3, 2e4, 2e4, 2.3e4, 2.3e4, 0.05)
SCALED = ScaledLaw(
    LAW, 2e4, ("coulomb_positive", "static_positive"), ("coulomb_negative", "static_negative")
)  # fmt: skip
SMALL = Recipe(network="resonant", encoded=6, oscillators=4, hidden=(6,), plays=2, epochs=2, stretch=128, every=1)


def record_of(key: int, samples: int = 512) -> Record:
    """A smooth hysteretic force that no law here has, with two signals beside it."""
    rng = np.random.default_rng(key)
    t = np.arange(samples) / 512.0
    x = 0.01 * np.sin(2 * np.pi * rng.uniform(1, 3) * t) * np.tanh(4 * t) ** 2
    v = np.gradient(x, 1 / 512.0)
    force = 1.5e4 * np.tanh(v / 0.02) + 4e5 * x + 50 * rng.standard_normal(samples)
    channels = [
        Channel("x", "imposed_displacement"), Channel("v", "imposed_velocity"), Channel("f", "element_force"),
        Channel("band_1", "other"), Channel("band_2", "other"),
    ]  # fmt: skip
    bands = 100 + 20 * np.stack([np.tanh(v), np.tanh(-v)], axis=1)
    return Record(np.column_stack([x, v, force, bands]), channels, step=1 / 512.0, name=f"test {key}")


@pytest.fixture(scope="module")
def tests():
    return [device_test(record_of(i), record_of(i + 10), 2e4, RATE) for i in range(3)]


@pytest.fixture(scope="module")
def saved(tests):
    return train_models(SMALL, tests[:2], tests[2:], companion_names=["f", "x", "band_1", "band_2"])[0]


def test_a_layer_along_many_samples_is_its_steps_and_so_is_its_gradient():
    layer = LSTM.make(jax.random.key(0), 3, 4)
    x, start = jax.random.normal(jax.random.key(1), (12, 2, 3)), (jnp.full((2, 4), 0.1), jnp.full((2, 4), 0.2))

    def fast(layer, x, start):
        h, (_, c) = layer.along(start, x)
        return jnp.sum(jnp.sin(h)) + jnp.sum(c**2)

    def slow(layer, x, start):
        def one(state, now):
            state = layer.step(state, now)
            return state, state[0]

        (_, c), h = jax.lax.scan(one, start, x)
        return jnp.sum(jnp.sin(h)) + jnp.sum(c**2)

    for a, b in zip(*(jax.tree.leaves(jax.grad(f, (0, 1, 2))(layer, x, start)) for f in (fast, slow)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_layers_beside_each_other_are_what_each_is_alone():
    layers = [LSTM.make(jax.random.key(i), n, 4) for i, n in enumerate((3, 2))]
    inputs = [jax.random.normal(jax.random.key(i + 2), (9, 5, n)) for i, n in enumerate((3, 2))]
    states = [layer.start((5,)) for layer in layers]

    def total(made):
        return sum(jnp.sum(jnp.sin((i + 1) * h)) + jnp.sum(c**2) for i, (h, (_, c)) in enumerate(made))

    def together(layers):
        return total(along_beside(layers, states, inputs))

    def alone(layers):
        return total([own.along(state, x) for own, state, x in zip(layers, states, inputs, strict=True)])

    for a, b in zip(*(jax.tree.leaves(jax.value_and_grad(f)(layers)) for f in (together, alone)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_resonators_ring_at_their_frequency_and_forget_at_their_pace():
    bank = Resonators.make(jax.random.key(0), 1, 3, 200.0, dtype=jnp.float64)
    u = jnp.zeros((100, 1)).at[0].set(1.0)
    found, last = bank.along(bank.start(), u)
    d, w = np.exp(bank.log_decay), np.exp(bank.log_frequency)
    t = np.arange(100)[:, None] / 200.0
    first = np.asarray(bank.weights[0, :3] + 1j * bank.weights[0, 3:]) * np.sqrt(1 - np.exp(-2 * d / 200.0))
    exact = first * np.exp((-d + 1j * w) * t)
    np.testing.assert_allclose(found[:, :3], exact.real, atol=1e-12)
    np.testing.assert_allclose(found[:, 3:], exact.imag, atol=1e-12)
    state = bank.start()
    for now in u:
        state = bank.step(state, now)
    np.testing.assert_allclose(state, last, atol=1e-12)


def test_a_training_that_was_killed_ends_as_one_that_was_not(tmp_path):
    def step(state, key, data):
        state = state + data * jax.random.normal(key, state.shape)
        return state, jnp.sum(state)

    args = (step, jnp.zeros(3), jax.random.key(4), 6)
    whole = train(*args, block=2, data=jnp.ones(()))

    class Killed(Exception):
        pass

    class Stops:
        def update(self, done, note=""):
            if done == 4:
                raise Killed

    checkpoint = Checkpoint(tmp_path / "part.npz", "this")
    with pytest.raises(Killed):
        train(*args, block=2, data=jnp.ones(()), progress=Stops(), checkpoint=checkpoint)
    rest = train(*args, block=2, data=jnp.ones(()), checkpoint=checkpoint)
    np.testing.assert_array_equal(rest.state, whole.state)
    np.testing.assert_array_equal(rest.history, whole.history)


def test_ctrl_c_keeps_the_checkpoint_and_the_same_call_goes_on(tests, saved, tmp_path):
    class Stops(Progress):
        def update(self, done, note=""):
            if done == 1 and self.once:
                self.once = False
                raise KeyboardInterrupt

        once = True

    checkpoint, progress = Checkpoint(tmp_path / "part.npz", "this"), Stops()
    given = (SMALL, tests[:2], tests[2:])
    more = {"companion_names": ["f", "x", "band_1", "band_2"], "checkpoint": checkpoint}
    with pytest.raises(KeyboardInterrupt):
        train_models(*given, **more, progress=progress)
    assert checkpoint.path.exists()
    rest = train_models(*given, **more)[0]
    assert checkpoint.path.exists(), "it goes when the models are saved, not before"
    np.testing.assert_array_equal(forces(rest.model, tests)[0], forces(saved.model, tests)[0])


def test_scores_of_a_half_force_by_hand():
    v = np.sin(np.arange(200) / 7)
    force = 3.0 * v
    own = force_scores(0.5 * force, force, v)
    assert own.energy == pytest.approx(0.5) and own.peak == pytest.approx(0.5) and own.trac == pytest.approx(1.0)
    assert own.nrmse == pytest.approx(np.sqrt(np.mean((0.5 * force) ** 2)) / np.ptp(force))
    assert own.r2 == pytest.approx(1 - 0.25 * np.sum(force**2) / np.sum((force - force.mean()) ** 2))


def test_the_paper_s_network_has_the_paper_s_sizes(tests):
    make = PUBLISHED["data-driven"].maker(tests)
    model = make(jax.random.key(0))
    sizes = [layer.weights.shape for layer in (model.network.companion, model.network.own, *model.network.joined)]
    assert sizes == [(4 + 16, 64), (1 + 16, 64), (32 + 48, 192), (48 + 48, 192)]
    low, high = np.min([t.x.min() for t in tests]), np.max([t.x.max() for t in tests])
    _, seen = model.features.step(model.features.start(), jnp.asarray([low, high])[:, None], jnp.zeros((2, 1)))
    np.testing.assert_allclose(seen[:, 0, 0] if seen.ndim == 3 else seen[:, 0], [0.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("answer", ["law-layer", "corrected"])
def test_files_keep_a_model_to_the_last_bit(answer, tests, tmp_path):
    recipe = SMALL.replace(answer=answer, span=2.0)
    model = recipe.maker(tests, SCALED)(jax.random.key(3))
    save_model(tmp_path / "m.npz", SavedModel(model, 5e6, {"of": "a test"}))
    read = load_model(tmp_path / "m.npz")
    assert read.stiffness == 5e6 and read.facts == {"of": "a test"}
    assert jax.tree.structure(read.model) == jax.tree.structure(model)
    for a, b in zip(forces(read.model, tests[:1]), forces(model, tests[:1]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_files_that_are_no_models_are_refused(tmp_path):
    bad = tmp_path / "bad.npz"
    bad.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(FileProblem, match="not a device model"):
        load_model(bad)
    Checkpoint(bad, "something else").save({"w0": np.zeros(3)})
    with pytest.raises(FileProblem, match="not a device model"):
        load_model(bad)
    with pytest.raises(FileProblem, match="no such file"):
        load_model(tmp_path / "none.npz")


def test_in_the_loop_a_network_answers_as_along_its_recorded_motion(saved):
    """What the loop recorded, given to the model at once, gives the same forces; it answers every second command."""
    building = vb.ShearBuilding(masses=[1e4, 1e4], storeys=[vb.Linear(8e6, 2e4)] * 2)
    device = saved.device(512.0, 2e4)
    test = HybridTest(
        building,
        [Experimental(TwoSignals(), at=0, name="first")],
        [Modelled(device, at=1, to=0, name="second", companion="first")],
        rate=512.0,
    )
    motion = vb.synthetic_motion(1, duration=2.0, rate=512.0, pga=3.0)
    result = test.run(motion)
    found = result.devices["second.force"]
    assert np.abs(found).max() > 100.0 and np.array_equal(found[1:-1:2], found[2::2])  # held between answers
    v = result.response.velocity @ (building.row("1") - building.row("0"))
    companion = np.column_stack([result.devices[f"first.{n}"] for n in ("force", "displacement", "a", "b")])
    x = result.devices["second.target"]
    cut = slice(1, None, 2)
    alone = vb.hybrid.learned.histories.DeviceTest("", x[cut], v[1:][cut], x[cut], companion[cut], (2e4, 2e4))
    (expected,) = forces(saved.model, [alone])
    # the model starts from a first force of zero in the loop, and `forces` from the mean of the first samples
    np.testing.assert_allclose(found[cut], expected, atol=2e-2 * np.abs(found).max())
    errors = loop_errors(result, result, "second", "roof", 0.5)
    assert errors.displacement == errors.force == errors.residual == 0.0
    with pytest.raises(InputError, match="second"):
        with_device(test, "secnd", device)
    deaf = dataclasses.replace(test, modelled=[Modelled(device, at=1, to=0, name="second")])
    with pytest.raises(InputError, match="companion"):
        deaf.run(motion)


class TwoSignals(vb.hybrid.LawDevice):
    """A spring with two signals."""

    law: vb.Linear = dataclasses.field(default_factory=lambda: vb.Linear(2e6, 0.0))
    signal_names = ("a", "b")
    signal_units = ("", "")

    def trial(self, state, motion, companion, dt):
        reading, state = super().trial(state, motion, companion, dt)
        return reading._replace(signals=jnp.stack([100.0 + 0 * motion.e, 100.0 + motion.w])), state


def test_a_model_needs_a_multiple_of_its_rate(saved):
    with pytest.raises(InputError, match="multiple"):
        saved.device(300.0, 2e4)
    with pytest.raises(InputError, match="each direction"):
        NetworkDevice(saved.model, jnp.ones(3))


def test_tests_come_from_records(tests):
    own, companion = record_of(0), record_of(10)
    assert companion_names(companion) == ["f", "x", "band_1", "band_2"]
    np.testing.assert_array_equal(tests[0].x, own["x"][1::2])
    np.testing.assert_array_equal(tests[0].companion[:, 0], companion["f"][1::2])
    without = own.select(["x", "f"])
    differentiated = device_test(without, None, (2e4, 1e4), RATE)
    np.testing.assert_allclose(differentiated.v[20:-20], tests[0].v[20:-20], atol=2e-3)
    assert differentiated.capacity == (2e4, 1e4) and differentiated.companion.shape == (256, 0)
    with pytest.raises(InputError, match="multiple"):
        device_test(own, None, 1.0, 300.0)
    shorter = companion.cut(None, 0.5)
    cut = device_test(own, shorter, 1.0, RATE)  # ends with its companion
    assert len(cut.x) == len(cut.companion) == len(shorter) // 2
    np.testing.assert_array_equal(cut.x, tests[0].x[: len(cut.x)])
    with pytest.raises(InputError, match="same rate"):
        device_test(own, vb.Record(companion.data, companion.channels, step=2 * companion.step), 1.0, RATE)


def test_the_steepest_slope_of_a_spring_is_its_stiffness():
    x = np.sin(np.arange(400) / 20)
    test = vb.hybrid.learned.histories.DeviceTest("", x, x, 7.0 * x, np.zeros((400, 0)), (1.0, 1.0))
    assert steepest([test]) == pytest.approx(7.0, rel=1e-6)


def test_a_search_tries_the_whole_grid_and_orders_it(tests, saved, monkeypatch):
    """Training is replaced: a recipe's error is its learning rate times the width of its last layer."""
    tried = []

    def trained(recipe, *_, **__):
        tried.append(recipe)
        return [saved]

    def scored(model, tests):
        worse = 1e3 * tried[-1].learning_rate * tried[-1].hidden[-1]
        return [dataclasses.replace(force_scores(t.force, t.force, t.v), nrmse=worse) for t in tests]

    monkeypatch.setattr(search, "train_models", trained)
    monkeypatch.setattr(search, "score_tests", scored)
    choices = {"learning_rate": [1e-2, 1e-3], "hidden": [[8, 4], [3]]}
    found = search_recipes(SMALL, choices, tests[:2], tests[2:])
    assert [t.scores.nrmse for t in found] == pytest.approx([3.0, 4.0, 30.0, 40.0])
    assert found[0].choice == {"learning_rate": 1e-3, "hidden": [3]} and len(tried) == 4
    with pytest.raises(InputError, match="learning_rate"):
        search_recipes(SMALL, {"lerning_rate": [1]}, tests[:2], tests[2:])


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_the_exported_step_is_the_model(saved, tests):
    for first in (0.0, 3e3):
        t = tests[2]._replace(force=np.full_like(tests[2].force, first))
        step = CompiledStep(traced_model(saved.model))
        rows = np.column_stack([t.x, t.v, np.full((len(t.x), 2), 2e4), t.companion, t.force])
        found = np.array([step(row)[0] for row in rows])
        (expected,) = forces(saved.model, [t])
        np.testing.assert_allclose(found, expected, atol=1e-5 * 2e4)


def test_commands_train_evaluate_and_export(tmp_path):
    for i in range(3):
        record_of(i).write_hdf5(tmp_path / f"own-{i}.h5")
        record_of(i + 10).write_hdf5(tmp_path / f"companion-{i}.h5")
    text = """
title = "a damper"
laws = []
[recipe]
network = "resonant"
encoded = 6
oscillators = 4
hidden = [6]
plays = 2
epochs = 2
stretch = 128
every = 1
"""
    for i in range(3):
        use = "training" if i < 2 else "validation"
        text += f'[[tests]]\nfile = "own-{i}.h5"\ncompanion = "companion-{i}.h5"\ncapacity = "20 kN"\nuse = "{use}"\n'
    (tmp_path / "training.toml").write_text(text)
    run = CliRunner()
    model = tmp_path / "damper.npz"
    made = run.invoke(app, ["hybrid", "train", str(tmp_path / "training.toml"), "--out", str(model), "--json"])
    assert made.exit_code == 0, made.output
    rows = json.loads(made.stdout)["models"]
    assert len(rows) == 1 and not list(tmp_path.glob("*unfinished*"))
    read = load_model(model)
    test = device_test(record_of(2), record_of(12), 2e4, RATE)
    told, untold = (score_tests(read.model, [test], known)[0].nrmse for known in (True, False))
    assert untold == pytest.approx(rows[0]["nrmse"]) and told != untold  # scored as in a hybrid test
    files = [str(tmp_path / "own-2.h5"), "--companion", str(tmp_path / "companion-2.h5"), "--capacity", "20 kN"]
    figure = ["--figure", str(tmp_path / "f.png")]
    printed = run.invoke(app, ["hybrid", "evaluate", str(model), *files, *figure, "--loop", "--json"])
    assert printed.exit_code == 0, printed.output
    answer = json.loads(printed.stdout)
    assert answer["tests"][0]["nrmse"] == pytest.approx(told)
    assert answer["tests"][0]["untold"] == pytest.approx(untold)
    assert answer["loop"]["fit"] == (not answer["loop"]["reasons"]) and len(answer["loop"]["cycles"]) > 4
    assert (tmp_path / "f.png").stat().st_size > 10_000
    assert run.invoke(app, ["hybrid", "evaluate", str(model), files[0], "--capacity", "20 kN"]).exit_code == 1
    written = run.invoke(app, ["hybrid", "export", str(model), str(tmp_path / "damper.c")])
    assert written.exit_code == 0 and (tmp_path / "damper.h").exists(), written.output
    written = run.invoke(app, ["hybrid", "export", str(model), str(tmp_path / "damper.fmu")])
    library = "a library for" if compiler() else "no library"
    assert written.exit_code == 0 and f"It holds C sources and {library}" in written.output
    (tmp_path / "wrong.toml").write_text(text.replace("epochs", "epoch").replace("20 kN", "20 kg"))
    wrong = run.invoke(app, ["hybrid", "train", str(tmp_path / "wrong.toml")])
    assert wrong.exit_code == 1 and "epochs" in wrong.output
    (tmp_path / "wrong.toml").write_text('fit_law = ["stiffness"]\n' + text)
    wrong = run.invoke(app, ["hybrid", "train", str(tmp_path / "wrong.toml")])
    assert wrong.exit_code == 1 and "there is no [law] to fit" in wrong.output


def test_the_law_of_a_layer_is_fitted_first(tmp_path, monkeypatch):
    own, text = (
        [record_of(i) for i in range(2)],
        'fit_law = ["stiffness"]\nlaw.law = {law = "linear", stiffness = 1e6}\n',
    )
    text += 'law.at = 20e3\nrecipe = {answer = "law-layer", learned = ["stiffness"], uses_companion = false}\n'
    for i, record in enumerate(own):
        record.write_hdf5(tmp_path / f"{i}.h5")
        text += f'[[tests]]\nfile = "{i}.h5"\ncapacity = "20 kN"\n'
    (tmp_path / "training.toml").write_text(text)
    given = []

    def trains(*_, law, **__):
        given.append(law)
        raise InputError("that was enough")

    monkeypatch.setattr("vibrid.hybrid.learned.recipes.train_models", trains)
    CliRunner().invoke(app, ["hybrid", "train", str(tmp_path / "training.toml"), "--out", str(tmp_path / "model.npz")])
    tests = [device_test(record, None, 2e4, RATE) for record in own]
    weights = [1 / (len(t.x) * np.ptp(t.force) ** 2) for t in tests]
    above = sum(w * (t.x @ t.force) for w, t in zip(weights, tests, strict=True))
    below = sum(w * (t.x @ t.x) for w, t in zip(weights, tests, strict=True))
    assert float(given[0].law.stiffness) == pytest.approx(above / below, rel=1e-4)
