"""Every operation that a step may be written with gives in C, ONNX and plain Python what it gives in JAX.

Ordinary numbers, NaN, infinities and both zeros. What a back end does not write it refuses; docs/device-networks.md
holds the table, and it must be the one found here.
"""

import re
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from vibrid.core.errors import Refusal
from vibrid.core.traced import trace
from vibrid.hybrid.scalars import written_out
from vibrid.networks.export import CompiledStep, write_c, write_onnx
from vibrid.networks.export.compiled import compiler
from vibrid.networks.export.interface import plain

pytestmark = pytest.mark.compat
NUMBERS = (0.7, -1.3, 2.0, -3.5, 40.0, 0.0, -0.0, np.inf, -np.inf, np.nan)
INTEGERS = (0, 1, -1, 7, -7, 3, 2**31 - 1, -(2**31))
PAIRS = np.array(list(product(NUMBERS, NUMBERS))).T
WHOLE = np.array(list(product(INTEGERS, INTEGERS)), np.int32).T

ONE = {
    "neg": lax.neg, "abs": lax.abs, "sign": lax.sign, "floor": lax.floor, "sqrt": lax.sqrt, "rsqrt": lax.rsqrt,
    "exp": lax.exp, "expm1": lax.expm1, "log": lax.log, "log1p": lax.log1p, "sin": lax.sin, "cos": lax.cos,
    "tanh": lax.tanh, "logistic": lax.logistic, "erf": lax.erf, "is_finite": lambda x: lax.is_finite(x) * 1.0,
    "integer_pow": lambda x: lax.integer_pow(x, 3), "integer_pow (negative)": lambda x: lax.integer_pow(x, -2),
}  # fmt: skip
TWO = {
    "add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "rem": lax.rem, "max": lax.max, "min": lax.min,
    "pow": lax.pow, "atan2": lax.atan2,
    "clamp": lambda x, y: lax.clamp(jnp.asarray(-1.5, x.dtype), x, y),
    "clamp (bounds)": lambda x, y: lax.clamp(x, y, jnp.asarray(1.5, x.dtype)),
    "lt": lax.lt, "le": lax.le, "gt": lax.gt, "ge": lax.ge, "eq": lax.eq, "ne": lax.ne,
    "select_n": lambda x, y: lax.select_n(x > y, x, y),
    "and": lambda x, y: lax.bitwise_and(x > 0, y > 0), "or": lambda x, y: lax.bitwise_or(x > 0, y > 0),
    "not": lambda x, y: lax.bitwise_not(x > y),
}  # fmt: skip
THREE = {
    "convert (to integer)": lambda x, y: x.astype(jnp.int32), "div (integers)": lax.div, "rem (integers)": lax.rem,
    "abs (integers)": lambda x, y: lax.abs(x), "sign (integers)": lambda x, y: lax.sign(x),
    "not (integers)": lambda x, y: lax.bitwise_not(x), "max (integers)": lax.max, "mul (integers)": lax.mul,
}  # fmt: skip
REAL = {name: (lambda x, y, f=f: f(x)) for name, f in ONE.items()} | TWO
OPERATIONS = [*REAL, *THREE]
EITHER_ZERO = {"max", "min", "clamp", "clamp (bounds)"}
"""Of 0 and −0 either may come out: JAX itself gives now one, now the other."""
ZERO_IN_ONNX = {"select_n", "sign"}
"""A choice in ONNX Runtime gives 0 for −0."""


def function_of(name):
    """A function of two arrays of real numbers; of integers where the name says so."""
    if name in REAL:
        return lambda x, y: REAL[name](x, y) * 1.0 if name in BOOLEAN else REAL[name](x, y)
    if name == "convert (to integer)":
        return lambda x, y: THREE[name](x, y).astype(x.dtype)
    return lambda x, y: THREE[name](x.astype(jnp.int32), y.astype(jnp.int32)).astype(x.dtype)


BOOLEAN = {"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not"}


def given(name):
    return WHOLE if name in THREE and name != "convert (to integer)" else PAIRS


def step_of(names, dtype):
    """One step with all these operations; its inputs and where the results of each are."""
    parts, inputs, at = [], [], 0
    for name in names:
        pairs = given(name).astype(dtype)
        parts.append((function_of(name), slice(at, at + pairs.shape[1]), slice(at + pairs.shape[1], at + pairs.size)))
        inputs.append(pairs.ravel())
        at += pairs.size
    step = lambda state, u: (jnp.concatenate([f(u[x], u[y]) for f, x, y in parts]), state)  # noqa: E731
    ends = np.cumsum([given(name).shape[1] for name in names])
    return step, np.concatenate(inputs), dict(zip(names, np.split(np.arange(ends[-1]), ends[:-1]), strict=True))


def by_c(step, inputs, folder):
    return CompiledStep(trace(step, (), len(inputs), inputs.dtype))(inputs).copy()


def by_onnx(step, inputs, folder):
    runtime = pytest.importorskip("onnxruntime")
    file = write_onnx(trace(step, (), len(inputs), inputs.dtype), folder / "step.onnx")
    return runtime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, {"inputs": inputs})[0]


def c_writes(step, inputs, folder):
    traced = trace(step, (), len(inputs), inputs.dtype)
    write_c(traced, folder / "a.c", plain(traced.input.size, traced.output.size), prefix="a")


def onnx_writes(step, inputs, folder):
    write_onnx(trace(step, (), len(inputs), inputs.dtype), folder / "a.onnx")


BACK_ENDS = {"C": (by_c, c_writes), "ONNX": (by_onnx, onnx_writes)}


@pytest.fixture(scope="module", params=[(end, bits) for end in BACK_ENDS for bits in (32, 64)], ids=str)
def found(request, tmp_path_factory):
    """For one back end and precision: what it and what JAX give of every operation that it writes."""
    end, bits = request.param
    if end == "C" and compiler() is None:
        pytest.skip("no C compiler")
    if end == "ONNX":
        pytest.importorskip("onnx")
    folder, dtype = tmp_path_factory.mktemp("operations"), np.dtype(f"float{bits}")
    run, writes = BACK_ENDS[end]
    written = []
    for name in OPERATIONS:
        try:
            writes(*step_of([name], dtype)[:2], folder)
            written.append(name)
        except Refusal:
            pass
    step, inputs, places = step_of(written, dtype)
    results = run(step, inputs, folder)
    return end, dtype, {name: results[place] for name, place in places.items()}


def expected(name, dtype):
    x, y = given(name).astype(dtype)
    return np.asarray(jax.jit(function_of(name))(x, y))


def same(name, results, wanted, dtype, free=EITHER_ZERO):
    np.testing.assert_allclose(results, wanted, rtol=4e-6 if dtype == np.float32 else 1e-13, atol=2e-38)
    zero = (wanted == 0) & (name not in free)
    np.testing.assert_array_equal(np.signbit(results[zero]), np.signbit(wanted[zero]))


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_written_out_is_that_of_jax(found, name):
    end, dtype, results = found
    told = table()[name][end]
    assert (name in results) == (told == "yes" or (told == "32 bits" and dtype == np.float32))
    if name in results:
        free = EITHER_ZERO | ZERO_IN_ONNX if end == "ONNX" else EITHER_ZERO
        same(name, results[name], expected(name, dtype), dtype, free)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_in_plain_python_is_that_of_jax(name):
    function = function_of(name)
    written = written_out(lambda x, y: [function(x, y)], 2)
    assert (written is not None) == (table()[name]["Python"] == "yes")
    if written is None:
        return
    results = []
    for (x, y), wanted in zip(given(name).T, expected(name, np.dtype(float)), strict=True):
        try:
            results.append(written(float(x), float(y))[0])
        except (ArithmeticError, ValueError):  # the compiled program answers in its place: an infinity or NaN
            assert not np.isfinite(wanted)
            results.append(wanted)
    same(name, np.array(results, float), expected(name, np.dtype(float)), np.dtype(float))


def table() -> dict[str, dict[str, str]]:
    """The table in the documentation: operation → back end → yes or no."""
    text = (Path(__file__).parents[2] / "docs" / "device-networks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| (yes|no) \| (yes|no|32 bits) \| (yes|no) \|$", text, flags=re.MULTILINE)
    made = {}
    for names, *answers in rows:
        made |= {name.strip(): dict(zip(("C", "ONNX", "Python"), answers, strict=True)) for name in names.split(", ")}
    return made


def test_the_table_names_every_operation():
    assert set(table()) == set(OPERATIONS)
