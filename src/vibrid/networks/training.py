"""The training loop: many steps in one compiled scan, with progress, and Ctrl-C keeps what was learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np
import optax

from vibrid.core import precision  # noqa: F401
from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT, Progress


def adam(rate: float, steps: int = 0, last: float | None = None, **options) -> optax.GradientTransformation:
    """Adam with a learning rate that falls from `rate` to `last` along half a cosine over `steps`, or stays.

    It sees all parameters as one vector: small layers would otherwise cost more to update than to use.
    """
    falls = last is not None and last != rate
    schedule = optax.cosine_decay_schedule(rate, max(steps, 1), last / rate) if falls else rate
    return optax.flatten(optax.adam(schedule, **options))


@dataclass(frozen=True)
class Trained:
    """What training leaves: the last state, and what each step recorded, stacked along the first axis."""

    state: object
    history: object
    steps: int
    cut_short: bool = False


def train(
    step: Callable, state, key, count: int, *, block: int = 10, data=None, progress: Progress = SILENT, note=None
) -> Trained:
    """Repeat `state, recorded = step(state, key, data)` `count` times, in compiled blocks.

    Arguments
        step: a pure function; one optimiser step, or an epoch that scans over its batches. Ensembles and adversaries
            live inside the state. Write it as an `eqx.Module` with `__call__`, and equal steps are compiled once.
        key: a `jax.random.key`; every step gets its own, whatever the block.
        block: steps in one compiled program; progress is told, and Ctrl-C heard, between blocks.
        data: arrays the step needs; given to it unchanged (a closure would be compiled in).
        note: what to say of the records of a block: a function from them to a few words.
    """
    if count < 1 or block < 1:
        raise InputError(f"Training needs at least one step, not {count} in blocks of {block}.")
    keys = jax.random.split(key, count)
    history, done, cut_short = [], 0, False
    try:
        while done < count:
            more = min(block, count - done)
            state, recorded = _block(step, state, keys[done : done + more], data)
            history.append(jax.tree.map(np.asarray, recorded))
            done += more
            progress.update(done, note(history[-1]) if note else "")
    except KeyboardInterrupt:
        cut_short = True
        if not history:
            raise
    return Trained(state, jax.tree.map(lambda *parts: np.concatenate(parts), *history), done, cut_short)


@eqx.filter_jit
def _block(step, state, keys, data):
    arrays, static = eqx.partition(state, eqx.is_array)

    def body(arrays, key):
        after, recorded = step(eqx.combine(arrays, static), key, data)
        return eqx.filter(after, eqx.is_array), recorded

    arrays, recorded = jax.lax.scan(body, arrays, keys)
    return eqx.combine(arrays, static), recorded
