"""The coordinator: equal to the structure with its devices inside, step by step as in one scan, on any scale."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import Divergence, InputError, Refusal

LUGRE = vb.LuGre(2e3, 1.0, 1.0, 0.8, 1.3, 1.1, 0.02)
RATE = 100.0


def frame(**more) -> vb.ShearBuilding:
    return vb.ShearBuilding(masses=[1.0, 1.0], storeys=[vb.Linear(60.0, 0.3)] * 2, **more)


def scaled(law: vb.LuGre, factor: float) -> vb.LuGre:
    """`factor` of these dampers side by side."""
    names = ("bristle_stiffness", "bristle_damping", "coulomb_positive", "coulomb_negative")
    names += ("static_positive", "static_negative")
    return vb.core.paths.replace(law, {name: factor * getattr(law, name) for name in names})


def two_devices(scheme) -> vb.HybridTest:
    tested = vb.Experimental(LUGRE, at=0, count=4, name="tested")
    modelled = vb.Modelled(LUGRE, at=1, to=0, count=2, name="modelled")
    return vb.HybridTest(frame(), [tested], [modelled], scheme, rate=RATE)


@pytest.mark.parametrize(
    "scheme",
    [vb.MKRAlpha(0.75), vb.KRAlpha(0.4, weigh="displacement")],
    ids=lambda s: type(s).__name__,
)
def test_one_scan_equals_the_structure_with_its_devices_inside(motion, scheme):
    """Two devices, four and two side by side, between ground and floor and between floors."""
    attached = [vb.Attachment(scaled(LUGRE, 4.0), at=0), vb.Attachment(scaled(LUGRE, 2.0), at=1, to=0)]
    result = two_devices(scheme).run(motion)
    whole = vb.simulate(frame(attachments=attached), motion, integrator=scheme)
    assert np.abs(whole.displacement).max() > 0.02
    np.testing.assert_allclose(result.response.displacement, whole.displacement, atol=1e-12)
    deformation, force = whole.part("attachments[1]")
    if scheme.__class__ is vb.MKRAlpha:
        np.testing.assert_allclose(result.devices["modelled.displacement"], deformation[1:], atol=1e-12)
        np.testing.assert_allclose(2 * result.devices["modelled.force"], force[1:], atol=1e-9)
    assert result.devices.start == pytest.approx(1 / RATE), "the first sample is the end of the first substep"


class Gauged(vb.hybrid.LoopDevice):
    """A slipping spring with a gauge: a state, a signal and a rate."""

    signal_names: ClassVar = ("gauge",)
    signal_units: ClassVar = ("m",)

    def start(self):
        return jnp.zeros(())

    def trial(self, state, motion, companion, dt):
        slip = motion.e - jnp.clip(motion.e - state, -1e-3, 1e-3)
        force = 2e4 * (motion.e - slip) + 3.0 * motion.w
        return vb.hybrid.Reading(force, (motion.e - slip)[None]), slip

    def initial_stiffness(self):
        return jnp.asarray(2e4)


class Listener(vb.hybrid.LoopDevice):
    """A model with a memory that follows what it signals, as a network in the loop does."""

    gain: jnp.ndarray
    signal_names: ClassVar = ("memory",)
    signal_units: ClassVar = ("N",)

    def start(self):
        return jnp.zeros(())

    def trial(self, state, motion, companion, dt):
        memory = 0.9 * state + 0.1 * (companion.reading.force + 1e3 * companion.reading.signals.sum())
        force = self.gain * memory + 5.0 * motion.e + 0.1 * companion.motion.w
        return vb.hybrid.Reading(force, memory[None]), memory


def listening_test(device, **more) -> vb.HybridTest:
    scaling = vb.hybrid.Scaling(length=0.5, force=2e-4, time=2.0)
    return vb.HybridTest(
        frame(),
        [vb.Experimental(device, at=0, name="tested")],
        [vb.Modelled(Listener(jnp.asarray(2e-4)), at=1, to=0, name="listener", companion="tested")],
        substeps=4,
        scaling=scaling,
        **more,
    )


def test_step_by_step_equals_one_scan(motion):
    """The same coordinator with the device outside: substeps, scales, signals and a model that companion."""
    specimen = Gauged()
    short = motion.cut(0.0, 4.0)
    inside = listening_test(specimen).run(short)
    outside = listening_test(vb.hybrid.DeviceSubstructure(specimen, 1 / 1024)).run(short)
    assert np.abs(inside.devices["listener.memory"]).max() > 1.0, "the listener uses the measurements"
    np.testing.assert_allclose(outside.response.displacement, inside.response.displacement, rtol=1e-9, atol=1e-13)
    assert outside.devices.names == inside.devices.names
    np.testing.assert_allclose(outside.devices.data, inside.devices.data, rtol=1e-7, atol=1e-7)
    assert outside.stopped == "" and len(outside.missed) == 0
    assert inside.devices.step == pytest.approx(inside.response.time[1] / 4)


def test_commands_inside_a_step(motion):
    """Straight lines between steps, or the cubic through the last four of them."""
    law, short = vb.Linear(5.0, 0.1), motion.cut(0.0, 2.0)
    results = {}
    for kind in ("linear", "cubic"):
        part = vb.Experimental(law, at=0, name="a")
        results[kind] = vb.HybridTest(frame(), [part], substeps=5, rate=500.0, interpolation=kind).run(short)
    linear = results["linear"]
    target = np.concatenate([[0.0], linear.devices["a.target"]])
    steps = linear.response.displacement[:, 0]
    np.testing.assert_allclose(target[::5], steps, atol=1e-15)
    knots = 5 * np.arange(len(steps))
    np.testing.assert_allclose(target, np.interp(np.arange(len(target)), knots, steps), atol=1e-15)
    bent = np.concatenate([[0.0], results["cubic"].devices["a.target"]])
    np.testing.assert_allclose(bent[::5], results["cubic"].response.displacement[:, 0], atol=1e-15)
    ends = np.concatenate([[0.0, 0.0], results["cubic"].response.displacement[:, 0]])
    for step in (7, 40, 150):
        curve = np.polynomial.Polynomial.fit(np.arange(4), ends[step : step + 4], 3)
        np.testing.assert_allclose(bent[5 * step : 5 * step + 6], curve(2 + np.arange(6) / 5), atol=1e-14)


def test_scales_of_length_force_and_time(motion):
    """A device at another scale is the structure's own with its stiffness and damping scaled."""
    scaling = vb.hybrid.Scaling(length=2.0, force=4.0, time=2.0**0.5)
    assert vb.hybrid.Scaling.similitude(2.0) == scaling
    test = vb.HybridTest(frame(), [vb.Experimental(vb.Linear(20.0, 0.7), at=1)],
                         integrator=vb.CentralDifference(), rate=RATE * 2.0**0.5, scaling=scaling)  # fmt: skip
    same = vb.Linear(20.0 * 4 / 2, 0.7 * 4 * 2.0**0.5 / 2)
    whole = vb.simulate(frame(attachments=[vb.Attachment(same, at=1)]), motion, integrator=test.integrator)
    result = test.run(motion)
    np.testing.assert_allclose(result.response.displacement, whole.displacement, atol=1e-12)
    np.testing.assert_allclose(2 * result.devices["experimental_0.target"], whole.displacement[1:, 1], atol=1e-12)


def test_a_watched_test_is_the_same_test(motion):
    test = two_devices(vb.MKRAlpha(0.75))
    seen = []
    watched = test.run(motion, seen.append)
    np.testing.assert_array_equal(watched.response.displacement, test.run(motion).response.displacement)
    assert seen[-1].done == seen[-1].steps == len(motion) - 1 and len(seen) >= 30
    np.testing.assert_array_equal(seen[-1].displacement, watched.response.displacement[-1])
    assert seen[-1].forces[0] == watched.devices["tested.force"][-1]
    told = watched.summary("roof")
    assert told["devices"][0]["tracking"] is None and told["peak"] > 0 and told["devices"][0]["energy"] > 0


class Failing(vb.hybrid.Substructure):
    """A laboratory that loses its specimen after some steps."""

    count = 1

    def __init__(self):
        self.trials, self.reason = 0, ""

    def trial(self, displacement, velocity, acceleration, time):
        self.trials += 1
        if self.trials > 50:
            raise InputError("the load cell is gone")
        return 5.0 * displacement

    def commit(self):
        pass

    def stop(self, reason):
        self.reason = self.reason or reason


def test_a_device_that_fails_ends_the_test_and_keeps_what_was_done(motion):
    lab = Failing()
    result = vb.HybridTest(frame(), [vb.Experimental(lab, at=0, name="lab")], rate=RATE).run(motion, unlimited=True)
    assert result.stopped == "the load cell is gone" == lab.reason
    assert len(result.response.displacement) == 51 and len(result.devices) == 50
    assert np.isfinite(result.response.displacement).all()
    learning = vb.Experimental(Failing(), at=0, name="lab", compensator=vb.hybrid.AdaptiveTimeSeries(0.01))
    with pytest.raises(Refusal, match="does not measure its displacement"):
        vb.HybridTest(frame(), [learning], rate=RATE).run(motion, unlimited=True)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"integrator": vb.Newmark()}, "cannot be moved back"),
        ({"experimental": []}, "at least one device"),
        ({"modelled": [vb.Modelled(LUGRE, at=1, name="a")]}, "called 'a'"),
        ({"experimental": [vb.Experimental(LUGRE, at=1, to=1)]}, "cannot move"),
        ({"modelled": [vb.Modelled(LUGRE, at=1, companion="b")]}, "companion"),
        ({"substeps": 0}, "at least one substep"),
        ({"interpolation": "quintic"}, "linear"),
    ],
)  # fmt: skip
def test_what_cannot_be_tested_is_refused_with_a_sentence(change, sentence):
    good = {"structure": frame(), "experimental": [vb.Experimental(LUGRE, at=0, name="a")]}
    with pytest.raises(vb.VibridError, match=sentence):
        vb.HybridTest(**(good | change))


def test_a_device_without_a_force_ends_the_test_with_a_sentence(motion):
    class Broken(vb.LawDevice):
        no_force_means: ClassVar = "Its cable came off."

        def trial(self, state, motion, companion, dt):
            reading, state = super().trial(state, motion, companion, dt)
            return reading._replace(force=jnp.where(jnp.abs(motion.e) > 0.01, jnp.nan, reading.force)), state

    test = vb.HybridTest(frame(), [vb.Experimental(Broken(vb.Linear(1.0)), at=0, name="a")], rate=RATE)
    with pytest.raises(Divergence, match=r"'a' gave no force at .* Its cable came off"):
        test.run(motion)
    assert eqx.tree_equal(vb.Experimental(LUGRE, at=0).device, vb.LawDevice(LUGRE)), "a law stands for its device"
