"""Operations of a traced program that work on one element at a time, as operations of scalars."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from vibrid.core.native.scalars import INTEGER, TRUTH, Builder, NotNative, Scalar, type_of
from vibrid.core.traced import Operation

_CALLED = {
    "sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "pow": "pow", "abs": "abs", "max": "max",
    "min": "min", "floor": "floor", "ceil": "ceil", "log1p": "log1p", "expm1": "expm1", "tanh": "tanh", "tan": "tan",
    "sinh": "sinh", "cosh": "cosh", "atan": "atan", "asin": "asin", "acos": "acos", "atan2": "atan2", "cbrt": "cbrt",
    "erf": "erf",
}  # fmt: skip
_OF_BITS = {"and": "and", "or": "or", "xor": "xor", "shift_right_logical": "lshr"}
_WITHOUT_SIGN = {"eq", "ne", "select_n", "reshape", "broadcast_in_dim", "transpose", "rev", "concatenate", "slice",
                 "dynamic_slice", "pad", "gather", "scatter", "scan", "cond", "while"}  # fmt: skip
"""Operations beside those on bits that are the same with a sign and without."""


class Elementwise:
    """Writes the operations on elements with a builder of scalars."""

    def __init__(self, builder: Builder):
        self.b = builder

    def by_element(self, operation: Operation) -> Callable[..., Scalar] | None:
        """The operation on one element, where it works on elements."""
        b, kind = self.b, operation.kind
        for value in (*operation.arguments, *operation.results):
            type_of(value.dtype)
        of_bits = self.of_bits(operation)
        if of_bits is not None:
            return of_bits
        if kind in _CALLED:
            return functools.partial(b.call, _CALLED[kind])
        if kind in ("lt", "le", "gt", "ge", "eq", "ne"):
            return functools.partial(b.compare, kind)
        if kind == "convert":
            to = type_of(operation.results[0].dtype)
            return lambda a: b.convert(a, to)
        return {
            "add": b.add, "sub": b.sub, "mul": b.mul, "div": b.div, "neg": b.neg, "rem": b.rem, "sign": b.sign,
            "and": b.both, "or": b.either, "not": b.opposite, "xor": lambda x, y: b.compare("ne", x, y),
            "integer_pow": lambda a: b.power(a, operation.settings["power"]),
            "one_minus_square": lambda a: b.mul(b.sub(1.0, a), b.add(1.0, a)),
            "rsqrt": lambda a: b.div(1.0, b.call("sqrt", a)),
            "logistic": lambda a: b.div(1.0, b.add(1.0, b.call("exp", b.neg(a)))),
            "is_finite": lambda a: b.compare("lt", b.call("abs", a), float("inf")),
            "clamp": lambda low, a, high: b.call("min", b.call("max", low, a), high),
            "select_n": self.selected,
        }.get(kind)  # fmt: skip

    def of_bits(self, operation: Operation) -> Callable[..., Scalar] | None:
        """An operation on the bits of whole numbers, and any on those without a sign."""
        b, kind, dtypes = self.b, operation.kind, {v.dtype for v in (*operation.arguments, *operation.results)}
        if np.dtype(np.uint64) not in dtypes:
            if kind not in (*_OF_BITS, "not") or np.dtype(bool) in dtypes:
                return None
            if dtypes != {np.dtype(np.int64)} or kind == "not":
                raise NotNative("operations on the bits of integers")
        if kind in _OF_BITS or kind in ("add", "sub", "mul"):
            return functools.partial(b.bits, _OF_BITS.get(kind, kind))
        if kind == "convert":
            return self.converted(operation.arguments[0].dtype, operation.results[0].dtype)
        if kind in _WITHOUT_SIGN:
            return None
        raise NotNative(f"the operation '{kind}' on whole numbers without a sign")

    def converted(self, given: np.dtype, wanted: np.dtype) -> Callable[..., Scalar]:
        """To or from a whole number without a sign."""
        b = self.b
        if wanted == np.float64:
            return b.unsigned
        if wanted in (np.int64, np.uint64) and given != np.float64:
            return lambda a: b.convert(a, INTEGER)
        raise NotNative(f"{given} as {wanted}")

    def selected(self, which: Scalar, *cases: Scalar) -> Scalar:
        if len(cases) == 2:
            return self.b.select(self.b.convert(which, TRUTH), cases[1], cases[0])
        result = cases[-1]
        for number in range(len(cases) - 2, -1, -1):
            result = self.b.select(self.b.compare("le", which, number), cases[number], result)
        return result
