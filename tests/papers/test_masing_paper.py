"""The paper's order of updates beside ours, and where it lives."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.identification import METHODS
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
