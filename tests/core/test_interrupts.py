"""Requests to stop: none is lost, wherever it comes."""

import gc
import os
import signal
import threading
import time

import pytest

from vibrid import cli
from vibrid.core.interrupts import PatientStop, Terminated, finishing, listening, stop_requested


@pytest.fixture
def asked():
    """Both signals answered as the commands do."""
    earlier = {number: signal.signal(number, stop_requested) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in earlier.items():
        signal.signal(number, handler)


def in_a_callback(number: int) -> list[str]:
    """Send a signal in a callback of the garbage collector, where an exception would be printed and lost."""
    reached = []

    def callback(phase, info):
        if phase == "start" and not reached:
            reached.append(phase)
            os.kill(os.getpid(), number)
            str(info)

    gc.callbacks.append(callback)
    try:
        gc.collect()
        until = time.monotonic() + 60.0
        while time.monotonic() < until:
            time.sleep(0.01)
    finally:
        gc.callbacks.remove(callback)
    return reached


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)])
def test_a_request_in_a_callback_of_the_collector_is_answered_after_it(asked, capsys, number, kind):
    with pytest.raises(kind):
        in_a_callback(number)
    assert "ignored" not in capsys.readouterr().err


def test_it_is_answered_outside_the_steps_of_a_patient_stop_too(asked):
    with pytest.raises(Terminated), PatientStop():
        in_a_callback(signal.SIGTERM)


@pytest.mark.parametrize(("problem", "code"), [(KeyboardInterrupt(), 130), (Terminated(), 143)])
def test_a_request_before_a_command_begins_ends_without_a_traceback(monkeypatch, capsys, problem, code):
    def stopped():
        raise problem

    earlier = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(cli, "app", stopped)
    try:
        with pytest.raises(SystemExit) as end:
            cli.main()
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
    assert end.value.code == code and "topped by" in capsys.readouterr().err


def test_a_request_waits_while_work_is_finishing_and_is_not_lost(asked):
    reached = []
    with pytest.raises(Terminated):
        with finishing():
            signal.raise_signal(signal.SIGTERM)
            reached.append("finished")
        time.sleep(60.0)
        reached.append("slept")
    assert reached == ["finished"]


def test_it_is_answered_where_work_listens(asked):
    reached = []
    with finishing():
        signal.raise_signal(signal.SIGINT)
        reached.append("closed")
        with pytest.raises(KeyboardInterrupt), listening():
            reached.append("not reached")
        with pytest.raises(KeyboardInterrupt), listening():
            signal.raise_signal(signal.SIGINT)
    assert reached == ["closed"]


def test_a_second_request_does_not_wait(asked):
    with pytest.raises(KeyboardInterrupt), finishing():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)


def test_threads_that_finish_work_side_by_side_leave_requests_as_they_were(asked):
    """Two of them that end in the order in which they began would else put back what the other one had set."""
    first, second = finishing(), finishing()
    steps = [first.__enter__, second.__enter__, lambda: first.__exit__(None, None, None)]
    for step in [*steps, lambda: second.__exit__(None, None, None)]:
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
