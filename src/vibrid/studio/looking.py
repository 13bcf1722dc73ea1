"""What a measured file holds, found out in a process of its own with limits on memory and time."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vibrid.core.errors import FileProblem, InputError, VibridError
from vibrid.studio.limits import ReadingLimits

PARTS = 200
"""Parts of a signal in its small plot."""
MOST_CHANNELS = 500
READING = ("units", "rate", "time", "decimal", "dates", "missing", "drop", "sheet")
"""What the page may say about the reading of a file, besides what the file says."""


class TooDemanding(FileProblem):
    """A file whose reading takes too much memory or time."""


class NotRead(FileProblem):
    """A file that is no record, or that needs to be told how it is read."""


def look(path: Path, reading: dict[str, Any], limits: ReadingLimits | None = None) -> dict[str, Any]:
    """The records of a file: channels, what is odd in each, a small plot; refused in a sentence where it is none."""
    limits = limits or ReadingLimits()
    strange = sorted(set(reading) - set(READING))
    if strange:
        raise InputError(f"A file is read with {', '.join(READING)}; not with {', '.join(strange)}.")
    request = {"path": str(path), "reading": reading, "limits": dataclasses.asdict(limits)}
    command = [sys.executable, "-c", "from vibrid.studio.looking import main; main()"]
    try:
        done = subprocess.run(
            command, input=json.dumps(request).encode(), capture_output=True, timeout=limits.seconds, cwd=path.parent
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise TooDemanding(path.name, f"it could not be read within {limits.seconds:g} s; cut it into parts.") from None
    except ValueError:  # the process was ended
        size = limits.memory / 1024**3
        raise TooDemanding(
            path.name,
            f"reading it needs more than {size:.3g} GB of memory or {limits.processor} s of processor time, or the "
            "reader crashed: cut it into parts, or convert it with `vibrid record convert`.",
        ) from None
    if "problem" in answer:
        raise NotRead(path.name, answer["problem"])
    return answer


class Looks:
    """Looks at files, and remembers which were read within the limits: only these may be read without."""

    def __init__(self, limits: ReadingLimits):
        self.limits = limits
        self._bounded: set[tuple[str, int, int]] = set()

    def look(self, path: Path, reading: dict[str, Any]) -> dict[str, Any]:
        """See `look`."""
        try:
            return look(path, reading, self.limits)
        except TooDemanding:
            self._bounded.discard(_state(path))
            raise

    def refuse_unbounded(self, paths: Iterable[Path]) -> None:
        """Refuse measured files that take too much to read; each is tried once, in a process with limits."""
        for path in paths:
            if path.suffix in (".toml", ".html") or not os.path.isfile(path) or _state(path) in self._bounded:
                continue
            with contextlib.suppress(NotRead):  # what else is wrong is said by whoever reads it as the project asks for
                self.look(path, {})
            self._bounded.add(_state(path))


def _state(path: Path) -> tuple[str, int, int]:
    """A file as it is now."""
    state = path.stat()
    return path.name, state.st_mtime_ns, state.st_size


def main() -> None:
    """The process: a request as JSON on standard input, the answer as JSON on standard output."""
    request = json.load(sys.stdin)
    import numpy  # noqa: F401  (its libraries are mapped before memory is limited)

    ReadingLimits(**request["limits"]).apply()
    try:
        answer = _content(Path(request["path"]), request["reading"])
    except VibridError as problem:
        answer = {"problem": str(problem).removeprefix(f"{request['path']}: ").replace(request["path"], "the file")}
    except MemoryError:
        sys.exit(1)
    sys.stdout.write(json.dumps(answer, allow_nan=False))


def _content(path: Path, reading: dict[str, Any]) -> dict[str, Any]:
    from vibrid.commands.reading import decided
    from vibrid.records import read_records

    records = read_records(path, **{key: value for key, value in reading.items() if value not in (None, "", [])})
    return {
        "file": path.name,
        "records": [
            {
                "name": record.name,
                "samples": len(record),
                "rate": None if record.step is None else 1.0 / record.step,
                "usual_rate": _usual_rate(record),
                "seconds": float(record.duration),
                "decided": decided(record),
                "channels": _channels(record),
            }
            for record in records
        ],
    }


def _usual_rate(record) -> float | None:
    """Samples per second of an uneven record, in round numbers."""
    import numpy as np

    steps = np.diff(record.time)
    return float(f"{1.0 / float(np.median(steps)):.3g}") if len(steps) and np.median(steps) > 0 else None


def _channels(record) -> list[dict[str, Any]]:
    from vibrid.records.condition import conditions
    from vibrid.studio.thin import as_json, extremes

    if len(record.channels) > MOST_CHANNELS:
        raise InputError(f"it has {len(record.channels)} channels; the studio shows at most {MOST_CHANNELS}.")
    rows = []
    for i, condition in enumerate(conditions(record)):
        channel = condition.channel
        places, values = extremes(record.data[:, i], PARTS)
        rows.append(
            {
                "name": channel.name,
                "quantity": channel.quantity,
                "unit": channel.unit,
                "location": str(channel.location),
                "direction": channel.direction,
                "peak": None if math.isnan(condition.peak) else condition.peak,
                "missing": condition.missing,
                "findings": [{"verdict": f.verdict, "sentence": f.sentence} for f in condition.findings],
                "plot": {"at": as_json(record.time[places]), "values": as_json(values)},
            }
        )
    return rows


if __name__ == "__main__":
    main()
