"""The power law of rare windows: exact where windows follow one, on the safe side of normal ones."""

import numpy as np
import pytest
import scipy

from vibrid.monitor.tails import deleted_statistics, normal_tail, tail_count, tail_of


@pytest.mark.parametrize("n", [60, 300])
def test_the_stated_chance_is_true_of_a_power_law(n):
    """A share of new windows as large as stated, on average over trainings, however short these are."""
    rng, level, beyond = np.random.default_rng(n), 1e-3, []
    for _ in range(4000):
        tail = tail_of(rng.pareto(1.5, n) + 1.0)
        beyond.append(tail.bar(level) ** -1.5)  # of the true law
    assert np.mean(beyond) == pytest.approx(level, abs=4 * np.std(beyond) / np.sqrt(4000))


def test_chance_and_bar_are_inverse():
    tail = tail_of(np.random.default_rng(0).chisquare(4, 200))
    assert tail.count == tail_count(200) == 22 and tail.share == pytest.approx(23 / 201)
    for level in (1e-2, 1e-5, 1e-8):
        assert float(tail.chance(np.array(tail.bar(level)))) == pytest.approx(level)
    assert float(tail.chance(np.array(tail.edge))) == 1.0


@pytest.mark.parametrize("n", [60, 500, 4000])
def test_normal_windows_are_judged_on_the_safe_side(n):
    tail, level = normal_tail(n, 5, n - 2.0), 1e-5
    f = scipy.stats.f(5, n - 6)
    assert tail.bar(level) > f.isf(level) * 5 * (n - 2) / (n - 6)
    drawn = [tail_of(np.random.default_rng(i).chisquare(5, n)).index for i in range(200)]
    assert tail.index == pytest.approx(np.mean(drawn), rel=0.25 if n == 60 else 0.08)


def test_every_window_is_judged_by_the_others():
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(30), rng.standard_normal(30)])
    y = x @ rng.standard_normal((2, 3)) + rng.standard_normal((30, 3))
    gram = np.linalg.inv(x.T @ x)
    away = y - x @ gram @ x.T @ y
    found = deleted_statistics(away, np.einsum("np,pr,nr->n", x, gram, x), 2)
    for i in (0, 7, 29):
        others = np.arange(30) != i
        own = np.linalg.inv(x[others].T @ x[others])
        fitted = own @ x[others].T @ y[others]
        left = y[others] - x[others] @ fitted
        apart = y[i] - x[i] @ fitted
        expected = apart @ np.linalg.solve(left.T @ left / (29 - 2), apart) / (1 + x[i] @ own @ x[i])
        assert found[i] == pytest.approx(expected)


def test_a_window_that_does_not_belong_to_the_others_is_told():
    rng = np.random.default_rng(2)
    odd = [tail_of(rng.pareto(2.0, 80) + 1.0).odd for _ in range(2000)]
    assert np.mean(odd) < 5e-3  # one in a thousand
    common = rng.chisquare(5, 80)
    assert not tail_of(common).odd and tail_of(np.append(common, 1e4)).odd
