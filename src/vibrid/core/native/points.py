"""One function at many points inside a compiled program, as machine code: a vector of points at a time.

A filter moves its sigma points, or the tangents of its state, from sample to sample, and factorises matrices between,
which XLA leaves to LAPACK. Here the first is a call of its own within the compiled loop. A function that has no such
form runs for all points by `jax.vmap`, with the same results.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import Refusal
from vibrid.core.native.compiled import called_with, too_long
from vibrid.core.native.machine import wanted, why_not
from vibrid.core.native.scalars import NotNative
from vibrid.core.traced import Operation, Program, Value, program_of

_LOG = logging.getLogger(__name__)


def each(function: Callable[..., Any], shared: Any, points: Any) -> Any:
    """`function(shared, point)`, an array, for every row of `points` (m, k): (m, …).

    The function may use no array but those in its arguments. Called while a function is traced or compiled.
    """
    fixed, given = _arrays(shared)

    def one(*arguments):
        return function(fixed(arguments[:-1]), arguments[-1])

    return _over(one, given, points, lambda *arguments: jax.vmap(one, in_axes=(*[None] * len(given), 0))(*arguments))


def value_and_slope(function: Callable[..., Any], shared: Any, point: Any) -> tuple[Any, Any]:
    """`function(shared, point)`, an array, and its derivative (…, k) with respect to the point (k,)."""
    fixed, given = _arrays(shared)

    def along(*arguments):
        *own, point, direction = arguments
        return jnp.stack(jax.jvp(lambda z: function(fixed(own), z), (point,), (direction,)))

    def by_xla(*arguments):
        return jax.vmap(along, in_axes=(*[None] * (len(given) + 1), 0))(*arguments)

    both = _over(along, [*given, point], jnp.eye(point.shape[0]), by_xla)
    return both[0, 0], jnp.moveaxis(both[:, 1], 0, -1)


def _arrays(shared: Any) -> tuple[Callable[[Sequence[Any]], Any], list[Any]]:
    """What makes `shared` of its arrays again, and these."""
    leaves, tree = jax.tree.flatten(shared)
    is_array = [isinstance(leaf, jax.Array | np.ndarray | np.generic) for leaf in leaves]

    def fixed(arrays):
        rest = iter(arrays)
        return jax.tree.unflatten(tree, [next(rest) if a else leaf for leaf, a in zip(leaves, is_array, strict=True)])

    return fixed, [jnp.asarray(leaf) for leaf, a in zip(leaves, is_array, strict=True) if a]


def _over(one: Callable[..., Any], given: Sequence[Any], points: Any, by_xla: Callable[..., Any]) -> Any:
    """`one(*given, point)` for all points, by machine code where that can be."""
    arguments = [*given, points]
    loop = None if why_not() else _loop(one, arguments)
    if loop is None:
        return by_xla(*arguments)

    @jax.custom_batching.custom_vmap
    def call(*arguments):
        return loop(*arguments)

    @call.def_vmap
    def batched(axis_size: int, in_batched, *arguments):
        del axis_size
        return jax.vmap(by_xla, in_axes=[0 if b else None for b in in_batched])(*arguments), True

    return call(*arguments)


def _loop(one: Callable[..., Any], arguments: Sequence[Any]) -> Callable[..., Any] | None:
    """The machine code for all points: in vectors; one after another where a step iterates; None where neither is."""
    *given, points = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments]
    point = jax.ShapeDtypeStruct(points.shape[1:], points.dtype)
    try:
        scan = _as_scan(program_of(one, *given, point, machine=True))
        if too_long(scan):
            return None
        for lanes in (points.shape[0], 0):
            try:
                loop = _called(scan, lanes)
                jax.eval_shape(loop, *given, points)  # what cannot be written is found here
                return loop
            except NotNative:
                continue
    except Refusal:
        pass
    except Exception:  # a fault of this room must not stop a run that XLA can do
        if wanted() == "strict":
            raise
        _LOG.debug("A function of many points stays with JAX after a fault.", exc_info=True)
    return None


def _as_scan(body: Program) -> Operation:
    """A program of (shared arrays, a point) with one result as a loop of one step, which carries nothing."""
    (result,) = body.outputs
    if result.dtype != np.float64:
        raise NotNative("results that are no numbers")
    settings = {"consts": len(body.inputs), "carried": 0, "length": 1, "reverse": False}
    row = Value("rows", (1, *result.shape), result.dtype)
    return Operation("scan", body.inputs, (row,), settings, body=body)


def _called(scan: Operation, lanes: int) -> Callable[..., Any]:
    wide = [False] * (len(scan.arguments) - 1) + [True]

    def in_vectors(*arguments):
        (rows,) = called_with(scan, [*arguments[:-1], arguments[-1].T], wide, lanes)
        return jnp.moveaxis(rows[0], -1, 0)

    def one_by_one(*arguments):
        (rows,) = called_with(scan, arguments, wide, 0)
        return rows[:, 0]

    return in_vectors if lanes else one_by_one
