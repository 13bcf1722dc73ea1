"""Jobs: a queue, cancelling, and what survives the death of the server or of a job."""

import contextlib
import dataclasses
import json
import os
import signal
import time
from pathlib import Path

import pytest

from vibrid.core.errors import InputError
from vibrid.studio import tasks
from vibrid.studio.jobs import Jobs
from vibrid.studio.tasks import JobKind
from vibrid.studio.workspace import Workspace

SPECIMEN = Path(__file__).resolve().parents[2] / "examples" / "specimens" / "friction-damper.toml"
TABLE = "time [s],ground [m/s^2]\n0,0\n0.01,1\n0.02,2\n0.03,1\n"


def is_alive(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace with a kind of job that ends at once, one that fails, and one that waits until it is stopped."""
    serve = ["hybrid", "serve", str(SPECIMEN), "--port", "0"]
    for name, words in {
        "quick": ["record", "info", "a.csv"],
        "fail": ["record", "info", "b.csv"],
        "wait": serve,
    }.items():
        monkeypatch.setitem(tasks.TASKS, name, JobKind(name, lambda *_, words=words: list(words), alone=True))
    (tmp_path / "a.csv").write_text(TABLE)
    return Workspace(tmp_path)


def until(jobs, wanted, seconds=60.0):
    """Tend the queue until `wanted` holds for the states, by number."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        jobs.tend()
        states = {job["id"]: job["state"] for job in jobs.all()}
        if wanted(states):
            return states
        time.sleep(0.05)
    raise AssertionError(f"{states}: {[jobs.one(n)['log'] for n in states]}")


def said_by(jobs, number, word, seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if word in jobs.one(number)["said"] + jobs.one(number)["log"]:
            return
        time.sleep(0.05)
    raise AssertionError(jobs.one(number))


def pid_of(jobs, number):
    return jobs._row(number)["pid"]


def test_jobs_wait_for_their_turn_and_say_how_they_ended(workspace):
    jobs = Jobs(workspace)
    numbers = [jobs.add(kind, None, {}, "here") for kind in ("quick", "fail", "quick")]
    assert numbers == [1, 2, 3]
    jobs.tend()
    assert [job["state"] for job in jobs.all()] == ["queued", "queued", "running"]
    assert until(jobs, lambda s: set(s.values()) <= {"done", "failed"}) == {1: "done", 2: "failed", 3: "done"}
    first, second = jobs.one(1), jobs.all()[1]
    assert "m/s^2" in first["said"] and first["command"] == "vibrid record info a.csv" and first["code"] == 0
    assert second["problem"] == "b.csv: there is no such file; did you mean 'a.csv'?"
    assert jobs.all()[0]["started"] >= jobs.all()[1]["ended"]
    told = [event["what"] for event in jobs.events()]
    assert told[0].startswith("started run 3") and all("from here" in event["who"] for event in jobs.events())


def test_a_job_outlives_the_server_and_is_found_again(workspace):
    first = Jobs(workspace)
    first.add("wait", None, {}, "here")
    first.tend()
    said_by(first, 1, "listen")
    first.close()
    later = Jobs(workspace)  # as after the death of the server: it knows the list and the files only
    later.tend()
    assert later.state(1) == "running"
    later.cancel(1, "there")
    assert until(later, lambda s: s[1] != "running") == {1: "cancelled"}
    assert json.loads((later.folder / "1" / "end.json").read_text())["code"] in (0, 130)
    with pytest.raises(InputError, match="ended already"):
        later.cancel(1, "there")


def test_a_job_that_was_killed_is_interrupted_and_can_go_on(workspace):
    jobs = Jobs(workspace)
    number = jobs.add("wait", None, {}, "here")
    waiting = jobs.add("quick", None, {}, "here")
    jobs.tend()
    said_by(jobs, number, "listen")
    os.kill(pid_of(jobs, number), signal.SIGKILL)
    assert until(jobs, lambda s: s[waiting] == "done") == {number: "interrupted", waiting: "done"}
    assert "listen" in jobs.one(number)["said"] + jobs.one(number)["log"]  # what it had is kept
    jobs.again(number, "here")
    until(jobs, lambda s: s[number] == "running")
    with pytest.raises(InputError, match="not ended"):
        jobs.again(number, "here")
    pid = pid_of(jobs, number)
    for _ in range(3):  # asked, asked again, ended
        jobs.cancel(number, "here")
    assert until(jobs, lambda s: s[number] != "running")[number] == "cancelled" and not is_alive(pid)


def test_a_job_that_moves_a_device_is_asked_once_and_never_killed(workspace, monkeypatch):
    assert tasks.TASKS["hybrid"].moves
    monkeypatch.setitem(tasks.TASKS, "wait", dataclasses.replace(tasks.TASKS["wait"], moves=True))
    jobs, sent = Jobs(workspace), []
    number = jobs.add("wait", None, {}, "here")
    jobs.tend()
    said_by(jobs, number, "listen")
    pid = pid_of(jobs, number)
    with monkeypatch.context() as patch:
        patch.setattr("vibrid.studio.jobs.os.kill", lambda *words: sent.append(words))
        jobs.cancel(number, "here")
        for _ in range(3):
            with pytest.raises(InputError, match="ends after its present step"):
                jobs.cancel(number, "here")
    assert sent == [(pid, signal.SIGINT)]
    os.kill(pid, signal.SIGINT)
    until(jobs, lambda s: s[number] != "running")


def test_an_interrupted_job_goes_on_from_what_it_kept(workspace, monkeypatch):
    """Only from what is there, and only after an interruption: a job that is run again begins at its beginning."""
    serve = ["hybrid", "serve", str(SPECIMEN), "--port", "0"]
    kind = JobKind("keeps", lambda *_: list(serve), alone=True, kept="state.npz", resume=("--resume",))
    monkeypatch.setitem(tasks.TASKS, "keep", kind)
    jobs = Jobs(workspace)
    number = jobs.add("keep", None, {}, "here")

    def interrupt():
        until(jobs, lambda s: s[number] == "running")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid_of(jobs, number), signal.SIGKILL)
        until(jobs, lambda s: s[number] != "running")

    def again():
        jobs.again(number, "here")
        return json.loads((jobs.folder / "1" / "job.json").read_text())["arguments"]

    interrupt()
    assert jobs.all()[0]["state"] == "interrupted" and not jobs.all()[0]["goes_on"]
    assert again() == serve  # it had kept nothing
    interrupt()
    (jobs.folder / "1" / "state.npz").write_bytes(b"")
    assert jobs.all()[0]["goes_on"] and again() == [*serve, "--resume"]
    jobs.cancel(number, "here")
    assert not jobs.all()[0]["goes_on"] and again() == serve
    assert not (jobs.folder / "1" / "state.npz").exists()
    jobs.cancel(number, "here")
    said = [event["what"] for event in jobs.events()]
    assert said.count("let run 1 go on") == 1 and said.count("started run 1 again") == 2


@pytest.mark.parametrize("kind", ["identify", "online"])
def test_jobs_that_keep_a_state_name_it_in_their_command(workspace, kind):
    task = tasks.TASKS[kind]
    words = task.arguments("a.toml", {"record": "a.csv"}, workspace.folder / "1", workspace)
    assert words[words.index("--state") + 1] == str(workspace.folder / "1" / task.kept)


def test_a_queued_job_is_cancelled_before_it_begins(workspace):
    jobs = Jobs(workspace, at_once=1)
    number = jobs.add("quick", None, {}, "here")
    jobs.cancel(number, "here")
    jobs.tend()
    assert jobs.state(number) == "cancelled" and not (jobs.folder / "1" / "said.txt").exists()


PROJECT = """title = "tower"
[structure]
kind = "shear-building"
masses = ["20 t"]
storeys = {law = "linear", count = 1, stiffness = "10 MN/m"}
[[sensors]]
quantity = "displacement"
place = "roof"
[excitation]
synthetic = {seed = 3, duration = 10.0, rate = 100.0, pga = "0.3 g"}
"""


def test_the_server_is_killed_in_the_middle_of_a_job_which_goes_on(studios):
    """Its project is changed meanwhile; the job keeps the one that it began with."""
    studio = studios()
    made = studio.ask("PUT", "projects/tower.toml", {"text": PROJECT, "mark": None})[1]
    number = studio.post("jobs", {"kind": "simulate", "project": "tower.toml"})["job"]
    studio.wait_for(number, "running")
    studio.ask("PUT", "projects/tower.toml", {"text": "nonsense", "mark": made["mark"]})
    studio.kill()
    again = studios()
    assert again.get(f"jobs/{number}")["state"] == "running"
    job = again.wait_for(number, "done", "failed", "interrupted")
    assert job["state"] == "done", job["log"]
    assert {"readings.csv", "response.png", "project.toml"} <= set(job["files"])
    assert job["command"] == "vibrid simulate tower.toml --out readings.csv --plot response.png"
    stages = [json.loads(line)["stage"] for line in (again.folder / ".studio/jobs/1/progress.jsonl").open()]
    assert stages[0].startswith("reading") and any("simulating" in stage for stage in stages)
    assert not list(again.folder.glob(".tower*"))


def test_a_folder_is_watched_by_the_command(tmp_path):
    from typer.testing import CliRunner

    from vibrid.cli import app

    workspace = Workspace(tmp_path)
    (tmp_path / "records").mkdir()
    made = tasks.TASKS["track"].arguments
    options = {"folder": "records", "environment": "temperature", "drift_limit": "15 mm", "events": True}
    words = made("tower.toml", options, tmp_path / "1", workspace)
    assert words[:2] == ["track", "records"] and words[words.index("--drift-limit") + 1] == "15 mm"
    offered = CliRunner().invoke(app, ["track", "--help"], env={"COLUMNS": "200"}).stdout
    assert all(word in offered for word in words if word.startswith("--"))
    assert "--events" not in made("tower.toml", {"folder": "records"}, tmp_path / "1", workspace)
    for name, said in (("other", "no folder 'other'"), ("..", "cannot be"), (None, "missing")):
        with pytest.raises(InputError, match=said):
            made("tower.toml", {"folder": name}, tmp_path / "1", workspace)
