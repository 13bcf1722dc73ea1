"""Steps written as C and ONNX give what JAX gives, step by step."""

import json
import re
import subprocess

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.traced import trace
from vibrid.hybrid import LawDevice
from vibrid.networks.export import Bit, CompiledStep, Interface, Port, write_c, write_onnx
from vibrid.networks.export.compiled import compiler

pytestmark = pytest.mark.compat
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler")


def lstm(key=0, inputs=3, units=(8, 12), dtype=jnp.float32):
    """Two LSTM layers and a dense one: `step`, and its state at rest."""
    keys = jax.random.split(jax.random.key(key), 3)
    one = eqx.nn.LSTMCell(inputs, units[0], key=keys[0], dtype=dtype)
    two = eqx.nn.LSTMCell(units[0], units[1], key=keys[1], dtype=dtype)
    last = eqx.nn.Linear(units[1], 2, key=keys[2], dtype=dtype)

    def step(state, u):
        a = one(u, state[0])
        b = two(a[0], state[1])
        return last(b[0]), (a, b)

    return step, tuple((jnp.zeros(n, dtype), jnp.zeros(n, dtype)) for n in units)


def followed(step, start, inputs):
    """Outputs of the step along the inputs, by JAX."""
    return np.asarray(jax.jit(lambda s, u: jax.lax.scan(lambda s, x: step(s, x)[::-1], s, u)[1])(start, inputs))


def law_step(law, dt=1 / 1024):
    device = LawDevice(law)

    def step(state, u):
        reading, state = device.trial(state, vb.laws.Motion(u[0], u[1]), None, dt)
        return reading.force, state

    return step, device.start()


LAWS = {
    "lugre": vb.LuGre(2e3, 1.0, 1.0, 1.0, 1.3, 1.3, 0.02),
    "bouc-wen": vb.BoucWen(4.0, 1.0, 1.0, 1.5),
    "masing": vb.Masing(4.0, vb.laws.RayleighYield(4.0), ductility=2.0, damping=0.1, capacity=8),
}


def path(samples=4000):
    t = np.arange(samples) / 1024
    x = 3 * np.sin(9 * t) * np.sin(t)
    return np.stack([x, np.gradient(x, t)], axis=1)


@needs_compiler
def test_a_network_in_c_over_many_steps():
    step, start = lstm()
    inputs = np.random.default_rng(0).standard_normal((100_000, 3)).astype(np.float32)
    compiled = CompiledStep(trace(step, start, 3))
    found = np.array([compiled(u).copy() for u in inputs])
    np.testing.assert_allclose(found, followed(step, start, inputs), atol=1e-5)
    compiled.start()
    np.testing.assert_array_equal(compiled(inputs[0]), found[0])


@needs_compiler
@pytest.mark.parametrize("name", LAWS)
def test_any_law_in_c(name):
    step, start = law_step(LAWS[name])
    compiled = CompiledStep(trace(step, start, 2, jnp.float64))
    found = np.array([compiled(u)[0] for u in path()])
    np.testing.assert_allclose(found, followed(step, start, path()), rtol=1e-12, atol=1e-12)


def looped(state, u):
    """Every kind of operation that neither a network nor those laws use."""

    def inner(carry, row):
        return 0.5 * carry + jnp.tanh(row), jnp.clip(carry, -1.0, 1.0)

    grid = jnp.arange(6.0).reshape(2, 3)
    carry, rows = jax.lax.scan(inner, state, jnp.outer(u, jnp.ones(3))[::-1], reverse=True)
    mixed = jnp.concatenate([rows.T, (grid.T @ u)[:, None]], axis=1)  # (3, 3)
    turned = (grid + u[:, None]).T
    out = jnp.stack(
        [mixed.sum(), mixed.max(), jnp.sum(turned[1:, ::-1] ** 3), jnp.where(u[0] > 0, u[1], jnp.exp(u[0]))]
    )
    return out, carry


@needs_compiler
def test_loops_and_rearrangements_in_c():
    inputs = np.random.default_rng(1).standard_normal((50, 2))
    compiled = CompiledStep(trace(looped, jnp.zeros(3), 2, jnp.float64))
    found = np.array([compiled(u).copy() for u in inputs])
    np.testing.assert_allclose(found, followed(looped, jnp.zeros(3), inputs), atol=1e-13)


def placed(state, u):
    """Places that are known only in the step, products of matrices, and a choice between programs."""
    ring, count = state
    count = (count + 1) % 5
    ring = ring.at[count].set(jnp.stack([u[0], u[1], u[0] * u[1]]))
    ring = ring.at[jnp.array([0, 7]), 1].add(u[1])  # 7 lies outside: left out
    whole = jax.lax.dynamic_slice(ring, (count - 3, jnp.int32(0)), (2, 3))  # held inside
    many = jnp.einsum("bij,bj->bi", jnp.arange(24.0).reshape(4, 2, 3) + u[0], ring[:4]) @ whole[:, :2]
    picked = ring[(count + jnp.arange(2)) % 5][:, jnp.array([2, 0])]
    chosen = jax.lax.cond(u[0] > 0, lambda x: jnp.sin(x) * u[1], lambda x: x[::-1] + 1.0, whole[0])
    third = jax.lax.switch(count, [lambda x: x, lambda x: 2 * x, lambda x: x * x], u)
    return jnp.concatenate([many.ravel(), picked.ravel(), chosen, third]), (ring, count)


@needs_compiler
def test_places_products_and_choices_in_c():
    inputs, start = np.random.default_rng(2).standard_normal((60, 2)), (jnp.zeros((5, 3)), jnp.zeros((), jnp.int32))
    compiled = CompiledStep(trace(placed, start, 2, jnp.float64))
    found = np.array([compiled(u).copy() for u in inputs])
    np.testing.assert_allclose(found, followed(placed, start, inputs), atol=1e-12)


@needs_compiler
def test_two_steps_move_one_state():
    one = CompiledStep(trace(lambda s, u: (s, s + u), jnp.zeros(2), 2, jnp.float64))
    two = CompiledStep(trace(lambda s, u: (s, s * u[0]), jnp.zeros(2), 1, jnp.float64), one)
    one([1.0, 2.0]), two([3.0])
    np.testing.assert_array_equal(one([0.0, 0.0]), [3.0, 6.0])


@needs_compiler
def test_functions_of_32_bits_in_c():
    """As exact as 32 bits are, from the smallest numbers to the largest; infinities and NaN included."""
    x = np.concatenate([np.linspace(-87, 88.7, 9001), np.linspace(-0.5, 0.5, 9001), [1e-30, 0.3, 0.29999998]])
    x = np.concatenate([x, [np.inf, -np.inf, np.nan]]).astype(np.float32)
    for made, true in ((jnp.exp, np.exp), (jnp.tanh, np.tanh)):
        found = np.array(CompiledStep(trace(lambda s, u, f=made: (f(u), s), (), len(x)))(x), float)
        np.testing.assert_allclose(found[:-3], true(x[:-3].astype(float)), rtol=3e-7)
        assert np.isnan(found[-1]) and found[-2] == pytest.approx(true(-np.inf), abs=1e-38)
        assert found[-3] >= (1.0 if true is np.tanh else 3e38)


@needs_compiler
def test_c_shows_a_nan():
    step, start = lstm()
    compiled = CompiledStep(trace(step, start, 3))
    assert np.isnan(compiled([np.nan, 0.0, 0.0])).all()


@needs_compiler
def test_the_file_compiles_without_warnings(tmp_path):
    step, start = lstm()
    interface = Interface(
        [Port("deformation", "m"), Port("felt", "N"), Port("speed", "m/s", "a */ in a comment")],
        [Port("force", "N")], [Bit("WRONG", 1, "one")], [Port("largest", "m", "", 0.5)], "a test",
    )  # fmt: skip
    source, header = write_c(trace(step, start, 3), tmp_path / "damper.c", interface, prefix="damper")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", str(source), "-o", str(tmp_path / "d.o")]
    made = subprocess.run([compiler(), *strict], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    text = header.read_text() + source.read_text()
    assert "malloc" not in text and "inputs[1]: felt, N" in text
    assert "#define DAMPER_FLAG_WRONG 1u" in text and "#define DAMPER_LARGEST 0.5" in text
    exported = subprocess.run(["nm", "-g", "--defined-only", tmp_path / "d.o"], capture_output=True, text=True).stdout
    assert re.findall(r" [TDB] (\w+)", exported) == ["damper_start", "damper_step"]


@pytest.mark.parametrize("name", ["network", "lugre", "bouc-wen", "loops"])
def test_onnx_gives_the_same(tmp_path, name):
    runtime = pytest.importorskip("onnxruntime")
    step, start, inputs = {
        "network": lambda: (*lstm(), np.random.default_rng(2).standard_normal((300, 3)).astype(np.float32)),
        "loops": lambda: (looped, jnp.zeros(3), np.random.default_rng(1).standard_normal((50, 2))),
    }.get(name, lambda: (*law_step(LAWS[name]), path(300)))()
    traced = trace(step, start, inputs.shape[1], inputs.dtype)
    session = runtime.InferenceSession(write_onnx(traced, tmp_path / "step.onnx"), providers=["CPUExecutionProvider"])
    assert not session.get_overridable_initializers()
    states = [n.name for n in session.get_inputs() if n.name != "inputs"]
    metadata, dtypes = session.get_modelmeta().custom_metadata_map, {"tensor(float)": np.float32}
    kinds = {n.name: dtypes.get(n.type, np.float64) for n in session.get_inputs()}
    feed, found = {n: np.array(json.loads(metadata[n]), kinds[n]) for n in states}, []
    with pytest.raises(ValueError, match=states[0]):
        session.run(None, {"inputs": inputs[0]})
    for u in inputs:
        outputs, *after = session.run(None, {"inputs": u, **feed})
        feed = dict(zip(states, after, strict=True))
        found.append(outputs)
    np.testing.assert_allclose(np.array(found).squeeze(), followed(step, start, inputs).squeeze(), atol=2e-6)


def test_what_cannot_be_written_is_refused(tmp_path):
    def endless(state, u):
        return jax.lax.while_loop(lambda x: jnp.all(x < 1), lambda x: x + 1.0, u), state

    with pytest.raises(vb.Refusal, match="depends on its numbers"):
        trace(endless, (), 1)
    step, start = lstm()
    with pytest.raises(vb.InputError, match="3 inputs, but 1"):
        write_c(trace(step, start, 3), tmp_path / "a.c", Interface([Port("x")], [Port("f"), Port("g")]), prefix="a")
    odd = Interface([Port("x y"), Port("v"), Port("w")], [Port("f"), Port("g")])
    with pytest.raises(vb.InputError, match="not 'x y'"):
        write_c(trace(step, start, 3), tmp_path / "a.c", odd, prefix="a")
    assert not list(tmp_path.iterdir())
