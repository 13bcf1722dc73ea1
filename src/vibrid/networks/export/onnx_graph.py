"""A traced step as an ONNX graph: states and inputs come in, outputs and new states go out.

The graph is built from the traced operations one by one, so it needs no knowledge of layers or gate orders. Loops of
fixed length are written out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vibrid.core.errors import InputError, Refusal, require
from vibrid.core.files import write_bytes
from vibrid.core.traced import Operation, Program, Traced, Value
from vibrid.networks.export.interface import Interface, plain

OPSET = 17
NAMES = {"add": "Add", "sub": "Sub", "mul": "Mul", "neg": "Neg", "exp": "Exp", "log": "Log",
         "tanh": "Tanh", "logistic": "Sigmoid", "sqrt": "Sqrt", "abs": "Abs", "sign": "Sign", "floor": "Floor",
         "sin": "Sin", "cos": "Cos", "pow": "Pow", "max": "Max", "min": "Min", "lt": "Less",
         "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual", "eq": "Equal", "and": "And",
         "or": "Or"}  # fmt: skip


def write_onnx(traced: Traced, path: Path | str, interface: Interface | None = None) -> Path:
    """Write the graph; its inputs are `inputs` and one `state_…` a leaf, its outputs `outputs` and `next_…`.

    Every input must be given at every step. The state at rest is in the metadata of the graph (JSON, by the name of the
    state), with the interface. A step with flags has them as one more output, `flags`.
    """
    onnx = require("onnx", "export", "Writing an ONNX graph")
    path = Path(path)
    if path.suffix != ".onnx":
        raise InputError(f"An ONNX file ends in .onnx; '{path.name}' does not.")
    interface = interface or plain(traced.input.size, traced.output.size)
    interface.check(traced)
    builder = _Builder(onnx)
    names = [f"state_{i}_{n}" for i, n in enumerate(traced.state_names)]
    for name, value in zip([*names, "inputs"], traced.program.inputs, strict=True):
        builder.name[value.name] = name
    builder.run(traced.program)
    info = lambda name, kind, shape: onnx.helper.make_tensor_value_info(name, kind, list(shape))  # noqa: E731
    like = lambda name, v: info(name, _kind(onnx, v.dtype), v.shape)  # noqa: E731
    count, whole = len(interface.outputs), onnx.TensorProto.INT32
    outputs = [info("outputs", _kind(onnx, traced.output.dtype), [count])]
    if interface.flags:
        builder.cut(builder.read(traced.output), [0], [count], [0], outputs=["outputs"])
        builder.node("Cast", [builder.cut(builder.read(traced.output), [count], [count + 1], [0])], ["flags"], to=whole)
        outputs.append(info("flags", whole, [1]))
    else:
        builder.node("Identity", [builder.read(traced.output)], ["outputs"])
    after = [n.replace("state_", "next_", 1) for n in names]
    for name, value in zip(after, traced.next_states, strict=True):
        builder.node("Identity", [builder.read(value)], [name])
    graph = onnx.helper.make_graph(
        builder.nodes,
        "vibrid_step",
        [like(n, v) for n, v in zip([*names, "inputs"], traced.program.inputs, strict=True)],
        [*outputs, *(like(n, v) for n, v in zip(after, traced.next_states, strict=True))],
        builder.initializers,
        doc_string=interface.note,
    )
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], producer_name="vibrid", ir_version=8
    )
    rest = {name: json.dumps(start.tolist()) for name, start in zip(names, traced.start, strict=True)}
    onnx.helper.set_model_props(model, rest | _facts(interface))
    onnx.checker.check_model(model)
    return write_bytes(path, model.SerializeToString())


def _facts(interface: Interface) -> dict[str, str]:
    """The interface as metadata."""
    facts = {"inputs": json.dumps([str(port) for port in interface.inputs])}
    facts["outputs"] = json.dumps([str(port) for port in interface.outputs])
    if interface.flags:
        facts["flags"] = json.dumps({bit.name.lower(): bit.value for bit in interface.flags})
    return facts | {port.name: repr(port.value) for port in interface.limits}


def _kind(onnx, dtype) -> int:
    return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class _Builder:
    """Nodes of a graph, one operation after the other."""

    def __init__(self, onnx):
        self.onnx = onnx
        self.nodes, self.initializers = [], []
        self.name: dict[str, str] = {}
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def known(self, numbers) -> str:
        name = self.fresh()
        self.initializers.append(self.onnx.numpy_helper.from_array(np.array(numbers), name))
        return name

    def read(self, value: Value) -> str:
        if value.name not in self.name:
            self.name[value.name] = self.known(value.constant)
        return self.name[value.name]

    def node(self, kind: str, inputs: list[str], outputs: list[str] | None = None, **settings) -> str:
        outputs = outputs or [self.fresh()]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, outputs, **settings))
        return outputs[0]

    def run(self, program: Program) -> None:
        for o in program.operations:
            special: Callable | None = getattr(self, f"do_{o.kind}", None)
            if special is not None:
                outputs = special(o)
            elif o.kind in NAMES:
                outputs = self.node(NAMES[o.kind], [self.read(v) for v in o.arguments])
            else:
                raise Refusal(f"There is no ONNX for the operation '{o.kind}' of this step.")
            names = outputs if isinstance(outputs, list) else [outputs]
            self.name |= dict(zip([r.name for r in o.results], names, strict=True))

    # -- operations that are not one node ------------------------------------------------------------------------

    def do_reshape(self, o: Operation) -> str:
        shape = self.known(np.array(o.results[0].shape, np.int64))
        return self.node("Reshape", [self.read(o.arguments[0]), shape])

    def do_convert(self, o: Operation) -> str:
        source, wanted = o.arguments[0], o.results[0].dtype
        given = self.read(source)
        if np.issubdtype(source.dtype, np.floating) and np.issubdtype(wanted, np.integer):
            return self._whole(given, source.dtype, wanted)
        return self.node("Cast", [given], to=_kind(self.onnx, wanted))

    def _whole(self, given: str, real, wanted) -> str:
        """Cut to a whole number; beyond the range of its type the last one, and 0 for a NaN, as in JAX."""
        low, high = np.iinfo(wanted).min, np.iinfo(wanted).max
        below, above = self.known(np.array(low, real)), self.known(np.array(float(high) + 1, real))
        outside = [self.node("LessOrEqual", [given, below]), self.node("GreaterOrEqual", [given, above])]
        nothing = self.node("Or", [self.node("IsNaN", [given]), self.node("Or", outside)])
        inside = self.node("Where", [nothing, self.known(np.array(0, real)), given])
        result = self.node("Cast", [inside], to=_kind(self.onnx, wanted))
        result = self.node("Where", [outside[0], self.known(np.array(low, wanted)), result])
        return self.node("Where", [outside[1], self.known(np.array(high, wanted)), result])

    def do_erf(self, o: Operation) -> str:
        if o.arguments[0].dtype != np.float32:
            raise Refusal("ONNX runtimes know the error function for 32 bits only: give the step that precision.")
        return self.node("Erf", [self.read(o.arguments[0])])

    def do_rsqrt(self, o: Operation) -> str:
        return self.node("Reciprocal", [self.node("Sqrt", [self.read(o.arguments[0])])])

    def do_is_finite(self, o: Operation) -> str:
        given = self.read(o.arguments[0])
        return self.node("Not", [self.node("Or", [self.node("IsInf", [given]), self.node("IsNaN", [given])])])

    def do_not(self, o: Operation) -> str:
        value, given = o.arguments[0], self.read(o.arguments[0])
        if value.dtype == np.bool_:
            return self.node("Not", [given])
        return self.node("Sub", [self.known(np.array(-1, value.dtype)), given])

    def do_div(self, o: Operation) -> str:
        minus_one = lambda x: self.known(np.array(-1, o.results[0].dtype))  # noqa: E731
        return self._divided(o, "Div", minus_one, lambda x: self.node("Neg", [x]))

    def do_rem(self, o: Operation) -> str:
        nothing = lambda x: self.known(np.array(0, o.results[0].dtype))  # noqa: E731
        return self._divided(o, "Mod", lambda x: x, nothing, fmod=1)

    def _divided(self, o: Operation, kind: str, by_zero: Callable, by_minus_one: Callable, **settings) -> str:
        """A division or its remainder; of integers by 0 and −1, which runtimes refuse, as in JAX."""
        x, y = (self.read(v) for v in o.arguments)
        dtype = o.arguments[0].dtype
        if np.issubdtype(dtype, np.floating):
            return self.node(kind, [x, y], **settings)
        if not np.issubdtype(dtype, np.signedinteger):
            raise Refusal("Divisions of unsigned integers are not written as ONNX.")
        zero, minus = (self.node("Equal", [y, self.known(np.array(n, dtype))]) for n in (0, -1))
        safe = self.node("Where", [self.node("Or", [zero, minus]), self.known(np.array(1, dtype)), y])
        result = self.node(kind, [x, safe], **settings)
        result = self.node("Where", [minus, by_minus_one(x), result])
        return self.node("Where", [zero, by_zero(x), result])

    def do_integer_pow(self, o: Operation) -> str:
        power = self.known(np.array(o.settings["power"], o.arguments[0].dtype))
        return self.node("Pow", [self.read(o.arguments[0]), power])

    def do_ne(self, o: Operation) -> str:
        return self.node("Not", [self.node("Equal", [self.read(v) for v in o.arguments])])

    def do_clamp(self, o: Operation) -> str:
        low, x, high = (self.read(v) for v in o.arguments)
        return self.node("Min", [self.node("Max", [x, low]), high])

    def do_select_n(self, o: Operation) -> str:
        which, no, yes = (self.read(v) for v in o.arguments)
        return self.node("Where", [which, yes, no])

    def do_dot_general(self, o: Operation) -> str:
        (left_axes, right_axes), shared = o.settings["summed"], o.settings["shared"]
        left, right = o.arguments
        if any(shared) or len(left_axes) != 1 or max(len(left.shape), len(right.shape)) > 2:
            raise Refusal("Only products of matrices and vectors can be written as ONNX.")
        a, b = self.read(left), self.read(right)
        if len(left.shape) == 2 and left_axes[0] == 0:
            a = self.node("Transpose", [a], perm=[1, 0])
        if len(right.shape) == 2 and right_axes[0] == 1:
            b = self.node("Transpose", [b], perm=[1, 0])
        return self.node("MatMul", [a, b])

    def cut(self, source: str, begin, end, axes, steps=None, outputs: list[str] | None = None) -> str:
        parts = [begin, end, axes] + ([steps] if steps is not None else [])
        return self.node("Slice", [source, *(self.known(np.array(p, np.int64)) for p in parts)], outputs)

    def do_slice(self, o: Operation) -> str:
        begin = o.settings["begin"]
        return self.cut(self.read(o.arguments[0]), begin, o.settings["end"], range(len(begin)), o.settings["jump"])

    def do_rev(self, o: Operation) -> str:
        turned = o.settings["axes"]
        ends = [np.iinfo(np.int64).min] * len(turned)
        return self.cut(self.read(o.arguments[0]), [-1] * len(turned), ends, turned, [-1] * len(turned))

    def do_transpose(self, o: Operation) -> str:
        return self.node("Transpose", [self.read(o.arguments[0])], perm=list(o.settings["order"]))

    def do_concatenate(self, o: Operation) -> str:
        return self.node("Concat", [self.read(v) for v in o.arguments], axis=o.settings["axis"])

    def do_broadcast_in_dim(self, o: Operation) -> str:
        source, result = o.arguments[0], o.results[0]
        between = [1] * len(result.shape)
        for d, size in zip(o.settings["axes"], source.shape, strict=True):
            between[d] = size
        shaped = self.node("Reshape", [self.read(source), self.known(np.array(between, np.int64))])
        return self.node("Expand", [shaped, self.known(np.array(result.shape, np.int64))])

    def do_reduce_sum(self, o: Operation) -> str:
        axes = self.known(np.array(o.settings["axes"], np.int64))
        return self.node("ReduceSum", [self.read(o.arguments[0]), axes], keepdims=0)

    def do_reduce_max(self, o: Operation) -> str:
        return self.node("ReduceMax", [self.read(o.arguments[0])], axes=list(o.settings["axes"]), keepdims=0)

    def do_reduce_min(self, o: Operation) -> str:
        return self.node("ReduceMin", [self.read(o.arguments[0])], axes=list(o.settings["axes"]), keepdims=0)

    def do_reduce_and(self, o: Operation) -> str:
        return self._of_booleans(o, "ReduceMin")

    def do_reduce_or(self, o: Operation) -> str:
        return self._of_booleans(o, "ReduceMax")

    def _of_booleans(self, o: Operation, kind: str) -> str:
        """The least or the greatest of booleans, as 0 and 1."""
        numbers = self.node("Cast", [self.read(o.arguments[0])], to=self.onnx.TensorProto.INT32)
        found = self.node(kind, [numbers], axes=list(o.settings["axes"]), keepdims=0)
        return self.node("Cast", [found], to=self.onnx.TensorProto.BOOL)

    def do_scan(self, o: Operation) -> list[str]:
        """Written out, one round after the other."""
        consts, carried, length = o.settings["consts"], o.settings["carried"], o.settings["length"]
        given = [self.read(v) for v in o.arguments]
        carry, rows = given[consts : consts + carried], [[] for _ in o.results[carried:]]
        order = range(length - 1, -1, -1) if o.settings["reverse"] else range(length)
        for t in order:
            inside = [*given[:consts], *carry]
            for source, inner in zip(given[consts + carried :], o.loop.inputs[consts + carried :], strict=True):
                row = self.cut(source, [t], [t + 1], [0])
                inside.append(self.node("Reshape", [row, self.known(np.array(inner.shape, np.int64))]))
            self.name |= dict(zip([v.name for v in o.loop.inputs], inside, strict=True))
            self.run(o.loop)
            names = [self.read(v) for v in o.loop.outputs]
            carry = names[:carried]
            for kept, name, value in zip(rows, names[carried:], o.loop.outputs[carried:], strict=True):
                kept.append(self.node("Reshape", [name, self.known(np.array((1, *value.shape), np.int64))]))
        stacked = [self.node("Concat", kept if order.step > 0 else kept[::-1], axis=0) for kept in rows]
        return [*carry, *stacked]
