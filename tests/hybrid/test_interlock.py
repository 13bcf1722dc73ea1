"""The interlock of a device by itself: what may leave, what stops the test, and what the messages say."""

import math

import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import FileProblem, InputError
from vibrid.hybrid import Interlock, SafetyLimits, StopLatch
from vibrid.hybrid.limits import require_limits

LIMITS = SafetyLimits(displacement=0.06, velocity=1.0, force=1e5, acceleration=50.0, step=0.01, energy=100.0)


def move(interlock, x, t, v=0.0, a=0.0, force=0.0):
    """One committed command; the kind of the limit that it exceeds, or None."""
    trip = interlock.check_command((x,), (v,), (a,), t) or interlock.check_reading((force,))
    interlock.commit()
    return trip and trip.kind


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"displacement": 60.0}, "60 m, which no tested device reaches"),
        ({"velocity": 330.0}, "limits are in m/s"),
        ({"displacement": 0.06, "step": 2.0}, "one of the two has a wrong unit"),
        ({"step": 0.0}, "positive"),
        ({"energy": math.nan}, "positive"),
    ],
)
def test_limits_with_a_wrong_unit_are_refused(changed, sentence):
    with pytest.raises(InputError, match=sentence):
        SafetyLimits(**changed)


def test_the_required_limits():
    with pytest.raises(InputError, match=r"no limit of displacement, velocity, force, step: .* --unlimited"):
        require_limits(None, False, "--unlimited")
    with pytest.raises(InputError, match="no limit of step"):
        require_limits(SafetyLimits(0.06, 1.0, 1e5), False, "--unlimited")
    assert require_limits(SafetyLimits(0.06), True, "").displacement == 0.06
    assert require_limits(LIMITS, False, "") is LIMITS
    assert LIMITS.combined(SafetyLimits(displacement=0.01)).displacement == 0.01
    assert LIMITS.combined(SafetyLimits(displacement=0.01)).force == 1e5
    assert LIMITS.combined(SafetyLimits(displacement=0.004)).step == 0.008


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ({"x": 0.002, "t": 0.01}, None),
        ({"x": 0.061, "t": 10.0}, "displacement"),
        ({"x": 0.0101, "t": 10.0}, "step"),
        ({"x": 0.002, "t": 0.001}, "velocity"),  # 2 m/s by differences; the stated velocity is zero
        ({"x": 0.0, "t": 0.01, "v": -1.5}, "velocity"),
        ({"x": 0.0, "t": 0.01, "a": 51.0}, "acceleration"),
        ({"x": 0.008, "t": 0.01}, "acceleration"),  # 0.8 m/s in 0.01 s
        ({"x": 0.001, "t": -0.01}, "time"),
        ({"x": math.nan, "t": 0.01}, "command"),
        ({"x": 0.0, "t": math.inf}, "command"),
        ({"x": 0.0, "t": 0.01, "a": -math.inf}, "command"),
        ({"x": 0.0, "t": 0.01, "force": 1.1e5}, "force"),
        ({"x": 0.0, "t": 0.01, "force": math.nan}, "reading"),
    ],
)
def test_a_command_from_rest(command, kind):
    assert move(Interlock(LIMITS, start_time=0.0), **command) == kind


def test_differences_are_taken_from_the_last_commit_and_steps_from_the_last_command():
    guard = Interlock(SafetyLimits(velocity=1.0, step=0.01), start_time=0.0)
    assert guard.check_command((0.009,), (0.0,), (0.0,), 0.01) is None
    assert guard.check_command((-0.0011,), (0.0,), (0.0,), 0.01).kind == "step", "a trial moves the device too"
    assert guard.check_command((0.002,), (0.0,), (0.0,), 0.01) is None
    guard.commit()
    assert guard.check_command((0.006,), (0.0,), (0.0,), 0.012).kind == "velocity"
    assert guard.check_command((0.0025,), (0.0,), (0.0,), 0.009).kind == "time"
    assert guard.check_command((0.0025,), (0.0,), (0.0,), 0.01) is None, "no time was sent: the nominal one holds"
    assert guard.check_command((0.006,), (0.0,), (0.0,), 0.01).kind == "velocity"


def test_the_first_command_of_a_client_is_bounded_by_the_size_of_its_step():
    """Its time says nothing: the analysis may have begun long ago. The device may be anywhere."""
    guard = Interlock(LIMITS, start=(0.03,))
    assert guard.check_command((0.0,), (0.0,), (0.0,), 12.0).kind == "step"
    assert guard.check_command((0.029,), (0.0,), (0.0,), 12.0) is None


def test_the_energy_of_a_cycle():
    """Friction of 1 kN over ± 10 mm takes out 40 J a cycle: below 45 J for ever, above 35 J in the first."""
    path = [0.01 * math.sin(0.1 * k) for k in range(1, 600)]

    def cycles(energy):
        guard, before = Interlock(SafetyLimits(energy=energy), start_time=0.0), 0.0
        for k, x in enumerate(path):
            if move(guard, x, 0.01 * (k + 1), force=math.copysign(1e3, x - before)) == "energy":
                return k / (20 * math.pi)
            before = x
        return None

    assert cycles(45.0) is None and 0.5 < cycles(35.0) < 1.0


def test_a_measured_displacement_beyond_the_limit():
    """An actuator that does not stop where it was told to."""
    guard = Interlock(LIMITS)
    assert guard.check_reading((0.0,), 0.05) is None
    assert guard.check_reading((0.0,), -0.061).text.startswith("the measured displacement is -0.061 m")
    assert guard.check_reading((0.0,), math.nan).kind == "reading"


def test_a_stop_is_kept_until_a_person_clears_it(tmp_path):
    latch = StopLatch(tmp_path / "damper.stops.json")
    assert latch.standing is None and latch.note == ""
    with pytest.raises(InputError, match="no stop to clear"):
        latch.clear("Jane Doe")
    latch.set("force is 2e5 N")
    other = StopLatch(tmp_path / "damper.stops.json")
    assert other.standing.reason == "force is 2e5 N" and other.note == ""
    for name in ("", "  ", "42"):
        with pytest.raises(InputError, match="cleared by a person"):
            other.clear(name)
    other.clear(" Jane   Doe ")
    assert latch.standing is None and "cleared by Jane Doe at" in latch.note
    latch.set("again")
    assert [stop.cleared_by for stop in other.stops] == ["Jane Doe", ""]


def test_a_damaged_file_of_stops_is_no_clearance(tmp_path):
    file = tmp_path / "damper.stops.json"
    file.write_text('{"vibrid_stops": 1, "stops": [')
    latch = StopLatch(file)
    with pytest.raises(FileProblem, match="Whether it may be moved is not known"):
        _ = latch.standing
    latch = StopLatch(tmp_path / "nowhere" / "damper.stops.json")
    with pytest.raises(FileProblem, match="cannot be written"):
        latch.set("force")
    assert latch.standing.reason == "force", "it holds in this program"


# -- a predefined motion ---------------------------------------------------------------------------------------------


def sine(amplitude=0.01, **more):
    t = np.arange(400) / 100
    return vb.Record(amplitude * np.sin(2 * np.pi * t), [vb.Channel("x", "imposed_displacement")], step=0.01, **more)


@pytest.mark.parametrize(
    ("limits", "words", "kept"),
    [
        ({"displacement": 0.008}, "the command is refused: displacement is 0.00809", 15),
        ({"step": 0.0006}, "the command is refused: the change from the last command is 0.00062", 1),
        ({"velocity": 0.0627}, "the command is refused: velocity is 0.0627905 m/s", 0),
        ({"acceleration": 6.0}, "by differences over 0.01 s, beyond the limit of 6 m/s²", 1),
        ({"force": 8e3}, "the measured force is 8090.17 N", 16),
        ({"energy": 30.0}, "the energy of this cycle is 32.7254 J", 16),
    ],
)
def test_a_predefined_motion_ends_where_the_device_leaves_its_limits(limits, words, kept):
    with pytest.raises(vb.hybrid.StoppedMotion) as stopped:
        vb.impose(vb.Linear(1e6), sine(), limits=SafetyLimits(**limits))
    assert words in str(stopped.value), str(stopped.value)
    whole = vb.impose(vb.Linear(1e6), sine(), limits=SafetyLimits(0.02, 1.0, 2e4, step=0.01, energy=100.0))
    assert len(whole) == 400
    record = stopped.value.record
    if kept:
        np.testing.assert_array_equal(whole.data[:kept], record.data)
        assert "stopped at" in " ".join(record.history)
    else:
        assert record is None, "the first command is refused"


def test_the_command_of_a_predefined_motion_is_checked_after_compensation():
    """The compensated command reaches further than the target."""
    machine, ahead = vb.Actuator(vb.hybrid.PureDelay(0.05)), vb.hybrid.PolynomialExtrapolation(0.05)
    limits = SafetyLimits(displacement=0.0102)
    vb.impose(vb.Linear(1e6), sine(), limits=limits)
    with pytest.raises(vb.hybrid.StoppedMotion, match="the command is refused: displacement"):
        vb.impose(vb.Linear(1e6), sine(), machine, ahead, limits)
