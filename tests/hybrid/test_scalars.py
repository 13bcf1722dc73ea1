"""Programs of scalars written out as plain Python give what the traced program gives."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.hybrid import DeviceSubstructure, LawDevice
from vibrid.hybrid.scalars import written_out
from vibrid.hybrid.substructure import _as_scalars
from vibrid.laws.base import Motion

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "laws"))
from examples import EXAMPLES

pytestmark = pytest.mark.compat
SINGLE = [name for name, (law, _) in EXAMPLES.items() if law.components == 1]
COMPILED = [
    "bouc-wen-baber-noori", "giuffre-menegotto-pinto-fatigue", "iwan", "lead-rubber", "masing", "multilinear",
    "pinching", "ramberg-osgood",
]  # fmt: skip
"""Laws whose states are arrays, or whose steps need more than scalars."""


@pytest.mark.parametrize("name", SINGLE)
def test_every_law_written_out_is_the_law(name):
    law, size = EXAMPLES[name]
    device = LawDevice(law)
    written = _as_scalars(device)
    assert (written is None) == (name in COMPILED)
    if written is None:
        return
    state = jax.tree.map(jnp.asarray, device.start())
    numbers = [float(leaf) for leaf in jax.tree.leaves(state)]
    with jax.disable_jit():
        for k, w in enumerate((3.0, -2.0, 0.0, 5.0)):
            e = size * np.sin(1.0 + 2.0 * k)
            reading, state = device.trial(state, Motion(jnp.asarray(e), jnp.asarray(w)), None, 0.01)
            force, *numbers = written(float(e), w, 0.01, *numbers)
            np.testing.assert_allclose(force, reading.force, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(numbers, jax.tree.leaves(state), rtol=1e-12, atol=1e-12)


def test_operations_that_are_easy_to_get_wrong():
    def program(x, y):
        return [
            jnp.maximum(x, y), jnp.minimum(x, y), jnp.sign(x), jnp.clip(x, -1.0, 2.0), jnp.where(x > y, x, -y),
            jnp.where((x > 0) & (y > 0) | ~(x < y), 1.0, 0.0), x**3, jnp.tanh(x) * jnp.log1p(jnp.abs(y)),
        ]  # fmt: skip

    written = written_out(program, 2)
    for x in (-3.0, -0.0, 0.5, 2.0, np.nan):
        for y in (-1.0, 0.5, 4.0):
            np.testing.assert_allclose(written(x, y), program(jnp.asarray(x), jnp.asarray(y)), rtol=1e-15)
    assert written_out(lambda x: [jnp.zeros(3).at[1].set(x)[1]], 1) is None
    assert written_out(lambda x: [jax.lax.fori_loop(0, 3, lambda i, s: s * x, 1.0)], 1) is None


def test_what_python_refuses_is_left_to_the_compiled_program():
    """1/0 and an overflow: infinity and NaN, not an exception."""

    class Gap(vb.laws.StaticLaw):
        def force(self, e, w, s):
            return jnp.exp(1e4 * e) / e

    device = DeviceSubstructure(LawDevice(Gap()), 0.01)
    rest = np.zeros(1)
    assert device._written is not None
    assert device.trial(np.array([1.0]), rest, rest, 0.01)[0] == np.inf
    assert np.isinf(device.trial(rest, rest, rest, 0.02)[0])
    assert device.trial(np.array([1e-4]), rest, rest, 0.03)[0] == pytest.approx(np.e * 1e4)
