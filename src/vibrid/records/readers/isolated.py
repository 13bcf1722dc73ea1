"""HDF5 files opened in another process, which is stopped when a damaged file keeps it too long or crashes it.

The process starts with the first HDF5 file (about a third of a second) and serves all that follow.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np

from vibrid.records.readers.source import Source

_LARGEST_RATIO = 1100  # gzip cannot compress more than about 1030 times
_START = 30.0  # seconds allowed to start the process
_PROCESSOR = 2.0  # seconds of processor time for one file, besides a second for every 10 MB
_BYTES_PER_SECOND = 10e6


@dataclass(frozen=True, eq=False)
class Hdf5Array:
    """One array of a file: its path with dots, numbers and attributes (texts, numbers, lists of either)."""

    name: str
    values: np.ndarray
    attributes: dict


class _ReaderProcess:
    """The other process, started when needed, one request at a time."""

    def __init__(self):
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.owner: int | None = None

    def ask(self, request: dict, seconds: float) -> tuple[dict | None, list[bytes]]:
        """Answer and bytes of every array; None when the process was stopped or crashed."""
        with self.lock:
            process = self.process
            fresh = False
            if process is None or process.poll() is not None or self.owner != os.getpid():
                process, fresh = self._start(), True
            stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
            timer = threading.Timer(seconds + (_START if fresh else 0.0), process.kill)
            timer.start()
            try:
                stdin.write(json.dumps(request).encode() + b"\n")
                stdin.flush()
                answer = json.loads(stdout.readline())
                parts = []
                for array in answer.get("arrays", []):
                    size = math.prod(array["shape"]) * np.dtype(array["dtype"]).itemsize
                    parts.append(stdout.read(size))
                    if len(parts[-1]) != size:
                        raise ValueError("the process ended inside an array")
                return answer, parts
            except (OSError, ValueError, KeyError, TypeError):
                self.stop()
                return None, []
            finally:
                timer.cancel()

    def _start(self) -> subprocess.Popen[bytes]:
        worker = Path(__file__).with_name("hdf5_worker.py")
        self.process = process = subprocess.Popen(
            [sys.executable, "-I", str(worker)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # threads of BLAS reserve memory, which is limited
        )
        self.owner = os.getpid()
        return process

    def stop(self) -> None:
        if self.process is not None and self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()
        self.process = None


_reader = _ReaderProcess()
atexit.register(_reader.stop)


def read_hdf5(source: Source) -> tuple[dict, list[Hdf5Array]]:
    """Attributes of the file and its real arrays; FileProblem when it cannot be read."""
    answer, arrays = _ask(source, result=False)
    return answer["attributes"], arrays


def read_hdf5_result(source: Source) -> tuple[dict, dict[str, str], dict[str, np.ndarray]]:
    """Attributes, texts and arrays of a file that must be complete in itself: links and other files are refused."""
    answer, arrays = _ask(source, result=True)
    return answer["attributes"], answer["texts"], {array.name: array.values for array in arrays}


def _ask(source: Source, result: bool) -> tuple[dict, list[Hdf5Array]]:
    limits = source.limits
    more = source.size / _BYTES_PER_SECOND
    request = {
        "path": str(Path(source.path).absolute()),
        "bytes": limits.expanded_bytes,
        "ratio": _LARGEST_RATIO,
        "seconds": _PROCESSOR + more,
        "result": result,
    }
    answer, parts = _reader.ask(request, limits.seconds + more)
    if answer is None:
        raise source.problem(
            f"the HDF5 library crashed on it or did not finish within {limits.seconds + more:.0f} s "
            f"({_PROCESSOR + more:.0f} s of processor time): it is damaged."
        )
    if "problem" in answer:
        raise source.problem(f"{answer['problem']}.")
    arrays = [
        Hdf5Array(a["name"], np.frombuffer(part, dtype=a["dtype"]).reshape(a["shape"]), a["attributes"])
        for a, part in zip(answer["arrays"], parts, strict=True)
    ]
    return answer, arrays
