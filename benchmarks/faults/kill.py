"""Processes that are killed at random moments (SIGKILL), or asked to end (SIGTERM).

`vibrid online` from a file, a pipe and the network is killed and resumed: state and estimates must be those of the
undisturbed run, bit for bit. `vibrid identify` is killed or asked to end: its result file is whole or not there, and
after SIGTERM in the descent it is there.
"""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from faults.work import RATE, write_device, write_storey

LONGEST = 300.0
"""Seconds after which a process counts as hanging."""


class Online:
    """Runs of `vibrid online` in a folder, with a source that always begins at its first sample."""

    def __init__(self, source: str, folder: Path, samples):
        self.source, self.folder, self.samples = source, folder, samples

    def start(self, resume: bool) -> subprocess.Popen:
        origin = {"file": "test.csv", "pipe": "-", "udp": "udp://127.0.0.1:0"}[self.source]
        words = ["online", "p.toml", "--from", origin, "--out", "run.csv", "--state", "run.npz", "--timeout", "3"]
        words += [] if self.source == "file" else ["--rate", str(RATE)]
        words += ["--speed", "8"] if self.source == "file" else []
        process = _vibrid(self.folder, *words, *(["--resume"] if resume else []))
        threading.Thread(target=self._feed, args=(process,), daemon=True).start()
        return process

    def _feed(self, process: subprocess.Popen) -> None:
        """Send all samples, 200 a second, and read what the process prints."""
        from vibrid.records.streams import pack

        port, sender = 0, socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        if self.source == "udp":
            for line in process.stderr:
                found = re.search(r"udp://127\.0\.0\.1:(\d+)", line)
                if found:
                    port = int(found[1])
                    break
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            for i, (x, f) in enumerate(self.samples):
                if self.source == "pipe":
                    process.stdin.write(f"{i / RATE:.2f},{x!r},{f!r}\n")
                    process.stdin.flush()
                elif self.source == "udp":
                    sender.sendto(pack(i, i / RATE, (x, f)), ("127.0.0.1", port))
                time.sleep(0.005)
            process.stdin.close()
        except OSError:  # it was killed
            pass
        sender.close()

    def begun(self) -> bool:
        return (self.folder / "run.npz.samples").exists() or (self.folder / "run.npz").exists()

    def result(self) -> tuple:
        from vibrid.identification.online.live import read_state

        state = read_state(self.folder / "run.npz")
        arrays = {name: a.tobytes() for name, a in state.arrays.items() if name != "note"}
        return (self.folder / "run.csv").read_bytes(), state.note["order"], arrays


def _vibrid(folder: Path, *words: str) -> subprocess.Popen:
    """The command of the same package as this process."""
    import vibrid

    path = os.pathsep.join([str(Path(vibrid.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "vibrid", *words], cwd=folder, text=True, env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def kill_online(source: str, count: int, generator: random.Random) -> list[str]:
    """What went wrong in `count` kills of one run; nothing where all is well."""
    with tempfile.TemporaryDirectory() as place:
        whole, cut = Path(place) / "whole", Path(place) / "cut"
        for folder in (whole, cut):
            folder.mkdir()
            samples = write_device(folder)
        undisturbed = Online(source, whole, samples)
        if undisturbed.start(False).wait(LONGEST):
            return [f"{source}: the undisturbed run failed"]
        run, problems = Online(source, cut, samples), []
        for moment in range(count):
            process = run.start(run.begun())
            deadline = time.monotonic() + LONGEST
            while not run.begun() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(generator.uniform(0.0, 2.5))
            process.kill()
            process.wait()
            if process.returncode not in (0, -signal.SIGKILL):
                problems.append(f"{source}, start {moment}: exit code {process.returncode}")
        last = run.start(run.begun())
        if last.wait(LONGEST):
            problems.append(f"{source}: the last resume ended with exit code {last.returncode}")
        elif run.result() != undisturbed.result():
            problems.append(f"{source}: after {count} kills the result differs from the undisturbed run")
        return problems


def stop_identify(number: int, generator: random.Random) -> list[str]:
    """`vibrid identify` stopped by a signal at a random moment of its work."""
    import vibrid as vb

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_storey(folder, 4000)
        process = _vibrid(folder, "identify", "s.toml", "s.csv", "--method", "global", "--save", "a.h5")
        for line in process.stderr:
            if "search" in line or "fitting" in line:
                break
        rest: list[str] = []
        reader = threading.Thread(target=lambda: rest.extend(process.stderr), daemon=True)
        reader.start()
        time.sleep(generator.uniform(1.0, 6.0))
        process.send_signal(number)
        try:
            code = process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            return [f"identify, signal {number}: hangs"]
        reader.join(10)
        file, problems = folder / "a.h5", []
        if any("Traceback" in line or "Unexpected" in line for line in rest):
            problems.append(f"identify, signal {number}: {rest[-1].strip()}")
        if file.exists():
            vb.load_identification(file)
        elif number == signal.SIGTERM:
            problems.append(f"identify, SIGTERM: nothing was saved (exit code {code})")
        return problems


def run(count: int) -> dict:
    """`count` kills of `vibrid online` from each source, and as many signals to `vibrid identify`."""
    generator, begun = random.Random(0), os.times()
    problems = [p for source in ("file", "pipe", "udp") for p in kill_online(source, count, generator)]
    for i in range(count):
        problems += stop_identify((signal.SIGTERM, signal.SIGKILL)[i % 2], generator)
    ended = os.times()
    seconds = round(sum(ended[:4]) - sum(begun[:4]), 1)
    return {"kills": 4 * count, "failed": len(problems), "processor_seconds": seconds, "failures": problems}
