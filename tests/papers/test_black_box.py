"""The black boxes of the public benchmarks: what they can learn, the budget, the choice of a setting."""

import jax.numpy as jnp
import numpy as np
import pytest

from vibrid.papers.public.benchmark import BenchmarkTrial, load_benchmark
from vibrid.papers.public.black_box import entries
from vibrid.papers.public.black_box.series import Budget, Series, TrainedBox, monomials, products
from vibrid.papers.public.black_box.tuning import METHODS, tuned
from vibrid.papers.public.bouc_wen import realisation

SETTINGS = {
    "pysindy": {"lags": 2, "degree": 3, "threshold": 1e-4, "ridge": 1e-8},
    "narx": {"lags": 2, "width": 8, "horizon": 4, "rate": 1e-2},
    "recurrent": {"cell": "gru", "width": 8, "window": 100, "lead": 20, "rate": 2e-2},
    "state-space": {"states": 2, "degree": 3},
}


@pytest.fixture(scope="module")
def series():
    """A discrete oscillator that hardens, without noise."""
    u, y = np.random.default_rng(3).normal(size=700), [0.0, 0.0]
    for force in u[:-2]:
        y.append(1.5 * y[-1] - 0.8 * y[-2] - 0.05 * y[-1] ** 3 + 0.3 * force)
    return Series.of(u, np.array(y), 50, 0.7)


def test_units_and_places(series):
    assert series.known == 505 and series.y.std() == pytest.approx(1.0) and series.u.mean() == pytest.approx(0.0)
    periodic = Series.periodic(np.arange(10.0), np.arange(10.0), 3, 0.5)
    np.testing.assert_allclose(periodic.measured(periodic.y), [7, 8, 9, *range(10)])
    assert periodic.known == 8 and series.validation(series.y) == 0.0
    assert series.validation(np.full(700, np.nan)) == np.inf


def test_monomials_are_all_of_the_degrees():
    places = monomials(2, 0, 2)
    np.testing.assert_allclose(products(jnp.array([2.0, 3.0]), places), [1, 2, 3, 4, 6, 9])
    assert len(monomials(4, 2, 3)) == 10 + 20


LEARNT = {"pysindy": 0.2, "narx": 0.15, "recurrent": 0.4, "state-space": 0.05}  # 1: the mean alone


@pytest.mark.parametrize("name", METHODS)
def test_a_box_learns_and_runs_freely(name, series):
    """A short training lowers the error; the free run has the error that the training told, and sees no later input."""
    method, setting = METHODS[name], SETTINGS[name]
    trained = method.train(setting, series, 0, Budget(100.0, 25 if name == "state-space" else 500))
    assert np.isfinite(trained.vector).all() and trained.validation < LEARNT[name]
    measured = series.u * series.input_unit[1] + series.input_unit[0]
    run, other = (
        method.run(setting, series, trained.vector[None], series.scaled(u))[0]
        for u in (measured, np.where(np.arange(len(measured)) < 300, measured, 0.0))
    )
    assert series.validation(run) == pytest.approx(trained.validation, rel=1e-6)
    np.testing.assert_array_equal(run[:300], other[:300])
    assert np.abs(run[300:] - other[300:]).max() > 1e-3


def test_the_best_setting_is_trained_from_every_seed(series):
    class Toy:
        name = "toy"

        def run(self, setting, series, vectors, u):
            raise AssertionError("nothing runs freely while it is tuned")

        def train(self, setting, series, seed, budget):
            return TrainedBox(np.array([setting["x"], seed]), abs(setting["x"] - 2.0) + 0.1 * seed, 1.0, 1)

    found = tuned(Toy(), [{"x": 1.0}, {"x": 2.0}, {"x": 3.5}], series, [0, 1, 2], Budget(1.0))
    assert found["setting"] == 1 and found["tried"].tolist() == [1.0, 0.0, 1.5]
    assert found["vectors"].tolist() == [[2.0, 0.0], [2.0, 1.0], [2.0, 2.0]]


def test_the_budget():
    budget = Budget(1000.0, 10).begin()
    assert budget.spend(6) and not budget.spend(6) and budget.used == 6
    assert not Budget(0.0).begin().spend()


def test_every_method_has_four_settings_and_the_same_budget():
    settings = BenchmarkTrial(load_benchmark("black-box")).settings
    assert settings["methods"].keys() == METHODS.keys()
    assert {len(tries) for tries in settings["methods"].values()} == {4}
    assert len(settings["seeds"]) == 10 and settings["twice"]["rms"] == 2 * 50.0


def test_errors_and_rows_by_part():
    """A law that was fitted exactly has the error of its integration alone; a row has medians and worst values."""
    u, y = realisation.multisine_test(5, 100.0)
    p = realisation.Oscillator()
    unit = p.beta * np.array([p.gamma, p.delta])  # with β = 1 and ν = 1
    found = {"vectors": np.array([[p.m, p.c, p.k, p.alpha, 1.0, *unit, p.nu]]), "seconds": np.array([1.0])}
    errors = entries.law_errors(found, {"twice": (u, y, True)})
    assert errors["twice"][0] < 0.1
    row = entries._row("a", found, 7, {"p": [1.0, 2.0, 400.0], "q": [np.inf, 2.0, 3.0]}, {"lags": 2})
    assert row["p, median"] == 2.0 and row["p, worst"] == 400.0 and row["diverged"] == 2 and row["setting"] == "lags 2"
