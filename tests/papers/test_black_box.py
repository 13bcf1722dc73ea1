"""The black boxes of the public benchmarks: what they can learn, the budget, the choice of a setting."""

import jax.numpy as jnp
import numpy as np
import pytest

from vibrid.papers.public.benchmark import BenchmarkTrial, load_benchmark
from vibrid.papers.public.black_box import entries
from vibrid.papers.public.black_box.series import Budget, DrivenSeries, TrainedBox, monomials, products
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
    return DrivenSeries.of(u, np.array(y), 50, 0.7)


def test_units_and_places(series):
    assert series.known == 505 and series.y.std() == pytest.approx(1.0) and series.u.mean() == pytest.approx(0.0)
    periodic = DrivenSeries.periodic(np.arange(10.0), np.arange(10.0), 3, 0.5)
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


@pytest.mark.parametrize("degree", [3, 5])
def test_a_state_space_begins_as_the_linear_model(series, degree):
    """Terms of high degrees do not make the first free run diverge; the descent then makes use of them."""
    box, setting = METHODS["state-space"], SETTINGS["state-space"]
    begun, linear = (
        box.train(setting | {"degree": highest}, series, 3, Budget(100.0, 0)).validation for highest in (degree, 1)
    )
    assert begun == pytest.approx(linear, rel=1e-3)
    trained = box.train(setting | {"degree": degree}, series, 3, Budget(100.0, 8))
    assert trained.steps > 1 and trained.validation < 0.6 * linear


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


class Silent:
    """A box that answers nothing: its error is the motion itself."""

    name = "silent"

    def train(self, setting, series, seed, budget):
        return TrainedBox(np.zeros(3), 1.0, 0.5, 1)

    def run(self, setting, series, vectors, u):
        return np.zeros((len(vectors), len(u)))


def test_the_table_of_the_entry(monkeypatch):
    """Everything is trained before a test part is read, once; a law that was fitted exactly has almost no error, a
    model without an answer that of the motion."""
    data, p = realisation.multisine_test(5), realisation.Oscillator()
    trial = BenchmarkTrial(load_benchmark("black-box"), quick=True)
    trial.settings["methods"] = {"silent": [{"lags": 2}, {"lags": 3}]}
    exact = np.array([p.m, p.c, p.k, p.alpha, 1.0, p.beta * p.gamma, p.beta * p.delta, p.nu])  # ν is 1: β may be 1

    def law_fits(trial, u, y):
        assert not trial.ledger.reads
        return {"vectors": np.stack([exact, exact]), "seconds": np.ones(2)}

    for name, other in {
        "METHODS": {"silent": Silent()}, "public_training": lambda trial: data, "public_test": lambda trial: data,
        "law_fits": law_fits,
    }.items():  # fmt: skip
        monkeypatch.setattr(entries, name, other)
    made = entries.methods(trial)
    assert [r["part"] for r in trial.ledger.reads] == [entries.PUBLIC_MULTISINE, entries.TWICE]
    silent, law = made.rows
    for part in (entries.PUBLIC_MULTISINE, entries.TWICE):
        assert law[f"{part}, worst"] < 0.1 and silent[f"{part}, median"] == pytest.approx(100.0, abs=0.5)
    assert silent["setting"] == "lags 2" and silent["parameters"] == 3 and law["parameters"] == 7
    assert len(made.checks) == 2 and "(silent)" in made.checks[0].measured and made.figure is not None


def test_a_row_counts_the_runs_that_diverged():
    found = {"seconds": np.array([1.0, 2.0])}
    row = entries._row("a", found, 7, {"p": [1.0, 2.0, 400.0], "q": [np.inf, 2.0, 3.0]}, {"lags": 2})
    assert row["p, median"] == 2.0 and row["p, worst"] == 400.0 and row["diverged"] == 2
