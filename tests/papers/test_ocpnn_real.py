"""Tests of a real device as models see them: folds, companions, scores, and predictions that are kept."""

import jax
import numpy as np
import pytest

import vibrid as vb
from vibrid.hybrid.learned import DeviceTest, Direct, MotionFeatures, Setting
from vibrid.hybrid.learned.answers import Adapted
from vibrid.hybrid.learned.training import Fitting
from vibrid.networks.training import Trained
from vibrid.papers.ocpnn.real_models import GRIP, ModelKind, network, predictions
from vibrid.papers.ocpnn.real_tests import (
    HARMONIC_FOLDS,
    Fold,
    Named,
    capacity_of,
    companion_of,
    event_folds,
    first_place,
    folds,
    prepared,
    scores,
)
from vibrid.papers.paper import Run


def named(name: str, setup: str, setting, strength: float = 1e4) -> Named:
    """A device with a play of 1 mm and a slip force that is larger forward."""
    rate = setting[0] if setting else 1.0
    t = np.arange(4096) / 1024
    x, v = 0.01 * np.sin(2 * np.pi * rate * t), 0.02 * np.pi * rate * np.cos(2 * np.pi * rate * t)
    force = np.where(v > 0, strength, -0.8 * strength)
    return Named(name, setup, setting, np.stack([t, x, force, v, force, force], axis=1))


ALL = [
    named("ds2__0.5Hz36lbtension1amplitude", "ds2 36 lb", (0.5, 1.0)),
    named("ds2__1Hz36lbtension1amplitude", "ds2 36 lb", (1.0, 1.0)),
    named("ds2__0.5Hz36lbtension1.5amplitude", "ds2 36 lb", (0.5, 1.5)),
    named("ds2__1Hz30lbtension1amplitude", "ds2 30 lb", (1.0, 1.0), 2e4),
    named("ds2__ImperialValleyDBE", "ds2 36 lb", None),
    named("ds2__ImperialValleyMCE", "ds2 36 lb", None),
    named("ds2__KocaeliDBE", "ds2 36 lb", None),
]


def test_companions_are_other_tests_of_the_same_set_up():
    assert companion_of(ALL[0], ALL) is ALL[1]  # the same amplitude before the same frequency
    assert companion_of(ALL[4], ALL) is ALL[5] and companion_of(ALL[5], ALL) is ALL[4]
    assert companion_of(ALL[6], ALL).event == "ImperialValley"


def test_every_test_is_left_out_once():
    left = np.sum([fold.left_out for fold in folds(ALL)], axis=0)
    np.testing.assert_array_equal(left, 1)
    settings = [s for group in HARMONIC_FOLDS for s in group]
    assert len(settings) == len(set(settings))
    (both,) = event_folds(ALL)
    assert both.left_out.tolist() == [False] * 4 + [True, True, False]


def test_capacity_and_place_come_from_the_companion_and_the_first_force():
    assert capacity_of(ALL[3]) == pytest.approx((2e4, 1.6e4))
    made = prepared(ALL[0], ALL[3])
    assert made.capacity == pytest.approx((2e4, 1.6e4))
    np.testing.assert_allclose(made.companion[:, 0], ALL[3].data[::4, 2])
    assert made.x[0] == pytest.approx(first_place(1e4, (2e4, 1.6e4)))
    assert first_place(0.0, (1.0, 1.0)) == 0.0 > first_place(-0.01, (1.0, 1.0))


def test_scores_of_known_errors():
    test = prepared(ALL[0], ALL[1])
    exact, nothing = scores(test, test.force), scores(test, 0 * test.force)
    assert exact["NRMSE"] == exact["slow"] == 0
    assert [exact[name] for name in ("R2", "TRAC", "energy", "peak")] == pytest.approx([1.0] * 4)
    assert nothing["NRMSE"] == pytest.approx(100 * np.sqrt(np.mean(test.force**2)) / 1.8e4)
    assert scores(test, test.force + 180.0)["NRMSE"] == pytest.approx(1.0)
    assert scores(test, test.force + 180.0)["MAE"] == pytest.approx(0.18)


def not_trained(make, keys, weights, histories, epoch, epochs, *, key, progress):
    """Models as they begin, in the place of training (which has tests of its own)."""
    models = jax.vmap(lambda k: make(k).trained)(keys)
    made = Trained(Fitting(models, None), np.zeros((epochs, len(keys))), epochs)
    return [make(keys[0])], made


def test_predictions_are_of_tests_left_out_and_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("VIBRID_TRAINED", str(tmp_path))
    x = 0.01 * np.sin(np.arange(100) / 8)
    tests = [DeviceTest(name, x, 0 * x, 1e6 * x, np.stack([x, x], axis=1), (1e4, 8e3)) for name in "ab"]
    parts = [Fold("first", np.array([True, False])), Fold("second", np.array([False, True]))]
    kind = ModelKind(network(MotionFeatures(0.01, 0.1, ()), Direct(), 2, (2,)), {"rate": 1e-2}, 2, members=2)
    monkeypatch.setattr("vibrid.papers.ocpnn.real_models.fit_models", not_trained)
    made = predictions(Run(), "tiny", kind, tests, parts, parts[:1], 2, np.ones(2))
    assert made.forces.shape == (2, 2, 128) and made.extra.shape == (2, 1, 2, 128)
    np.testing.assert_allclose(made.extra[:, 0, 0], made.forces[:, 0])  # the same fold and seed, twice
    assert np.abs(made.forces[0] - made.forces[1]).max() > 0  # seeds differ
    monkeypatch.setattr("vibrid.papers.ocpnn.real_models.fit_models", None)
    again = predictions(Run(), "tiny", kind, tests, parts, parts[:1], 2, np.ones(2))
    np.testing.assert_array_equal(again.forces, made.forces)


def test_an_adapted_law_is_the_law_and_a_bounded_correction():
    """At zero outputs it is the law; a full correction adds the bound; a full first parameter is e^span stronger."""
    answer = Adapted(GRIP, ("slip_positive",), span=0.5, bound=0.3)
    setting, motion = Setting(np.array([2e4, 2e4]), 0.0), vb.laws.Motion(np.array(0.02), np.array(0.1))
    force = lambda *outputs: float(answer.step(answer.start(), np.array(outputs), motion, setting, 0.01)[1])  # noqa: E731
    law = GRIP.law.force(0.02, 0.1, GRIP.law.advance(0.0, vb.laws.Motion(0.0, 0.0), vb.laws.Motion(0.02, 0.1), 0.01))
    assert force(0.0, 0.0) == pytest.approx(float(law))
    assert force(50.0, 0.0) == pytest.approx(float(law) + 0.3 * 2e4)
    assert force(0.0, 50.0) - force(0.0, 0.0) == pytest.approx(1.7e4 * (np.exp(0.5) - 1))
