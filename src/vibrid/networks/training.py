"""The training loop: many steps in one compiled scan, with progress, and Ctrl-C keeps the trained state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

import equinox as eqx
import jax
import numpy as np

from vibrid.core import precision  # noqa: F401
from vibrid.core.errors import FileProblem, InputError
from vibrid.core.progress import SILENT, Progress
from vibrid.networks.checkpoint import Checkpoint, tree_arrays, tree_from

if TYPE_CHECKING:
    import optax

TrainingState = TypeVar("TrainingState")
Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


def adam(rate: float, steps: int = 0, last: float | None = None, **options) -> optax.GradientTransformation:
    """Adam with a learning rate that falls from `rate` to `last` over half a cosine of `steps`, or stays.

    It treats all parameters as one vector: small layers would otherwise cost more to update than to use.
    """
    import optax  # where it is used: commands that train nothing do not wait for it

    schedule = rate
    if last is not None and last != rate:
        schedule = optax.cosine_decay_schedule(rate, max(steps, 1), last / rate)
    return optax.flatten(optax.adam(schedule, **options))


def apply_updates(parameters: TrainingState, change) -> TrainingState:
    """`optax.apply_updates` for any tree of arrays: its own annotations leave out trees that are modules."""
    import optax  # where it is used: commands that train nothing do not wait for it

    return cast(TrainingState, optax.apply_updates(cast("optax.Params", parameters), change))


UNTUNED = {"xla_gpu_enable_triton_gemm": False}
"""Options of a program that is compiled for longer than it runs: an accelerator's kernels are not tuned."""


def untuned(function: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
    """`eqx.filter_jit` with these options: `jax.jit` takes them, Equinox's annotations leave them out."""
    return eqx.filter_jit(function, compiler_options=UNTUNED)  # pyright: ignore[reportCallIssue]


@dataclass(frozen=True)
class Trained(Generic[TrainingState]):
    """The result of a training: the last state, and the records of the steps, stacked in the first axis."""

    state: TrainingState
    history: Any  # the tree of arrays that the step records
    steps: int
    cut_short: bool = False


def train(
    step: Callable, state: TrainingState, key, count: int, *, block: int = 10, data=None, progress: Progress = SILENT,
    note: Callable[[Any], str] | None = None, checkpoint: Checkpoint | None = None, tuned: bool = True,
) -> Trained[TrainingState]:  # fmt: skip
    """Repeat `state, recorded = step(state, key, data)` `count` times, in compiled blocks.

    Arguments
        step: a pure function; one optimiser step, or an epoch that scans over its batches. Ensembles and adversaries
            live inside the state. Write it as an `eqx.Module` with `__call__`, and equal steps are compiled once.
        key: a `jax.random.key`; every step gets its own, whatever the block.
        block: steps in one compiled program; progress is reported, and Ctrl-C handled, between blocks.
        data: arrays the step needs; given to it unchanged (a closure would be compiled in).
        note: a function from the records of a block to a short text that is shown with the progress.
        checkpoint: a file that is written after every block and resumed from when it is there; every step gets the
            same key then, so a training that was interrupted ends as one that was not.
        tuned: whether the compiler tunes products on an accelerator: faster steps for a longer compilation. False for a
            training that compiles for longer than it runs.
    """
    if count < 1 or block < 1:
        raise InputError(f"Training needs at least one step, not {count} in blocks of {block}.")
    keys = jax.random.split(key, count)
    history, done, cut_short = [], 0, False
    if checkpoint is not None and (resumed := _resumed(checkpoint, state, step, keys[:1], data)) is not None:
        state, first = resumed
        history, done = [first], jax.tree.leaves(first)[0].shape[0]
    try:
        while done < count:
            more = min(block, count - done)
            state, recorded = (_block if tuned else _untuned_block)(step, state, keys[done : done + more], data)
            history.append(jax.tree.map(np.asarray, recorded))
            done += more
            if checkpoint is not None:
                so_far = jax.tree.map(lambda *parts: np.concatenate(parts), *history)
                checkpoint.keep(tree_arrays(state, "state") | tree_arrays(so_far, "history"))
            progress.update(done, note(history[-1]) if note else "")
    except KeyboardInterrupt:
        cut_short = True
        if not history:
            raise
    return Trained(state, jax.tree.map(lambda *parts: np.concatenate(parts), *history), done, cut_short)


def _resumed(checkpoint: Checkpoint, state, step, keys, data):
    """The state and the records in a file; None when there is no file."""
    stored = checkpoint.load()
    if stored is None:
        return None
    arrays = stored[0]
    recorded = eqx.filter_eval_shape(_block, step, state, keys, data)[1]
    leaves, tree = jax.tree.flatten(recorded)
    history = [arrays.get(f"history{i}") for i in range(len(leaves))]
    state = tree_from(arrays, "state", state)
    if state is None or any(h is None for h in history):
        raise FileProblem(checkpoint.path, "it belongs to another training; remove it, or name another file.")
    return state, jax.tree.unflatten(tree, history)


def _steps(step, state, keys, data):
    arrays, static = eqx.partition(state, eqx.is_array)

    def body(arrays, key):
        after, recorded = step(eqx.combine(arrays, static), key, data)
        return eqx.filter(after, eqx.is_array), recorded

    arrays, recorded = jax.lax.scan(body, arrays, keys)
    return eqx.combine(arrays, static), recorded


_block = eqx.filter_jit(_steps)
_untuned_block = untuned(_steps)
