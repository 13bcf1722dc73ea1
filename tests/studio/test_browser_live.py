"""The studio in a real browser: what runs is watched, stopped, killed and goes on."""

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from visitor import EXAMPLES, SLOW, Visitor

from vibrid.studio.jobs import Jobs
from vibrid.studio.workspace import Workspace

pytestmark = pytest.mark.browser


HYBRID = """title = "frame with a friction damper"
[structure]
kind = "shear-building"
masses = ["20 t", "20 t"]
storeys = {{law = "linear", count = 2, stiffness = "12 MN/m"}}
damping = {{kind = "modal", ratios = 0.03}}
[[sensors]]
quantity = "displacement"
place = [0, "roof"]
[excitation]
synthetic = {{seed = 3, duration = 120.0, rate = 256.0, pga = "0.3 g"}}
[hybrid]
[[hybrid.experimental]]
name = "damper"
at = 0
device = {{kind = "remote", host = "127.0.0.1", port = {port}, timeout = 20.0}}
limits = {{displacement = "60 mm", velocity = "1 m/s", force = "120 kN", step = "10 mm"}}
"""


@pytest.fixture
def specimen():
    """A virtual specimen behind a socket, in a process of its own; its port."""
    command = [sys.executable, "-m", "vibrid.cli", "hybrid", "serve", "--port", "0"]
    file = EXAMPLES / "specimens" / "friction-damper.toml"
    process = subprocess.Popen([*command, str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    yield int(re.search(r":(\d+)\b", process.stdout.readline())[1])
    process.kill()
    process.communicate()


def test_a_live_hybrid_test_is_watched_and_stopped(browser, studios, specimen):
    studio = studios()
    studio.ask("PUT", "projects/test.toml", {"text": HYBRID.format(port=specimen), "mark": None})
    visitor = Visitor(browser, studio)
    page = visitor.page
    visitor.step("4 Run")
    visitor.button("Run it in real time").click()
    page.wait_for_selector(".job.running")
    visitor.step("Live")
    page.wait_for_function("() => Number(document.querySelector('#live-note')?.dataset.rows) > 1500")
    assert "no emergency stop" in page.inner_text("#panel")
    assert page.locator("#live-plots canvas").count() == 4  # displacement, tracking error, force, loop
    shares = page.locator("#live-values td:last-child").all_inner_texts()
    assert [share.endswith("%") for share in shares] == [True, True, False, True]  # of displacements and force
    assert page.locator("#live-values td:nth-child(4)").all_inner_texts() == ["60 mm", "60 mm", "–", "120 kN"]
    visitor.picture("live")
    visitor.is_accessible()
    page.click("#stop-test")
    page.get_by_text(re.compile("; ended")).wait_for()
    job = studio.wait_for(1, "cancelled")
    assert "The test was stopped at" in job["said"] and {"report.html", "devices.h5"} <= set(job["files"])
    rows = int(page.locator("#live-note").get_attribute("data-rows"))
    import vibrid as vb

    recorded = vb.read_record(studio.folder / ".studio" / "jobs" / "1" / "devices.h5")
    assert 1500 < len(recorded) < 30_000 and rows <= len(recorded)  # nothing was made up
    page.get_by_text("Who did what").click()
    page.get_by_text("stopped run 1").wait_for()
    events = [event["what"] for event in studio.get("events")["events"]]
    assert events[:2] == ["stopped run 1", "started run 1: hybrid test.toml"]
    assert visitor.errors == [] and visitor.requested == {studio.host}
    page.close()


def test_estimates_are_watched_with_their_deviations(browser, studios):
    """An online identification of a terminal, shown by the studio of its folder."""
    studio = studios()
    table = studio.folder / "run.csv"
    table.write_text("time,law.stiffness,law.stiffness deviation\n")
    with Jobs(Workspace(studio.folder)).adopted("online", Path("damper.toml"), table):
        visitor = Visitor(browser, studio)
        page = visitor.page
        visitor.step("Live")
        for i in range(40):
            with table.open("a") as stream:
                stream.write(f"{0.1 * i},{4e6 + 1e6 / (1 + i)},{2e6 / (1 + i)}\n")
        page.wait_for_function("() => document.querySelector('#live-note')?.dataset.rows === '40'")
        assert page.locator("#live-values tbody tr").all_inner_texts() == ["law.stiffness\t4.025e+6\t1.000e+5"]
        page.reload()  # a page that opens here, as that of --watch does
        page.wait_for_function("() => document.querySelector('#live-note')?.dataset.rows === '40'")
        title = page.locator("#live-plots .u-title")
        assert title.inner_text() == "law.stiffness ± 2σ"
        page.click("#theme")
        visitor.picture("estimates")
        visitor.is_accessible()
        visitor.fits()
    page.get_by_text(re.compile("; ended")).wait_for()
    assert visitor.errors == [] and visitor.requested == {studio.host}
    page.close()


def test_the_server_dies_and_the_page_goes_on(browser, studios):
    studio = studios("--token", "0123456789abcdef0123")
    example = (EXAMPLES / "shear-building.toml").read_text(encoding="utf-8")
    studio.ask("PUT", "projects/test.toml", {"text": example, "mark": None})
    visitor = Visitor(browser, studio)
    visitor.step("4 Run")
    visitor.page.wait_for_selector("#drawing svg")
    visitor.button("Simulate").click()
    visitor.page.wait_for_selector(".job.running")
    studio.kill()
    visitor.page.get_by_text("The server is gone").wait_for()
    again = studios("--token", studio.token, "--port", studio.host.rpartition(":")[2])
    visitor.page.wait_for_selector(".job.done")
    assert visitor.page.inner_text("#message") == ""
    visitor.step("5 Look")
    visitor.page.get_by_text("Download readings.csv").wait_for()
    assert again.get("jobs/1")["state"] == "done"
    visitor.page.close()


TOWER = """title = "tower"
[structure]
kind = "shear-building"
masses = ["20 t", "20 t"]
storeys = {law = "linear", count = 2, stiffness = "0.8 MN/m"}
damping = {kind = "modal", ratios = 0.02}
[[sensors]]
quantity = "absolute_acceleration"
place = 0
channel = "a0"
[[sensors]]
quantity = "absolute_acceleration"
place = 1
channel = "a1"
[[unknown]]
path = "storeys[*].stiffness"
"""


def test_a_folder_is_watched_and_its_page_followed(browser, studios):
    """Three hours of a slow tower: two windows, the page while the job runs, and after it was stopped."""
    import numpy as np

    import vibrid as vb

    sys.path.insert(0, str(EXAMPLES))
    from ambient_vibration import accelerations, chain

    studio = studios()
    records = studio.folder / "records"
    records.mkdir()
    for n in range(3):
        y = accelerations(*chain([20e3] * 2, [0.8e6] * 2, 0.02), seed=n, seconds=3600.0, rate=5.0, finer=1)
        channels = [vb.Channel(f"a{i}", "absolute_acceleration", location=str(i)) for i in range(2)]
        clock = vb.records.UtcClock(np.datetime64("2025-01-01", "ns") + np.timedelta64(n, "h"), "GPS")
        vb.Record(y / y.std(), channels, step=0.2, clock=clock).write_hdf5(records / f"{n}.h5")
    studio.ask("PUT", "projects/tower.toml", {"text": TOWER, "mark": None})
    visitor = Visitor(browser, studio)
    page = visitor.page
    visitor.step("4 Run")
    page.get_by_text("Watch a folder to which files are added").click()
    page.get_by_label("Folder that is watched").fill("records")
    visitor.button("Watch").click()
    page.wait_for_selector(".job.running")
    visitor.is_accessible()
    visitor.step("5 Look")
    until = time.monotonic() + 120
    report = studio.folder / ".studio" / "jobs" / "1" / "report.html"
    while not report.exists() and time.monotonic() < until:
        time.sleep(0.2)
    visitor.button("Follow the page").click()
    shown = page.frame_locator("iframe.report")
    shown.get_by_text("2 windows of 2 quantities").first.wait_for()
    studio.post("jobs/1/cancel", {})
    job = studio.wait_for(1, "cancelled", "done")
    assert "2 windows" in job["said"] and "report.html" in job["files"]
    assert visitor.errors == [] and visitor.requested == {studio.host}
    page.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_a_run_that_was_killed_goes_on_from_the_page(browser, studios, measured):
    """An online identification: no estimate is lost, and none is made twice."""
    studio = studios()
    rows = measured.with_name("test.csv").read_text().splitlines(keepends=True)
    (studio.folder / "test.csv").write_text("".join(rows[:351]))  # 14 s
    studio.ask("PUT", "projects/device.toml", {"text": measured.read_text(), "mark": None})
    visitor = Visitor(browser, studio)
    visitor.step("4 Run")
    studio.post("jobs", {"kind": "online", "project": "device.toml", "options": {"record": "test.csv"}})
    visitor.page.wait_for_selector(".job.running")
    own = studio.folder / ".studio"
    until = time.monotonic() + SLOW / 1000
    while not (own / "jobs" / "1" / "state.npz").is_file():
        assert time.monotonic() < until, studio.get("jobs/1")["log"]
        time.sleep(0.05)
    with contextlib.closing(sqlite3.connect(own / "jobs.sqlite")) as jobs:
        os.kill(jobs.execute("SELECT pid FROM jobs").fetchone()[0], signal.SIGKILL)
    visitor.page.wait_for_selector(".job.interrupted")
    before = (own / "jobs" / "1" / "estimates.csv").read_text().splitlines()
    visitor.is_accessible()
    visitor.button("Go on").click()
    visitor.page.wait_for_selector(".job.done")
    after = (own / "jobs" / "1" / "estimates.csv").read_text().splitlines()
    assert 1 < len(before) < len(after) and after[: len(before) - 1] == before[:-1]  # the last may be half written
    times = [float(row.partition(",")[0]) for row in after[1:]]
    assert times == pytest.approx([times[0] + 0.4 * i for i in range(35)]), "every tenth sample, to the end"
    assert "let run 1 go on" in [event["what"] for event in studio.get("events")["events"]]
    visitor.page.close()
