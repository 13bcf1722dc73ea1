"""Processes that read damaged files. One that ends or hangs is replaced by another, which begins with the same file: a
file that ends two processes is a failure, a process that something else ended is not.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path

from faults.files import Tally, damaged, prepare, try_one

MEMORY = 6 * 1024**3
"""Bytes of one process."""
LONGEST = 60.0
"""Seconds for one file, after which its process counts as hanging; a first one of a kind has more, to compile."""
FIRST = 300.0
FILES_OF_A_PROCESS = 40_000
_MEMORY_DISK = "/dev/shm" if Path("/dev/shm").is_dir() else None
Block = tuple[str, int, int]


def serve(link: Connection, place: str) -> None:
    """Read blocks of files, and report each file as soon as it was read."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    tempfile.tempdir = tempfile.mkdtemp(dir=place)
    paths: dict[str, Path] = {}
    while True:
        name, first, count = link.recv()
        if name not in paths:
            paths[name] = prepare(name, Path(tempfile.tempdir))
        link.send("ready")
        for index in range(first, first + count):
            link.send((index, *try_one(name, paths[name], damaged(name, index))))


class Reader:
    """One process, the block that it reads, and what it has reported."""

    def __init__(self, place: str):
        context = multiprocessing.get_context("spawn")
        self.link, far = context.Pipe()
        self.process = context.Process(target=serve, args=(far, place), daemon=True)
        self.process.start()
        far.close()
        self.place, self.files, self.deadline, self.ended_on = place, 0, 0.0, -1
        self.block: Block = ("", 0, 0)
        self.next, self.tally = 0, Tally("")

    def begin(self, block: Block) -> None:
        self.block, self.next, self.tally = block, block[1], Tally(block[0])
        self._send()

    def follow(self, other: Reader) -> None:
        """Go on with the rest of the block of a process that has ended."""
        self.block, self.next, self.tally, self.ended_on = other.block, other.next, other.tally, other.ended_on
        self._send()

    def _send(self) -> None:
        self.deadline = time.monotonic() + FIRST
        name, first, count = self.block
        self.link.send((name, self.next, first + count - self.next))

    @property
    def is_done(self) -> bool:
        return self.next == self.block[1] + self.block[2]

    def take(self) -> None:
        """One report. EOFError where the process has ended."""
        report = self.link.recv()
        self.deadline = time.monotonic() + LONGEST
        if report != "ready":
            self.tally.add(*report)
            self.files += 1
            self.next = report[0] + 1

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.link.close()


def read_blocks(blocks: list[Block], jobs: int, until: float) -> Iterator[tuple[Block, Tally]]:
    """Each block with its tally, as it is done; no block begins after the time `until`."""
    waiting = list(reversed(blocks))
    readers: list[Reader] = []
    with _one_thread_each(), tempfile.TemporaryDirectory(dir=_MEMORY_DISK) as place:
        try:
            while True:
                while len(readers) < jobs and waiting and time.monotonic() < until:
                    readers.append(Reader(place))
                    readers[-1].begin(waiting.pop())
                if not readers:
                    return
                _take_reports(readers)
                for reader in [r for r in readers if r.is_done]:
                    yield reader.block, reader.tally
                    if waiting and time.monotonic() < until and reader.files < FILES_OF_A_PROCESS:
                        reader.begin(waiting.pop())
                    else:
                        readers.remove(reader)
                        reader.end()
        finally:
            for reader in readers:
                reader.end()


def _take_reports(readers: list[Reader]) -> None:
    """What the processes report within a second; those that ended or hang are replaced."""
    ready = wait([reader.link for reader in readers], timeout=1.0)
    for reader in list(readers):
        why = ""
        if reader.link in ready:
            try:
                reader.take()
            except (EOFError, OSError):
                why = f"the process ended (exit code {_code(reader)})"
        elif time.monotonic() > reader.deadline:
            why = "no answer in time"
        if why:
            readers.remove(reader)
            reader.end()
            readers.append(_replaced(reader, why))


def _replaced(reader: Reader, why: str) -> Reader:
    """Another process for the rest of a block; the file that also ended the process before it is a failure."""
    if reader.ended_on == reader.next:
        reader.tally.add(reader.next, "failed", why, 0.0)
        reader.next += 1
    else:
        reader.ended_on = reader.next
        reader.tally.restarts += 1
    if reader.is_done:
        return reader
    follower = Reader(reader.place)
    follower.follow(reader)
    return follower


def _code(reader: Reader) -> int | None:
    reader.process.join(10)
    return reader.process.exitcode


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Threads of libraries reserve memory, which is limited, and would disturb each other. For processes started here;
    the environment of this one is as before in the end."""
    wanted = {"JAX_PLATFORMS": "cpu", "MALLOC_ARENA_MAX": "2"}
    wanted |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
