"""The start of the studio: little is loaded before the first page, and a request to stop is always answered."""

import json
import signal
import subprocess
import sys
import time

import pytest

HEAVY = ("jax", "numpy", "scipy", "pint", "h5py", "equinox", "tomlkit", "vibrid.records", "vibrid.project")


def test_nothing_heavy_is_loaded_before_the_first_page():
    imported = "import json, sys, uvicorn, vibrid.cli, vibrid.studio.serving, vibrid.studio.server"
    lines = f"{imported}; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(json.loads(done.stdout))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a program can answer")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("seconds", [0.0, 0.4])
def test_a_request_to_stop_ends_it_without_a_traceback(tmp_path, number, seconds):
    """At once after the address is printed, when the server has answered nothing yet, and later."""
    command = [sys.executable, "-m", "vibrid.cli", "studio", str(tmp_path), "--port", "0", "--no-open", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert json.loads(process.stdout.readline())["address"]
    time.sleep(seconds)
    process.send_signal(number)
    said, problems = process.communicate(timeout=60)
    assert (process.returncode, said, problems) == (0, "", "")
