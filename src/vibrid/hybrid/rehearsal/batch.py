"""Many hybrid tests at once, which differ in some numbers of their devices: one compiled, vectorised program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.paths import replace
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.prepare import make_plan
from vibrid.records.record import Record
from vibrid.simulation.excitation import inputs_of, loads_of

Histories = tuple[Any, Any]
"""((x, v, a, states) of the structure at every step; rows of every device at every (step, substep))."""


def run_many(
    test: HybridTest, drive: Record, changes: Mapping[str, Any], reduce: Callable[[Histories], Any], at_once: int = 16
) -> Any:
    """`reduce` of the histories of every run, stacked: runs first.

    Arguments
        drive: the excitation at the steps of the test.
        changes: path in the test (`experimental[0].actuator.dynamics.delay`) → (runs,) values.
        reduce: pure function of JAX that keeps what is wanted of a run.
        at_once: runs that share the memory.
    """
    inputs, loads = inputs_of(test.structure, drive), loads_of(test.structure, drive)
    ends = jnp.asarray(np.stack([inputs[:-1], inputs[1:]], axis=1))
    paths = tuple(changes)

    @eqx.filter_jit
    @jax.vmap
    def compute(values):
        plan, carry, _ = make_plan(replace(test, dict(zip(paths, values, strict=True))), loads, inputs[0], outside=())
        _, histories = jax.lax.scan(lambda carry, pair: plan.whole_step(carry, pair), carry, ends)
        return reduce(histories)

    values = [np.asarray(changes[path]) for path in paths]
    runs = len(values[0])
    parts = []
    for first in range(0, runs, at_once):
        part = tuple(_padded(column[first : first + at_once], min(at_once, runs)) for column in values)
        kept = min(at_once, runs - first)
        parts.append(jax.tree.map(lambda leaf, kept=kept: np.asarray(leaf)[:kept], compute(part)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _padded(values: np.ndarray, length: int) -> jax.Array:
    """`values` to one length, so that the last part needs no second compilation."""
    return jnp.asarray(np.concatenate([values, np.repeat(values[-1:], length - len(values), axis=0)]))
