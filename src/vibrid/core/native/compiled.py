"""Functions whose time loops are machine code, and which a later process need not trace: `jit`, `jacobian`, `batch`.

A function is traced as for XLA. Its long scans become loops of scalars in machine code, which the compiled rest calls;
what cannot be so written stays with XLA, silently, with the same results.
"""

from __future__ import annotations

import functools
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.core import kept_programs
from vibrid.core.errors import Refusal
from vibrid.core.native.loop import LoopProgram, loop_program, widened
from vibrid.core.native.machine import interface, known, registered, wanted, why_not
from vibrid.core.native.row_loop import RowProgram, row_program
from vibrid.core.native.row_text import written_rows
from vibrid.core.native.scalars import ONCE, Builder, NotNative, type_of
from vibrid.core.native.text import written
from vibrid.core.native.unroll import Unroller
from vibrid.core.traced import Operation, Program
from vibrid.core.traced_scans import Known, Scans, has_long_scan, run_again, traced

LEAST = 100
"""Steps from which a loop is worth compiling."""
_MOST_KNOWN = 20_000  # elements of an array outside the loop whose zeros are followed
_MOST_FOLLOWED = 400_000  # operations in following them
_LONG = 24
"""Mean length of the arrays in a step from which they are rows, gone over in loops, and not scalars."""
_TOO_LONG = 56
"""Mean length from which a step that cannot be of rows stays with XLA, unless it has what known zeros make shorter."""
_SHORTER = {"while", "solve", "dot_general", "scan", "cond"}
_KEPT = 128  # compiled functions
_MAKING = threading.RLock()
_LOG = logging.getLogger(__name__)


class _Codes(threading.local):
    """Machine code that a program under way calls, by name."""

    used: list[str]

    def __init__(self) -> None:
        self.used = []

    def begin(self) -> list[str]:
        self.used = []
        return self.used


_CODES = _Codes()


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """`eqx.filter_jit(function)` whose time loops are machine code where that can be."""
    return _either(function, _jitted, lambda function: function)


def in_pieces(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `jit`, for loops of any length: one that is run in pieces gives the same bits as at once."""
    return _either(function, _jitted_pieces, lambda function: function)


def jacobian(function: Callable[..., Any]) -> Callable[..., Any]:
    """(results, derivatives) of `function(arguments, x)` with respect to the vector x, its entries last."""
    return _either(function, _differentiated, _jacobian)


def parts(function: Callable[..., Any]) -> Callable[..., Any]:
    """`eqx.filter_jit(function)` in which functions of many points are machine code (`points`)."""
    return _either(function, _flat, lambda function: function)


def batch(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(shared, own)` for every entry of the leading axis of the arrays in `own`."""
    return _either(function, _batched, lambda function: lambda s, own: jax.vmap(lambda o: function(s, o))(own))


def _jacobian(function):
    def both(*arguments):
        *fixed, x = arguments
        slopes, results = jax.jacfwd(lambda x: (function(*fixed, x),) * 2, has_aux=True)(x)
        return results, slopes

    return both


def _either(function, make, by_xla) -> Callable[..., Any]:
    """A compiled function: with machine code as `make` does it, or by XLA."""
    plain = eqx.filter_jit(by_xla(function))
    kept: OrderedDict[Any, Any] = OrderedDict()

    @functools.wraps(function)
    def called(*arguments):
        compiled = _known(kept, function, arguments, make, by_xla)
        return plain(*arguments) if compiled is None else compiled(arguments)

    return called


def _known(kept: OrderedDict, function, arguments, make, by_xla) -> Callable[..., Any] | None:
    """The compiled function for arguments of these shapes, made once; None where JAX compiles it as it does."""
    leaves, tree = jax.tree.flatten(arguments)
    arrays = [isinstance(leaf, jax.Array | np.ndarray | np.generic) for leaf in leaves]
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        return None
    pairs = zip(leaves, arrays, strict=True)
    key = (not why_not(), tree, tuple((leaf.shape, leaf.dtype) if a else (type(leaf), leaf) for leaf, a in pairs))
    try:
        hash(key)
    except TypeError:  # a part that has no hash
        return None
    with _MAKING:  # threads that need the same function wait for it
        if key in kept:
            kept.move_to_end(key)
        else:
            kept[key] = _made(make, by_xla, function, leaves, arrays, tree)
            if len(kept) > _KEPT:
                kept.popitem(last=False)
        return kept[key]


def _made(make, by_xla, function, leaves, arrays, tree) -> Callable[..., Any] | None:
    """With native loops where that can be; else by XLA, if the program can be kept on disk."""
    machine_code = not why_not()
    name = kept_programs.named(function, leaves, tree, f"{make.__name__} {machine_code}")
    if name is None and not machine_code:
        return None
    found = _kept(name, arrays)
    if found is not None:
        return found
    ways = [make] * machine_code + [_by_jax(by_xla)] * (name is not None)
    for way in ways:
        try:
            return _compiled(way, function, leaves, arrays, tree, name)
        except (NotNative, Refusal):
            continue
        except Exception:  # a fault of this room must not stop a run that XLA can do
            if wanted() == "strict" and way is make:
                raise
            _LOG.debug("A function stays with JAX after a fault.", exc_info=True)
    return None


def _by_jax(by_xla):
    return lambda function, *arguments: _flat(by_xla(function), *arguments)


def _flat(function, leaves, arrays, tree):
    """The function of its arrays alone, and those."""
    fixed = [None if a else leaf for leaf, a in zip(leaves, arrays, strict=True)]

    def flat(*given):
        rest = iter(given)
        whole = [next(rest) if a else leaf for leaf, a in zip(fixed, arrays, strict=True)]
        return function(*jax.tree.unflatten(tree, whole))

    return flat, [leaf for leaf, a in zip(leaves, arrays, strict=True) if a]


def _kept(name: str | None, arrays) -> Callable[..., Any] | None:
    """The program that an earlier process made of the same."""
    found = kept_programs.kept(name, known)
    return None if found is None else lambda arguments: found(*_arrays(arguments, arrays))


def _jitted(function, leaves, arrays, tree):
    flat, given = _flat(function, leaves, arrays, tree)
    return _again(flat, given, lanes=False), given


def _jitted_pieces(function, leaves, arrays, tree):
    flat, given = _flat(function, leaves, arrays, tree)
    return _again(flat, given, lanes=False, least=1), given


def _batched(function, leaves, arrays, tree):
    flat, given = _flat(function, leaves, arrays, tree)
    own = tree.children()[1].num_leaves
    if not all(arrays[len(arrays) - own :]):
        raise NotNative("a batch over more than arrays")
    shared = len(given) - own
    again = _again(flat, [*given[:shared], *(a[0] for a in given[shared:])], lanes=False)
    return jax.vmap(again, in_axes=(*[None] * shared, *[0] * own)), given


def _differentiated(function, leaves, arrays, tree):
    flat, given = _flat(function, leaves, arrays, tree)
    if not arrays[-1]:
        raise NotNative("a derivative with respect to no array")

    def along(direction, *given):
        return jax.jvp(lambda x: flat(*given[:-1], x), (given[-1],), (direction,))

    again = _again(along, [given[-1], *given], lanes=True)

    def all(*given):
        directions = jnp.eye(given[-1].shape[0])
        values, slopes = jax.vmap(lambda direction: again(direction, *given), out_axes=(0, -1))(directions)
        return jax.tree.map(lambda a: a[0], values), slopes

    return all, given


def _again(function, given, lanes: bool, least: int | None = None) -> Callable[..., Any]:
    """The same function, traced, with its long loops in machine code."""
    closed, shape = traced(function, *given)
    least = LEAST if least is None else least
    if not has_long_scan(closed, least):
        raise NotNative("no long loop")
    out = jax.tree.structure(shape)
    return lambda *given: jax.tree.unflatten(out, run_again(closed, given, _scans(lanes, least)))


def _compiled(make, function, leaves, arrays, tree, name: str | None) -> Callable[..., Any]:
    outs: list[Any] = []
    codes = _CODES.begin()
    whole, given = make(function, leaves, arrays, tree)

    def flat(*given):
        results, out = jax.tree.flatten(whole(*given))
        outs.append(out)
        return results

    if name is not None:  # what JAX's own cache returns cannot be written again: it must not find it there
        flat.__name__ = f"kept_{secrets.token_hex(8)}"
    run = jax.jit(flat).lower(*given).compile()  # a loop that cannot be machine code is found here
    out = outs[-1]
    kept_programs.keep(name, run, out, len(given), codes)
    return lambda arguments: jax.tree.unflatten(out, run(*_arrays(arguments, arrays)))


def _arrays(arguments, arrays):
    return [leaf for leaf, a in zip(jax.tree.leaves(arguments), arrays, strict=True) if a]


def _scans(lanes: bool, least: int) -> Scans:
    builder = Builder(_MOST_FOLLOWED)
    unroller = Unroller(builder)

    def unknown(aval) -> Known:
        if aval.size > _MOST_KNOWN:
            return None
        out = np.empty(aval.shape, object)
        try:
            type = type_of(np.dtype(aval.dtype))
        except (NotNative, TypeError):
            return None
        out.reshape(-1)[:] = [builder.new(type, ONCE) for _ in range(out.size)]
        return out

    def elements(program: Program, given: Sequence[Known]) -> Sequence[Known]:
        try:
            if any(v.size > _MOST_KNOWN for v in program.outputs):
                raise NotNative("a large array")
            return unroller.run(program, list(given))  # type: ignore[arg-type]
        except NotNative:
            return [unknown(v) for v in program.outputs]

    def call(scan: Operation, given: Sequence[Any], known: Sequence[Known]) -> Sequence[Any]:
        return _called(scan, given, known, lanes)

    return Scans(least, call, elements, unknown)


def mean_length(scan: Operation) -> float:
    """Elements of an array in a step, on average."""
    operations = scan.loop.operations
    return sum(max((r.size for r in o.results), default=0) for o in operations) / max(len(operations), 1)


def too_long(scan: Operation) -> bool:
    """Whether a step that cannot be of rows is left to XLA."""
    return mean_length(scan) >= _TOO_LONG


def called_with(scan: Operation, given, wide: Sequence[bool], lanes: int) -> Sequence[Any]:
    """The results of a scan by machine code, of which nothing is known before; arguments that are `wide` have lanes as
    their last axis or, where `lanes` is 0, runs as their first."""
    known, none = [None] * len(given), [False] * len(given)
    return _ffi(scan, given, known, wide if lanes else none, none if lanes else wide, lanes)


def _program(scan: Operation, known, wide, lanes: int) -> LoopProgram:
    """The loop of a scan: of rows where its arrays are long, of scalars where they are short or rows cannot do it."""
    if not lanes and mean_length(scan) >= _LONG:
        try:
            return row_program(scan, known)
        except NotNative:
            inside = {o.kind for o in scan.loop.operations}
            if mean_length(scan) >= _TOO_LONG and not inside & _SHORTER:
                raise
    return loop_program(scan, known, wide, lanes)


def _called(scan: Operation, given, known, lanes: bool):
    """A scan by machine code; over an axis of `vmap` as lanes, or as one run after another."""
    none = [False] * len(given)

    @jax.custom_batching.custom_vmap
    def loop(*given):
        return _ffi(scan, given, known, none, none, 0)

    @loop.def_vmap
    def over(axis_size: int, in_batched, *given):
        batched = list(in_batched)
        if not lanes:
            return _ffi(scan, given, known, none, batched, 0), [True] * len(scan.results)
        wide = widened(scan, batched)
        last = [
            jnp.moveaxis(a, 0, -1) if had else jnp.broadcast_to(a[..., None], (*jnp.shape(a), axis_size)) if has else a
            for a, had, has in zip(given, batched, wide, strict=True)
        ]
        results, has = _ffi(scan, last, known, wide, none, axis_size, tell=True)
        return [jnp.moveaxis(a, -1, 0) if w else a for a, w in zip(results, has, strict=True)], has

    return loop(*given)


def _ffi(scan: Operation, given, known, wide, batched, lanes: int, tell: bool = False):
    program = _program(scan, known, wide, lanes)
    own_batched, version = [batched[read.argument] for read in program.reads], interface()
    if isinstance(program, RowProgram):
        text = written_rows(program, own_batched, version)
    else:
        text = written(program, own_batched, version)
    name = registered(text)
    _CODES.used.append(name)
    runs = next((jnp.shape(given[i])[:1] for i, b in enumerate(batched) if b), ())
    shapes = []
    for value, own in zip(scan.results, program.written, strict=True):
        shapes.append(jax.ShapeDtypeStruct((*runs, *value.shape, *((lanes,) if own.wide else ())), value.dtype))
    if program.scratch:
        shapes.append(jax.ShapeDtypeStruct((program.scratch,), np.dtype(float)))
    results = jax.ffi.ffi_call(name, shapes)(*(jnp.asarray(given[read.argument]) for read in program.reads))
    results = list(results)[: len(scan.results)]
    return (results, [own.wide for own in program.written]) if tell else results
