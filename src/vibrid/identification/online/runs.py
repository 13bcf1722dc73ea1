"""Whole records through a sequential method in one compiled loop, one at a time or many in parallel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.identification.method import Sample
from vibrid.identification.problem import Problem

if TYPE_CHECKING:
    from vibrid.identification.method import Sequential


def run_samples(method: Sequential, problem: Problem, state, readings, present, inputs, step):
    """Final state, and (estimate, deviation) at every sample; readings and masks (nt, ny), inputs (nt, m)."""
    before = jnp.concatenate([inputs[:1], inputs[:-1]])

    def body(state, row):
        y, mask, earlier, u = row
        state = method.step(problem, state, Sample(y, mask, earlier, u, step))
        return state, method.estimate(problem, state)

    return jax.lax.scan(body, state, (readings, present, before, inputs))


@eqx.filter_jit
def run_record(method: Sequential, problem: Problem, state, record: int):
    """One record of the problem."""
    d = problem.data[record]
    return run_samples(method, problem, state, d.readings, d.present, d.drive.samples, d.step)


@eqx.filter_jit
def run_many(method: Sequential, problem: Problem, keys, readings, inputs):
    """The same problem with other readings (r, nt, ny), inputs (r, nt, m) and random keys (r,), in parallel."""

    def run(key, y, u):
        state = method.init(problem, key)
        return run_samples(method, problem, state, y, jnp.ones_like(y), u, problem.data[0].step)

    return jax.vmap(run)(keys, readings, inputs)
