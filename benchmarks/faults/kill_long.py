"""Stops of `vibrid hybrid train`, `hybrid run`, `hybrid serve` and `reproduce`."""

from __future__ import annotations

import json
import random
import signal
import tempfile
from pathlib import Path

import numpy as np

from faults.processes import SIGNALS, Running, half_files
from faults.work import write_hybrid, write_training

REPRODUCED = ("reproduce", "joint", "--figure", "16", "--study", "moving", "--quick", "--out", "out")


def kill_train(count: int, generator: random.Random) -> list[str]:
    """`vibrid hybrid train` stopped and resumed; its network is that of the undisturbed run."""
    words = ("hybrid", "train", "t.toml", "--out", "m.npz")
    with tempfile.TemporaryDirectory() as place:
        whole, cut = Path(place) / "whole", Path(place) / "cut"
        for folder in (whole, cut):
            folder.mkdir()
            write_training(folder)
        first = Running(whole, *words)
        problems = first.end()
        if first.process.returncode:
            return [*problems, f"the undisturbed training failed: {first.lines[-1:]}"]
        for i in range(count):
            process = Running(cut, *words)
            problems += process.stop(SIGNALS[i % 2], (cut / "m-unfinished.npz").exists, 1.5, generator)
        last = Running(cut, *words)
        problems += last.end()
        if last.process.returncode:
            return [*problems, f"the last resume ended with exit code {last.process.returncode}: {last.lines[-1:]}"]
        with np.load(whole / "m.npz") as one, np.load(cut / "m.npz") as other:
            if {n: one[n].tobytes() for n in one.files} != {n: other[n].tobytes() for n in other.files}:
                problems.append("the resumed network is another one")
        return problems


def kill_hybrid(killed: str, count: int, generator: random.Random) -> list[str]:
    """A hybrid test with a served device; the test ("run") or the server ("serve") is stopped.

    All steps that the one still running knows are in the record of the other, the last one excepted.
    """
    problems = []
    for i in range(count):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            problems += _kill_one(killed, SIGNALS[i % 2], folder, generator)
            problems += half_files(folder) if SIGNALS[i % 2] == signal.SIGTERM else []
    return problems


def _kill_one(killed: str, number: signal.Signals, folder: Path, generator: random.Random) -> list[str]:
    write_hybrid(folder)
    server = Running(folder, "hybrid", "serve", "damper.toml", "--port", "0", "--record", "server.h5")
    served = server.wait_for(r"tcp://127\.0\.0\.1:(\d+)")
    if served is None:
        return [f"the server did not start: {server.lines[-1:]}"]
    project = folder / "h.toml"
    project.write_text(project.read_text().replace("PORT", served[1]))
    test = Running(folder, "hybrid", "run", "h.toml", "--out", "out", "--real-time")

    def begun() -> bool:
        return len(_steps(folder, "server.h5", [])) > 0

    stopped, other = (test, server) if killed == "run" else (server, test)
    problems = stopped.stop(number, begun, 4.0, generator) + other.end()
    device = _steps(folder, "server.h5", problems)
    coordinator = _steps(folder / "out", "devices.h5", problems)
    known, kept = (device, coordinator) if killed == "run" else (coordinator, device)
    if not len(known) or not len(kept):
        return [*problems, f"{number.name}: no step was recorded ({len(known)}, {len(kept)})"]
    if len(kept) < len(known) - 1:
        problems.append(f"{number.name}: {len(known)} steps, of which {len(kept)} are recorded")
    both = min(len(known), len(kept))
    if not np.array_equal(known[:both], kept[:both]):
        problems.append(f"{number.name}: the two records differ")
    return problems


def _steps(folder: Path, name: str, problems: list[str]) -> np.ndarray:
    """Force of every step in a record, or in the journal of a program that was killed."""
    import vibrid as vb
    from vibrid.core.errors import VibridError

    for path in (folder / name, folder / f"{name}.journal"):
        if path.exists():
            try:
                record = vb.read_record(path)
            except VibridError as problem:
                problems.append(f"{path.name}: {problem}")
                continue
            force = next(c.name for c in record.channels if "force" in c.name)
            values = np.asarray(record[force])
            return values[np.isfinite(values)]
    return np.zeros(0)


def kill_reproduce(count: int, generator: random.Random) -> list[str]:
    """`vibrid reproduce` stopped and given again; its numbers are those of the undisturbed run."""
    with tempfile.TemporaryDirectory() as place:
        whole, cut = Path(place) / "whole", Path(place) / "cut"
        whole.mkdir()
        cut.mkdir()
        problems = Running(whole, *REPRODUCED).end()
        for i in range(count):
            process = Running(cut, *REPRODUCED)
            problems += process.stop(SIGNALS[i % 2], lambda p=process: len(p.lines) > 0, 8.0, generator)
            _numbers(cut, problems)
        problems += Running(cut, *REPRODUCED).end()
        expected = _numbers(whole, problems)
        if not expected or _numbers(cut, problems) != expected:
            problems.append("the numbers differ from the undisturbed run")
        return problems


def _numbers(folder: Path, problems: list[str]) -> dict:
    """Rows and checks of every finished item; a file that cannot be read is a problem."""
    numbers = {}
    for path in sorted(folder.rglob("*.json")):
        try:
            facts = json.loads(path.read_text())
            numbers[path.name] = facts["rows"], facts["checks"]
        except (ValueError, KeyError) as problem:
            problems.append(f"{path.name} is half-written ({problem!r})")
    return numbers
