"""The paper's order of updates beside ours, and where it lives."""

from types import SimpleNamespace

import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.identification import METHODS
from vibrid.papers import Run
from vibrid.papers.masing import change, other_laws
from vibrid.papers.masing.as_published import MasingAsPublished
from vibrid.papers.masing.cases import KOBE, RATE, device, errors, force_of, identify_many, noisy, rayleigh
from vibrid.papers.masing.choices import needed
from vibrid.papers.masing.seeds import job_of

BETA, STIFFNESS, MEAN, DAMPING = KOBE.truth


def data() -> np.ndarray:
    t = np.arange(600) / 50.0
    x = 12.0 * np.sin(2.0 * t) * np.minimum(t / 4.0, 1.0)
    v = np.gradient(x, t)
    force = force_of(rayleigh(MEAN), BETA, STIFFNESS, DAMPING / 10.0, x, v)
    return noisy(x, v, force, 0.02, 0)[None]


def test_both_orders_of_updates_come_closer_and_differ():
    ends = {}
    for published in (False, True):
        method = KOBE.method(1, as_published=published)
        assert type(method) is (MasingAsPublished if published else vb.OnlineMasing)
        ends[published] = identify_many(method, device(KOBE.guess), data())[0]
    start = errors(np.array([KOBE.guess], float), KOBE.truth)[0]
    assert errors(ends[True], KOBE.truth)[0] < 0.5 * start and errors(ends[False], KOBE.truth)[0] < 0.5 * start
    assert np.abs(ends[True] - ends[False]).max() > 1e-6


def test_the_method_is_found_by_its_name_and_the_old_argument_names_it():
    assert METHODS["masing-as-published"] is MasingAsPublished
    with pytest.raises(InputError, match="masing-as-published"):
        vb.OnlineMasing(faithful=True)


def test_low_frequency_noise_has_the_same_size_and_no_fast_part():
    t = np.arange(2000) / RATE
    x = np.sin(t)
    slow = noisy(x, x, x, 0.1, 3, below=1.0 / 3.0) - noisy(x, x, x, 0.0, 3)
    white = noisy(x, x, x, 0.1, 3) - noisy(x, x, x, 0.0, 3)
    assert slow.std(axis=0) == pytest.approx(0.1 * np.sqrt(np.mean(x**2)), rel=1e-6)
    spectrum = np.abs(np.fft.rfft(slow[:, 0]))
    fast = np.fft.rfftfreq(len(t), 1.0 / RATE) > 1.0 / 3.0
    assert spectrum[fast].max() < 1e-9 * spectrum.max() and np.abs(np.fft.rfft(white[:, 0]))[fast].max() > 1.0


def test_recall_has_one_objective_so_its_job_is_shared():
    assert job_of("OnlineRecall", KOBE, 2, 0.1) == job_of("OnlineRecall", KOBE, 1, 0.1)
    assert job_of("as printed", KOBE, 2, 0.1) != job_of("as printed", KOBE, 1, 0.1)


def test_the_verdict_on_a_safeguard_follows_from_the_numbers():
    names = ["white", "slow"]
    rows = [{"variant": "as printed", "white": 0.02, "slow": 0.05}, {"variant": "without", "white": 0.06, "slow": 0.05}]
    assert needed(rows, "without", names).startswith("does not, because they help in 1 of 2")
    rows[1]["slow"] = 0.2
    assert needed(rows, "without", names).startswith("reproduces")
    rows[1] |= {"white": 0.02, "slow": 0.04}
    assert "does not grow" in needed(rows, "without", names)


def test_the_study_of_other_laws_has_the_errors_of_all_seeds(monkeypatch):
    """Stand-ins of fits, whose estimates are 10 % above the true values."""

    def identify(first, record, unknown, method, key):
        law, guess = other_laws.LAWS[record.name]
        assert unknown == [f"law.{name}" for name in guess] and len(record) == 600
        return SimpleNamespace(estimate=1.1 * np.array([float(getattr(law, name)) for name in guess]))

    monkeypatch.setattr(other_laws, "identify", identify)
    monkeypatch.setattr(other_laws, "simulate", lambda *_: SimpleNamespace(part=lambda _: (None, np.ones(5991))))
    rows = other_laws.study(Run(quick=True)).rows
    assert [row["law"] for row in rows] == list(other_laws.LAWS)
    assert all(set(row["worst error"].split(", ")) == {"10.0 %"} for row in rows)


def test_the_study_of_a_storey_that_loses_stiffness_has_every_method(monkeypatch):
    """Stand-ins of fits: the estimate follows the change half a second after it."""
    t = np.arange(round(change.END * change.RATE) + 1) / change.RATE
    path = np.where(t < change.CHANGE + 0.5, 60.0, 60.0 * (1 - change.LOSS))
    monkeypatch.setattr(change, "test_record", lambda seed, noise: t)
    fit = SimpleNamespace(history={"estimate": np.stack([path, path], axis=1)})
    monkeypatch.setattr(change, "identify", lambda *_: fit)
    outcome = change.study(Run(quick=True))
    assert [row["method"] for row in outcome.rows] == list(change.METHODS)
    assert all(row["latest [s]"] == pytest.approx(0.5) and row["worst"] < 1e-9 for row in outcome.rows)
    assert all(check.met for check in outcome.checks)
