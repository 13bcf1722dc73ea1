"""Damaged files: each must be read or refused with a message, within limits of time and memory.

A refusal is a `VibridError` that a check foresaw. Any other exception, a crash, a hang, or a read of more than 2 s of
processor time is a failure, listed with the number that makes the file again. Files are numbered; a range of numbers is
a job of its own: a large count is run in parts (`--first`) and in several processes (`--jobs`), and a stopped run goes
on.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path

from faults.mutation import generator_of, mutate
from faults.own_files import KINDS, Kind
from faults.record_files import valid_files

MEMORY = 6 * 1024**3
BLOCK = 200
"""Files of one job: a crash or a hang costs at most one of them."""
_MEMORY_DISK = "/dev/shm" if Path("/dev/shm").is_dir() else None


def kinds() -> list[str]:
    """All kinds of files: records by format, then vibrid's own."""
    return [*valid_files(), *KINDS]


@cache
def _kind(name: str) -> tuple[list[bytes], Kind]:
    kind = KINDS.get(name) or Kind(lambda: valid_files()[name], _read_record, None, ".bin")
    return kind.valid(), kind


def _read_record(path: Path):
    from vibrid.records import Limits, read_records

    return read_records(path, limits=Limits(expanded_bytes=64 * 1024**2, numbers=5_000_000, seconds=10.0))


def damaged(name: str, index: int) -> bytes:
    """The file number `index` of a kind; the same number gives the same file."""
    valid, kind = _kind(name)
    generator = generator_of(name, index)
    content = valid[index % len(valid)]
    if kind.inside is not None and generator.random() < 0.6:
        return kind.inside(content, generator)
    return mutate(content, valid, generator)


def try_one(name: str, path: Path, content: bytes) -> tuple[str, str, float]:
    """Read one file: 'read', 'refused' or 'failed', the traceback, and the seconds of processor time."""
    from vibrid.core.errors import VibridError
    from vibrid.records.readers import UNFORESEEN

    path.write_bytes(content)
    begun = _processor()
    try:
        _kind(name)[1].read(path)
        outcome = ("read", "")
    except VibridError as problem:
        outcome = ("failed" if UNFORESEEN in str(problem) else "refused", str(problem))
    except BaseException:
        outcome = ("failed", traceback.format_exc())
    return (*outcome, _processor() - begun)


def _processor() -> float:
    """Seconds of processor time of this process and of the one that opens HDF5 files."""
    from vibrid.records.readers import isolated

    process = isolated._reader.process
    if process is None or not sys.platform.startswith("linux"):
        return time.process_time()
    try:
        parts = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return time.process_time() + (int(parts[11]) + int(parts[12])) / 100
    except (OSError, ValueError, IndexError):
        return time.process_time()


def run_block(name: str, first: int, count: int) -> dict:
    """Read the files `first` to `first + count` of a kind."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    tally = {"files": 0, "read": 0, "refused": 0, "failed": 0, "slowest": 0.0, "failures": []}
    begun = time.process_time()
    with tempfile.TemporaryDirectory(dir=_MEMORY_DISK) as folder:
        path = Path(folder) / f"file{_kind(name)[1].suffix}"
        try_one(name, path, _kind(name)[0][0])  # what is imported or compiled once
        for index in range(first, first + count):
            outcome, text, seconds = try_one(name, path, damaged(name, index))
            slow = seconds > _kind(name)[1].seconds
            tally["files"] += 1
            tally["failed" if slow else outcome] += 1
            tally["slowest"] = max(tally["slowest"], seconds)
            if outcome == "failed" or slow:
                note = text[-600:] if outcome == "failed" else f"{seconds:.2f} s of processor time"
                tally["failures"].append({"kind": name, "index": index, "text": note})
    tally["processor_seconds"] = time.process_time() - begun
    return tally


def run(names: list[str], first: int, count: int, jobs: int, progress: Path | None) -> dict:
    """`count` files from number `first` of every kind; `progress`: a file that a stopped run goes on from."""
    blocks = [(name, at, min(BLOCK, first + count - at)) for name in names for at in range(first, first + count, BLOCK)]
    done = _done(progress)
    left = [block for block in blocks if _key(*block) not in done]
    context = multiprocessing.get_context("spawn")
    while left:
        with ProcessPoolExecutor(jobs, mp_context=context, max_tasks_per_child=50) as pool:
            futures = {block: pool.submit(run_block, *block) for block in left}
            for block, future in futures.items():
                try:
                    tally = future.result(timeout=60 + BLOCK * 20)
                except (BrokenProcessPool, TimeoutError) as problem:
                    crash = {"kind": block[0], "index": block[1], "text": f"{type(problem).__name__} in this block"}
                    tally = {"files": block[2], "failed": 1, "failures": [crash]}
                    _kill(pool)
                done[_key(*block)] = tally
                if progress is not None:
                    with progress.open("a") as stream:
                        stream.write(json.dumps([_key(*block), tally]) + "\n")
                if tally.get("failures"):
                    print(block[0], tally["failures"][0]["index"], tally["failures"][0]["text"][-300:], flush=True)
                if "processor_seconds" not in tally:
                    break  # the pool is broken: go on with a new one
        left = [block for block in left if _key(*block) not in done]
    return {name: _sum([done[_key(*block)] for block in blocks if block[0] == name]) for name in names}


def _kill(pool: ProcessPoolExecutor) -> None:
    for process in list((pool._processes or {}).values()):
        process.kill()


def _key(name: str, first: int, count: int) -> str:
    return f"{name} {first} {count}"


def _done(progress: Path | None) -> dict[str, dict]:
    if progress is None or not progress.exists():
        return {}
    return dict(json.loads(line) for line in progress.read_text().splitlines() if line.endswith("]"))


def _sum(tallies: list[dict]) -> dict:
    keys = ("files", "read", "refused", "failed", "processor_seconds")
    total = {key: sum(tally.get(key, 0) for tally in tallies) for key in keys}
    total["processor_seconds"] = round(total["processor_seconds"], 1)
    total["slowest"] = round(max(tally.get("slowest", 0.0) for tally in tallies), 3)
    return total | {"failures": [failure for tally in tallies for failure in tally["failures"]][:50]}
