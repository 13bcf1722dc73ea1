"""A hybrid test in real time with a specimen behind a socket, with and without a page that watches it."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
SPECIMEN = HERE.parent / "examples" / "specimens" / "friction-damper.toml"
PROJECT = """title = "frame with a friction damper"
[structure]
kind = "shear-building"
masses = ["20 t", "20 t"]
storeys = {{law = "linear", count = 2, stiffness = "12 MN/m"}}
damping = {{kind = "modal", ratios = 0.03}}
[[sensors]]
quantity = "displacement"
place = [0, "roof"]
[excitation]
synthetic = {{seed = 3, duration = 10.0, rate = 256.0, pga = "0.3 g"}}
[hybrid]
[[hybrid.experimental]]
name = "damper"
at = 0
device = {{kind = "remote", host = "127.0.0.1", port = {port}, timeout = 20.0}}
limits = {{displacement = "60 mm", velocity = "1 m/s", force = "120 kN", step = "10 mm"}}
"""
TEST = """
import sys, time
from pathlib import Path
import numpy as np
from vibrid.commands.hybrid_run import load_hybrid
from vibrid.hybrid import Recorder, RealTime, WallClock
from vibrid.studio.beside import shown_in_browser

path, watched = Path(sys.argv[1]), sys.argv[2] == "True"
out = path.parent / "results"
loaded, plan = load_hybrid(path, False)
clock = WallClock(1.0 / plan.test.rate, RealTime())
record = lambda channels, step: Recorder(out / "devices.h5", channels, step, clock=clock)
with shown_in_browser("hybrid", path, out, watched):
    if watched:
        time.sleep(float(sys.argv[3]))  # the page is there
    used = time.process_time()
    result = plan.test.run(loaded.excitation(), limits=plan.limits, clock=clock, record=record)
    used = time.process_time() - used
np.savez(out / "times.npz", step=result.timing.step.values, processor=used)
"""


class Steps(NamedTuple):
    """Seconds of each step, and of processor time of the whole test."""

    step: np.ndarray
    processor: float


def steps(folder: Path, new_page: Callable, watched: bool) -> Steps:
    """Run the test; `new_page` opens the page that watches it."""
    folder.mkdir()
    serve = [sys.executable, "-m", "vibrid.cli", "hybrid", "serve", "--port", "0", str(SPECIMEN)]
    device = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    port = re.search(r":(\d+)\b", device.stdout.readline())[1]
    (folder / "test.toml").write_text(PROJECT.format(port=port))
    (folder / "results").mkdir()
    command = [sys.executable, "-c", TEST, str(folder / "test.toml"), str(watched), "3"]
    test, page, lines = subprocess.Popen(command, stderr=subprocess.PIPE, text=True), None, []
    reading = threading.Thread(target=lambda: lines.extend(test.stderr), daemon=True)
    reading.start()
    while test.poll() is None and watched and page is None:
        found = re.search(r"Watch at (\S+)", "".join(lines))
        if found:
            page = new_page()
            page.goto(found[1])
            page.wait_for_selector("#watched")
        time.sleep(0.05)
    seen = 0
    while test.poll() is None:
        if page is not None:
            seen = int(page.evaluate("document.querySelector('#live-note')?.dataset.rows || 0"))
        time.sleep(0.5)
    reading.join(10)
    if page is not None:
        page.close()
    device.kill()
    device.communicate()
    if test.returncode or (watched and not seen):
        raise RuntimeError("".join(lines) or "the page saw no rows")
    with np.load(folder / "results" / "times.npz") as kept:
        return Steps(kept["step"], float(kept["processor"]))
