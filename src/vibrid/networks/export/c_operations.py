"""Operations of a traced step as lines of C."""

from __future__ import annotations

import numpy as np

from vibrid.core.errors import Refusal
from vibrid.core.traced import Operation, Program, Value
from vibrid.networks.export.c_places import Places, strides, walk

_TYPES = {"float32": "float", "float64": "double", "int32": "int32_t", "int64": "int64_t", "uint32": "uint32_t",
         "bool": "uint8_t"}  # fmt: skip
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
         "ne": "!=", "and": "&", "or": "|"}  # fmt: skip
FUNCTIONS = {"exp": "exp", "tanh": "tanh", "log": "log", "log1p": "log1p", "expm1": "expm1", "sqrt": "sqrt",
             "sin": "sin", "cos": "cos", "erf": "erf", "abs": "fabs", "floor": "floor", "pow": "pow",
             "atan2": "atan2", "rem": "fmod"}  # fmt: skip
OWN = ("exp", "tanh")
"""Functions written out for 32 bits, so that compilers turn loops over them into vector instructions."""


def c_type(dtype) -> str:
    """The name of a type in C."""
    if dtype.name not in _TYPES:
        raise Refusal(f"Numbers of type {dtype.name} are not written as C.")
    return _TYPES[dtype.name]


class Writer(Places):
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
        lines, self.lines = self.lines, before
        return lines

    # -- names and numbers ---------------------------------------------------------------------------------------

    def known(self, numbers: np.ndarray | None) -> str:
        """A constant array of the file."""
        numbers = np.asarray(numbers)
        name = f"{self.prefix}_k{len(self.constants)}"
        kind = c_type(numbers.dtype)
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
        self.lines.append(f"{c_type(value.dtype)} {value.name}[{max(value.size, 1)}];")
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
        special = getattr(self, f"do_{o.kind.replace('-', '_')}", None)
        if special is not None:
            special(o)
        elif len(o.results) == 1 and all(_stretches(v.shape, o.results[0].shape) for v in o.arguments):
            a = [self.at(v, _index(v.shape, o.results[0].shape)) for v in o.arguments]
            self.each(o.results[0], self.element(o, a))
        else:
            raise _unknown(o)

    def element(self, o: Operation, a: list[str]) -> str:
        """An operation on elements, from those of its arguments."""
        dtype = o.arguments[0].dtype
        real, boolean = np.issubdtype(dtype, np.floating), dtype == np.bool_
        if o.kind == "integer_pow":
            return _power(a[0], o.settings["power"])
        if o.kind in INTEGERS and not real and not boolean:
            return INTEGERS[o.kind].format(*a, type=c_type(dtype))
        if o.kind in SIGNS:
            return f"{a[0]} {SIGNS[o.kind]} {a[1]}"
        if o.kind in FUNCTIONS and real:
            return f"{self.function(o.kind, dtype)}({', '.join(a)})"
        if o.kind == "select_n" and len(a) == 3 and boolean:
            return f"{a[0]} ? {a[2]} : {a[1]}"
        if o.kind == "not" and boolean:
            return f"!{a[0]}"
        if o.kind in TEXTS and real:
            one = "1.0f" if dtype == np.float32 else "1.0"
            return TEXTS[o.kind].format(*a, one=one, exp=self.function("exp", dtype))
        if o.kind in ("max", "min", "clamp", "neg"):
            return TEXTS[o.kind].format(*a)
        raise _unknown(o)

    def do_reshape(self, o: Operation) -> None:
        self.expression[o.results[0].name] = self.pointer(o.arguments[0])

    def do_convert(self, o: Operation) -> None:
        source, result = o.arguments[0], o.results[0]
        given, kind = self.at(source), c_type(result.dtype)
        if result.dtype == np.bool_:
            text = f"{given} != 0"
        elif np.issubdtype(source.dtype, np.floating) and np.issubdtype(result.dtype, np.integer):
            low, above = _limit(result, -1), f"{float(np.iinfo(result.dtype).max) + 1:.1f}"
            inside = f"{given} >= {above} ? {_limit(result, 1)} : {given} <= (double){low} ? {low} : ({kind}){given}"
            text = f"{given} != {given} ? 0 : {inside}"
        else:
            text = f"({kind}){given}"
        self.each(result, text)

    def do_dot_general(self, o: Operation) -> None:
        """y = Σ_k of a matrix and a vector, in either order, or of two vectors; four k at a time, outputs inside."""
        (left_axes, right_axes), (left_batch, right_batch) = o.settings["summed"], o.settings["shared"]
        left, right, result = *o.arguments, o.results[0]
        if left_batch or right_batch or len(left_axes) != 1 or len(left.shape) + len(right.shape) > 3:
            self._any_product(o)
            return
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

    def _any_product(self, o: Operation) -> None:
        """Products of matrices, and many at once: axes of the result are those in common, of the left, of the right."""
        axes, common = o.settings["summed"], o.settings["shared"]
        result, places, along = o.results[0], [], []
        first = len(common[0])
        for side, axes_here, shared in zip(o.arguments, axes, common, strict=True):
            step, steps = strides(side.shape), [0] * len(result.shape)
            free = [d for d in range(len(side.shape)) if d not in (*axes_here, *shared)]
            for d, axis in enumerate(shared):
                steps[d] = step[axis]
            for d, axis in enumerate(free, start=first):
                steps[d] = step[axis]
            first += len(free)
            summed = [side.shape[axis] for axis in axes_here]
            places.append(f"0{walk(result.shape, steps)}{walk(summed, [step[axis] for axis in axes_here], 'k')}")
            along.append(int(np.prod(summed, dtype=int)))
        left, right = (f"{self.pointer(v)}[{place}]" for v, place in zip(o.arguments, places, strict=True))
        name = self.declare(result)
        self.lines.append(f"for (int i = 0; i < {result.size}; i++) {{")
        self.lines.append(f"    {c_type(result.dtype)} sum = 0;")
        self.lines.append(f"    for (int k = 0; k < {along[0]}; k++) sum += {left} * {right};")
        self.lines.append(f"    {name}[i] = sum;")
        self.lines.append("}")

    def _reduced(self, o: Operation, first: str, text: str) -> None:
        source, result = o.arguments[0], o.results[0]
        kept = [d for d in range(len(source.shape)) if d not in o.settings["axes"]]
        steps = dict(zip(kept, strides(result.shape), strict=True))
        where = f"0{walk(source.shape, [steps.get(d, 0) for d in range(len(source.shape))])}"
        name = self.declare(result)
        self.lines.append(f"for (int i = 0; i < {max(result.size, 1)}; i++) {name}[i] = {first};")
        update = text.format(f"{name}[j]", self.at(source))
        self.lines.append(f"for (int i = 0; i < {source.size}; i++) {{ const int j = {where}; {name}[j] = {update}; }}")

    def do_reduce_sum(self, o: Operation) -> None:
        self._reduced(o, "0", "{0} + {1}")

    def do_reduce_max(self, o: Operation) -> None:
        self._reduced(o, _limit(o.arguments[0], -1), _MAX)

    def do_reduce_min(self, o: Operation) -> None:
        self._reduced(o, _limit(o.arguments[0], 1), _MIN)

    def do_reduce_and(self, o: Operation) -> None:
        self._reduced(o, "1", "{0} & {1}")

    def do_reduce_or(self, o: Operation) -> None:
        self._reduced(o, "0", "{0} | {1}")

    def do_scan(self, o: Operation) -> None:
        """A loop of fixed length: constants, carried arrays, and rows of arrays."""
        consts, carried, length = o.settings["consts"], o.settings["carried"], o.settings["length"]
        given, inside = o.arguments, o.loop.inputs
        for value, inner in zip(given[:consts], inside[:consts], strict=True):
            self.expression[inner.name] = self.pointer(value)
        for value, inner in zip(given[consts : consts + carried], inside[consts : consts + carried], strict=True):
            self.declare(inner)
            self.lines.append(f"memcpy({inner.name}, {self.pointer(value)}, sizeof {inner.name});")
        for value, inner in zip(given[consts + carried :], inside[consts + carried :], strict=True):
            self.expression[inner.name] = f"({self.pointer(value)} + t * {inner.size})"
        rows = [self.declare(r) for r in o.results[carried:]]
        row = f"{length - 1} - n" if o.settings["reverse"] else "n"
        self.lines.append(f"for (int n = 0; n < {length}; n++) {{")
        self.lines.append(f"    const int t = {row}; (void)t;")
        self.lines += [f"    {line}" for line in self.program(o.loop)]
        moves = []
        own_carry = inside[consts : consts + carried]
        for inner, after in zip(own_carry, o.loop.outputs[:carried], strict=True):
            kind = c_type(inner.dtype)
            self.lines.append(f"    {kind} {inner.name}_next[{max(inner.size, 1)}];")
            self.lines.append(f"    memcpy({inner.name}_next, {self.pointer(after)}, sizeof {inner.name}_next);")
            moves.append(f"    memcpy({inner.name}, {inner.name}_next, sizeof {inner.name});")
        for name, after in zip(rows, o.loop.outputs[carried:], strict=True):
            size = max(after.size, 1)
            self.lines.append(f"    memcpy({name} + t * {size}, {self.pointer(after)}, {size} * sizeof *{name});")
        self.lines += [*moves, "}"]
        for result, inner in zip(o.results[:carried], own_carry, strict=True):
            self.expression[result.name] = inner.name

    def do_cond(self, o: Operation) -> None:
        """One of several programs, by a number that is held between the first and the last."""
        number, given = o.arguments[0], o.arguments[1:]
        names = [self.declare(r) for r in o.results]
        last = len(o.branches) - 1
        for n, branch in enumerate(o.branches):
            for value, inner in zip(given, branch.inputs, strict=True):
                self.expression[inner.name] = self.pointer(value)
            chosen = f"if ({self.at(number, '0')} <= {n}) " if n < last else ""
            self.lines.append(f"{'else ' if n else ''}{chosen}{{")
            self.lines += [f"    {line}" for line in self.program(branch)]
            for name, after in zip(names, branch.outputs, strict=True):
                self.lines.append(f"    memcpy({name}, {self.pointer(after)}, sizeof {name});")
            self.lines.append("}")


_MAX = "({0} > {1} || {0} != {0} ? {0} : {1})"
_MIN = "({0} < {1} || {0} != {0} ? {0} : {1})"
TEXTS = {
    "neg": "-{0}",
    "logistic": "{one} / ({one} + {exp}(-{0}))",
    "rsqrt": "{one} / sqrt({0})",
    "max": _MAX,
    "min": _MIN,
    "clamp": _MIN.format(_MAX.format("{1}", "{0}"), "{2}"),
    "sign": "{0} > 0 ? 1 : {0} < 0 ? -1 : {0}",
    "is_finite": "{0} - {0} == 0",
}
"""Operations on elements that C has no sign for. A NaN goes through all of them, as in JAX."""
INTEGERS = {
    "div": "{1} == 0 ? ({type})-1 : ({type})-1 < 0 && {1} == ({type})-1 ? ({type})(0 - {0}) : {0} / {1}",
    "rem": "{1} == 0 ? {0} : ({type})-1 < 0 && {1} == ({type})-1 ? 0 : {0} % {1}",
    "abs": "{0} < 0 ? -{0} : {0}",
    "sign": "({0} > 0) - ({0} < 0)",
    "not": "({type})~{0}",
}
"""The same for integers; a division by zero, which would end a program in C, gives the same as in JAX."""


def _unknown(o: Operation) -> Refusal:
    types = ", ".join(dict.fromkeys(v.dtype.name for v in o.arguments))
    return Refusal(f"There is no C for the operation '{o.kind}' of this step (numbers of type {types}).")


def _power(x: str, power: int) -> str:
    """A product of as many factors."""
    product = " * ".join([x] * abs(power)) or "1"
    return product if power >= 0 else f"1 / ({product})"


def _stretches(shape, wide) -> bool:
    """Whether an array of this shape serves one of shape `wide`, element by element."""
    fits = len(shape) == len(wide) and all(n in (1, m) for n, m in zip(shape, wide, strict=True))
    return shape == () or fits


def _index(shape, wide) -> str:
    """Where element i of an array of shape `wide` lies in one that is stretched along its axes of length 1."""
    if not shape or shape == wide:
        return "i"
    return f"0{walk(wide, [0 if n == 1 else s for n, s in zip(shape, strides(shape), strict=True)])}"


def _limit(value: Value, sign: int) -> str:
    if np.issubdtype(value.dtype, np.floating):
        return "INFINITY" if sign > 0 else "-INFINITY"
    info = np.iinfo(value.dtype)
    return f"({c_type(value.dtype)}){info.max if sign > 0 else f'(-{info.max} - 1)'}"


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
