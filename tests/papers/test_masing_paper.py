"""The paper's order of updates beside ours, and where it lives."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.identification import METHODS
from vibrid.papers.masing.as_published import MasingAsPublished
from vibrid.papers.masing.cases import KOBE, device, errors, force_of, identify_many, noisy, rayleigh

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
