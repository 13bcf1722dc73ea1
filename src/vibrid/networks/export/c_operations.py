"""Operations of a traced step as lines of C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vibrid.core.errors import Refusal
from vibrid.networks.export.traced import Operation, Program, Value

TYPES = {"float32": "float", "float64": "double", "int32": "int32_t", "int64": "int64_t", "uint32": "uint32_t",
         "bool": "uint8_t"}  # fmt: skip
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
         "ne": "!=", "and": "&", "or": "|"}  # fmt: skip
FUNCTIONS = {"exp": "exp", "tanh": "tanh", "log": "log", "log1p": "log1p", "expm1": "expm1", "sqrt": "sqrt",
             "sin": "sin", "cos": "cos", "erf": "erf", "abs": "fabs", "floor": "floor", "pow": "pow",
             "atan2": "atan2"}  # fmt: skip
OWN = ("exp", "tanh")
"""Functions written out for 32 bits, so that compilers turn loops over them into vector instructions."""


class Writer:
    """Lines of C for the operations of a program. Every array is flat, in C order; views are pointers into others."""

    def __init__(self, prefix: str):
        self.prefix = prefix
        self.constants: list[str] = []
        self.expression: dict[str, str] = {}  # of a value: a pointer
        self.lines: list[str] = []

    def program(self, program: Program) -> list[str]:
        before, self.lines = self.lines, []
        for operation in program.operations:
            self.write(operation)
        made, self.lines = self.lines, before
        return made

    # -- names and numbers ---------------------------------------------------------------------------------------

    def known(self, numbers: np.ndarray) -> str:
        """A constant array of the file."""
        numbers = np.asarray(numbers)
        name = f"{self.prefix}_k{len(self.constants)}"
        kind = TYPES[numbers.dtype.name]
        text = ", ".join(_number(x) for x in numbers.ravel()) or "0"
        self.constants.append(f"static const {kind} {name}[{max(numbers.size, 1)}] = {{{text}}};")
        return name

    def pointer(self, value: Value) -> str:
        if value.name not in self.expression:
            self.expression[value.name] = self.known(value.constant)
        return self.expression[value.name]

    def at(self, value: Value, index: str = "i") -> str:
        """An element; an array of one number serves any index."""
        if value.constant is not None and value.size == 1:
            return _number(value.constant.ravel()[0])
        return f"{self.pointer(value)}[{0 if value.size == 1 else index}]"

    def declare(self, value: Value) -> str:
        self.expression[value.name] = value.name
        self.lines.append(f"{TYPES[value.dtype.name]} {value.name}[{max(value.size, 1)}];")
        return value.name

    def each(self, value: Value, text: str) -> None:
        """`value[i] = text` for all i."""
        name = self.declare(value)
        if value.size == 1:
            self.lines.append(f"{{ const int i = 0; {name}[i] = {text}; }}")
        else:
            self.lines.append(f"for (int i = 0; i < {value.size}; i++) {name}[i] = {text};")

    def function(self, kind: str, dtype) -> str:
        if dtype == np.float32:
            return f"{self.prefix}_{kind}" if kind in OWN else f"{FUNCTIONS[kind]}f"
        return FUNCTIONS[kind]

    # -- operations ----------------------------------------------------------------------------------------------

    def write(self, o: Operation) -> None:
        special = getattr(self, f"do_{o.kind}", None)
        if special is not None:
            special(o)
            return
        first, result = o.arguments[0], o.results[0]
        a = [self.at(v, _index(v.shape, result.shape)) for v in o.arguments]
        real = np.issubdtype(first.dtype, np.floating)
        if o.kind in SIGNS:
            text = f"{a[0]} {SIGNS[o.kind]} {a[1]}"
        elif o.kind in FUNCTIONS and real:
            text = f"{self.function(o.kind, first.dtype)}({', '.join(a)})"
        elif o.kind in _TEXTS:
            one = "1.0f" if first.dtype == np.float32 else "1.0"
            text = _TEXTS[o.kind].format(*a, one=one, exp=self.function("exp", first.dtype) if real else "")
        elif o.kind == "integer_pow":
            power = o.settings["y"]
            product = " * ".join([a[0]] * abs(power)) or "1"
            text = product if power >= 0 else f"1 / ({product})"
        elif o.kind == "rem":
            fmod = "fmodf" if first.dtype == np.float32 else "fmod"
            text = f"{fmod}({a[0]}, {a[1]})" if real else f"{a[0]} % {a[1]}"
        elif o.kind == "select_n" and len(a) == 3:
            text = f"{a[0]} ? {a[2]} : {a[1]}"
        else:
            raise Refusal(f"There is no C for the operation '{o.kind}' of this step.")
        self.each(result, text)

    def _view(self, o: Operation) -> None:
        self.expression[o.results[0].name] = self.pointer(o.arguments[0])

    do_reshape = do_squeeze = do_expand_dims = do_copy = do_copy_p = do_stop_gradient = _view

    def do_convert_element_type(self, o: Operation) -> None:
        if o.arguments[0].dtype == o.results[0].dtype:
            self._view(o)
        elif o.results[0].dtype == np.bool_:
            self.each(o.results[0], f"{self.at(o.arguments[0])} != 0")
        else:
            self.each(o.results[0], f"({TYPES[o.results[0].dtype.name]}){self.at(o.arguments[0])}")

    def do_dot_general(self, o: Operation) -> None:
        """y = Σ_k of a matrix and a vector, in either order, or of two vectors; four k at a time, outputs inside."""
        (left_axes, right_axes), (left_batch, right_batch) = o.settings["dimension_numbers"]
        left, right, result = *o.arguments, o.results[0]
        if left_batch or right_batch or len(left_axes) != 1 or len(left.shape) + len(right.shape) > 3:
            raise Refusal("Only products of a matrix and a vector can be written as C.")
        matrix, vector, axis = (right, left, right_axes[0]) if len(left.shape) == 1 else (left, right, left_axes[0])
        depth, width = vector.size, result.size
        name = self.declare(result)
        if matrix.constant is not None:
            weights = self.known(np.moveaxis(matrix.constant.reshape(matrix.shape), axis, 0))
            across, down = 1, width
        else:
            weights = self.pointer(matrix)
            across, down = (1, width) if axis == 0 else (depth, 1)
        x = self.pointer(vector)
        term = lambda k: f"{weights}[({k}) * {down} + i * {across}] * {x}[{k}]"  # noqa: E731
        whole = depth - depth % 4
        self.lines.append(f"for (int i = 0; i < {width}; i++) {name}[i] = 0;")
        if whole:
            four = " + ".join(term(f"k + {j}" if j else "k") for j in range(4))
            self.lines.append(f"for (int k = 0; k < {whole}; k += 4)")
            self.lines.append(f"    for (int i = 0; i < {width}; i++) {name}[i] += {four};")
        for k in range(whole, depth):
            self.lines.append(f"for (int i = 0; i < {width}; i++) {name}[i] += {term(k)};")

    def _gathered(self, o: Operation, offset: int, steps: Sequence[int], result: Value | None = None) -> None:
        """A result whose element (j0, j1, …) is the argument's element at offset + Σ j_d steps_d."""
        result = result or o.results[0]
        if list(steps) == _strides(result.shape) or result.size == 1 or (len(steps) == 1 and steps[0] == 1):
            self.expression[result.name] = f"({self.pointer(o.arguments[0])} + {offset})"
            return
        self.each(result, f"{self.pointer(o.arguments[0])}[{offset}{_walk(result.shape, steps)}]")

    def do_slice(self, o: Operation) -> None:
        own = _strides(o.arguments[0].shape)
        begin, jump = o.settings["start_indices"], o.settings["strides"] or [1] * len(own)
        offset = sum(b * s for b, s in zip(begin, own, strict=True))
        self._gathered(o, offset, [s * j for s, j in zip(own, jump, strict=True)])

    def do_split(self, o: Operation) -> None:
        own, axis, begin = _strides(o.arguments[0].shape), o.settings["axis"], 0
        for result, size in zip(o.results, o.settings["sizes"], strict=True):
            self._gathered(o, begin * own[axis], own, result)
            begin += size

    def do_transpose(self, o: Operation) -> None:
        own = _strides(o.arguments[0].shape)
        self._gathered(o, 0, [own[d] for d in o.settings["permutation"]])

    def do_rev(self, o: Operation) -> None:
        own, turned = _strides(o.arguments[0].shape), o.settings["dimensions"]
        offset = sum((o.arguments[0].shape[d] - 1) * own[d] for d in turned)
        self._gathered(o, offset, [-s if d in turned else s for d, s in enumerate(own)])

    def do_broadcast_in_dim(self, o: Operation) -> None:
        source, result = o.arguments[0], o.results[0]
        steps = [0] * len(result.shape)
        for d, own, size in zip(o.settings["broadcast_dimensions"], _strides(source.shape), source.shape, strict=True):
            steps[d] = 0 if size == 1 else own
        if source.size == 1:
            self.each(result, self.at(source))
        else:
            self._gathered(o, 0, steps)

    def do_concatenate(self, o: Operation) -> None:
        axis = o.settings["dimension"]
        self._joined(o, axis, [part.shape for part in o.arguments])

    def do_stack(self, o: Operation) -> None:
        axis = o.settings["axis"]
        self._joined(o, axis, [(*part.shape[:axis], 1, *part.shape[axis:]) for part in o.arguments])

    def _joined(self, o: Operation, axis: int, shapes) -> None:
        name, own, begin = self.declare(o.results[0]), _strides(o.results[0].shape), 0
        for part, shape in zip(o.arguments, shapes, strict=True):
            where = f"{begin * own[axis]}{_walk(shape, own)}"
            self.lines.append(f"for (int i = 0; i < {part.size}; i++) {name}[{where}] = {self.at(part)};")
            begin += shape[axis]

    def _reduced(self, o: Operation, first: str, text: str) -> None:
        source, result = o.arguments[0], o.results[0]
        kept = [d for d in range(len(source.shape)) if d not in o.settings["axes"]]
        own = dict(zip(kept, _strides(result.shape), strict=True))
        where = f"0{_walk(source.shape, [own.get(d, 0) for d in range(len(source.shape))])}"
        name = self.declare(result)
        self.lines.append(f"for (int i = 0; i < {max(result.size, 1)}; i++) {name}[i] = {first};")
        update = text.format(f"{name}[j]", self.at(source))
        self.lines.append(f"for (int i = 0; i < {source.size}; i++) {{ const int j = {where}; {name}[j] = {update}; }}")

    def do_reduce_sum(self, o: Operation) -> None:
        self._reduced(o, "0", "{0} + {1}")

    def do_reduce_max(self, o: Operation) -> None:
        self._reduced(o, _limit(o.arguments[0], -1), _TEXTS["max"])

    def do_reduce_min(self, o: Operation) -> None:
        self._reduced(o, _limit(o.arguments[0], 1), _TEXTS["min"])

    def do_reduce_and(self, o: Operation) -> None:
        self._reduced(o, "1", "{0} & {1}")

    def do_reduce_or(self, o: Operation) -> None:
        self._reduced(o, "0", "{0} | {1}")

    def do_scan(self, o: Operation) -> None:
        """A loop of fixed length: constants, what is carried, and rows of arrays."""
        consts, carried, length = o.settings["num_consts"], o.settings["num_carry"], o.settings["length"]
        given, inside = o.arguments, o.body.inputs
        for value, own in zip(given[:consts], inside[:consts], strict=True):
            self.expression[own.name] = self.pointer(value)
        for value, own in zip(given[consts : consts + carried], inside[consts : consts + carried], strict=True):
            self.declare(own)
            self.lines.append(f"memcpy({own.name}, {self.pointer(value)}, sizeof {own.name});")
        for value, own in zip(given[consts + carried :], inside[consts + carried :], strict=True):
            self.expression[own.name] = f"({self.pointer(value)} + t * {own.size})"
        rows = [self.declare(r) for r in o.results[carried:]]
        row = f"{length - 1} - n" if o.settings["reverse"] else "n"
        self.lines.append(f"for (int n = 0; n < {length}; n++) {{")
        self.lines.append(f"    const int t = {row}; (void)t;")
        self.lines += [f"    {line}" for line in self.program(o.body)]
        moves = []
        own_carry = inside[consts : consts + carried]
        for own, after in zip(own_carry, o.body.outputs[:carried], strict=True):
            kind = TYPES[own.dtype.name]
            self.lines.append(f"    {kind} {own.name}_next[{max(own.size, 1)}];")
            self.lines.append(f"    memcpy({own.name}_next, {self.pointer(after)}, sizeof {own.name}_next);")
            moves.append(f"    memcpy({own.name}, {own.name}_next, sizeof {own.name});")
        for name, after in zip(rows, o.body.outputs[carried:], strict=True):
            size = max(after.size, 1)
            self.lines.append(f"    memcpy({name} + t * {size}, {self.pointer(after)}, {size} * sizeof *{name});")
        self.lines += [*moves, "}"]
        for result, own in zip(o.results[:carried], own_carry, strict=True):
            self.expression[result.name] = own.name

    def do_cond(self, o: Operation) -> None:
        """One of several programs, by a number that is held between the first and the last."""
        number, given = o.arguments[0], o.arguments[1:]
        names = [self.declare(r) for r in o.results]
        last = len(o.branches) - 1
        for n, branch in enumerate(o.branches):
            for value, own in zip(given, branch.inputs, strict=True):
                self.expression[own.name] = self.pointer(value)
            chosen = f"if ({self.at(number, '0')} <= {n}) " if n < last else ""
            self.lines.append(f"{'else ' if n else ''}{chosen}{{")
            self.lines += [f"    {line}" for line in self.program(branch)]
            for name, after in zip(names, branch.outputs, strict=True):
                self.lines.append(f"    memcpy({name}, {self.pointer(after)}, sizeof {name});")
            self.lines.append("}")


_TEXTS = {
    "neg": "-{0}",
    "not": "!{0}",
    "square": "{0} * {0}",
    "logistic": "{one} / ({one} + {exp}(-{0}))",
    "rsqrt": "{one} / sqrt({0})",
    "max": "({0} > {1} || {0} != {0}) ? {0} : {1}",
    "min": "({0} < {1} || {0} != {0}) ? {0} : {1}",
    "clamp": "{1} < {0} ? {0} : ({1} > {2} ? {2} : {1})",
    "sign": "({0} > 0) - ({0} < 0)",
    "is_finite": "({0} - {0} == 0)",
    "abs": "({0} < 0 ? -{0} : {0})",
}
"""Operations on elements that C has no sign for. A NaN goes through max and min, as in JAX."""


def _strides(shape) -> list[int]:
    return [int(np.prod(shape[d + 1 :], dtype=int)) for d in range(len(shape))]


def _walk(shape, steps) -> str:
    """` + …`: where element i of an array of this shape lies in an array with these steps."""
    text = ""
    for size, own, step in zip(shape, _strides(shape), steps, strict=True):
        if step and size > 1:
            text += f" + i / {own} % {size} * {step}"
    return text


def _index(shape, wide) -> str:
    """Where element i of an array of shape `wide` lies in one that is stretched along its axes of length 1."""
    if not shape or shape == wide:
        return "i"
    return f"0{_walk(wide, [0 if n == 1 else s for n, s in zip(shape, _strides(shape), strict=True)])}"


def _limit(value: Value, sign: int) -> str:
    if np.issubdtype(value.dtype, np.floating):
        return "INFINITY" if sign > 0 else "-INFINITY"
    info = np.iinfo(value.dtype)
    return f"({TYPES[value.dtype.name]}){info.max if sign > 0 else f'(-{info.max} - 1)'}"


def _number(x) -> str:
    """A literal that reads back as the same number."""
    x = np.asarray(x)
    if x.dtype == np.bool_ or np.issubdtype(x.dtype, np.integer):
        return str(int(x))
    if not np.isfinite(x):
        return "NAN" if np.isnan(x) else ("INFINITY" if x > 0 else "-INFINITY")
    text = f"{float(x):.9g}" if x.dtype == np.float32 else f"{float(x):.17g}"
    text = text if any(c in text for c in ".en") else text + ".0"
    text += "f" if x.dtype == np.float32 else ""
    return f"({text})" if text.startswith("-") else text
