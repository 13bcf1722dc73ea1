"""Jobs of an item: computed side by side, stored one by one, resumed, and removed when the item is written."""

import numpy as np
import pytest

from vibrid.papers import jobs
from vibrid.papers.jobs import name_of, run_jobs
from vibrid.papers.paper import Run


def square(run, number: int) -> dict:
    if number == 4:
        raise ValueError("four is refused")
    return {"square": np.array(float(number**2)), "process": np.array(jobs._run is not None)}


def run_in(folder) -> Run:
    run = Run()
    run.folder = folder
    run.begin_item()
    return run


def test_jobs_in_processes_of_their_own_keep_the_order(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "cores", lambda: 2)
    run = run_in(tmp_path)
    results = run_jobs(run, square, [(3,), (1,), (2,)])
    assert [float(r["square"]) for r in results] == [9.0, 1.0, 4.0]
    assert all(bool(r["process"]) for r in results)
    assert not run.reused
    run.end_item()
    assert not list(tmp_path.rglob("*.npz"))


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


def test_a_quick_run_stores_nothing(tmp_path):
    run = Run(quick=True)
    run.folder = tmp_path
    assert float(run_jobs(run, square, [(2,)])[0]["square"]) == 4.0
    assert not list(tmp_path.rglob("*.npz"))
