"""The descent between bounds: twenty problems against SciPy, its certificate, and unknowns that stand at a bound."""

import dataclasses
import re
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import least_squares, lsq_linear

import vibrid as vb
from identification.small import TWO, TWO_GUESS, TWO_SENSORS, TWO_UNKNOWN, motion, two
from vibrid.core.errors import InputError
from vibrid.identification.archive import load_identification
from vibrid.identification.box import Box, bounded_step, promise
from vibrid.identification.experiment import Experiment, Initial
from vibrid.identification.levenberg import descend
from vibrid.identification.methods.bayes import _inside
from vibrid.identification.shooting import _first_states
from vibrid.identification.unknowns import compile_unknowns

T = np.linspace(0.0, 4.0, 60)
NOISE = 0.02 * np.random.default_rng(7).standard_normal(T.size)


def decay(q):
    """A damped oscillation: amplitude, decay, frequency and offset."""
    return q[0] * jnp.exp(-q[1] * T) * jnp.cos(q[2] * T) + q[3]


def sums(q):
    return q[0] * jnp.exp(-q[1] * T) + q[2] * jnp.exp(-q[3] * T)


def rosenbrock(q):
    return jnp.stack([10.0 * (q[1] - q[0] ** 2), 1.0 - q[0], jnp.sqrt(90.0) * (q[3] - q[2] ** 2), 1.0 - q[2]])


def powell(q):
    return jnp.stack(
        [q[0] + 10 * q[1], jnp.sqrt(5.0) * (q[2] - q[3]), (q[1] - 2 * q[2]) ** 2, jnp.sqrt(10.0) * (q[0] - q[3]) ** 2]
    )


def wood(q):
    return jnp.stack(
        [
            10.0 * (q[1] - q[0] ** 2),
            1.0 - q[0],
            jnp.sqrt(90.0) * (q[3] - q[2] ** 2),
            1.0 - q[2],
            jnp.sqrt(10.0) * (q[1] + q[3] - 2.0),
            (q[1] - q[3]) / jnp.sqrt(10.0),
        ]
    )


def resonance(q):
    """Amplitude of two modes over frequency: frequencies and damping ratios."""
    w = jnp.linspace(0.5, 6.0, 80)
    return sum(1.0 / jnp.abs(q[i] ** 2 - w**2 + 2j * q[i + 2] * q[i] * w) for i in (0, 1))


def polynomial(q):
    return q[0] + q[1] * T + q[2] * T**2 + q[3] * T**3


OFF = np.array([3.0, 0.3, 4.0, 0.2])
MODES = np.array([1.5, 4.0, 0.03, 0.06])
MIXED = np.array([2.0, -1.0, 0.5, -0.05])
UNIT, WIDE = np.ones(4), np.array([1e-4, 1e3, 1e6, 1e-2])
INF = np.inf


def case(model, truth, start, low, high, units=UNIT, noise=True):
    """Residuals of a model in units of its own: θ = units · q."""
    target = np.asarray(model(jnp.asarray(truth))) if truth is not None else None
    if target is not None and noise:
        target = target + 0.02 * np.max(np.abs(target)) * np.resize(NOISE / 0.02, target.shape)
    parts = (np.broadcast_to(np.asarray(p, float), 4) * units for p in (start, low, high))
    return model, target, tuple(parts), units


CASES = {
    "oscillation, no bound active": case(decay, OFF, [1, 0.1, 3.5, 0], [0, 0, 1, -1], [9, 2, 9, 1]),
    "oscillation, decay held low": case(decay, OFF, [1, 0.05, 3.5, 0], [0, 0, 1, -1], [9, 0.1, 9, 1]),
    "oscillation, amplitude and decay held": case(decay, OFF, [1, 0.5, 3.5, 0], [0, 0.4, 1, -1], [2, 2, 9, 1]),
    "oscillation, start on bounds": case(decay, OFF, [2, 0.1, 4.2, -1], [0, 0, 1, -1], [2, 0.1, 9, 1]),
    "oscillation, wide units": case(decay, OFF, [1, 0.1, 3.5, 0], [0, 0, 1, -1], [9, 0.1, 9, 1], WIDE),
    "oscillation, one side open": case(decay, OFF, [1, 0.5, 3.5, 0], [-INF, 0.4, -INF, 0.5], INF),
    "oscillation, no bounds, no noise": case(decay, OFF, [2, 0.2, 3.8, 0], -INF, INF, WIDE, noise=False),
    "exponentials, free": case(sums, [2, 0.3, 1, 3], [1, 0.1, 1, 5], [0, 0, 0, 0], [9, 9, 9, 9]),
    "exponentials, rates apart": case(sums, [2, 0.3, 1, 3], [1, 0.1, 1, 5], [0, 0, 0, 4], [9, 0.25, 9, 9]),
    "exponentials, amplitude at zero": case(sums, [2, 0.3, -0.5, 2], [1, 0.1, 1, 5], [0, 0, 0, 0], [9, 9, 9, 9]),
    "exponentials, wide units": case(sums, [2, 0.3, 1, 3], [1, 0.1, 1, 5], [0, 0, 0, 4], [9, 9, 9, 9], WIDE),
    "Rosenbrock twice, a corner": case(rosenbrock, None, [-1.2, 1, -1.2, 1], [-2, -2, -2, -2], [0.5, 2, 0.8, 2]),
    "Rosenbrock twice, low wall": case(rosenbrock, None, [-1.2, 2, -1.2, 2], [-2, 1.5, -2, -2], [2, 3, 2, 2], WIDE),
    "Powell, singular": case(powell, None, [3, -1, 0, 1], [-5, -5, -5, -5], [5, 5, 5, 5]),
    "Powell, away from its root": case(powell, None, [3, -1, 1, 1], [0.5, -5, -5, -5], [5, 5, 5, 0.2]),
    "Wood": case(wood, None, [-3, -1, -3, -1], [-5, -5, -5, -5], [0.9, 5, 5, 5]),
    "two modes, damping held": case(resonance, MODES, [1.4, 4.2, 0.02, 0.05], 1e-3, [3, 6, 0.02, 0.05]),
    "two modes, frequency held": case(resonance, MODES, [1.4, 4.2, 0.05, 0.05], 1e-3, [1.45, 6, 0.3, 0.3]),
    "polynomial, three held": case(polynomial, MIXED, [1, 0, 0, 0], [0, -0.5, 0, 0], [1.5, 3, 3, 3], noise=False),
    "polynomial, wide units": case(polynomial, MIXED, [1, 0, 0, 0], [0, -0.5, 0, -1], [1.5, 3, 3, 3], WIDE),
}


@cache
def program(model, has_target):
    """Residuals and their slopes, compiled once for a model."""

    def residuals(theta, units, target):
        made = model(theta / units)
        return (made - target if has_target else made,) * 2

    return jax.jit(jax.jacfwd(residuals, has_aux=True))


def solved(name):
    """Our descent and SciPy's on one problem."""
    model, target, (start, low, high), units = CASES[name]
    rest = (jnp.asarray(units), 0.0 if target is None else jnp.asarray(target))

    def both(theta):
        slope, r = program(model, target is not None)(jnp.asarray(theta), *rest)
        return np.asarray(r), np.asarray(slope)

    def evaluate(free):
        r, slope = both(free[0])
        return np.array([0.5 * r @ r]), (slope.T @ r)[None], (slope.T @ slope)[None]

    inside = np.clip(start, low + 1e-9 * units, high - 1e-9 * units)
    theirs = least_squares(
        lambda theta: both(theta)[0], inside, lambda theta: both(theta)[1], (low, high), "trf",
        x_scale="jac", ftol=1e-14, xtol=1e-14, gtol=1e-14, max_nfev=2000,
    )  # fmt: skip
    made = descend(None, start[None], None, box=Box.of(low, high), iterations=200, tolerance=1e-12, evaluate=evaluate)
    return made, theirs, low, high


@pytest.mark.parametrize("name", CASES)
def test_cost_is_no_worse_than_that_of_scipy(name):
    made, theirs, low, high = solved(name)
    assert np.all((made.free[0] >= low) & (made.free[0] <= high))
    assert made.cost[0] <= theirs.cost * (1.0 + 1e-6) + 1e-20
    assert made.converged[0]


def test_twenty_problems_have_bounds_of_every_kind():
    sides = [solved(name)[0].side[0] for name in list(CASES)[:4]]
    assert len(CASES) == 20
    assert [np.count_nonzero(side) for side in sides] == [0, 1, 2, 2]


def test_the_step_is_the_least_of_its_model_between_limits():
    """Against SciPy's bounded linear least squares; a component at its limit does not shorten the others."""
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 9):
        for _ in range(6):
            columns = rng.standard_normal((size + 3, size)) * 10.0 ** rng.uniform(-3, 3, size)
            right = rng.standard_normal(size + 3)
            least = np.abs(np.linalg.lstsq(columns, right, rcond=None)[0])
            low, high = -least * rng.uniform(0, 2, size), least * rng.uniform(0, 2, size)
            normal, gradient = columns.T @ columns, -columns.T @ right
            step = bounded_step(normal, gradient, 0.0, low, high)
            best = lsq_linear(columns, right, (low, high), method="bvls", tol=1e-14).x
            assert np.all((step >= low) & (step <= high))
            assert promise(normal, gradient, step) >= promise(normal, gradient, best) * (1 - 1e-8)
    blind = bounded_step(np.diag([1.0, 0.0]), np.array([-2.0, 0.0]), 1e-3, np.full(2, -np.inf), np.full(2, np.inf))
    np.testing.assert_allclose(blind, [2.0 / 1.001, 0.0])


def experiment():
    return Experiment(TWO, tuple(TWO_SENSORS), (Initial.rest(2),))


def test_an_unknown_at_its_bound_keeps_its_slope_and_its_place():
    """Rounding of ln and exp may end just outside a bound: the value is then the bound, and the slope is not lost."""
    rng = np.random.default_rng(1)
    for high in rng.uniform(0.01, 5.0, 20):
        unknown = vb.Unknown("storeys[0].stiffness", bounds=(high / 7, high), start=0.6 * high)
        u = compile_unknowns(experiment(), [unknown, vb.Unknown("storeys[1].stiffness", start=high)]).boxed()
        top = jnp.asarray([u.box().high[0], 0.0])
        assert float(u.to_physical(top)[0]) <= high
        np.testing.assert_allclose(u.slope(top), [high, high], rtol=1e-12)
        np.testing.assert_allclose(u.to_physical(jnp.asarray([-50.0, 0.0]))[0], high / 7, rtol=1e-12)
        assert u.box().side(u.to_free([high, high]))[0] == 1 and u.box().side(u.to_free([high / 7, high]))[0] == -1
    assert u.kinds == ("log", "log")


def test_logarithms_are_for_what_must_be_positive():
    unknown = [
        vb.Unknown("storeys[0].stiffness", bounds=(0.0, 90.0)),
        vb.Unknown("sensors[0].gain", bounds=(0.0, 2.0)),
        vb.Unknown("sensors[1].gain", bounds=(0.5, None)),
        vb.Unknown("initial[0].displacement[0]", bounds=(-0.1, None)),
    ]
    u = compile_unknowns(experiment(), unknown).boxed()
    assert u.kinds == ("log", "linear", "log", "linear") and u.boxed().kinds == u.kinds
    box = u.box()
    np.testing.assert_allclose(box.low, [-np.inf, -1.0, np.log(0.5), -1.0])
    np.testing.assert_allclose(box.high, [np.log(1.5), 1.0, np.inf, np.inf])


DAMPED = ["storeys[*].stiffness", vb.Unknown("storeys[*].damping", bounds=(0.05, 0.3), start=0.2)]


@cache
def held():
    """Damping may not be what it was, so both stand at their upper bound; and the same fit with damping given there."""
    known = TWO_GUESS.replace({"storeys[*].damping": 0.3})
    method = vb.TrajectoryFit(segments=1)
    return vb.identify(TWO_GUESS, two(0.02), DAMPED, method), vb.identify(known, two(0.02), TWO_UNKNOWN[:1], method)


def test_a_fit_at_a_bound_is_the_fit_with_that_value_given():
    bounded, given = held()
    np.testing.assert_allclose(bounded.estimate[:2], given.estimate, rtol=1e-4)
    np.testing.assert_allclose(bounded.estimate[2:], 0.3, rtol=1e-12)
    np.testing.assert_allclose(bounded.deviation[:2], given.deviation, rtol=0.02)
    assert bounded.convergence["converged"] and given.convergence["converged"]


def test_an_unknown_at_its_bound_is_said_to_be_and_has_no_interval(tmp_path):
    fit = held()[0]
    assert fit.at_bound == (None, None, "high", "high") and [r["at_bound"] for r in fit.table()] == list(fit.at_bound)
    assert np.isnan(fit.deviation[2:]).all() and np.isnan(fit.interval()[2:]).all()
    assert np.isfinite(fit.interval()[:2]).all() and np.isfinite(fit.limits.bound).all()
    text = str(fit)
    assert text.count("    at bound") == 2 and "'storeys[0].damping' is at its bound 0.3" in text
    assert "Converged (projected gradient" in text and "at a bound: storeys[0].damping, storeys[1].damping)" in text
    fit.save(tmp_path / "fit.h5")
    assert str(load_identification(tmp_path / "fit.h5")) == text


def test_a_descent_that_has_not_reached_a_minimum_says_so():
    fit = vb.identify(TWO_GUESS, two(0.02), TWO_UNKNOWN, vb.TrajectoryFit(iterations=1, rounds=0, segments=1))
    assert not fit.convergence["converged"]
    assert fit.convergence["projected_gradient"] > 100 * fit.convergence["gradient_tolerance"]
    assert "Not converged (projected gradient" in str(fit) and "not a minimum" in fit.certificate


def test_where_the_gradient_is_no_number_nothing_has_converged():
    def evaluate(free):
        return np.array([1.0]), np.full((1, 2), np.nan), np.eye(2)[None]

    made = descend(None, np.zeros((1, 2)), None, box=Box.of([-1.0, -1.0], [1.0, 1.0]), evaluate=evaluate)
    assert not made.converged[0] and not np.isfinite(made.cost[0])


def test_a_logarithm_that_runs_away_ends_where_it_can_still_be_differentiated():
    """The data fall with an unknown for ever: it ends at a wall of arithmetic, which is not called a bound."""
    box = compile_unknowns(experiment(), ["storeys[0].stiffness", "sensors[0].gain"]).boxed().box()

    def evaluate(free):
        r, slope = 1.0 + np.exp(free[0, 0]), np.array([np.exp(free[0, 0]), 0.0])
        return np.array([0.5 * r * r]), (slope * r)[None], np.outer(slope, slope)[None]

    made = descend(None, np.zeros((1, 2)), None, box=box, evaluate=evaluate, tolerance=0.0, iterations=40)
    assert made.free[0, 0] == -30.0 and not made.side.any() and made.free[0, 1] == 0.0
    loose = descend(None, np.zeros((1, 2)), None, box=box, evaluate=evaluate)
    assert loose.converged[0] and loose.free[0, 0] > -30.0


def test_global_search_ends_at_a_bound_as_well():
    fit = vb.identify(TWO_GUESS, two(0.02), DAMPED, vb.GlobalSearch(population=2, generations=2))
    np.testing.assert_allclose(fit.estimate[2:], 0.3, rtol=1e-12)
    assert fit.convergence["converged"] and fit.convergence["at_bound"] == ["storeys[0].damping", "storeys[1].damping"]


def test_a_sampler_starts_inside_the_bounds():
    unknowns = compile_unknowns(experiment(), DAMPED)
    begun = np.asarray(unknowns.to_physical(_inside(unknowns, np.array([60.0, 40.0, 0.3, 0.05]))))
    np.testing.assert_allclose(begun, [60.0, 40.0, 0.295, 0.055])


def test_a_prior_that_the_data_overrule_is_said_to_be():
    prior = vb.Unknown("storeys[0].stiffness", prior=(50.0, 0.5))
    fit = vb.identify(TWO_GUESS, two(0.02), [prior, "storeys[1].stiffness", "storeys[*].damping"])
    assert any("prior of 'storeys[0].stiffness', 50 ± 0.5, is contradicted" in w for w in fit.warnings)
    agrees = vb.Unknown("storeys[0].stiffness", prior=(60.0, 0.5))
    fit = vb.identify(TWO_GUESS, two(0.02), [agrees, "storeys[1].stiffness", "storeys[*].damping"])
    assert not any("contradicted" in w for w in fit.warnings)


def test_a_stage_names_exactly_what_it_says():
    unknowns = compile_unknowns(experiment(), [*TWO_UNKNOWN, "sensors[0].gain"])

    def chosen(*patterns):
        return unknowns.named(patterns).tolist()

    assert chosen("storeys[*].stiffness") == [True, True, False, False, False]
    assert chosen("storeys[1].damping", "sensors[*].gain") == [False, False, False, True, True]
    assert chosen("storeys") == chosen("structure.storeys[*]") == [True, True, True, True, False]
    for wrong in ("storeys[*].stiff", "storeys[2].stiffness", "damping"):
        with pytest.raises(InputError, match=f"stage '{re.escape(wrong)}' names no unknown"):
            chosen("sensors[0].gain", wrong)


def test_segments_begin_at_readings_that_are_there_divided_by_the_gain():
    data = two(0.0)
    values, x = np.array(data.data), list(data.names).index("displacement_0")
    true = values[:, x].copy()
    values[:, x] *= 2.0
    values[95:106, x] = values[:10, x] = np.nan
    sensors = [dataclasses.replace(s, gain=jnp.asarray(2.0)) if s.label == "displacement_0" else s for s in TWO_SENSORS]
    problem = vb.identification.make_problem(
        TWO_GUESS, data.replace(data=values), TWO_UNKNOWN, sensors=vb.Sensors(sensors)
    ).boxed()
    knots = (0, 50, 100, 150)
    begun = _first_states(problem, problem.start, 0, knots)[:, 0]
    np.testing.assert_allclose(begun[[1, 3]], true[[50, 150]], rtol=1e-12)
    np.testing.assert_allclose(begun[2], np.interp(100, [94, 106], true[[94, 106]]), rtol=1e-12)
    simulated = vb.simulate(TWO_GUESS, motion()).displacement[0, 0]
    assert begun[0] == pytest.approx(simulated)
