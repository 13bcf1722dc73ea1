"""The limits: Fisher information against brute force, unseen combinations in words, sensor placement."""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np

import vibrid as vb
from identification.small import TWO, TWO_SENSORS, TWO_UNKNOWN, motion, truth, two
from vibrid.identification.conclude import compile_conclusion, predictions_at
from vibrid.identification.identifiability import fisher_information, identifiability
from vibrid.identification.problem import predict


def test_information_equals_finite_differences():
    problem = vb.identification.make_problem(TWO, two(0.0), TWO_UNKNOWN)
    sigma = 0.05 * problem.signal_size()
    made = fisher_information(problem, problem.start, sigma)
    columns, h = [], 1e-5
    for i in range(4):
        step = np.zeros(4)
        step[i] = h
        up, down = (np.asarray(predict(problem, jnp.asarray(problem.start + s * step), 0)) for s in (1, -1))
        columns.append(((up - down) / (2 * h) / sigma).reshape(-1))
    numeric = np.array(columns) @ np.array(columns).T
    np.testing.assert_allclose(made, numeric, rtol=1e-6, atol=1e-6 * np.abs(numeric).max())


def test_a_conclusion_compiled_ahead_compiles_nothing_more():
    problem = vb.identification.make_problem(TWO, two(0.0), TWO_UNKNOWN)
    compile_conclusion(problem)
    compiled = []

    def listen(event, seconds, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        predictions_at(problem, problem.start + 0.1)
        fisher_information(problem, problem.start + 0.1, 0.02 * problem.signal_size())
        assert not compiled
        jax.jit(lambda x: x + 41.5)(jnp.ones(7))
        assert compiled  # it listens
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def test_bound_scales_with_noise_and_shrinks_with_data():
    problem = vb.identification.make_problem(TWO, two(0.0), TWO_UNKNOWN)
    small = identifiability(problem, problem.start, 0.01 * problem.signal_size())
    large = identifiability(problem, problem.start, 0.05 * problem.signal_size())
    np.testing.assert_allclose(large.bound, 5 * small.bound, rtol=1e-9)


def test_combinations_that_cannot_be_separated_are_named():
    """Two springs side by side: only their sum can be seen."""
    both = vb.Parallel([vb.Linear(30.0, 0.9), vb.Linear(30.0, 0.0)])
    building = vb.ShearBuilding(masses=[1.0, 0.8], storeys=[both, vb.Linear(40.0, 0.7)])
    unknown = ["storeys[0].laws[0].stiffness", "storeys[0].laws[1].stiffness", "storeys[1].stiffness"]
    fit = vb.identify(building, two(0.02), unknown)
    assert list(fit.limits.identifiable) == [False, False, True]
    assert "ln(storeys[0].laws[0].stiffness)" in fit.limits.inseparable[0] and "not at all" in fit.limits.inseparable[0]
    assert any("Not identifiable" in w for w in fit.warnings)
    np.testing.assert_allclose(fit.estimate[:2].sum(), 60.0, rtol=0.01)


def test_greedy_placement_is_near_the_best_of_all():
    candidates = vb.Sensors(displacement=[0, 1], acceleration=[0, 1], velocity=[0, 1])
    made = vb.place_sensors(TWO, candidates, 2, excitation=motion(), unknown=TWO_UNKNOWN, noise=0.05)

    problem = vb.identification.make_problem(TWO, truth("two").measure(TWO_SENSORS), TWO_UNKNOWN, sensors=candidates)
    labels = [s.label for s in candidates]

    def worth(chosen):
        """log det of the information of some sensors alone: the others are drowned in noise."""
        sigma = np.where([label in chosen for label in labels], 0.05, 1e12) * problem.signal_size()
        return np.linalg.slogdet(identifiability(problem, problem.start, sigma).information)[1]

    best = max(worth(pair) for pair in combinations(labels, 2))
    assert worth([s.label for s in made.sensors]) > best - 0.7
    assert len(made.sensors) == 2 and "bound" in str(made)


def test_sensors_that_stand_already_are_counted():
    candidates = vb.Sensors(displacement=[0, 1], acceleration=[0, 1], velocity=[0, 1])
    options = dict(excitation=motion(), unknown=TWO_UNKNOWN, noise=0.05)
    both = vb.place_sensors(TWO, candidates, 2, **options)
    standing = vb.Sensors([both.sensors[0]])
    rest = vb.Sensors([s for s in candidates if s.label != both.sensors[0].label])
    one = vb.place_sensors(TWO, rest, 1, standing=standing, **options)
    assert [s.label for s in one.sensors] == [both.sensors[1].label]
    np.testing.assert_allclose(one.limits.relative_bound, both.limits.relative_bound, rtol=1e-8)
