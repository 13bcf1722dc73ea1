"""Damaged files: each must be read or refused with a message, within limits of time and memory.

A refusal is a `VibridError` that a check foresaw. Any other exception, a crash, a hang, or a read of more than 2 s of
processor time is a failure, listed with the number that makes the file again:

    python benchmarks/faults.py --part files --kinds PEER --first 1234 --count 1

A million files on a machine with 16 cores, in parts of 8 minutes: each call goes on where the last one ended and writes
what was done until then:

    python benchmarks/faults.py --part files --total 1000000 --jobs 14 --minutes 8 --progress files.jsonl \\
        --output files.json --machine "16 cores"

It needs this folder, `examples/` and `tests/identification/files/` beside it, and the package on PYTHONPATH.
"""

from __future__ import annotations

import gc
import json
import math
import re
import sys
import time
import traceback
from collections import Counter
from functools import cache
from pathlib import Path

from faults.mutation import generator_of, mutate
from faults.own_files import KINDS, Kind
from faults.record_files import valid_files

BLOCK = 200
"""Files of one line of the file of progress."""
SECONDS = 2.0
"""Of processor time for one read."""
_REASONS = 8  # reasons of refusal listed for each kind


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


def prepare(name: str, folder: Path) -> Path:
    """The path for files of a kind; all valid files are read once, so that nothing is imported or compiled later."""
    valid, kind = _kind(name)
    path = folder / f"file{kind.suffix}"
    for content in valid:
        try_one(name, path, content)
    return path


def damaged(name: str, index: int) -> bytes:
    """The file number `index` of a kind; the same number gives the same file."""
    valid, kind = _kind(name)
    generator = generator_of(name, index)
    content = valid[index % len(valid)]
    if kind.inside is not None and generator.random() < 0.6:
        return kind.inside(content, generator)
    return mutate(content, valid, generator)


def try_one(name: str, path: Path, content: bytes) -> tuple[str, str, float]:
    """Read one file: 'read', 'refused' or 'failed', the message or traceback, and the seconds of processor time.

    A read of more than 2 s is repeated once and the smaller time counts: a busy machine, or the memory that thousands
    of earlier files left behind, is not the file's doing; what is slow by itself is slow twice.
    """
    outcome, text, seconds = _read_once(name, path, content)
    if seconds > SECONDS:
        gc.collect()
        outcome, text, again = _read_once(name, path, content)
        seconds = min(seconds, again)
    return outcome, text, seconds


def _read_once(name: str, path: Path, content: bytes) -> tuple[str, str, float]:
    from vibrid.core.errors import VibridError
    from vibrid.records.readers import UNFORESEEN

    path.write_bytes(content)
    begun = _processor()
    try:
        _kind(name)[1].read(path)
        outcome = ("read", "")
    except VibridError as problem:
        outcome = ("failed" if UNFORESEEN in str(problem) else "refused", f"{type(problem).__name__}: {problem}")
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


def reason(text: str) -> str:
    """What a message says without the file, names and numbers that it is about."""
    kind, _, said = text.partition(": ")
    said = re.sub(r"^\S*file\.\w+(?:, line \d+)?: ", "", said)
    said = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", said)
    said = re.sub(r"[-+]?\d[\d.eE+-]*", "#", said)
    return f"{kind}: {' '.join(said.split())[:60]}"


class Tally:
    """What happened to the files of one kind."""

    def __init__(self, name: str):
        self.name, self.counts, self.reasons = name, Counter(), Counter()
        self.slowest, self.slowest_index, self.seconds = 0.0, None, 0.0
        self.failures: list[dict] = []
        self.restarts = 0

    def add(self, index: int, outcome: str, text: str, seconds: float) -> None:
        slow = seconds > SECONDS
        self.counts["failed" if slow else outcome] += 1
        self.seconds += seconds
        if seconds > self.slowest:
            self.slowest, self.slowest_index = seconds, index
        if outcome == "refused":
            self.reasons[reason(text)] += 1
        if outcome == "failed" or slow:
            note = text[-600:] if outcome == "failed" else f"{seconds:.2f} s of processor time"
            repeat = f'--part files --kinds "{self.name}" --first {index} --count 1'
            self.failures.append({"index": index, "text": note, "repeat": repeat})

    def as_line(self) -> dict:
        """For the file of progress."""
        return {"counts": self.counts, "reasons": self.reasons, "slowest": [self.slowest, self.slowest_index],
                "seconds": self.seconds, "restarts": self.restarts, "failures": self.failures}  # fmt: skip

    def merge(self, line: dict) -> None:
        self.counts.update(line["counts"])
        self.reasons.update(line["reasons"])
        self.slowest, self.slowest_index = max(
            (self.slowest, self.slowest_index), tuple(line["slowest"]), key=lambda pair: pair[0]
        )
        self.seconds += line["seconds"]
        self.restarts += line["restarts"]
        self.failures += line["failures"]

    def summary(self) -> dict:
        rest = sum(self.reasons.values()) - sum(n for _, n in self.reasons.most_common(_REASONS))
        return {
            "files": sum(self.counts.values()),
            **{key: self.counts[key] for key in ("read", "refused", "failed")},
            "processor_seconds": round(self.seconds, 1),
            "slowest": round(self.slowest, 3),
            "slowest_index": self.slowest_index,
            "restarts": self.restarts,
            "refusals": dict(self.reasons.most_common(_REASONS)) | ({"others": rest} if rest else {}),
            "failures": self.failures[:50],
        }


def run(names: list[str], first: int, count: int, jobs: int, progress: Path | None, minutes: float) -> dict:
    """`count` files from number `first` of every kind, until `minutes` are over; `progress`: a file to go on from."""
    from faults.workers import read_blocks

    ranges = [(at, min(BLOCK, first + count - at)) for at in range(first, first + count, BLOCK)]
    blocks = [(name, *block) for block in ranges for name in names]  # all kinds advance together
    tallies = {name: Tally(name) for name in names}
    done = _done(progress)
    for name, at, size in blocks:
        if _key(name, at, size) in done:
            tallies[name].merge(done[_key(name, at, size)])
    left = [block for block in blocks if _key(*block) not in done]
    until = time.monotonic() + 60 * minutes if minutes else math.inf
    for (name, at, size), tally in read_blocks(left, jobs, until):
        line = json.loads(json.dumps(tally.as_line()))
        tallies[name].merge(line)
        if progress is not None:
            with progress.open("a") as stream:
                stream.write(json.dumps([_key(name, at, size), line]) + "\n")
        for failure in tally.failures:
            print(name, failure["index"], failure["text"][-300:], flush=True)
    results = {name: tally.summary() for name, tally in tallies.items()}
    total = {k: sum(kind[k] for kind in results.values()) for k in ("files", "read", "refused", "failed", "restarts")}
    total["processor_seconds"] = round(sum(tally.seconds for tally in tallies.values()), 1)
    total["slowest"] = max(kind["slowest"] for kind in results.values())
    return {"end": first + count, "asked": count * len(names), **total, "kinds": results}


def added(before: dict, found: dict) -> dict:
    """The counts of two ranges of files, the second of which begins where the first ended."""
    if set(before["kinds"]) != set(found["kinds"]):
        raise SystemExit("The files of the first range are of other kinds.")
    kinds = {name: _together(before["kinds"][name], kind) for name, kind in found["kinds"].items()}
    whole = _together(
        {k: v for k, v in before.items() if k != "kinds"}, {k: v for k, v in found.items() if k != "kinds"}
    )
    return {**whole, "end": found["end"], "kinds": kinds}


def _together(one: dict, two: dict) -> dict:
    """Counts added, the slowest of both, lists and reasons joined."""
    slower = max((one, two), key=lambda part: part["slowest"])
    made = {}
    for key, value in two.items():
        if key.startswith("slowest"):
            made[key] = slower[key]
        elif isinstance(value, dict):
            made[key] = dict(Counter(one[key]) + Counter(value))
        else:
            made[key] = one[key] + value
    return made


def _key(name: str, first: int, count: int) -> str:
    return f"{name} {first} {count}"


def _done(progress: Path | None) -> dict[str, dict]:
    """Finished blocks; a line that a kill cut is left out."""
    if progress is None or not progress.exists():
        return {}
    content = progress.read_text()
    if content and not content.endswith("\n"):
        content = content[: content.rfind("\n") + 1]
        progress.write_text(content)
    return dict(json.loads(line) for line in content.splitlines())
