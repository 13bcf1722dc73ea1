"""A step as a flat list of array operations: the input of the writers of C, ONNX and plain Python.

`trace` follows `outputs, state = step(state, inputs)` once. Calls inside calls are opened, so that only arithmetic is
left, and loops whose bodies are such lists. Results that depend on constants only are computed here, not on the target.

This is the only reader of JAX's traced programs, whose forms change from version to version; `traced_settings` knows
the parameters of its primitives. The list is the same for all versions (see `Operation`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex

from vibrid.core.errors import Refusal
from vibrid.core.traced_settings import read_settings

_OPENED = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
           "custom_vjp_call": "call_jaxpr", "remat2": "jaxpr", "checkpoint": "jaxpr"}  # fmt: skip
_SAME = ("copy", "copy_p", "stop_gradient", "optimization_barrier")  # results are the arguments
SOLVES = {"vibrid_solve": "solve", "vibrid_solve_bands": "solve_bands"}
"""Names of the compiled functions in `core.linalg.solve` and `core.banded`, and the operations that they are."""
_SHAPES = ("reshape", "squeeze", "expand_dims")


@dataclass(frozen=True)
class Value:
    """An array of the program: a name that no other has, its shape and its type (a NumPy dtype)."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    constant: np.ndarray | None = None  # its numbers, where they are known

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))


@dataclass(frozen=True)
class Operation:
    """`results = kind(arguments; settings)`.

    Operations on elements are named as in JAX (`add`, `tanh`, `select_n`, …) and have no settings, but for

        integer_pow: power

    The others, with their settings, are

        convert: to the type of the result; reshape: to its shape
        dot_general: summed, shared: for either argument, the axes summed over and the axes in common
        reduce_sum, reduce_max, reduce_min, reduce_and, reduce_or: axes
        slice: begin, end, jump; dynamic_slice: sizes (arguments: the array, and where to begin)
        transpose: order; rev: axes; broadcast_in_dim: axes, where those of the argument go; concatenate: axis
        gather, scatter, scatter-add: start_axes, dropped_axes, window_axes, outside (and sizes, of a gather)
        scan: consts, carried, length, reverse, and its body as a program
        cond: one program a branch; the number of the branch to take is the first argument
        pad: edges, the elements added before, after and between on every axis

    and, in programs for a machine,

        while: test and body, how many arguments go to each first; branches are the programs of both
        solve: x of `a x = b` (`core.linalg.solve`)
        solve_bands: the same with the bands of a (`core.banded`)
    """

    kind: str
    arguments: tuple[Value, ...]
    results: tuple[Value, ...]
    settings: dict
    body: Program | None = None
    branches: tuple[Program, ...] = ()

    @property
    def loop(self) -> Program:
        """The body of a scan."""
        if self.body is None:
            raise ValueError(f"The operation '{self.kind}' has no body.")
        return self.body


@dataclass(frozen=True)
class Program:
    """Operations in order, from `inputs` to `outputs`."""

    inputs: tuple[Value, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[Value, ...]


@dataclass(frozen=True)
class Traced:
    """A step as a program: inputs are the states and then the inputs, outputs the outputs and then the new states."""

    program: Program
    start: tuple[np.ndarray, ...]
    """The state at rest, one array a leaf."""
    state_names: tuple[str, ...]

    @property
    def states(self) -> tuple[Value, ...]:
        return self.program.inputs[: len(self.start)]

    @property
    def input(self) -> Value:
        return self.program.inputs[-1]

    @property
    def output(self) -> Value:
        return self.program.outputs[0]

    @property
    def next_states(self) -> tuple[Value, ...]:
        return self.program.outputs[1:]


def trace(step: Callable[..., Any], start, inputs: int, dtype=jnp.float32) -> Traced:
    """Follow a step once.

    Arguments
        step: `outputs, state = step(state, inputs)`, pure, inputs (n,), outputs (m,); its weights are constants.
        start: the state at rest, a tree of arrays.
        inputs: how many numbers come in.
        dtype: type of the inputs; states keep theirs.
    """
    leaves, tree = jax.tree.flatten(jax.tree.map(jnp.asarray, start))
    names = tuple(_plain(jax.tree_util.keystr(path)) for path, _ in jax.tree_util.tree_flatten_with_path(start)[0])

    def flat(*arguments):
        outputs, state = step(jax.tree.unflatten(tree, arguments[:-1]), arguments[-1])
        after = jax.tree.leaves(state)
        return jnp.reshape(outputs, -1), *(
            a.astype(b.dtype).reshape(b.shape) for a, b in zip(after, leaves, strict=True)
        )

    program = program_of(flat, *leaves, jnp.zeros(inputs, dtype))
    return Traced(program, tuple(np.asarray(leaf) for leaf in leaves), names)


def program_of(function: Callable[..., Any], *examples, machine: bool = False) -> Program:
    """The program of a function of arrays (and tuples of results) with the shapes and types of the examples.

    Programs for a `machine` (core/native) may hold while loops and solutions of linear equations; others are refused.
    """
    closed = jax.make_jaxpr(function)(*examples)
    with jax.ensure_compile_time_eval():  # known parts are computed here, also inside another trace
        return _Opener(machine=machine).program(closed.jaxpr, closed.consts)


def operation_of(equation) -> Program:
    """One equation of a traced function as a program for a machine."""
    opener = _Opener(machine=True)
    given = [opener.new(atom.aval) for atom in equation.invars]
    with jax.ensure_compile_time_eval():  # known parts are computed here, also inside another trace
        results = opener.results(equation, given)
    return Program(tuple(given), tuple(opener.operations), tuple(results))


def _plain(path: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in path).strip("_") or "state"


@dataclass
class _Opener:
    """Turns a jaxpr into a program, naming values as it goes."""

    count: int = 0
    operations: list[Operation] = field(default_factory=list)
    machine: bool = False

    def program(self, jaxpr, consts) -> Program:
        inputs = tuple(self.new(v.aval) for v in jaxpr.invars)
        before, self.operations = self.operations, []
        outputs = self.run(jaxpr, [self.known(c) for c in consts], inputs)
        operations, self.operations = self.operations, before
        return Program(inputs, tuple(_used(operations, outputs)), tuple(outputs))

    def new(self, aval) -> Value:
        if not isinstance(aval.dtype, np.dtype):
            raise Refusal(f"A step that computes with {aval.dtype} cannot be written out.")
        self.count += 1
        return Value(f"v{self.count}", tuple(aval.shape), aval.dtype)

    def known(self, numbers) -> Value:
        numbers = np.asarray(numbers)
        self.count += 1
        return Value(f"c{self.count}", numbers.shape, numbers.dtype, numbers)

    def run(self, jaxpr, consts, arguments) -> list[Value]:
        """The values of `jaxpr` at some arguments; its operations are added to the list."""
        at = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, arguments, strict=True))

        def read(atom) -> Value:
            if not isinstance(atom, jex.Literal):
                return at[atom]
            shape: Any = atom.aval
            return self.known(np.asarray(atom.val, shape.dtype))

        for equation in jaxpr.eqns:
            given = [read(a) for a in equation.invars]
            at |= dict(zip(equation.outvars, self.results(equation, given), strict=True))
        return [read(v) for v in jaxpr.outvars]

    def results(self, equation, given: list[Value]) -> list[Value]:
        kind, settings = equation.primitive.name, equation.params
        if self.machine and settings.get("name") in SOLVES:
            return self.add(SOLVES[settings["name"]], given, [self.new(v.aval) for v in equation.outvars])
        if kind in _OPENED:
            inner, consts = self.opened(settings[_OPENED[kind]])
            return self.run(inner, consts, given)
        if kind in _SAME:
            return given
        if kind != "scan" and all(v.constant is not None for v in given):
            values = equation.primitive.bind(*[v.constant for v in given], **settings)
            return [self.known(m) for m in (values if equation.primitive.multiple_results else [values])]
        results = [self.new(v.aval) for v in equation.outvars]
        write = getattr(self, f"do_{kind}", None)
        if write is not None:
            return write(settings, given, results)
        return self.add("reshape" if kind in _SHAPES else kind, given, results, read_settings(kind, settings))

    def add(self, kind: str, given, results, settings: dict[str, Any] | None = None, **programs) -> list[Value]:
        self.operations.append(Operation(kind, tuple(given), tuple(results), settings or {}, **programs))
        return list(results)

    def opened(self, inner) -> tuple[Any, ...]:
        """A program inside another, with or without constants of its own, and those."""
        consts = getattr(inner, "consts", ())
        return getattr(inner, "jaxpr", inner), [self.known(c) for c in consts]

    def inside(self, inner) -> Program:
        jaxpr, consts = self.opened(inner)
        return self.program(jaxpr, [c.constant for c in consts])

    # -- operations that are written as others, or hold programs --------------------------------------------------

    def do_add_any(self, settings, given, results) -> list[Value]:
        return self.add("add", given, results)

    def do_square(self, settings, given, results) -> list[Value]:
        return self.add("mul", given * 2, results)

    def do_convert_element_type(self, settings, given, results) -> list[Value]:
        return given if given[0].dtype == results[0].dtype else self.add("convert", given, results)

    def do_split(self, settings, given, results) -> list[Value]:
        end = np.cumsum(settings["sizes"])
        return [self.cut(given[0], settings["axis"], e - n, e) for e, n in zip(end, settings["sizes"], strict=True)]

    def do_unstack(self, settings, given, results) -> list[Value]:
        cuts = [self.cut(given[0], settings["axis"], n, n + 1) for n in range(len(results))]
        return [self.add("reshape", [cut], [result])[0] for cut, result in zip(cuts, results, strict=True)]

    def do_stack(self, settings, given, results) -> list[Value]:
        axis = settings["axis"]
        parts = [self.like(v, (*v.shape[:axis], 1, *v.shape[axis:])) for v in given]
        for value, part in zip(given, parts, strict=True):
            self.add("reshape", [value], [part])
        return self.add("concatenate", parts, results, {"axis": axis})

    def do_scan(self, settings, given, results) -> list[Value]:
        """Carried arrays keep their shape; rows have one axis more outside than inside."""
        body = self.inside(settings["jaxpr"])
        carried = sum(inner.shape == r.shape for inner, r in zip(body.outputs, results, strict=True))
        rows = sum(inner.shape != v.shape for inner, v in zip(body.inputs, given, strict=True))
        loop = {"length": int(settings["length"]), "reverse": bool(settings["reverse"])}
        loop |= {"carried": carried, "consts": len(given) - rows - carried}
        return self.add("scan", given, results, loop, body=body)

    def do_cond(self, settings, given, results) -> list[Value]:
        return self.add("cond", given, results, branches=tuple(self.inside(b) for b in settings["branches"]))

    def do_while(self, settings, given, results) -> list[Value]:
        if not self.machine:
            raise Refusal("A step with a 'while' inside cannot be written out: its path depends on its numbers.")
        own = {"test": int(settings["cond_nconsts"]), "body": int(settings["body_nconsts"])}
        return self.add("while", given, results, own, branches=tuple(map(self.inside, _both(settings))))

    def do_custom_linear_solve(self, settings, given, results) -> list[Value]:
        counts = settings["const_lengths"]
        own = sum((counts.matvec, counts.vecmat))
        rest = own + counts.solve + counts.transpose_solve
        inner, consts = self.opened(settings["jaxprs"].solve)
        return self.run(inner, consts, [*given[own : own + counts.solve], *given[rest:]])

    def like(self, value: Value, shape) -> Value:
        self.count += 1
        return Value(f"v{self.count}", tuple(shape), value.dtype)

    def cut(self, source: Value, axis: int, begin: int, end: int) -> Value:
        """A part of an array along one axis."""
        first, last = [0] * len(source.shape), list(source.shape)
        first[axis], last[axis] = int(begin), int(end)
        part = self.like(source, [b - a for a, b in zip(first, last, strict=True)])
        self.add("slice", [source], [part], {"begin": first, "end": last, "jump": [1] * len(first)})
        return part


def _both(settings) -> tuple[Any, Any]:
    return settings["cond_jaxpr"], settings["body_jaxpr"]


def _used(operations: list[Operation], outputs) -> list[Operation]:
    """Operations whose results are used."""
    wanted, kept = {v.name for v in outputs}, []
    for operation in reversed(operations):
        if any(v.name in wanted for v in operation.results):
            kept.append(operation)
            wanted |= {v.name for v in operation.arguments}
    return kept[::-1]
