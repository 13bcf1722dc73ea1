"""A studio in a process of its own, and a client that speaks HTTP as a page, or as an attacker, does."""

import contextlib
import http.client
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb
from vibrid.commands.identify import answer_of
from vibrid.commands.output import as_json
from vibrid.project import load_project
from vibrid.studio.jobs import Jobs
from vibrid.studio.workspace import Workspace

for module in ("starlette", "uvicorn", "websockets", "tomlkit"):
    pytest.importorskip(module, reason="the extra `studio` is not installed")


class RunningStudio:
    """A studio that serves a folder; `ask` sends a request as its page does."""

    def __init__(self, folder: Path, *options: str):
        command = [sys.executable, "-m", "vibrid.cli", "studio", str(folder), "--port", "0", "--no-open", "--json"]
        self.folder = folder
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = json.loads(self.process.stdout.readline())
        self.address, _, self.token = said["address"].partition("/#token=")
        self.host = self.address.removeprefix("http://")

    def request(self, method, path, body=None, headers=None, host=None):
        """Status, headers and content of an answer; nothing is added to the request but its length."""
        connection = http.client.HTTPConnection(self.host, timeout=180)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in [("Host", host or self.host), *(headers or {}).items()]:
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def ask(self, method, path, content=None):
        """Status and JSON of an answer to the page."""
        body = content if isinstance(content, bytes | None) else json.dumps(content).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Origin": self.address, "Sec-Fetch-Site": "same-origin"}
        status, _, said = self.request(method, f"/api/{path}", body, headers)
        return status, json.loads(said)

    def get(self, path):
        """The JSON of an answer that is no refusal."""
        status, said = self.ask("GET", path)
        assert status == 200, said
        return said

    def post(self, path, content):
        """The JSON of an answer that is no refusal."""
        status, said = self.ask("POST", path, content)
        assert status == 200, said
        return said

    def wait_for(self, number, *states, seconds=120.0):
        """The job, once it is in one of these states."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            job = self.get(f"jobs/{number}")
            if job["state"] in states:
                return job
            time.sleep(0.1)
        raise AssertionError(f"run {number} is {job['state']}: {job['log']}")

    def kill(self):
        """End the server without a word."""
        self.process.kill()
        self.process.communicate()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()


@pytest.fixture
def studios(tmp_path):
    """Starts studios; they end with the test."""
    started = []

    def start(*options, folder=tmp_path / "work"):
        started.append(RunningStudio(folder, *options))
        return started[-1]

    yield start
    for studio in started:
        studio.stop()


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A studio for all tests of a module that leave it as it was."""
    running = RunningStudio(tmp_path_factory.mktemp("studio") / "work")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium; a test that asks for it is skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium on the PATH")
    with sync_api.sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
        opened = playwright.chromium.launch(executable_path=chromium, args=options)
        yield opened
        opened.close()


def messy_csv() -> str:
    """A logger's table: two floors, one in g; three components of the ground; a gap, a dead channel, decimal commas."""
    building = vb.ShearBuilding(
        masses=[20e3] * 2, storeys=[vb.Linear(stiffness=12e6), vb.Linear(stiffness=9e6)], damping=vb.Modal(0.03)
    )
    quake = vb.synthetic_motion(key=4, duration=20.0, rate=100.0, pga=3.0)
    readings = vb.simulate(building, quake).measure(vb.Sensors(absolute_acceleration=[0, 1]), noise=0.02, key=1)
    ground = quake.data[:, 0]
    rng = np.random.default_rng(3)
    lines = ["Time [s];Shaker NS [m/s^2];Shaker EW [m/s^2];Shaker UD [m/s^2];Floor 1 [g];Roof [m/s^2];Spare [V]"]
    for i in range(len(ground)):
        floor, roof = (readings[f"absolute_acceleration_{k}"][i] for k in (0, 1))
        floor = floor / 9.80665
        others = 0.02 * rng.standard_normal(2)
        cells = [
            f"{0.01 * i:.2f}",
            f"{ground[i]:.5f}",
            *(f"{v:.5f}" for v in others),
            f"{floor:.6f}",
            f"{roof:.5f}",
            "0",
        ]
        if 700 <= i < 712:
            cells[4] = ""  # the logger lost a channel for a moment
        lines.append(";".join(cell.replace(".", ",") for cell in cells))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def messy() -> str:
    return messy_csv()


TOWER = """title = "tower"
[structure]
kind = "shear-building"
masses = ["20 t", "20 t"]
storeys = {law = "linear", count = 2, stiffness = "10 MN/m"}
damping = {kind = "modal", ratios = 0.03}
[[sensors]]
quantity = "absolute_acceleration"
place = "roof"
[[unknown]]
path = "storeys[*].stiffness"
[excitation]
synthetic = {seed = 3, duration = 6.0, rate = 100.0, pga = "0.3 g"}
"""


@pytest.fixture(scope="session")
def tower_fits(tmp_path_factory):
    """A folder with a project, a record `other.csv`, and two results of its identification from different readings."""
    folder = tmp_path_factory.mktemp("fits")
    (folder / "tower.toml").write_text(TOWER)
    project = load_project(folder / "tower.toml")
    truth = project.structure.replace({"storeys[0].stiffness": 12e6})
    response = vb.simulate(truth, project.excitation())
    for i in (1, 2):
        data = response.measure(vb.Sensors(project.sensors), noise=0.05, key=i)
        fit = vb.identify(project.structure, data, project.unknown, checks="none")
        fit.save(folder / f"result-{i}.h5")
        (folder / f"result-{i}.json").write_text(as_json(answer_of(fit, [])))
    motion = vb.synthetic_motion(key=9, duration=5.0, rate=100.0, pga=2.0)
    rows = [f"{t:.2f},{a:.6f}" for t, a in zip(motion.time, motion.data[:, 0], strict=True)]
    (folder / "other.csv").write_text("\n".join(["time [s],ground [m/s^2]", *rows]) + "\n")
    return folder


@pytest.fixture
def finished_runs(tower_fits, tmp_path):
    """The folder of a studio with the project and its two results as runs that have ended."""
    workspace = Workspace(tmp_path / "work")
    for name in ("tower.toml", "other.csv"):
        shutil.copy(tower_fits / name, workspace.folder)
    jobs = Jobs(workspace)
    for i in (1, 2):
        with jobs.adopted("identify", workspace.folder / "tower.toml", workspace.folder) as number:
            for kind in ("h5", "json"):
                shutil.copy(tower_fits / f"result-{i}.{kind}", jobs.folder / str(number) / f"result.{kind}")
    jobs.close()
    return workspace.folder


DEVICE = """
[structure]
kind = "device"
law = {law = "masing", stiffness = 4.0, distribution = {kind = "rayleigh", mean = 4.0}, ductility = 2.0, capacity = 12}
[[sensors]]
quantity = "element_force"
place = "device"
channel = "f"
[excitation]
channels = [{column = "x", quantity = "imposed_displacement"}]
cyclic = {amplitudes = [3.0, 8.0, 12.0], frequency = 0.5, cycles = 40, rate = 25.0}
quantity = "imposed_displacement"
[[unknown]]
path = "law.stiffness"
start = 3.0
[method]
name = "online-masing"
window = 40
stride = 4
"""


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """Four minutes of readings of a device beside its project."""
    project = tmp_path_factory.mktemp("measured") / "device.toml"
    project.write_text(DEVICE)
    loaded = load_project(project)
    x, f = vb.simulate(loaded.structure, loaded.excitation()).part("device")
    rows = [f"{i / 25.0:.2f},{a:.9g},{b:.9g}" for i, (a, b) in enumerate(zip(x, f, strict=True))]
    project.with_name("test.csv").write_text("\n".join(["time [s],x [m],f [N]", *rows]) + "\n")
    return project
