"""The clock: pace, misses, what the system grants, and what the report says."""

import gc
import os
import time

import numpy as np
import pytest

from vibrid.core.errors import InputError
from vibrid.hybrid import Clock, RealTime, WallClock
from vibrid.hybrid.timing import Times, spoken


def test_quantiles_are_those_of_the_values():
    times = Times(expected=16)
    for k in range(1000, 0, -1):
        times.add(k * 1e-6)
    assert len(times) == 1000
    found = times.summary()
    assert found["median"] == pytest.approx(501e-6) and found["p99"] == pytest.approx(991e-6)
    assert found["p99.9"] == found["worst"] == pytest.approx(1e-3)
    assert str(times) == "median 501 µs, p99 991 µs, p99.9 1 ms, worst 1 ms"
    assert [spoken(s) for s in (2.5e-6, 0.0123, 4.0)] == ["2.5 µs", "12.3 ms", "4 s"]


class ByHand:
    """Time that goes on only when somebody sleeps: a stand-in for the module `time`, the same on every machine."""

    def __init__(self):
        self.now, self.slept = 100.0, 0

    def perf_counter(self):
        self.now += 1e-6  # so that who waits awake comes to an end
        return self.now

    def sleep(self, seconds):
        self.slept += 1
        self.now += seconds


@pytest.fixture
def by_hand(monkeypatch):
    made = ByHand()
    monkeypatch.setattr("vibrid.hybrid.clock.time", made)
    return made


def test_virtual_time_does_not_wait(by_hand):
    clock = Clock(1.0)
    clock.start()
    assert [clock.wait() for _ in range(50)] == [0] * 50
    assert by_hand.slept == 0 and by_hand.now < 100.001
    report = clock.report()
    assert report.held and report.steps == len(report.step) == 50 and "Virtual time" in str(report)


def test_wall_clock_keeps_the_pace_and_slips_after_a_stall(by_hand):
    """After a stall the schedule moves on by whole steps: the test goes on at its pace and never catches up."""
    clock = WallClock(0.01)
    clock.start()
    moments, late = [], []
    for k in range(12):
        late.append(clock.wait())
        moments.append(by_hand.perf_counter())
        if k == 4:
            by_hand.sleep(0.0355)
    report = clock.report()
    assert late == [0] * 5 + [3] + [0] * 6 and report.misses == 1 and not report.held
    assert report.behind == pytest.approx(0.01 * sum(late))
    steps = [(b - moments[0]) / 0.01 for b in moments]
    due = [k + sum(late[: k + 1]) for k in range(12)]
    np.testing.assert_allclose(steps, due, atol=1e-3)
    assert "This computer did not hold 100 Hz" in str(report) and len(report.step) == 12
    assert report.as_dict()["wake"]["worst"] < 1e-5


def test_a_wall_clock_is_never_early():
    """By the machine's own time; how late it is, the machine decides."""
    clock = WallClock(0.002)
    clock.start()
    moments, late = [], []
    for _ in range(20):
        late.append(clock.wait())
        moments.append(time.perf_counter())
    due = moments[0] + 0.002 * (np.arange(20) + np.cumsum(late))
    assert np.all(np.array(moments)[1:] > due[1:] - 1e-3), "but for the time between waking up and being asked"


def test_a_rate_that_the_work_does_not_fit_is_told_plainly(by_hand):
    clock = WallClock(0.001)
    clock.start()
    for _ in range(20):
        clock.wait()
        by_hand.sleep(0.002)
    text = str(clock.report())
    assert "did not hold 1000 Hz" in text and "It could hold about" in text


def test_what_the_system_refuses_is_told_and_all_is_given_back():
    before = os.sched_getaffinity(0), os.sched_getscheduler(0), gc.isenabled()
    settings = RealTime(priority=10, cores=(4095,), lock_memory=False)
    settings.apply()
    assert not gc.isenabled()
    assert any("The cores could not be set" in note for note in settings.notes)
    settings.restore()
    one = RealTime(cores=(min(before[0]),), freeze_collector=False)
    one.apply()
    assert os.sched_getaffinity(0) == {min(before[0])} and not one.notes
    one.restore()
    assert (os.sched_getaffinity(0), os.sched_getscheduler(0), gc.isenabled()) == before


def test_wishes_that_make_no_sense():
    with pytest.raises(InputError, match="between 1 and 99"):
        RealTime(priority=100)
    with pytest.raises(InputError, match="positive number of seconds"):
        Clock(0.0)
