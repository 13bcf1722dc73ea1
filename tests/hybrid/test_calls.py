"""What is computed between two questions to a device outside: as C and by JAX, the same."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.hybrid import AdaptiveTimeSeries, Experimental, HybridTest, Modelled, NetworkDevice, Substructure, calls
from vibrid.hybrid.calls import compiled_calls
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.hybrid.learned.recipes import Recipe
from vibrid.networks.export import compiled

pytestmark = pytest.mark.compat
CAPACITY = 2e4
needs_compiler = pytest.mark.skipif(compiled.compiler() is None, reason="no C compiler")


class Machine(Substructure):
    """A spring that says where it was found, and may be told to interrupt."""

    count, signal_names = 1, ("band",)

    def __init__(self, interrupts_at=None):
        self.found, self.trials, self.interrupts_at, self.stopped = 0.0, 0, interrupts_at, ""

    @property
    def position(self):
        return self.found

    @property
    def signals(self):
        return np.array([1e3 * self.found])

    def trial(self, displacement, velocity, acceleration, time):
        self.trials += 1
        if self.trials == self.interrupts_at:
            raise KeyboardInterrupt
        self.found += 0.5 * (float(displacement[0]) - self.found)
        return 1e6 * np.array([self.found])

    def commit(self):
        pass

    def stiffness(self):
        return np.array([[1e6]])

    def stop(self, reason):
        self.stopped = reason


@pytest.fixture(scope="module")
def network():
    """The paper's kind of network, small."""
    x = np.sin(np.arange(400) / 20)
    companion = CAPACITY * np.column_stack([x, 1e-6 * x, 1e-4 * x])
    test = DeviceTest("", 0.02 * x, 0.2 * x, CAPACITY * x, companion, (CAPACITY, CAPACITY))
    recipe = Recipe(network="lstm", answer="direct", branch=4, joined=(6,), plays=2, rate=256.0)
    return recipe.maker([test])(jax.random.key(0))


def run(network, machine=None, **more):
    building = vb.ShearBuilding([1e4, 1e4], [vb.BoucWen(8e6, beta=40.0, gamma=20.0), vb.Linear(8e6, 2e4)])
    tested = Experimental(machine or Machine(), at=0, name="first", compensator=AdaptiveTimeSeries(0.002, samples=64))
    device = NetworkDevice(network, CAPACITY, 1e6, every=4)
    modelled = Modelled(device, at=1, to=0, name="second", companion="first")
    motion = vb.synthetic_motion(1, duration=3.0, rate=512.0, pga=4.0)
    return HybridTest(building, [tested], [modelled], substeps=2).run(motion, unlimited=True, **more)


@pytest.fixture(scope="module")
def plain(network):
    return run(network, in_c=False)


@needs_compiler
def test_c_and_jax_make_the_same_test(network, plain):
    fast = run(network)
    assert (fast.computed_by, plain.computed_by) == ("C", "JAX") and len(fast.devices.time) > 3000
    force = plain.devices["second.force"]
    assert np.abs(force).max() > 0.05 * CAPACITY, "the network answers"
    assert np.abs(fast.devices["second.force"] - force).max() < 1e-5 * CAPACITY
    largest = np.abs(plain.devices.data).max(axis=0)
    np.testing.assert_allclose(fast.devices.data / largest, plain.devices.data / largest, atol=1e-5)
    np.testing.assert_allclose(fast.response.displacement, plain.response.displacement, atol=1e-5 * 0.02)


def test_warnings_of_networks_come_while_the_test_runs(network, plain):
    """The network was trained with 20 mm; here its training is said to have been smaller than the motion."""
    small = np.abs(plain.devices["second.displacement"]).max() / 2
    features = dataclasses.replace(network.features, displacement=float(small))
    glimpses = []
    result = run(dataclasses.replace(network, features=features, limits=network.limits), watch=glimpses.append)
    time, x = result.devices.time, np.abs(result.devices["second.displacement"])
    (said,) = [text for glimpse in glimpses for text in glimpse.warnings if "further than in its training" in text]
    assert float(said.split(" s: ")[0]) == pytest.approx(time[np.argmax(x > 1.05 * small)], rel=1e-3)


@pytest.mark.parametrize("way", ["none", "broken"])
def test_without_a_working_compiler_jax_computes(way, network, plain, monkeypatch, tmp_path):
    found = {"none": None, "broken": str(tmp_path / "cc")}[way]
    (tmp_path / "cc").write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setattr(calls, "compiler", lambda: found)
    monkeypatch.setattr(compiled, "compiler", lambda: found)
    result = run(network)
    assert result.computed_by == "JAX"
    np.testing.assert_array_equal(result.devices.data, plain.devices.data)


@pytest.mark.parametrize("in_c", [True, False])
def test_ctrl_c_keeps_what_was_done(in_c, network, plain):
    machine = Machine(interrupts_at=202)
    result = run(network, machine, in_c=in_c)
    assert result.stopped == machine.stopped == "stopped by Ctrl-C" and len(result.devices.time) == 200
    close = dict(rtol=1e-5, atol=1e-5 * CAPACITY)
    np.testing.assert_allclose(result.devices["second.force"], plain.devices["second.force"][:200], **close)


def test_what_cannot_be_c_or_is_too_much_for_it_is_computed_by_jax(monkeypatch):
    def sorts(state, given):
        return jnp.sort(given), state + given

    def adds(state, given):
        return state * 1.0, state + given

    steps = [(adds, 2), (sorts, 2)]
    (add, sort), how = compiled_calls(steps, jnp.zeros(2))
    assert how == "JAX"
    np.testing.assert_array_equal(sort(np.array([2.0, 1.0])), [1.0, 2.0])
    np.testing.assert_array_equal(add(np.zeros(2)), [2.0, 1.0])  # both moved one state
    monkeypatch.setattr(calls, "MOST_OPERATIONS", 1)
    assert compiled_calls(steps[:1], jnp.zeros(2))[1] == "JAX"


def test_the_switch_is_for_tests_with_a_device_outside():
    building = vb.ShearBuilding([1e4], [vb.Linear(8e6, 2e4)])
    with pytest.raises(InputError, match="in_c"):
        HybridTest(building, [Experimental(vb.Linear(1e6), at=0)]).run(vb.synthetic_motion(1, duration=1.0), in_c=True)
