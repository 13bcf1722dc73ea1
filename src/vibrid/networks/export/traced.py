"""A step as a flat list of array operations: what the writers of C and ONNX start from.

`trace` follows `outputs, state = step(state, inputs)` once. Calls inside calls are opened, so that only arithmetic is
left, and loops whose bodies are such lists. What a step computes from its constants alone is computed here, not on the
target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex

from vibrid.core.errors import Refusal

_OPENED = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
           "custom_vjp_call": "call_jaxpr", "remat2": "jaxpr", "checkpoint": "jaxpr"}  # fmt: skip


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
    """`results = kind(arguments; settings)`, a primitive of JAX.

    A scan has its body as a program; a cond has one program a branch, and the number of the branch to take as its first
    argument.
    """

    kind: str
    arguments: tuple[Value, ...]
    results: tuple[Value, ...]
    settings: dict
    body: Program | None = None
    branches: tuple[Program, ...] = ()


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


def trace(step: Callable, start, inputs: int, dtype=jnp.float32) -> Traced:
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


def program_of(function: Callable, *examples) -> Program:
    """The program of a function of arrays (and tuples of results) with the shapes and types of the examples."""
    closed = jax.make_jaxpr(function)(*examples)
    return _Opener().program(closed.jaxpr, closed.consts)


def _plain(path: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in path).strip("_") or "state"


@dataclass
class _Opener:
    """Turns a jaxpr into a program, naming values as it goes."""

    count: int = 0
    operations: list[Operation] = field(default_factory=list)

    def program(self, jaxpr, consts) -> Program:
        inputs = tuple(self.new(v.aval) for v in jaxpr.invars)
        before, self.operations = self.operations, []
        outputs = self.run(jaxpr, [self.known(c) for c in consts], inputs)
        made, self.operations = self.operations, before
        return Program(inputs, tuple(_used(made, outputs)), tuple(outputs))

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
            return self.known(np.asarray(atom.val, atom.aval.dtype)) if isinstance(atom, jex.Literal) else at[atom]

        for equation in jaxpr.eqns:
            given = [read(a) for a in equation.invars]
            at |= dict(zip(equation.outvars, self.results(equation, given), strict=True))
        return [read(v) for v in jaxpr.outvars]

    def results(self, equation, given: list[Value]) -> list[Value]:
        kind, settings = equation.primitive.name, equation.params
        if kind in _OPENED:
            inner = settings[_OPENED[kind]]
            closed = hasattr(inner, "consts")
            consts = [self.known(c) for c in inner.consts] if closed else []
            return self.run(inner.jaxpr if closed else inner, consts, given)
        if kind != "scan" and all(v.constant is not None for v in given):
            made = equation.primitive.bind(*[v.constant for v in given], **settings)
            return [self.known(m) for m in (made if equation.primitive.multiple_results else [made])]
        body, branches = None, ()
        if kind == "scan":
            inner = settings["jaxpr"]
            body = self.program(inner.jaxpr, inner.consts)
        elif kind == "cond":
            branches = tuple(self.program(b.jaxpr, b.consts) for b in settings["branches"])
        elif kind == "while":
            raise Refusal(f"A step with a '{kind}' inside cannot be written out: its path depends on its numbers.")
        results = [self.new(v.aval) for v in equation.outvars]
        self.operations.append(Operation(kind, tuple(given), tuple(results), dict(settings), body, branches))
        return results


def _used(operations: list[Operation], outputs) -> list[Operation]:
    """Operations whose results are used."""
    wanted, kept = {v.name for v in outputs}, []
    for operation in reversed(operations):
        if any(v.name in wanted for v in operation.results):
            kept.append(operation)
            wanted |= {v.name for v in operation.arguments}
    return kept[::-1]
