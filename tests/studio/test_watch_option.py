"""`--watch`: a page beside a test in a terminal; it stops the test like Ctrl-C; what is not recorded is not shown."""

import contextlib
import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(*words, **options):
    """A command in the background of a shell, which ignores Ctrl-C there."""
    command = ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-m", "vibrid.cli", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@contextlib.contextmanager
def watched(measured, out):
    """An online run in real time with its page: process, address, host and token."""
    source = measured.with_name("test.csv")
    online = run("online", measured, "--from", source, "--speed", "real", "--every", 1, "--out", out, "--watch")
    lines = []
    threading.Thread(target=lambda: lines.extend(online.stderr), daemon=True).start()
    try:
        while not (found := re.search(r"Watch at (http://(\S+))/#token=(\w+)", "".join(lines))):
            assert online.poll() is None, "".join(lines)
            time.sleep(0.05)
        yield online, *found.groups()
    finally:
        online.kill()
        online.wait()


def first_rows(socket, count):
    """Times of the first rows that a page is sent."""
    times = []
    while len(times) < count:
        said = json.loads(socket.recv(timeout=300))
        if "live" in said:
            assert said["live"].get("kind", "online") == "online"
            times += said["live"]["times"]
            socket.send(json.dumps({"drawn": 1}))
    return times


def test_an_online_run_is_watched_and_stopped_from_the_page(measured, tmp_path):
    out = tmp_path / "run.csv"
    with watched(measured, out) as (online, address, host, token):
        with connect(f"ws://{host}/live", origin=address) as socket:
            socket.send(json.dumps({"token": token}))
            assert json.loads(socket.recv(timeout=60))["jobs"][0]["state"] == "running"
            socket.send(json.dumps({"watch": 1}))
            times = first_rows(socket, 3)
            assert times == sorted(times)
        headers = {"Authorization": f"Bearer {token}", "Origin": address}
        asked = urllib.request.Request(f"{address}/api/jobs/1/cancel", b"{}", headers, method="POST")
        assert json.loads(urllib.request.urlopen(asked).read()) == {"job": 1}
        online.wait(timeout=120)
        said = online.stdout.read()
    assert online.returncode == 0 and "stopped by Ctrl-C" in said
    assert len(out.read_text().splitlines()) >= 4


def test_the_page_learns_that_its_test_was_killed_and_ends_with_it(measured, tmp_path):
    with (
        watched(measured, tmp_path / "run.csv") as (online, address, host, token),
        connect(f"ws://{host}/live", origin=address) as socket,
    ):
        socket.send(json.dumps({"token": token}))
        assert json.loads(socket.recv(timeout=60))["jobs"][0]["state"] == "running"
        online.kill()
        states = []
        with pytest.raises(ConnectionClosed):  # a server that lives on is an orphan
            while True:
                states += [job["state"] for job in json.loads(socket.recv(timeout=60)).get("jobs", [])]
        assert "interrupted" in states
        with pytest.raises(OSError, match="refused"):
            for _ in range(600):
                urllib.request.urlopen(address).close()
                time.sleep(0.1)


def test_what_cannot_be_watched_is_refused(measured):
    for words, sentence in (
        (
            ("online", measured, "--from", measured.with_name("test.csv")),
            "--watch shows what is recorded: give --out too.",
        ),
        (("hybrid", "run", EXAMPLES / "hybrid.toml"), "--watch is for tests with an external device"),
    ):
        refused = run(*words, "--watch")
        _, said = refused.communicate(timeout=240)
        assert refused.returncode == 1 and sentence in said
