"""A problem with laws in their cheapest form: only what no unknown changes, and the same readings."""

import dataclasses
import gc

import jax
import jax.numpy as jnp
import numpy as np

import vibrid as vb
from identification.small import ONE_GUESS, ONE_UNKNOWN, one
from vibrid.identification import cheaper as module
from vibrid.identification.cheaper import cheaper
from vibrid.identification.problem import predict


def law(problem):
    return problem.experiment.structure.storeys[0]


def test_only_an_exponent_that_no_unknown_changes_is_multiplied_out():
    record = one(0.02)
    problem = vb.identification.make_problem(ONE_GUESS, record, ONE_UNKNOWN)
    cheap = cheaper(problem)
    assert law(cheap).whole_exponent == 1 and law(problem).whole_exponent is None
    assert cheaper(problem) is cheap
    free = jnp.asarray(problem.start)
    exact = jax.jit(lambda q: problem.predict(q, 0))(free)
    np.testing.assert_allclose(predict(problem, free, 0), exact, rtol=0, atol=1e-12 * np.abs(exact).max())
    other = vb.identification.make_problem(ONE_GUESS, record, [*ONE_UNKNOWN, "storeys[0].exponent"])
    assert law(cheaper(other)).whole_exponent is None


def test_another_structure_in_the_same_problem_is_another_one():
    problem = vb.identification.make_problem(ONE_GUESS, one(0.02), ONE_UNKNOWN)
    cheaper(problem)
    sharper = problem.experiment.structure.replace({"storeys[0].exponent": 2.0})
    changed = dataclasses.replace(problem, experiment=dataclasses.replace(problem.experiment, structure=sharper))
    assert law(cheaper(changed)).whole_exponent == 2


def test_a_problem_that_is_gone_is_not_kept():
    problem = vb.identification.make_problem(ONE_GUESS, one(0.02), ONE_UNKNOWN)
    key = id(problem)
    cheaper(problem)
    assert key in module._PROBLEMS
    del problem
    gc.collect()
    assert key not in module._PROBLEMS
