"""Hybrid tests that end early: a device leaves its limits, or the test diverges. The record up to there is kept."""

import json
from functools import cache, partial

import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner
from wire_helpers import Spring, serving

import vibrid as vb
from vibrid.cli import app
from vibrid.core.errors import Divergence, InputError
from vibrid.hybrid import (
    DeviceSubstructure,
    DivergedTest,
    Experimental,
    FirstOrder,
    HybridTest,
    Inverse,
    LawDevice,
    PureDelay,
    Recorder,
    RemoteSubstructure,
    Replay,
    SafetyLimits,
    WallClock,
)
from vibrid.project import load_project

RATE = 256.0
BUILDING = vb.ShearBuilding(masses=[2e3, 2e3], storeys=[vb.Linear(2e6, 4e3)] * 2)
GROUND = vb.Record(3 * np.sin(np.arange(300) / 10), [vb.Channel("ground", "ground_acceleration")], step=1 / RATE)
SPRING = vb.Linear(1e5)


def late(seconds):
    return vb.Actuator(PureDelay(seconds))


def test(*parts, **more):
    return HybridTest(BUILDING, parts, rate=RATE, **more)


test.__test__ = False


@cache
def free():
    """The commands of a test without limits, from rest."""
    result = test(Experimental(SPRING, at=0, name="a")).run(GROUND)
    return result, np.concatenate([[0.0], result.devices["a.command"]])


def half(kind):
    """The series of a quantity without limits, and limits at half of its largest value."""
    command = free()[1]
    series = {
        "displacement": command[1:], "force": 1e5 * command[1:],
        "velocity": RATE * np.diff(command), "step": np.diff(command),
    }[kind]  # fmt: skip
    return series, SafetyLimits(**{kind: 0.5 * float(np.abs(series).max())})


@pytest.mark.parametrize("kind", ["displacement", "velocity", "force", "step"])
@pytest.mark.parametrize("device", ["computed", "external"])
def test_a_device_that_leaves_its_limits_ends_the_test(device, kind):
    """In one scan and step by step: at the same command, with the device named and the rows before it kept."""
    series, limits = half(kind)
    moved = DeviceSubstructure(LawDevice(SPRING), 1 / RATE) if device == "external" else SPRING
    result = test(Experimental(moved, at=0, name="a", limits=limits)).run(GROUND)
    last = int(np.argmax(np.abs(series) > getattr(limits, kind)))
    words = {"step": "the change from the last command is"}.get(kind, f"{kind} is")
    assert "'a' left its limits at" in result.stopped and words in result.stopped
    assert len(result.response.time) == last + 1
    assert len(result.devices) == last + (device == "computed"), "the row that tripped is in the record of a scan"
    np.testing.assert_allclose(result.devices["a.command"][:last], free()[1][1 : last + 1], rtol=1e-9, atol=1e-15)


def test_the_limits_of_a_test_hold_for_every_tested_device_beside_its_own():
    parts = [Experimental(SPRING, at=0, name="a"), Experimental(SPRING, at=1, name="b")]
    roof = test(*parts).run(GROUND).devices["b.command"]
    limit = SafetyLimits(displacement=0.9 * float(np.abs(roof).max()))
    result = test(*parts).run(GROUND, limits=limit)
    assert result.stopped.startswith("'b' left its limits") and len(result.devices) < len(roof)
    modelled = HybridTest(BUILDING, [parts[0]], [vb.Modelled(SPRING, at=1, name="b")], rate=RATE)
    assert modelled.run(GROUND, limits=limit).stopped == "", "a device that is only computed cannot break"


def test_the_command_that_leaves_is_checked_and_not_the_target():
    """The inverse of a lag of 20 ms reaches further than the target."""
    machine = vb.Actuator(FirstOrder(0.02))
    part = partial(Experimental, SPRING, at=0, name="a", actuator=machine, compensator=Inverse(0.02))
    unlimited = test(part()).run(GROUND).devices
    reach, target = (float(np.abs(unlimited[f"a.{name}"]).max()) for name in ("command", "target"))
    assert reach > 1.02 * target
    result = test(part(limits=SafetyLimits(displacement=1.01 * target))).run(GROUND)
    assert "the command is refused: displacement is" in result.stopped
    assert np.abs(result.devices["a.target"]).max() <= 1.01 * target


@pytest.mark.parametrize("clock", [None, WallClock(1 / RATE)], ids=["at once", "real time"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_the_client_checks_before_a_command_leaves_for_the_server(protocol, clock, tmp_path):
    """The tripping command is in the client's record, and never arrived at the server."""
    with serving(Spring(), protocol) as served:
        device = RemoteSubstructure("127.0.0.1", served.port, 1, protocol, timeout=60.0)
        part = Experimental(device, at=0, name="damper", limits=half("displacement")[1])
        most = half("displacement")[1].displacement
        result = test(part).run(GROUND, clock=clock, record=partial(Recorder, tmp_path / "devices.h5"))
        served.end()
    assert "'damper' left its limits" in result.stopped
    kept = vb.read_record(tmp_path / "devices.h5")
    assert abs(kept["damper.command"][-1]) > most and np.isnan(kept["damper.force"][-1])
    assert max(abs(x) for x, _, _ in served.device.moved) <= most
    assert len(served.device.moved) == len(kept) - 1 == len(result.devices)


def test_no_device_is_moved_when_the_command_to_another_is_refused():
    one, other = Spring(), Spring()
    parts = [Experimental(one, at=0, name="one"), Experimental(other, at=1, name="other")]
    result = test(*parts).run(GROUND, limits=half("displacement")[1], unlimited=True)
    assert "'other' left its limits" in result.stopped and len(one.moved) == len(other.moved)
    assert one.stopped == other.stopped == result.stopped


def test_a_device_of_the_laboratory_needs_limits():
    device = Spring()
    part = Experimental(device, at=0, name="damper")
    with pytest.raises(InputError, match=r"'damper': The device has no limit of displacement, velocity, force, step"):
        test(part).run(GROUND)
    assert not device.moved and device.stopped
    device = Spring()
    limits = SafetyLimits(displacement=0.05, velocity=5.0, force=1e6, step=0.02)
    assert test(Experimental(device, at=0, name="damper", limits=limits)).run(GROUND).stopped == ""


def test_every_device_is_stopped_whatever_another_one_raises(tmp_path):
    class Stubborn(Spring):
        def trial(self, *motion):
            if self.trials == 20:
                raise ZeroDivisionError("the driver of the controller")
            return super().trial(*motion)

        def stop(self, reason):
            super().stop(reason)
            raise OSError("the cable is cut")

    devices = Stubborn(), Spring()
    parts = [Experimental(device, at=i, name=f"device {i}") for i, device in enumerate(devices)]
    with pytest.raises(OSError, match="the cable is cut"):
        test(*parts).run(GROUND, unlimited=True, record=partial(Recorder, tmp_path / "devices.h5"))
    assert devices[0].stopped == devices[1].stopped and "'device 0' failed at" in devices[1].stopped
    assert "the driver of the controller" in devices[1].stopped
    assert len(vb.read_record(tmp_path / "devices.h5")) == 20


def test_a_device_that_does_not_begin_at_zero_is_not_pulled_there():
    class Measured(Spring):
        position = 0.03

    device = Measured()
    limits = SafetyLimits(displacement=0.06, velocity=5.0, force=1e6, step=0.02)
    with pytest.raises(vb.VibridError, match=r"the change from the last command is -0.0"):
        test(Experimental(device, at=0, name="damper", limits=limits)).run(GROUND)
    assert not device.moved


def test_a_replayed_test_has_limits_too():
    measured = Replay.of(free()[0].device("a"), tolerance=1.0)
    part = Experimental(measured, at=0, name="a", limits=half("displacement")[1])
    assert "'a' left its limits" in test(part).run(GROUND).stopped


# -- divergence ------------------------------------------------------------------------------------------------------

STIFF = vb.Linear(2e6)


class Fragile(LawDevice):
    """A device that has no force beyond a deformation."""

    at: float = 0.1

    def trial(self, state, motion, companion, dt):
        reading, state = super().trial(state, motion, companion, dt)
        return reading._replace(force=jnp.where(jnp.abs(motion.e) > self.at, jnp.nan, reading.force)), state


def delayed(order):
    """Two devices, the second with 40 ms of delay, which is too much; in either order."""
    parts = [
        Experimental(Fragile(SPRING, at=0.5), at=0, name="first", actuator=vb.Actuator()),
        Experimental(STIFF, at=1, to=0, name="second", actuator=late(0.04)),
    ]
    return test(*parts[::order])


@pytest.mark.parametrize("order", [1, -1])
def test_a_test_that_diverges_names_the_device_that_caused_it_and_keeps_its_record(order):
    long = vb.Record(np.tile(GROUND.data, (20, 1)), GROUND.channels, step=GROUND.step)
    with pytest.raises(Divergence, match=r"^The test diverged.*'second' made it unstable") as problem:
        delayed(order).run(long)
    result = problem.value.result
    assert result.stopped == str(problem.value) and len(result.response.time) > 100
    assert np.isfinite(result.response.displacement).all() and np.isfinite(result.devices.data).all()


def test_limits_name_it_earlier():
    limits = SafetyLimits(displacement=0.05)
    long = vb.Record(np.tile(GROUND.data, (20, 1)), GROUND.channels, step=GROUND.step)
    result = delayed(1).run(long, limits=limits)
    assert result.stopped.startswith("'first' left its limits at 0.")
    assert "of the actuator of 'second' had put" in result.stopped
    assert np.abs(result.devices["first.command"][:-1]).max() <= 0.05 < np.abs(result.devices["first.command"][-1])


def test_a_test_that_diverges_without_an_error_of_tracking_is_not_blamed_on_a_device():
    stiff = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(1e6)])
    unstable = HybridTest(stiff, [Experimental(vb.Linear(1.0), at=0, name="a")], integrator=vb.CentralDifference(),
                          rate=RATE)  # fmt: skip
    with pytest.raises(DivergedTest, match="CentralDifference is not stable with this structure and step"):
        unstable.run(GROUND)


def test_huge_numbers_are_no_result():
    """Displacements of 1e39 m are finite, and were reported as a result."""
    grow = test(Experimental(STIFF, at=1, to=0, name="a", actuator=late(0.04)))
    long = vb.Record(np.tile(GROUND.data, (20, 1)), GROUND.channels, step=GROUND.step)
    with pytest.raises(DivergedTest, match="'a' made it unstable") as problem:
        grow.run(long)
    assert np.abs(problem.value.result.devices["a.command"]).max() < 1e3


def test_an_external_test_that_diverges_is_stopped_with_the_device_named(tmp_path):
    class Late(Spring):
        """A spring that follows eleven samples late, and measures where it is."""

        needs_limits = False

        def trial(self, displacement, velocity, acceleration, time):
            super().trial(displacement, velocity, acceleration, time)
            self.position = self.moved[max(len(self.moved) - 12, 0)][0]
            return 2e6 * np.array([self.position])

        position = 0.0

        def stiffness(self):
            return np.array([[2e6]])

    good = DeviceSubstructure(LawDevice(SPRING), 1 / RATE)
    parts = [Experimental(good, at=0, name="good"), Experimental(Late(), at=1, to=0, name="late")]
    long = vb.Record(np.tile(GROUND.data, (20, 1)), GROUND.channels, step=GROUND.step)
    with pytest.raises(DivergedTest, match="'late' made it unstable") as problem:
        test(*parts).run(long, record=partial(Recorder, tmp_path / "devices.h5"))
    assert len(problem.value.result.devices) > 100 and len(vb.read_record(tmp_path / "devices.h5")) > 100


def test_the_earliest_failure_is_named_and_not_the_first_device_of_the_list():
    peak = float(np.abs(free()[1]).max())
    parts = [
        Experimental(Fragile(SPRING, at=0.9 * peak), at=0, name="a"),
        Experimental(Fragile(SPRING, at=0.1 * peak), at=0, name="b"),
    ]
    with pytest.raises(DivergedTest, match="'b' gave no force"):
        test(*parts).run(GROUND)


PROJECT = """
[structure]
kind = "shear-building"
masses = ["2 t", "2 t"]
storeys = {law = "linear", stiffness = "2 MN/m", damping = "4 kN s/m", count = 2}

[excitation]
synthetic = {seed = 3, duration = 20.0, rate = 256.0, pga = "3 m/s^2"}

[hybrid]
rate = 256.0

[[hybrid.experimental]]
name = "damper"
at = 1
to = 0
device = {kind = "law", law = {law = "linear", stiffness = "2 MN/m"}}
"""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("", "'damper' left its limits"),
        ('actuator = {dynamics = {kind = "delay", delay = "40 ms"}}\n', "'damper' made it unstable"),
    ],
)
def test_the_command_keeps_the_record_and_ends_with_1(more, words, tmp_path):
    (tmp_path / "test.toml").write_text(PROJECT + more)
    arguments = ["hybrid", "run", str(tmp_path / "test.toml"), "--json", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, arguments + ([] if more else ["--limit", "displacement=1 mm"]))
    assert done.exit_code == 1, done.output
    assert words in json.loads(done.stdout)["stopped"]
    assert len(vb.read_record(tmp_path / "out" / "devices.h5")) > 5


def test_limits_in_a_project_file(tmp_path):
    path = tmp_path / "test.toml"
    path.write_text(PROJECT + 'limits = {force = "20 kN", energy = "2 kJ"}\n[hybrid.limits]\nstep = "0.1 mm"\n')
    plan = load_project(path).hybrid
    assert plan.limits == SafetyLimits(step=1e-4)
    assert plan.test.experimental[0].limits == SafetyLimits(force=20e3, energy=2e3)
    for wrong, words in (
        ("limits = {force = 20}", 'write the unit of this number, such as "20 N"'),
        ('limits = {force = "20 mm"}', "this number is in N"),
        ('limits = {displacement = "60 m"}', "which no tested device reaches"),
        ('limits = {forces = "20 kN"}', "did you mean 'force'"),
    ):
        path.write_text(f"{PROJECT}{wrong}\n")
        with pytest.raises(vb.VibridError) as problem:
            load_project(path)
        assert words in str(problem.value)
