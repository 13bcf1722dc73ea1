"""The studio in a real browser: the whole job on a messy file, a live hybrid test, a server that dies.

VIBRID_PICTURES=docs/figures/studio makes the pictures of docs/studio.md.
"""

import contextlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from vibrid.studio.jobs import Jobs
from vibrid.studio.workspace import Workspace

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PICTURES = os.environ.get("VIBRID_PICTURES")
SLOW = 300_000  # ms, on a machine that is busy; nothing waits longer than it needs

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the PATH")]


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield opened
        opened.close()


class Visitor:
    """A page of the studio, and what it did: requests, errors."""

    def __init__(self, browser, studio, width=1280, height=800):
        self.page = browser.new_page(viewport={"width": width, "height": height})
        self.page.set_default_timeout(SLOW)
        self.requested, self.errors = set(), []
        self.page.on("request", lambda request: self.requested.add(urlsplit(request.url).netloc))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.goto(f"{studio.address}/#token={studio.token}")
        self.page.wait_for_selector("html[data-ready]")

    def step(self, name):
        self.page.get_by_role("tab", name=name).click()

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def picture(self, name, top=True):
        if PICTURES:
            if top:
                self.page.evaluate("scrollTo(0, 0)")
            self.page.mouse.move(2, 2)
            self.page.screenshot(path=Path(PICTURES) / f"{name}.png")

    def is_accessible(self):
        """No violation of the rules of axe-core: names, labels, contrast, roles."""
        found = axe.Axe().run(self.page)
        assert found.violations_count == 0, found.generate_report()

    def fits(self):
        """Nothing is wider than the window."""
        width = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert width <= 0


def test_the_whole_job_on_a_messy_file(browser, studios, messy, tmp_path):
    """From an empty folder and a CSV to a report, with the mouse: decimal commas, g, a gap, three ground components."""
    studio = studios()
    visitor = Visitor(browser, studio)
    page = visitor.page
    assert "token" not in page.url
    (tmp_path / "messy.csv").write_text(messy)

    page.set_input_files("#bring", tmp_path / "messy.csv")
    page.wait_for_selector(".channels")
    text = page.inner_text("#panel")
    assert "decimal commas" in text and "misses 12 of 2000 samples" in text and "is dead" in text
    assert "3 channels may be components of the ground motion" in text
    visitor.button("Use these channels").click()
    page.get_by_text("Say which channel is the ground motion").wait_for()  # it is asked for, not guessed
    for channel, use, place in (("Shaker NS", "ground", ""), ("Floor 1", "absolute_acceleration", "0")):
        page.get_by_label(f"What {channel} is").select_option(use)
        if place:
            page.get_by_label(f"Place of {channel}").fill(place)
    page.get_by_label("What Roof is").select_option("absolute_acceleration")
    visitor.button("Use these channels").click()
    page.get_by_text("Give 'Roof' a place").wait_for()
    page.get_by_label("Place of Roof").fill("roof")
    visitor.button("Use these channels").click()
    page.wait_for_selector("#message.good")
    visitor.picture("data")
    visitor.is_accessible()
    visitor.fits()

    visitor.step("2 Structure")
    page.get_by_label("First frequency").fill("2.5")
    visitor.button("Make it").click()
    page.wait_for_selector("#drawing svg")
    assert 'law = "linear"' in page.input_value("#toml") and 'channel = "Roof"' in page.input_value("#toml")
    assert page.locator("#drawing .sensor").count() == 2
    assert page.locator("#drawing .load").count() == 1
    page.wait_for_selector("#traces canvas")  # simulated at once, beside what was measured
    page.wait_for_selector("#simulated[data-milliseconds]", state="attached")
    slider = page.get_by_role("slider", name="Value of storeys[0].stiffness")
    before = page.locator("#simulated").get_attribute("data-milliseconds")
    slider.evaluate("e => { e.value = -0.1; e.dispatchEvent(new Event('input')); }")
    page.wait_for_function("t => document.querySelector('#simulated').dataset.milliseconds !== t", arg=before)
    visitor.picture("structure", top=False)
    visitor.is_accessible()
    page.locator('[id="storeys[1]:0"]').press("Enter")  # by keyboard
    value = page.get_by_role("textbox", name="Value of storeys[1].stiffness")
    value.fill("11 MN/m")
    value.blur()
    page.wait_for_function("() => document.querySelector('#toml').value.includes('11 MN/m')")
    visitor.button("Undo").click()
    page.wait_for_function("() => !document.querySelector('#toml').value.includes('11 MN/m')")
    assert visitor.button("Undo").is_enabled()
    visitor.button("Show all").click()

    visitor.step("3 Ask")
    visitor.button("What can be found?").click()
    page.wait_for_selector("#expected table")
    assert "storeys[0].stiffness" in page.inner_text("#expected")
    visitor.picture("ask")
    visitor.is_accessible()

    visitor.step("4 Run")
    visitor.button("Identify").click()
    page.wait_for_selector(".job.running")
    page.get_by_role("region", name="Log of run 1").get_by_text("fitting").wait_for()
    visitor.picture("run")
    page.wait_for_selector(".job.done")
    visitor.is_accessible()

    visitor.step("5 Look")
    page.wait_for_selector(".result table")
    found = dict(re.findall(r"(storeys\[\d\]\.stiffness)\s+([\d.]+) ±", page.inner_text(".result")))
    assert float(found["storeys[0].stiffness"]) == pytest.approx(12.0, rel=0.01)
    assert float(found["storeys[1].stiffness"]) == pytest.approx(9.0, rel=0.01)
    visitor.button("Show the report").click()
    report = page.frame_locator("iframe.report")
    report.get_by_text("The model fits").first.wait_for()
    assert (
        report.locator("body").evaluate("() => { try { return !!parent.document; } catch { return false; } }") is False
    )
    with page.expect_download() as fetched:
        visitor.button("Download result.h5").click()
    assert Path(fetched.value.path()).read_bytes().startswith(b"\x89HDF")
    page.click("#theme")
    visitor.picture("dark")
    page.set_viewport_size({"width": 1024, "height": 768})  # a tablet, then upright
    for name in ("1 Data", "2 Structure", "3 Ask", "4 Run", "5 Look", "Live"):
        visitor.step(name)
        visitor.is_accessible()
        visitor.fits()
    page.set_viewport_size({"width": 768, "height": 1024})
    visitor.step("2 Structure")
    page.wait_for_function("() => document.querySelector('#traces canvas').clientWidth < 740")
    visitor.fits()
    visitor.picture("tablet")
    assert visitor.errors == [] and visitor.requested == {studio.host}
    page.close()


def test_runs_are_compared_and_predict_under_another_record(browser, studios, finished_runs):
    studio = studios(folder=finished_runs)
    visitor = Visitor(browser, studio)
    page = visitor.page
    visitor.step("5 Look")
    page.wait_for_selector("#comparison")
    for run in (1, 2):
        page.get_by_label(f"run {run}", exact=True).check()
    table = page.get_by_role("region", name="Estimates ± 2σ side by side")
    assert table.inner_text().count("±") == 5  # two unknowns of two runs, and the caption
    page.locator("#predict-record").select_option("other.csv")
    visitor.button("Draw the predictions").click()
    page.wait_for_selector("#predicted canvas")
    peaks = page.get_by_role("region", name="Predicted peaks side by side").locator("tbody td").all_inner_texts()
    assert len(peaks) == 3 and peaks[0] != peaks[1] and peaks[2] == "–"
    assert page.locator("#comparison .legend .key").count() == 3
    visitor.picture("compare")
    visitor.is_accessible()
    visitor.fits()
    page.get_by_label("run 2", exact=True).uncheck()
    assert page.locator("#predicted").count() == 0  # a picture never shows other runs than those chosen
    page.locator("#predict-drive").fill("UD")
    page.locator("#predict-drive").blur()
    visitor.button("Draw the predictions").click()
    page.get_by_text("UD").first.wait_for()
    page.wait_for_selector("#message.bad")
    assert visitor.requested == {studio.host}
    page.close()


def test_a_sensor_is_placed_on_the_drawing(browser, studios, tower_fits):
    studio = studios()
    studio.ask("PUT", "projects/tower.toml", {"text": (tower_fits / "tower.toml").read_text(), "mark": None})
    visitor = Visitor(browser, studio)
    page = visitor.page
    page.keyboard.press("Tab")  # all of it by keyboard
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.get_by_role("tab", name="1 Data").focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-ask"
    page.wait_for_selector("#drawing .sensor")
    visitor.button("Where do they tell most?").press("Enter")
    page.wait_for_selector("#drawing .suggested")
    assert "At 0: then storeys[0].stiffness" in page.inner_text("#placed")
    visitor.picture("place")
    visitor.is_accessible()
    visitor.button("Add to the project").press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#drawing .sensor:not(.suggested)').length === 2")
    assert page.input_value("#toml").count("[[sensors]]") == 2 and page.locator("#drawing .suggested").count() == 0
    assert visitor.errors == [] and visitor.requested == {studio.host}
    page.close()


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
