"""Steps that are called one at a time, by the fastest available function: as C, or compiled by JAX.

A step is `outputs, state = step(state, inputs)`; several may change one state. On a processor, every call of a compiled
JAX function has a fixed cost, and the operations of a small structure are run one by one from a list. As C the same
step takes as long as its arithmetic (`benchmarks/device_step.py` measures both).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.device import accelerated
from vibrid.core.errors import Refusal
from vibrid.core.traced import Program, trace
from vibrid.networks.export import CompiledStep
from vibrid.networks.export.compiled import compiler

MOST_OPERATIONS, MOST_NUMBERS = 600, 100_000
"""Operations and constants of a step as C. Larger steps, as of a fibre frame, spend most of the time in arithmetic, and
C takes long to compile."""

Step = Callable[[Any, Any], tuple[Any, Any]]  # outputs, state = step(state, inputs)
Call = Callable[[np.ndarray], np.ndarray]


def compiled_calls(steps: Sequence[tuple[Step, int]], start, in_c: bool = True) -> tuple[list[Call], str]:
    """`outputs = call(inputs)` for every step, and how they are compiled: "C" or "JAX".

    Arguments
        steps: each with the number of its inputs (64 bits).
        start: the state that they all change, a tree of arrays.
        in_c: False for JAX in any case. JAX is also used where there is no C compiler, or a step is large or has an
            operation that cannot be written as C.
    """
    if in_c and compiler() is not None and not accelerated():
        try:
            return _by_c(steps, start), "C"
        except Refusal:
            pass
    return _by_jax(steps, start), "JAX"


def _by_c(steps, start) -> list[Call]:
    made: list[CompiledStep] = []
    for step, inputs in steps:
        traced = trace(step, start, inputs, jnp.float64)
        operations, numbers = _size(traced.program)
        if operations > MOST_OPERATIONS or numbers > MOST_NUMBERS:
            raise Refusal(f"A step of {operations} operations and {numbers} constants is left to JAX.")
        made.append(CompiledStep(traced, made[0] if made else None))
        made[-1](np.zeros(inputs))  # every page is at hand before the test
    made[0].start()
    return [lambda inputs, own=own: own(inputs).copy() for own in made]


def _size(program: Program) -> tuple[int, int]:
    """Operations of a program (a reshape is none: it costs nothing), and constants that they read."""
    operations, numbers = sum(own.kind != "reshape" for own in program.operations), 0
    for own in program.operations:
        numbers += sum(value.size for value in own.arguments if value.constant is not None)
        for inner in (own.body, *own.branches):
            if inner is not None:
                more = _size(inner)
                operations, numbers = operations + more[0], numbers + more[1]
    return operations, numbers


def _by_jax(steps, start) -> list[Call]:
    """The state is one array, and the step a loop of one turn: with `compile_whole_loops` that is one function."""
    packed, unpack = ravel_pytree(start)
    once, at = np.asarray(1), [packed]

    def call(step, inputs: int) -> Call:
        def turned(packed, given):
            outputs, state = step(unpack(packed), given)
            return ravel_pytree(state)[0], jnp.reshape(outputs, -1).astype(float)

        def looped(packed, turns, given):
            size = jax.eval_shape(turned, packed, given)[1]
            turn = lambda _, carry: turned(carry[0], given)  # noqa: E731
            return jax.lax.fori_loop(0, turns, turn, (packed, jnp.zeros(size.shape)))

        run = jax.jit(looped).lower(packed, once, np.zeros(inputs)).compile()
        run(packed, once, np.zeros(inputs))

        def called(given):
            at[0], outputs = run(at[0], once, given)
            return np.asarray(outputs)

        return called

    return [call(*own) for own in steps]
