"""Long commands that are killed at random moments (SIGKILL) or asked to end (SIGTERM), in turn, and resumed.

| command | expected |
|---|---|
| `online` from a file, a pipe, the network | after all resumes state and estimates of a whole run, bit for bit |
| `identify`, also with `bayes` | the result file is whole or not there; after SIGTERM in the work it is there |
| `hybrid train` | after all resumes the network of the undisturbed run, bit for bit |
| `hybrid run`, `hybrid serve` | every step of the device is in the record, the last one excepted |
| `reproduce` | finished items are whole; after all resumes the numbers of the undisturbed run |
"""

from __future__ import annotations

import os
import random
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from faults.kill_long import kill_hybrid, kill_reproduce, kill_train
from faults.processes import SIGNALS, Running
from faults.work import RATE, write_device, write_storey


class Online:
    """Runs of `vibrid online` in a folder, with a source that always begins at its first sample."""

    def __init__(self, source: str, folder: Path, samples):
        self.source, self.folder, self.samples = source, folder, samples

    def start(self, resume: bool) -> Running:
        origin = {"file": "test.csv", "pipe": "-", "udp": "udp://127.0.0.1:0"}[self.source]
        words = ["online", "p.toml", "--from", origin, "--out", "run.csv", "--state", "run.npz", "--timeout", "3"]
        words += [] if self.source == "file" else ["--rate", str(RATE)]
        words += ["--speed", "8"] if self.source == "file" else []
        process = Running(self.folder, *words, *(["--resume"] if resume else []))
        threading.Thread(target=self._feed, args=(process,), daemon=True).start()
        return process

    def _feed(self, running: Running) -> None:
        """Send all samples, 200 a second."""
        from vibrid.records.streams import pack

        stdin, sender = running.process.stdin, socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        assert stdin is not None
        opened = running.wait_for(r"udp://127\.0\.0\.1:(\d+)") if self.source == "udp" else None
        try:
            for i, (x, f) in enumerate(self.samples):
                if self.source == "pipe":
                    stdin.write(f"{i / RATE:.2f},{x!r},{f!r}\n")
                    stdin.flush()
                elif opened:
                    sender.sendto(pack(i, i / RATE, (x, f)), ("127.0.0.1", int(opened[1])))
                time.sleep(0.005)
            stdin.close()
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


def kill_online(source: str, count: int, generator: random.Random) -> list[str]:
    """What went wrong in `count` stops of one run; nothing where all is well."""
    with tempfile.TemporaryDirectory() as place:
        whole, cut = Path(place) / "whole", Path(place) / "cut"
        for folder in (whole, cut):
            folder.mkdir()
            samples = write_device(folder)
        undisturbed = Online(source, whole, samples)
        first = undisturbed.start(False)
        if first.end() or first.process.returncode:
            return [f"the undisturbed run failed: {first.lines[-1:]}"]
        run, problems = Online(source, cut, samples), []
        for i in range(count):
            process = run.start(run.begun())
            problems += process.stop(SIGNALS[i % 2], run.begun, 2.5, generator)
        last = run.start(run.begun())
        problems += last.end()
        if last.process.returncode:
            problems.append(f"the last resume ended with exit code {last.process.returncode}: {last.lines[-1:]}")
        elif run.result() != undisturbed.result():
            problems.append(f"after {count} stops the result differs from the undisturbed run")
        return problems


def stop_identify(method: str, count: int, generator: random.Random) -> list[str]:
    """`vibrid identify` stopped at random moments of its work."""
    import vibrid as vb
    from vibrid.core.errors import VibridError

    problems = []
    for i in range(count):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            write_storey(folder, 4000)
            process = Running(folder, "identify", "s.toml", "s.csv", "--method", method, "--save", "a.h5")
            process.wait_for("search|adapting|sampling")  # from here on there is an estimate
            problems += process.stop(SIGNALS[i % 2], lambda: True, 6.0, generator)
            if SIGNALS[i % 2] == signal.SIGTERM and not (folder / "a.h5").exists():
                problems.append(f"SIGTERM: nothing was saved (exit code {process.process.returncode})")
            if (folder / "a.h5").exists():
                try:
                    vb.load_identification(folder / "a.h5")
                except VibridError as problem:
                    problems.append(f"a.h5: {problem}")
    return problems


def run(count: int) -> dict:
    """`count` stops of each command."""
    generator, begun = random.Random(0), os.times()
    commands: dict[str, Callable[[], list[str]]] = {
        **{f"online, {s}": lambda s=s: kill_online(s, count, generator) for s in ("file", "pipe", "udp")},
        "identify": lambda: stop_identify("global", count, generator),
        "identify, bayes": lambda: stop_identify("bayes", count, generator),
        "hybrid train": lambda: kill_train(count, generator),
        "hybrid run": lambda: kill_hybrid("run", count, generator),
        "hybrid serve": lambda: kill_hybrid("serve", count, generator),
        "reproduce": lambda: kill_reproduce(count, generator),
    }
    results = {}
    for name, stop in commands.items():
        problems = stop()
        results[name] = {"stops": count, "failed": len(problems), "failures": problems}
        print(name, results[name], flush=True)
    ended = os.times()
    return {
        "stops": count * len(commands),
        "failed": sum(result["failed"] for result in results.values()),
        "processor_seconds": round(sum(ended[:4]) - sum(begun[:4]), 1),
        "commands": results,
    }
