"""Straight-line programs of scalars: what a native loop is written from.

A scalar is a Python number, where its value is known, or a `Ref`: the result of one operation. The `Builder` makes
them: it computes what is known, finds equal operations, and puts every operation as far out as it may stand:

    ONCE    before the loop: it depends on nothing that changes
    STEP    in every step
    LANE    in every step, for every lane: tangents of a Jacobian, which are alike but for their numbers

`x · 0` is 0 and `x + 0` is x where the zero is known, also for an x that is not finite: that is how the zeros of a
matrix cost nothing. Everything else follows IEEE 754 as JAX does.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

ONCE, STEP, LANE = 0, 1, 2
NUMBER, INTEGER, TRUTH = "double", "i64", "i1"
"""The types of scalars, by their LLVM names."""


class NotNative(Exception):
    """This program stays with XLA; the message says why."""


@dataclass(frozen=True, eq=False, slots=True)
class Ref:
    """The result of an operation."""

    name: str
    type: str
    level: int


Scalar: TypeAlias = Ref | float | int | bool


@dataclass(frozen=True, slots=True)
class Assignment:
    """`result = operation(arguments)`; a load has its place as arguments."""

    result: Ref
    operation: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Repeat:
    """A while loop: `variables` begin at `first`; while `go_on` of `test`, they become `after` of `body`."""

    variables: list[Ref]
    first: list[Scalar]
    test: Block
    go_on: Scalar
    body: Block
    after: list[Scalar]


@dataclass
class Block:
    """Lines in order, and the results found so far."""

    parent: Block | None = None
    lines: list[Assignment | Repeat] = field(default_factory=list)
    found: dict[tuple, Ref] = field(default_factory=dict)

    def find(self, key: tuple) -> Ref | None:
        block: Block | None = self
        while block is not None:
            if key in block.found:
                return block.found[key]
            block = block.parent
        return None

    def count(self) -> int:
        return sum(1 if isinstance(own, Assignment) else own.test.count() + own.body.count() for own in self.lines)


def type_of(dtype: np.dtype) -> str:
    """The type of the elements of an array. Whole numbers without a sign are the same 64 bits with one: operations that
    would tell them apart are refused (`unroll`)."""
    if dtype == np.float64:
        return NUMBER
    if dtype == np.bool_:
        return TRUTH
    if dtype in (np.int64, np.int32, np.uint64):
        return INTEGER
    raise NotNative(f"numbers of type {dtype}")


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}  # fmt: skip
_BITS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "lshr": operator.rshift,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "pow": np.power, "abs": np.abs,
    "floor": np.floor, "ceil": np.ceil, "log1p": np.log1p, "expm1": np.expm1, "tanh": np.tanh, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos, "atan2": np.arctan2,
    "cbrt": np.cbrt, "erf": lambda x: math.erf(x), "max": np.maximum, "min": np.minimum, "copysign": np.copysign,
}  # fmt: skip
"""Functions of numbers that are one operation, and how they are computed where the arguments are known."""


class Builder:
    """Makes scalars. `most` limits the operations: a longer program raises `NotNative`."""

    def __init__(self, most: int):
        self.once = Block()
        self.step = Block(self.once)
        self.lane = Block(self.step)
        self.inner: Block | None = None  # the body of a while loop that is being written
        self.names = 0
        self.left = most

    def new(self, type: str, level: int) -> Ref:
        self.names += 1
        return Ref(f"v{self.names}", type, level)

    def emit(self, operation: str, type: str, *arguments: Any) -> Ref:
        """One operation, or an equal one that stands already."""
        key = (operation, type, *(a.name if isinstance(a, Ref) else (builtin(a), a, _sign(a)) for a in arguments))
        level = max((a.level for a in arguments if isinstance(a, Ref)), default=ONCE)
        block = self.block(level)
        found = block.find(key)
        if found is not None:
            return found
        self.left -= 1
        if self.left < 0:
            raise NotNative("too many operations")
        result = self.new(type, level)
        block.lines.append(Assignment(result, operation, arguments))
        block.found[key] = result
        return result

    def block(self, level: int) -> Block:
        if level == LANE:
            if self.inner is not None:
                raise NotNative("lanes in a while loop")
            return self.lane
        if level == ONCE:
            return self.once
        return self.inner or self.step

    # -- arithmetic ------------------------------------------------------------------------------------------------

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        if not isinstance(a, Ref) and not isinstance(b, Ref):
            return a + b
        if not isinstance(a, Ref):
            a, b = b, a
        if not isinstance(b, Ref) and b == 0:
            return a
        if isinstance(a, Ref) and isinstance(b, Ref) and a.name > b.name:
            a, b = b, a
        return self.emit("add", _type(a, b), a, b)

    def sub(self, a: Scalar, b: Scalar) -> Scalar:
        if not isinstance(a, Ref) and not isinstance(b, Ref):
            return a - b
        if not isinstance(b, Ref) and b == 0:
            return a
        if not isinstance(a, Ref) and a == 0:
            return self.neg(b)
        return self.emit("sub", _type(a, b), a, b)

    def neg(self, a: Scalar) -> Scalar:
        return self.emit("neg", a.type, a) if isinstance(a, Ref) else -a

    def mul(self, a: Scalar, b: Scalar) -> Scalar:
        if not isinstance(a, Ref) and not isinstance(b, Ref):
            with np.errstate(all="ignore"):
                return a * b
        if not isinstance(b, Ref):
            a, b = b, a
        if not isinstance(a, Ref):
            if a == 0:
                return a * 0
            if a == 1:
                return b
            if a == -1:
                return self.neg(b)
        elif isinstance(b, Ref) and a.name > b.name:
            a, b = b, a
        return self.emit("mul", _type(a, b), a, b)

    def div(self, a: Scalar, b: Scalar) -> Scalar:
        if not isinstance(a, Ref) and not isinstance(b, Ref):
            with np.errstate(all="ignore"):
                whole = not isinstance(a, float | np.floating)
                return int(np.trunc(a / b)) if whole else float(np.float64(a) / np.float64(b))
        if not isinstance(b, Ref) and b == 1:
            return a
        if not isinstance(a, Ref) and a == 0:
            return a
        return self.emit("div", _type(a, b), a, b)

    def rem(self, a: Scalar, b: Scalar) -> Scalar:
        if not isinstance(a, Ref) and not isinstance(b, Ref):
            kind = float if isinstance(a, float) else int
            return kind(math.fmod(a, b))
        return self.emit("rem", _type(a, b), a, b)

    def call(self, function: str, *arguments: Scalar) -> Scalar:
        """A function of numbers (`FUNCTIONS`), or of integers (abs, max, min)."""
        if any(isinstance(a, Ref) for a in arguments):
            return self.emit(function, _type(*arguments), *arguments)
        with np.errstate(all="ignore"):
            value = FUNCTIONS[function](*arguments)
        return float(value) if isinstance(arguments[0], float) else int(value)

    def power(self, a: Scalar, exponent: int) -> Scalar:
        """A whole power, by repeated squares as JAX does."""
        if exponent == 0:
            return 1.0
        result, square, left = None, a, abs(exponent)
        while left:
            if left & 1:
                result = square if result is None else self.mul(result, square)
            left >>= 1
            if left:
                square = self.mul(square, square)
        assert result is not None
        return result if exponent > 0 else self.div(1.0, result)

    # -- bits of whole numbers ---------------------------------------------------------------------------------------

    def bits(self, operation: str, a: Scalar, b: Scalar) -> Scalar:
        """`add`, `sub`, `mul`, `and`, `or`, `xor` or `lshr` (zeros come in from the left) of 64 bits, the rest lost."""
        if operation == "lshr" and (isinstance(b, Ref) or not 0 <= b < 64):
            raise NotNative("a shift by a number that is known only when the program runs")
        if isinstance(a, Ref) or isinstance(b, Ref):
            return self.emit(operation, INTEGER, a, b)
        return signed(_BITS[operation](int(a) % 2**64, int(b) % 2**64))

    def unsigned(self, a: Scalar) -> Scalar:
        """A whole number without a sign as a number."""
        return self.emit("unsigned", NUMBER, a) if isinstance(a, Ref) else float(int(a) % 2**64)

    # -- truth -----------------------------------------------------------------------------------------------------

    def compare(self, sign: str, a: Scalar, b: Scalar) -> Scalar:
        if not isinstance(a, Ref) and not isinstance(b, Ref):
            return bool(_COMPARED[sign](a, b))
        return self.emit(sign, TRUTH, a, b)

    def both(self, a: Scalar, b: Scalar) -> Scalar:
        for x, y in ((a, b), (b, a)):
            if not isinstance(x, Ref):
                return y if x else False
        return a if a is b else self.emit("and", TRUTH, a, b)

    def either(self, a: Scalar, b: Scalar) -> Scalar:
        for x, y in ((a, b), (b, a)):
            if not isinstance(x, Ref):
                return True if x else y
        return a if a is b else self.emit("or", TRUTH, a, b)

    def opposite(self, a: Scalar) -> Scalar:
        return self.emit("not", TRUTH, a) if isinstance(a, Ref) else not a

    def select(self, test: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        if not isinstance(test, Ref):
            return yes if test else no
        if yes is no or (not isinstance(yes, Ref) and not isinstance(no, Ref) and same(yes, no)):
            return yes
        return self.emit("select", _type(yes, no), test, yes, no)

    def sign(self, a: Scalar) -> Scalar:
        """−1, 0 or 1; a zero keeps its sign, and NaN stays."""
        if not isinstance(a, Ref):
            return type(a)(np.sign(a))
        if a.type == INTEGER:
            return self.sub(
                self.convert(self.compare("gt", a, 0), INTEGER), self.convert(self.compare("lt", a, 0), INTEGER)
            )
        whole = self.either(self.compare("eq", a, 0.0), self.compare("ne", a, a))
        return self.select(whole, a, self.call("copysign", 1.0, a))

    def convert(self, a: Scalar, type: str) -> Scalar:
        if not isinstance(a, Ref):
            return {NUMBER: float, INTEGER: int, TRUTH: bool}[type](a)
        if a.type == type:
            return a
        if type == TRUTH:
            return self.compare("ne", a, 0.0 if a.type == NUMBER else 0)
        return self.emit(f"to {type}", type, a)


def signed(whole: int) -> int:
    """The number with a sign that has the same 64 bits."""
    return (whole + 2**63) % 2**64 - 2**63


def builtin(value: Any) -> str:
    """A key for the type of a known number: 1, 1.0 and True are equal in Python, and not the same here."""
    return type(value).__name__


def _sign(value: Any) -> float:
    """0.0 and −0.0 are equal in Python, and so are no two NaN."""
    return math.copysign(1.0, value) if isinstance(value, float) else 1.0


def same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a == b or (a != a and b != b)) and _sign(a) == _sign(b)


def _type(*scalars: Any) -> str:
    for scalar in scalars:
        if isinstance(scalar, Ref):
            return scalar.type
    first = scalars[0]
    return TRUTH if isinstance(first, bool) else INTEGER if isinstance(first, int) else NUMBER


def used(block: Block, wanted: set[str]) -> None:
    """Keep the lines whose results are wanted; what they need is added to `wanted`."""
    kept: list[Assignment | Repeat] = []
    for line in reversed(block.lines):
        if isinstance(line, Assignment):
            if line.result.name in wanted:
                kept.append(line)
                wanted |= _names(line.arguments)
        elif any(v.name in wanted for v in line.variables):
            wanted |= _names(line.after) | _names([line.go_on])
            used(line.body, wanted)
            used(line.test, wanted)
            wanted |= _names(line.first)
            kept.append(line)
    block.lines[:] = kept[::-1]


def _names(scalars) -> set[str]:
    return {a.name for a in scalars if isinstance(a, Ref)}
