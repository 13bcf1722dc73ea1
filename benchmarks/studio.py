"""The studio: time to the first page, size of the page, a slider of a ten-storey building, live data, their costs.

    python benchmarks/studio.py [--steps 15000] [--part live]

The page is opened in headless Chromium. On a machine that others use, times by the clock say little: beside them stands
the processor time of all processes that take part, which is what two free cores need at most. Python's compiled files
are made before, as pip makes them. Live data come from a loop at 1024 Hz that records as a hybrid test does. Runs with
and without a watcher take turns, so that what else the machine does falls on both: of that loop, and of a whole hybrid
test with a specimen behind a socket (`studio_tests.py`), watched in the browser on the same machine.
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parent / "tests" / "studio"), str(HERE)]

import conftest as running  # noqa: E402
import studio_tests  # noqa: E402
import table  # noqa: E402

from vibrid.hybrid import Recorder  # noqa: E402
from vibrid.records.record import Channel  # noqa: E402

TEN = """title = "ten storeys"
[structure]
kind = "shear-building"
masses = {value = "20 t", count = 10}
storeys = {law = "linear", count = 10, stiffness = "40 MN/m"}
damping = {kind = "modal", ratios = 0.02}
[[sensors]]
quantity = "absolute_acceleration"
place = [0, 4, "roof"]
[[unknown]]
path = "storeys[*].stiffness"
[excitation]
synthetic = {seed = 7, duration = 20.0, rate = 100.0, pga = "0.3 g"}
"""
WATCH = """
import sys, time
from pathlib import Path
from vibrid.studio.tails import JournalTail
tail = JournalTail(Path(sys.argv[1]))
while True:
    tail.news()
    time.sleep(0.05)
"""
TEST = """
import sys, time
from pathlib import Path
from vibrid.hybrid import Recorder
from vibrid.records.record import Channel
from vibrid.studio.jobs import Jobs
from vibrid.studio.workspace import Workspace

folder, rate, seconds = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
names = ["a.target", "a.displacement", "a.force", "b.target", "b.displacement", "b.force", "x", "y"]
kinds = ["element_force" if name.endswith("force") else "displacement" for name in names]
(folder / "test").mkdir()
with Jobs(Workspace(folder)).adopted("hybrid", Path("test.toml"), folder / "test"):
    recorder = Recorder(folder / "test" / "devices.h5", [Channel(*c) for c in zip(names, kinds)], step=1 / rate)
    first = time.time()
    print(first, flush=True)
    for i in range(int(rate * seconds)):
        time.sleep(max(0.0, first + i / rate - time.time()))
        recorder.add(time.time() - first, [i % 97] * 8)
    recorder.close()
"""
FOLLOW = """([first, count]) => new Promise((done) => {
  const note = document.querySelector("#live-note"), taken = [];
  new MutationObserver((_, observer) => requestAnimationFrame(() => {
    const ended = note.textContent.includes("ended");  // the last picture may be late or early
    if (!ended) taken.push(Date.now() - 1000 * (first + Number(note.dataset.at)));
    if (taken.length === count || ended) { observer.disconnect(); done(taken); }
  })).observe(note, { attributes: true, attributeFilter: ["data-at"], childList: true });
})"""
DAY = """async () => {
  const { news } = await import("/page/live.js");
  const heap = () => { gc(); return performance.memory.usedJSHeapSize / 1e6; };
  const before = heap();
  for (let from = 1000; from < 87400; from += 10) {  // ten seconds of any rate are 600 values
    const times = Array.from({ length: 600 }, (_, i) => from + i / 60);
    const wave = times.map((t) => Math.sin(t)), at = from + 10, all = Array(8).fill(wave);
    const said = { job: 1, ended: false, rows: 1024 * at, at, now: wave.slice(0, 8), greatest: wave.slice(0, 8) };
    news({ ...said, times, traces: all, trails: [[wave, wave], [wave, wave]] });
    if (from % 1000 === 0) await new Promise(requestAnimationFrame);
  }
  await new Promise(requestAnimationFrame);
  return [before, heap()];
}"""


def page_size() -> int:
    """Bytes of all files of the page, each compressed."""
    folder = HERE.parent / "src" / "vibrid" / "studio" / "page"
    return sum(len(gzip.compress(p.read_bytes())) for p in folder.rglob("*") if p.is_file() and p.name != "LICENSE")


def processor_time(without: int = 0) -> float:
    """Seconds of processor time of this process's descendants but one: servers, what they started, and the browser."""
    parents, taken = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            cells = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)], taken[int(folder.name)] = int(cells[1]), sum(map(int, cells[11:15]))
    total = 0
    for process in taken:
        above = process
        while above in parents and above != os.getpid():
            above = parents[above]
        total += taken[process] if above == os.getpid() and process not in (os.getpid(), without) else 0
    return total / os.sysconf("SC_CLK_TCK")


class Browser:
    """Headless Chromium, and the hosts that its pages asked."""

    def __init__(self, playwright):
        options = ["--no-sandbox", "--enable-precise-memory-info", "--js-flags=--expose-gc"]
        path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        self._opened = playwright.chromium.launch(executable_path=path, args=options)
        self.hosts: set[str] = set()

    def page(self):
        page = self._opened.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(240_000)
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))
        return page


def first_page(browser: Browser, folder: Path) -> tuple[float, float]:
    """Seconds, and seconds of processor time, from the command to the page."""
    page = browser.page()
    time.sleep(3.0)  # a new window makes work of its own
    begun, used = time.perf_counter(), processor_time()
    studio = running.RunningStudio(folder)
    page.goto(f"{studio.address}/#token={studio.token}")
    page.wait_for_selector("html[data-ready]")
    taken = time.perf_counter() - begun, processor_time() - used
    page.close()
    studio.stop()
    browser.hosts.discard(studio.host)
    return taken


def slider(browser: Browser, folder: Path, moves: int) -> tuple[list[float], float]:
    """Milliseconds of each move of a slider, and of processor time in the mean."""
    folder.mkdir()
    (folder / "ten.toml").write_text(TEN)
    studio, page = running.RunningStudio(folder), browser.page()
    page.goto(f"{studio.address}/#token={studio.token}")
    page.get_by_role("tab", name="2 Structure").click()
    page.get_by_role("button", name="Simulate").click()
    page.wait_for_selector("#traces canvas")
    time.sleep(2.0)  # what the page asks for once is answered
    move = """async (values) => {
      const slider = document.querySelector('[aria-label="Value of storeys[0].stiffness"][type=range]');
      const note = document.querySelector("#simulated"), taken = [];
      for (const value of values) {
        const before = note.dataset.milliseconds;
        slider.value = value;
        slider.dispatchEvent(new Event("input"));
        while (note.dataset.milliseconds === before) await new Promise((done) => setTimeout(done, 2));
        taken.push(Number(note.dataset.milliseconds));
      }
      return taken;
    }"""
    page.evaluate(move, [0.005])
    used = processor_time()
    taken = page.evaluate(move, [0.01 * (i + 1) for i in range(moves)])
    used = processor_time() - used
    page.close()
    studio.stop()
    browser.hosts.discard(studio.host)
    return taken, used / moves * 1e3


def live(browser: Browser, folder: Path, rate: float, count: int) -> tuple[list[float], float, list[float]]:
    """Milliseconds from a sample of a running test to the page, of each picture; seconds of processor time of server
    and browser in a second of the test; and the page's memory over a day."""
    studio, page = running.RunningStudio(folder), browser.page()
    command = [sys.executable, "-c", TEST, str(folder), str(rate), str(20 + 0.1 * count)]
    test = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    first = float(test.stdout.readline())
    page.goto(f"{studio.address}/#token={studio.token}")
    page.get_by_role("tab", name="Live").click()
    page.wait_for_selector("#live-plots canvas")
    time.sleep(1.0)
    used, begun = processor_time(test.pid), time.perf_counter()
    taken = page.evaluate(FOLLOW, [first, count])
    used = (processor_time(test.pid) - used) / (time.perf_counter() - begun)
    test.kill()
    test.communicate()
    page.get_by_text("; ended").wait_for()
    memory = page.evaluate(DAY)
    page.close()
    studio.stop()
    browser.hosts.discard(studio.host)
    return taken, used, memory


def steps_of_a_test(folder: Path, count: int, watched: bool) -> np.ndarray:
    """Seconds of each step of a paced loop that records eight channels as a hybrid test does."""
    recorder = Recorder(folder / "test.h5", [Channel(f"c{i}", "displacement") for i in range(8)], step=1 / 1024)
    watcher = subprocess.Popen([sys.executable, "-c", WATCH, str(recorder.journal)]) if watched else None
    row, taken = np.zeros(8), np.empty(count)
    if watched:
        time.sleep(1.5)  # it is there before the first step
    due = time.perf_counter()
    for i in range(count):
        due += 1 / 1024
        while time.perf_counter() < due:
            pass
        begun = time.perf_counter()
        row[:] = i
        recorder.add(i / 1024, row)
        taken[i] = time.perf_counter() - begun
    if watcher is not None:
        watcher.kill()
        watcher.wait()
    recorder.close()
    return taken


def row(what: str, measured: str, target: str = "", met: bool | None = None, note: str = "") -> dict:
    return {"what": what, "measured": measured, "target": target, "met": met} | ({"note": note} if note else {})


def first_pages(browser: Browser, scratch: Path) -> list[dict]:
    size = page_size()
    first_page(browser, scratch / "before")  # makes Python's compiled files
    pages = np.array([first_page(browser, scratch / f"page {i}") for i in range(5)])
    wall, used = np.median(pages, axis=0)
    note = f"by the clock {wall:.2f} s, load average {os.getloadavg()[0]:.1f}; medians of 5"
    words = "from `vibrid studio` to the first page, processor time of server and browser"
    return [
        row("the page, compressed", f"{size / 1e3:.0f} kB", "≤ 300 kB", size <= 300e3),
        row(words, f"{used:.2f} s", "≤ 1.5 s", bool(used <= 1.5), note),
    ]


def sliders(browser: Browser, scratch: Path) -> list[dict]:
    taken, used = slider(browser, scratch / "ten", 30)
    middle = float(np.median(taken))
    note = f"fastest {min(taken):.0f} ms; {used:.0f} ms of processor time, server and browser; "
    note += f"load average {os.getloadavg()[0]:.1f}"
    words = "a slider of ten storeys, 2000 samples, three sensors: from hand to picture, median of 30"
    return [row(words, f"{middle:.0f} ms", "≤ 100 ms", middle <= 100, note)]


def live_tests(browser: Browser, scratch: Path) -> list[dict]:
    rows = []
    for rate in (200, 1024):
        taken, used, memory = live(browser, scratch / f"live {rate}", rate, 100)
        p50, p95 = np.percentile(taken, [50, 95])
        note = f"{len(taken)} pictures; {used:.2f} s of processor time of server and browser a second; "
        note += f"load average {os.getloadavg()[0]:.1f}"
        words = f"8 channels at {rate} Hz, from a sample to the page: p50, p95"
        rows.append(row(words, f"{p50:.0f}, {p95:.0f} ms", note=note))
    words = "memory of the page before and after 24 h of live data at 1024 Hz, at speed"
    return [*rows, row(words, f"{memory[0]:.1f}, {memory[1]:.1f} MB", "bounded", memory[1] < memory[0] + 5.0)]


def hybrid_tests(browser: Browser, scratch: Path) -> list[dict]:
    """Steps of a whole hybrid test with and without a page that watches it, in turns."""
    found: dict[bool, list] = {False: [], True: []}
    for turn in range(3):
        for watched in (False, True):
            found[watched].append(studio_tests.steps(scratch / f"test {turn} {watched}", browser.page, watched))
    browser.hosts -= {host for host in browser.hosts if host.startswith("127.0.0.1:")}  # one for every test
    rows = []
    for watched, words in ((False, "without"), (True, "with")):
        times = np.concatenate([one.step for one in found[watched]])
        p50, p99, p999 = np.percentile(times, [50, 99, 99.9]) * 1e6
        used = np.median([one.processor for one in found[watched]])
        note = f"{len(times)} steps in 3 runs, in turns; {used:.2f} s of processor time of the test for each; "
        note += f"load average {os.getloadavg()[0]:.1f}"
        words = f"a step of a hybrid test in real time, {words} a page that watches: p50, p99, p99.9"
        rows.append(row(words, f"{p50:.0f}, {p99:.0f}, {p999:.0f} µs", note=note))
    return rows


def recording(steps: int) -> list[dict]:
    taken = {True: [], False: []}
    for _ in range(3):
        for watched in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                taken[watched].append(steps_of_a_test(Path(folder), steps, watched))
    note, rows = f"{3 * steps} steps each, in turns; what a step does for its record, which the watcher reads", []
    for watched, words in ((False, "without"), (True, "with")):
        p50, p99, p999 = np.percentile(np.concatenate(taken[watched]), [50, 99, 99.9]) * 1e6
        words = f"recording a step at 1024 Hz, {words} a watcher: p50, p99, p99.9"
        rows.append(row(words, f"{p50:.1f}, {p99:.1f}, {p999:.1f} µs", note=f"{note}; load {os.getloadavg()[0]:.1f}"))
    return rows


PARTS = {"page": first_pages, "slider": sliders, "live": live_tests, "tests": hybrid_tests}


def in_browser(parts: list[str], scratch: Path) -> list[dict]:
    from playwright.sync_api import sync_playwright

    rows = []
    with sync_playwright() as playwright:
        browser = Browser(playwright)
        for part in parts:
            rows += PARTS[part](browser, scratch)
        others = len(browser.hosts)
        return [*rows, row("requests to other hosts", str(others), "0", not others)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=15_000)
    parser.add_argument("--part", choices=[*PARTS, "recording"], help="measure this part; rows of others stay")
    arguments = parser.parse_args()
    parts = [arguments.part] if arguments.part else [*PARTS, "recording"]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(scratch) / "compiled")
        if wanted := [part for part in parts if part in PARTS]:
            rows += in_browser(wanted, Path(scratch))
    if "recording" in parts:
        rows += recording(arguments.steps)
    if arguments.part and table_file().is_file():
        new = {measured["what"]: measured for measured in rows}
        old = json.loads(table_file().read_text())["rows"]
        rows = [new.pop(kept["what"], kept) for kept in old] + list(new.values())
    machine = f"{os.cpu_count()} shared cores, no GPU"
    table.save("studio", "The studio", f"python benchmarks/studio.py --steps {arguments.steps}", machine, rows)


def table_file() -> Path:
    return table.FOLDER / "results" / "studio.json"


if __name__ == "__main__":
    main()
