"""Jobs of an item: computed side by side, stored one by one, resumed, and removed when the item is written."""

import os
import threading
import time

import numpy as np
import pytest

from vibrid.papers import jobs
from vibrid.papers.jobs import all_on_threads, beside, name_of, on_threads, one_job, run_jobs
from vibrid.papers.paper import Run


def square(run, number: int) -> dict:
    if number == 4:
        raise ValueError("four is refused")
    apart = jobs._run is not None
    told = [os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "NPROC", "XLA_PYTHON_CLIENT_PREALLOCATE")]
    return {"square": np.array(float(number**2)), "process": np.array(apart), "environment": np.array(told)}


def run_in(folder) -> Run:
    run = Run()
    run.folder = folder
    run.begin_item()
    return run


def test_jobs_in_processes_of_their_own_keep_the_order(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(jobs, "cores", lambda: 4)
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    run = run_in(tmp_path)
    results = run_jobs(run, square, [(3,), (1,), (2,)], cores_each=2)
    assert [float(r["square"]) for r in results] == [9.0, 1.0, 4.0]
    assert all(bool(r["process"]) for r in results)
    assert all(r["environment"].tolist() == ["2", "2", "false"] for r in results)  # cores, and memory left to others
    assert not run.reused
    run.end_item()
    assert not list(tmp_path.rglob("*.npz"))


def test_without_dask_jobs_are_threads_of_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "cores", lambda: 2)
    monkeypatch.setattr(jobs, "find_spec", lambda name: None)
    run, together = run_in(tmp_path), threading.Barrier(2, timeout=60)
    results = run_jobs(run, met, [(together, 3), (together, 1)])
    assert [float(r["number"]) for r in results] == [3.0, 1.0]
    with pytest.raises(ValueError, match="four"):
        run_jobs(run_in(tmp_path), square, [(4,), (3,)])


def met(run, together: threading.Barrier, number: int) -> dict:
    together.wait()
    return {"number": np.array(float(number))}


def test_a_call_that_failed_is_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "cores", lambda: 1)
    with pytest.raises(ValueError, match="four"):
        run_jobs(run_in(tmp_path), square, [(3,), (4,)])
    stored = tmp_path / "unfinished" / f"{name_of(square, (3,))}.npz"
    assert stored.exists()
    again = run_in(tmp_path)
    monkeypatch.setattr(jobs, "_computed", lambda run, make, job: {"square": np.array(-1.0)})
    assert [float(r["square"]) for r in run_jobs(again, square, [(3,), (5,)])] == [9.0, -1.0]
    assert again.reused, "its time is not that of a cold run"


def test_a_job_that_fails_in_its_process_is_told(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(jobs, "cores", lambda: 2)
    with pytest.raises(ValueError, match="four"):
        run_jobs(run_in(tmp_path), square, [(4,), (3,)])


def test_a_quick_run_stores_nothing(tmp_path):
    run = Run(quick=True)
    run.folder = tmp_path
    assert float(run_jobs(run, square, [(2,)])[0]["square"]) == 4.0
    assert not list(tmp_path.rglob("*.npz"))


def test_threads_keep_the_order_and_compute_the_first_job_alone():
    running, together = [], []

    def called(number: int) -> int:
        running.append(number)
        together.append(len(running))
        time.sleep(0.02 * (4 - number))
        running.remove(number)
        return number**2

    assert all_on_threads(called, [(i,) for i in range(5)]) == [0, 1, 4, 9, 16]
    assert together[0] == 1 and all_on_threads(called, []) == []
    numbers = dict(on_threads(called, [(2,), (3,)]))
    assert numbers == {0: 4, 1: 9}
    with pytest.raises(ValueError, match="four"):
        all_on_threads(lambda number: square(None, number), [(3,), (4,)])


def test_jobs_beside_something_else_keep_their_order():
    begun, done = threading.Event(), threading.Event()

    def waits(number: int) -> int:
        begun.set()
        assert done.wait(60)
        return -number

    with beside(waits, [(3,), (1,), (2,)]) as results:
        assert begun.wait(60)  # while this block is busy
        done.set()
        assert results() == [-3, -1, -2]


def test_a_block_that_fails_begins_no_further_job(monkeypatch):
    monkeypatch.setattr(jobs, "cores", lambda: 2)
    begun, called = threading.Event(), []

    def counts(number: int) -> int:
        called.append(number)
        begun.set()
        time.sleep(0.05)
        return number

    with pytest.raises(KeyError), beside(counts, [(i,) for i in range(1000)]):
        assert begun.wait(60)
        raise KeyError("the training")
    assert 0 < len(called) < 100


def test_a_job_that_fails_beside_something_else_is_told():
    with pytest.raises(ValueError, match="four"), beside(lambda number: square(None, number), [(4,)]) as results:
        results()


def test_one_job_is_computed_once_and_read_by_a_later_call(tmp_path):
    counted = []

    def count(run, number):
        counted.append(number)
        return {"number": np.array(number)}

    first, second = run_in(tmp_path), run_in(tmp_path)
    assert [int(one_job(first, count, 7)["number"]) for _ in range(2)] == [7, 7] and counted == [7]
    assert int(one_job(second, count, 7)["number"]) == 7 and counted == [7] and second.reused
    second.end_item()
    assert int(one_job(run_in(tmp_path), count, 7)["number"]) == 7 and counted == [7, 7]
