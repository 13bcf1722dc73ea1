"""What checks share or leave out to be quick gives the same answers as the long way."""

import numpy as np
import pytest
import scipy.signal

import vibrid as vb
from tests.identification import test_other_answers as answers
from vibrid.identification.checks import again, twins
from vibrid.identification.checks.damping import _first_slopes, _modes, _slopes
from vibrid.identification.checks.dependence import _by_chance, orthonormal
from vibrid.identification.checks.input_noise import _matrix, _unlikelihood, _unlikelihood_and_slope
from vibrid.identification.checks.laws import law_scores
from vibrid.identification.checks.noise import _bell, _local, _worth
from vibrid.identification.checks.transfer import AboutRest
from vibrid.identification.checks.work import around, forget
from vibrid.identification.levenberg import linearised
from vibrid.identification.problem import make_problem

UNKNOWN = ["storeys[*].stiffness", "damping.stiffness"]


def problem(floors, seed=4):
    stiffness = np.array([30e6, 10e6])
    data = answers.record(stiffness, floors, 0.002 * stiffness, seed=seed)
    return make_problem(answers.guess([30e6, 10e6], vb.Rayleigh(0.0, 0.002)), data, UNKNOWN).boxed()


def test_a_basis_is_orthonormal_and_leaves_out_what_the_others_contain():
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((400, 6)) * 10.0 ** np.arange(-3, 3)
    columns = np.column_stack([columns, columns[:, :2] @ [1.0, 2.0], np.zeros(400)])
    basis = orthonormal(columns)
    assert basis.shape == (400, 6)
    np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-7)
    np.testing.assert_allclose(basis @ (basis.T @ columns), columns, atol=1e-6 * np.abs(columns).max())


def test_causes_of_other_times_are_those_that_are_moved():
    rng = np.random.default_rng(1)
    basis, r = orthonormal(rng.standard_normal((300, 4))), rng.standard_normal(300)
    moved = [np.roll(basis, int(shift), axis=0) for shift in np.linspace(0.1, 0.9, 16) * 300]
    np.testing.assert_allclose(_by_chance(basis, r), [np.sum((part.T @ r) ** 2) for part in moved])


def test_the_size_around_a_sample_is_an_average_of_its_neighbours():
    rng = np.random.default_rng(2)
    innovations, keep, width = rng.standard_normal(500), np.ones(500, bool), 10
    keep[100:130] = False
    far = np.arange(-3 * width, 3 * width + 1)
    bell = np.where(far, np.exp(-0.5 * (far / width) ** 2), 0.0)
    squares = np.minimum(innovations**2, np.quantile(innovations[keep] ** 2, 0.995)) * keep
    near = np.convolve(squares, bell, "same") / np.convolve(keep, bell, "same")
    expected = np.sqrt(0.9 * near / near[keep].mean() + 0.1)
    found, _ = _local(innovations, keep, [width, 25])
    np.testing.assert_allclose(found[keep], expected[keep], rtol=1e-9)
    assert _bell(width, 600)[0] == pytest.approx(bell.sum())


def test_a_long_memory_is_looked_for_where_there_may_be_one():
    white = np.random.default_rng(3).standard_normal((1, 2000))
    echo = white + 0.5 * np.roll(white, 12, axis=1)
    assert _worth([white], 2000, 30) == 2
    assert _worth([echo], 2000, 30) == 30
    assert _worth([scipy.signal.lfilter([1.0], [1.0, -0.8], white)], 2000, 30) <= 6


def test_noise_of_the_excitation_has_the_slope_of_its_likelihood():
    rng = np.random.default_rng(4)
    spectra, through = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in ((50, 3), (50, 3, 1)))
    shared, logs = np.einsum("fim,fjm->fij", through, through.conj()), np.array([0.1, -0.3, 0.2, -0.5])

    def value(logs):
        return _unlikelihood(spectra, _matrix(logs, shared))

    found, slope = _unlikelihood_and_slope(spectra, through, logs, _matrix(logs, shared))
    steps = 1e-5 * np.eye(4)
    assert found == pytest.approx(value(logs))
    np.testing.assert_allclose(slope, [(value(logs + d) - value(logs - d)) / 2e-5 for d in steps], rtol=1e-6)


@pytest.mark.parametrize(("floors", "others"), [((1,), 1), ((0, 1), 0)])
def test_the_search_ends_early_where_all_ways_lead_back(monkeypatch, floors, others):
    posed, starts = problem(floors), []
    whole = twins.matched
    monkeypatch.setattr(twins, "matched", lambda *given: starts.append(len(given[2])) or whole(*given))
    found = twins._candidates(posed, posed.start, 1)
    assert len(found) >= others if others else found == []
    assert (sum(starts) > twins.AT_ONCE) == bool(others)


def test_transfer_functions_have_their_derivatives():
    import jax
    import jax.numpy as jnp

    posed = problem((0, 1))
    about, free = AboutRest.of(posed), posed.start
    s = jnp.asarray(about.line(free))
    slopes = jax.jacfwd(lambda phi: jnp.abs(about.transfers(phi, s)))(jnp.asarray(free))
    for k, step in enumerate(1e-6 * np.eye(len(free))):
        near = [jnp.abs(about.transfers(jnp.asarray(free + sign * step), s)) for sign in (1, -1)]
        np.testing.assert_allclose(slopes[:, k], (near[0] - near[1]) / 2e-6, rtol=1e-5, atol=1e-7)


def test_the_first_slopes_of_damping_are_those_of_all_unknowns_together():
    posed = problem((0, 1))
    fit = vb.TrajectoryFit(iterations=3).solve(posed)
    modes = _modes(fit.problem, fit.free)
    first, readings = _first_slopes(fit, modes)
    slopes, again = _slopes(fit.problem, np.concatenate([fit.free, np.zeros(len(modes.omega))]), modes)
    np.testing.assert_allclose(readings, again, rtol=1e-9, atol=1e-9 * np.abs(again).max())
    np.testing.assert_allclose(first, slopes, atol=1e-4 * np.abs(slopes).max())
    # a fit without a missing law: nothing is likely, though every force has its score
    assert law_scores(fit, likely=True) == [] and len(law_scores(fit)) == 8


def test_a_second_fit_simulates_no_point_twice_and_keeps_the_readings_around_its_answer(monkeypatch):
    posed, points = problem((0, 1)), []
    fit = vb.TrajectoryFit(iterations=3).solve(posed)
    monkeypatch.setattr(again, "linearised", lambda *given: points.append(tuple(given[1])) or linearised(*given))
    found = again.fitted_again(fit.replace(free=fit.free + 0.05), posed)
    try:
        here, there = around(found), linearised(posed, found.free)
    finally:
        forget()
    assert len(set(points)) == len(points) and tuple(found.free) in points
    np.testing.assert_array_equal(here.predictions[0], there.predictions[0])
    np.testing.assert_array_equal(here.slopes[0], there.slopes[0])
    assert again.distance_to_minimum(found, there) < 0.01
