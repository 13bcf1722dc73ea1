"""Training files: weights, companions, variations of the training; capacities for each direction of an evaluation."""

import json

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.commands.output import write_record
from vibrid.hybrid.learned import Adapted, Recipe, SavedModel, ScaledLaw, conduct, load_model, save_model
from vibrid.project.training import left_out_groups, load_training

RATE = 128.0


@pytest.fixture
def folder(tmp_path):
    t = np.arange(int(2 * RATE)) / RATE
    for k in range(3):
        x = 0.01 * np.sin(2 * np.pi * (0.5 + 0.3 * k) * t)
        v = np.gradient(x, 1 / RATE)
        channels = [
            vb.Channel("x", "imposed_displacement"),
            vb.Channel("v", "imposed_velocity"),
            vb.Channel("f", "element_force"),
        ]
        force = np.where(v > 0, 1.2e4, 8e3) * np.tanh(v / 5e-3)
        write_record(vb.Record(np.column_stack([x, v, force]), channels, step=1 / RATE), tmp_path / f"test-{k}.h5")
    return tmp_path


def written(folder, recipe="", laws="[]", **changes):
    """The training file with keys of its tests changed: `first`, `second`, `third`."""
    text = f"laws = {laws}\n[recipe]\nrate = {RATE}\n{recipe}\n"
    for k, name in enumerate(("first", "second", "third")):
        use = "validation" if k == 2 else "training"
        text += (
            f'[[tests]]\nfile = "test-{k}.h5"\ncapacity = ["12 kN", "8 kN"]\nuse = "{use}"\n{changes.get(name, "")}\n'
        )
    path = folder / "training.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_weights_are_those_of_the_file(folder):
    loaded = load_training(written(folder, "uses_companion = false", first="weight = 3.0"))
    assert [test.weight for test in loaded.training] == [3.0, 1.0]
    with pytest.raises(vb.VibridError, match="weight of 0"):
        load_training(written(folder, "uses_companion = false", first="weight = 0", second="weight = 0"))
    with pytest.raises(vb.VibridError, match="weight"):
        load_training(written(folder, "uses_companion = false", first="weight = -1"))


def test_tests_with_and_without_a_companion_are_told_apart(folder):
    with pytest.raises(vb.VibridError, match="has no companion, and others have one"):
        load_training(written(folder, first='companion = "test-1.h5"'))
    alone = load_training(written(folder, "uses_companion = false", first='companion = "test-1.h5"'))
    assert all(test.companion.shape[1] == 0 for test in alone.training)


def test_variations_of_a_training_are_keys_of_its_file(folder):
    keys = 'network = "resonant"\nuses_companion = false\njitter = 1e-4\nturned = 0.5\ndoubt = 0.03\nepochs = 3'
    recipe = load_training(written(folder, keys)).recipe
    settings = recipe.trainer().settings
    assert (settings["jitter"], settings["turned"], settings["doubt"]) == (1e-4, 0.5, 0.03)
    with pytest.raises(vb.InputError, match="share of the tests"):
        Recipe(network="resonant", turned=1.5)
    with pytest.raises(vb.InputError, match="must not be negative"):
        Recipe(network="resonant", jitter=-1e-3)


def test_the_default_network_is_passive_and_settings_of_another_training_are_refused():
    assert Recipe().network == "passive" and Recipe(answer="law-layer").network == "resonant"
    with pytest.raises(vb.InputError, match="'epochs' of a recipe belongs to the training of a resonant or LSTM"):
        Recipe(epochs=60)
    with pytest.raises(vb.InputError, match="'steps' of a recipe belongs to the training of a passive network"):
        Recipe(network="lstm", steps=60)


def test_an_adapted_answer_is_that_of_the_recipe(folder):
    law = vb.hybrid.learned.answers.ScaledLaw(
        vb.BoucWen(1e6, beta=50.0, gamma=50.0), 1e4, ("stiffness",), ("stiffness",)
    )
    recipe = Recipe(answer="adapted", learned=("stiffness",), rate=RATE, uses_companion=False)
    model = recipe.maker(load_training(written(folder, "uses_companion = false")).training, law)
    assert isinstance(model(jax.random.key(0)).answer, Adapted)


def test_without_validation_tests_every_fifth_group_is_left_out(folder):
    path = written(folder, "uses_companion = false")
    path.write_text(path.read_text(encoding="utf-8").replace('use = "validation"', ""), encoding="utf-8")
    loaded = load_training(path)
    assert loaded.left_out == ("test-2.h5",) and [t.name for t in loaded.validation] == ["test-2.h5"]
    assert len(loaded.training) == 2
    assert left_out_groups(["a", "b", "b", "c", "d", "e", "f", "g", "h"]) == ("c", "h")
    assert left_out_groups(["a", "a", "b"]) == ()


def test_a_law_that_is_better_than_the_network_is_kept(folder):
    path = written(folder, "uses_companion = false\nsteps = 1\nencoded = 4\noscillators = 1\nhidden = [4]", '["lugre"]')
    made = CliRunner().invoke(app, ["hybrid", "train", str(path), "--out", str(folder / "d.npz")])
    assert made.exit_code == 0, made.output
    assert "No network is better than a law: the lugre law is kept." in made.output
    saved = load_model(folder / "d.npz")
    assert saved.facts["law"] == "lugre" and saved.facts["scores"]["nrmse"] < 0.03
    assert conduct(saved.model, [1.2e4, 8e3]).is_fit


def test_an_evaluation_takes_a_capacity_for_each_direction(folder):
    law = ScaledLaw(vb.Backlash(1e4, 1e4, 1e-5, 1e-4), 1e4, ("slip_positive",), ("slip_negative",))
    recipe = Recipe(answer="law-layer", learned=("release",), span=1e-6, rate=RATE, uses_companion=False)
    make = recipe.maker(load_training(written(folder, "uses_companion = false")).training, law)
    save_model(folder / "m.npz", SavedModel(make(jax.random.key(0))))
    scores = []
    for given in (["12 kN", "8 kN"], ["10 kN"]):
        command = ["hybrid", "evaluate", str(folder / "m.npz"), str(folder / "test-2.h5"), "--json"]
        made = CliRunner().invoke(app, [*command, *(part for one in given for part in ("--capacity", one))])
        assert made.exit_code == 0, made.output
        scores.append(json.loads(made.stdout)["tests"][0]["nrmse"])
    assert scores[0] < scores[1]
    three = CliRunner().invoke(app, [*command, *["--capacity", "1 kN"] * 3])
    assert three.exit_code != 0 and "not 3" in three.output
