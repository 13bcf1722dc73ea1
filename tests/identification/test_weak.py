"""Weak equations, splines and what WeakCollocation makes of them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import BSpline

import vibrid as vb
from identification.small import (
    ONE,
    ONE_TRUTH,
    ONE_UNKNOWN,
    STEP,
    TWO,
    TWO_GUESS,
    TWO_SENSORS,
    TWO_TRUTH,
    TWO_UNKNOWN,
    one,
    two,
)
from identification.small import motion as ground_motion
from vibrid.identification.problem import make_problem
from vibrid.identification.weak import collocation
from vibrid.identification.weak.banded import Bordered, gather_rows, squares, times
from vibrid.identification.weak.equations import AbsoluteMotion, Intervals, weak_residuals
from vibrid.identification.weak.ground import ground_of
from vibrid.identification.weak.pieces import finer
from vibrid.identification.weak.splines import REACH, Splines
from vibrid.identification.weak.start import regression_start
from vibrid.simulation.excitation import drive


@pytest.fixture(scope="module")
def problem():
    return make_problem(TWO_GUESS, two(0.01), TWO_UNKNOWN)


def test_splines_are_those_of_scipy():
    splines, rng = Splines(0.1, 40), np.random.default_rng(0)
    weights, time = rng.standard_normal((splines.weights, 2)), np.linspace(0.0, 4.0, 173)
    theirs = BSpline(0.1 * (np.arange(splines.weights + REACH) - 5), weights, 5)
    for order in range(4):
        expected = theirs.derivative(order)(time) if order else theirs(time)
        found = splines.evaluate(weights, time, order)
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("hold", ["linear", "cubic"])
def test_the_ground_moves_as_its_acceleration_says(problem, hold):
    """Differences of x_g give back v_g and the recorded acceleration, which the hold passes through."""
    data = dataclasses.replace(problem.data[0], drive=drive(problem.data[0].drive.samples, hold))
    ground, h = ground_of(dataclasses.replace(problem, data=(data,))), 1e-4
    time = STEP * np.arange(5, 395)
    x = [ground.motion(time + k * h)[0] for k in (-1, 0, 1)]
    recorded = ground_motion().data[5:395]
    np.testing.assert_allclose((x[2] - 2 * x[1] + x[0]) / h**2, np.repeat(recorded, 2, axis=1), atol=0.03)
    np.testing.assert_allclose((x[2] - x[0]) / (2 * h), ground.motion(time)[1], atol=1e-6)
    np.testing.assert_allclose(ground.inputs(time), recorded, atol=1e-12)
    assert abs(np.polyfit(time, x[1][:, 0], 1)[0]) < 0.05  # no straight line left


def test_weak_equations_vanish_on_an_exact_motion_and_grow_with_the_error_of_a_parameter():
    """Free vibration x = cos ωt of one mass: ∫ (m ẍ + k x) dt = 0, and (k − mω²) ∫ x dt for another k."""
    omega, edges = 3.0, np.linspace(0.0, 2.0, 21)
    place, weight = np.polynomial.legendre.leggauss(4)
    t = edges[:-1, None] + 0.05 * (place + 1.0)
    none = jnp.zeros((*t.shape, 1))
    intervals = Intervals(jnp.asarray(t), jnp.asarray(0.05 * weight), (none, none, none), none)
    x = np.cos(omega * t)[..., None]
    motion = AbsoluteMotion(x, -omega * np.sin(omega * t)[..., None], -(omega**2) * x, none[..., :0], none[..., :0])

    def left(k):
        return np.asarray(weak_residuals(vb.ShearBuilding([1.0], [vb.Linear(k)]).model(), motion, intervals))[:, 0]

    np.testing.assert_allclose(left(omega**2), 0.0, atol=1e-12)
    np.testing.assert_allclose(left(omega**2 + 2.0), 2.0 * np.diff(np.sin(omega * edges)) / omega, atol=1e-9)


def test_banded_elimination_is_that_of_dense_matrices():
    rng, channels, count, p = np.random.default_rng(1), 2, 9, 3
    slope = rng.standard_normal((count, 14, REACH * channels))
    band = squares(slope)
    size = band.shape[1]
    dense = np.zeros((size, size))
    for e in range(count):
        place = slice(e * channels, e * channels + REACH * channels)
        dense[place, place] += slope[e].T @ slope[e]
    border, corner = rng.standard_normal((size, p)), 50.0 * np.eye(p)
    sides, other = gather_rows(rng.standard_normal((count, REACH * channels))), rng.standard_normal(p)
    np.testing.assert_allclose(times(band, sides), dense @ sides, atol=1e-10)
    made = Bordered(band, border, corner, sides, other).eliminate(0.0)
    whole = np.block([[dense, border], [border.T, corner]])
    answer = np.linalg.solve(whole, np.concatenate([sides, other]))
    step = np.linalg.solve(made.information, made.side)
    np.testing.assert_allclose(step, answer[size:], rtol=1e-8)
    np.testing.assert_allclose(made.weights_step(step), answer[:size], rtol=1e-6, atol=1e-9)


@pytest.fixture(scope="module")
def hysteretic():
    """One Bouc–Wen storey, no noise: problem, start, and its record inside the minimisation."""
    problem = make_problem(ONE, one(0.0), ONE_UNKNOWN)
    begin = regression_start(problem, 0.04)
    return problem, begin, collocation.record_of(problem, begin.free, begin.pieces[0], 0, begin.noise)


def test_regression_along_the_smooth_motion_finds_a_hysteretic_storey(hysteretic):
    problem, begin, _ = hysteretic
    np.testing.assert_allclose(problem.unknowns.to_physical(begin.free), ONE_TRUTH, rtol=0.03)


def test_slopes_of_the_weak_equations_are_finite_differences(hysteretic):
    problem, begin, record = hysteretic
    rng, free = np.random.default_rng(2), np.asarray(begin.free) + 0.05
    weights = record.piece.weights
    change, turn = rng.standard_normal(weights.shape) * np.std(weights, axis=0), rng.standard_normal(len(free))

    def at(h):
        made = collocation.linearise(
            problem, jnp.asarray(free + h * turn), 0, record.field, jnp.asarray(weights + h * change)
        )
        return jax.tree.map(np.asarray, made)

    h = 1e-6
    here, ahead, behind = at(0.0), at(h), at(-h)
    index = np.arange(record.piece.splines.count)
    touched = np.concatenate([index, index[collocation.ENDS]])[:, None] + np.arange(REACH)
    local = change[touched].reshape(len(touched), -1)
    expected = np.einsum("eqa,ea->eq", here.slope, local) + here.border @ turn
    found = (ahead.residual - behind.residual) / (2 * h)
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())
    first = here.first_slope @ change[:REACH].reshape(-1) + here.first_border @ turn
    np.testing.assert_allclose((ahead.first - behind.first) / (2 * h), first, atol=1e-6 * np.abs(first).max())


def test_finer_splines_hold_the_same_motion_and_states(hysteretic):
    problem, begin, _ = hysteretic
    piece, half = begin.pieces[0], finer(problem, begin.pieces[0])
    assert half.splines.spacing == 0.02 and half.weights.shape[1] == piece.weights.shape[1] == 2
    time = np.linspace(0.0, piece.splines.edges[-1], 333)
    for name in ("y", "dy", "s"):
        old, new = (getattr(own.motion(time), name) for own in (piece, half))
        np.testing.assert_allclose(new, old, atol=1e-6 * np.abs(old).max())


def test_kinks_of_a_hysteretic_state_ask_for_finer_splines():
    """The splines are halved where they, and not the model, keep the equations from being obeyed."""
    fit = vb.identify(ONE, one(0.0), ONE_UNKNOWN, vb.WeakCollocation(spacing=0.04, softness=(0.1, 0.01, 1e-4)))
    assert fit.convergence["spacing"] == 0.02
    np.testing.assert_allclose(fit.estimate, ONE_TRUTH, rtol=2e-3)


@pytest.fixture(scope="module")
def right():
    return vb.identify(TWO_GUESS, two(0.01), TWO_UNKNOWN, vb.WeakCollocation())


def test_a_right_model_is_believed_and_reaches_the_bound(right):
    assert right.convergence["right"] and right.convergence["softness_reached"] == 0.0001
    assert "these data show no model error" in right.convergence["message"]
    assert np.all(np.abs(right.estimate - TWO_TRUTH) < 4 * right.limits.bound)
    np.testing.assert_allclose(right.deviation, right.limits.bound, rtol=0.15)


@pytest.mark.long
def test_an_unmodelled_force_is_noticed_and_disturbs_less_than_a_trajectory_fit():
    ground = ground_motion()
    push = 0.5 * np.std(ground.data) * np.random.default_rng(3).standard_normal((len(ground), 2))
    loads = [vb.Channel(f"load_{i}", "load", "N", str(i)) for i in range(2)]
    both = ground.replace(
        "pushed", data=np.concatenate([ground.data, push], axis=1), channels=(*ground.channels, *loads)
    )
    record = vb.simulate(TWO, both, integrator=vb.RungeKutta4(), substeps=8).measure(TWO_SENSORS, 0.01, 0)
    data = record.select([n for n in record.names if not n.startswith("load_")])
    soft = vb.identify(TWO_GUESS, data, TWO_UNKNOWN, vb.WeakCollocation())
    hard = vb.identify(TWO_GUESS, data, TWO_UNKNOWN, vb.TrajectoryFit())
    assert not soft.convergence["right"] and soft.convergence["softness_reached"] >= 0.03
    assert any("unmeasured load or a wrong law" in w for w in soft.warnings)
    errors = [np.mean(np.abs(fit.estimate / TWO_TRUTH - 1)) for fit in (soft, hard)]
    assert errors[0] < 0.7 * errors[1]
    assert np.all(np.abs(soft.estimate - TWO_TRUTH) < 4 * soft.deviation)


def test_gaps_are_bridged_and_the_answer_can_be_polished(problem, right):
    present = np.array(problem.data[0].present)
    present[100:120] = 0.0
    present[200:230, 1] = 0.0
    gaps = dataclasses.replace(problem, data=(dataclasses.replace(problem.data[0], present=jnp.asarray(present)),))
    fit = vb.WeakCollocation(polish=True).solve(gaps)
    assert np.all(np.abs(fit.estimate - TWO_TRUTH) < 4 * right.limits.bound)
    assert fit.method == "WeakCollocation" and fit.convergence["right"]


def test_bad_settings_and_forces_of_parts_are_refused(problem):
    with pytest.raises(vb.InputError, match="fall from stage to stage"):
        vb.WeakCollocation(softness=(0.1, 0.3))
    with pytest.raises(vb.InputError, match="positive time"):
        vb.WeakCollocation(spacing=0.0)
    sensors = (*TWO_SENSORS, vb.Sensor("element_force", "storeys[0]"))
    other = dataclasses.replace(problem, experiment=dataclasses.replace(problem.experiment, sensors=sensors))
    with pytest.raises(vb.Refusal, match="not linear in"):
        regression_start(other, 0.04)
