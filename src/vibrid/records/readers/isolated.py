"""HDF5 files opened in another process, which is stopped when a damaged file keeps it too long or breaks it down.

The process starts with the first HDF5 file (about a third of a second) and serves all that follow.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vibrid.records.readers.source import Source

_LARGEST_RATIO = 1100  # gzip cannot compress more than about 1030 times
_START = 30.0  # seconds allowed to start the process


@dataclass(frozen=True, eq=False)
class Hdf5Array:
    """One array of a file: its path with dots, numbers and attributes (texts, lists of texts, numbers)."""

    name: str
    values: np.ndarray
    attributes: dict


class _ReaderProcess:
    """The other process, started when needed, one request at a time."""

    def __init__(self):
        self.lock, self.process, self.owner = threading.Lock(), None, None

    def ask(self, request: dict, seconds: float) -> tuple[dict | None, list[bytes]]:
        """Answer and bytes of every array; None when the process was stopped or broke down."""
        with self.lock:
            fresh = self.process is None or self.process.poll() is not None or self.owner != os.getpid()
            if fresh:
                self._start()
            process = self.process
            timer = threading.Timer(seconds + (_START if fresh else 0.0), process.kill)
            timer.start()
            try:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline())
                parts = []
                for array in answer.get("arrays", []):
                    size = math.prod(array["shape"]) * np.dtype(array["dtype"]).itemsize
                    parts.append(process.stdout.read(size))
                    if len(parts[-1]) != size:
                        raise ValueError("the process ended inside an array")
                return answer, parts
            except (OSError, ValueError, KeyError, TypeError):
                self.stop()
                return None, []
            finally:
                timer.cancel()

    def _start(self) -> None:
        worker = Path(__file__).with_name("hdf5_worker.py")
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(worker)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.owner = os.getpid()

    def stop(self) -> None:
        if self.process is not None and self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                try:
                    pipe.close()
                except OSError:
                    continue
        self.process = None


_reader = _ReaderProcess()
atexit.register(_reader.stop)


def read_hdf5(source: Source) -> tuple[dict, list[Hdf5Array]]:
    """Attributes of the file and its real arrays, or a sentence."""
    limits = source.limits
    seconds = limits.seconds + source.size / 10e6
    request = {"path": str(Path(source.path).absolute()), "bytes": limits.expanded_bytes, "ratio": _LARGEST_RATIO}
    answer, parts = _reader.ask(request, seconds)
    if answer is None:
        raise source.problem(f"the HDF5 library broke down on it or did not end within {seconds:.0f} s: it is damaged.")
    if "problem" in answer:
        raise source.problem(f"{answer['problem']}.")
    arrays = [
        Hdf5Array(a["name"], np.frombuffer(part, dtype=a["dtype"]).reshape(a["shape"]), a["attributes"])
        for a, part in zip(answer["arrays"], parts, strict=True)
    ]
    return answer["attributes"], arrays
