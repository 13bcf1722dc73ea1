"""Recording a test while it runs: the recorded rows stay readable, however the test ends.

Rows are written to a journal beside the file, block by block, by a separate thread, so that a slow disk does not delay
the test; until then a row is in the journal's ring, so that the kill of the program costs none. When the test ends the
journal becomes an HDF5 record and is deleted. If the program or the computer fails, the journal stays, and
`vibrid.read_record` reads it.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from vibrid.core.errors import FileProblem, InputError
from vibrid.core.files import Appended
from vibrid.hybrid.clock import Clock
from vibrid.records.journal import Journal, read_journal, record_of
from vibrid.records.record import Channel
from vibrid.records.writers import write_hdf5

WHEN_FULL = ("continue", "end")
BLOCK_ROWS = 256
BLOCK_SECONDS = 0.25
"""A block is written when it has this many rows, or after this time."""
SYNC_SECONDS = 1.0
"""Time between requests to write the journal to the disk itself."""
MOST_WAITING = 64 * 1024 * 1024
"""Bytes kept in memory while the disk cannot be written."""


class RecordingProblem(FileProblem):
    """A test that can no longer be recorded and should end."""


class Recorder:
    """Keeps the rows of a test.

    Arguments
        path: the HDF5 file; if it or its journal exists already, a number is added.
        channels: of the columns.
        step: seconds between rows, if known; a record with other times keeps the times.
        name: name of the record.
        clock: if given, a last channel `late` holds the number of whole steps by which each step was late.
        when_full: if the disk is full, "continue" the test, keeping rows in memory up to a limit, or "end" it (`add`
            raises `RecordingProblem`).
        limits: of channels, in either direction, for those who watch the test.

    Example
        >>> with Recorder("test.h5", [Channel("roof", "displacement")], step=1 / 1024) as recorder:
        ...     recorder.add(0.0, [0.001])
        >>> recorder.path
    """

    def __init__(self, path, channels: Sequence[Channel], step: float | None = None, name: str = "",
                 when_full: str = "continue", clock: Clock | None = None,
                 limits: Mapping[str, float] | None = None):  # fmt: skip
        if when_full not in WHEN_FULL:
            raise InputError(f"When the disk is full a recorder can {' or '.join(WHEN_FULL)}, not '{when_full}'.")
        marks = () if clock is None else (Channel("late"),)
        self.path, self.channels, self.when_full = _free(Path(path)), (*channels, *marks), when_full
        self._clock, self._width = clock, len(tuple(channels))
        self._journal = Journal(Path(f"{self.path}.journal"), self.channels, name or Path(path).stem, step, limits)
        self.rows = self.lost = 0
        self._notes: list[str] = []
        self.problem = ""
        """The message about a failed recording; empty while there is none."""
        self._block = np.empty((BLOCK_ROWS, 1 + len(self.channels)))
        self._filled = 0
        self._lock = threading.Lock()  # of the block that is being filled
        self._queue: queue.SimpleQueue = queue.SimpleQueue()
        self._waiting: list[np.ndarray] = []
        self._closed = False
        self._thread = threading.Thread(target=self._write, name="vibrid recorder", daemon=True)
        self._thread.start()

    @property
    def journal(self) -> Path:
        """The file of the rows while the test runs."""
        return self._journal.path

    def add(self, moment: float, values) -> None:
        """Record one row: a time in seconds and one value per channel. Takes a few microseconds."""
        if self.problem and self.when_full == "end":
            raise RecordingProblem(self.path, f"{self.problem} The test ends, as set by when_full.")
        with self._lock:
            row = self._block[self._filled]
            row[0] = moment
            row[1 : 1 + self._width] = np.ravel(values)
            if self._clock is not None:
                row[-1] = self._clock.late
            self._journal.keep(row)
            self._filled += 1
            self.rows += 1
            if self._filled == BLOCK_ROWS:
                self._send()

    def note(self, text: str) -> None:
        """Keep a remark in the record's history."""
        self._notes.append(text)

    def close(self, reason: str = "") -> Path:
        """End the recording: the record is written completely and the journal deleted; or the journal stays, and
        `problem` holds the reason.

        reason: why the test ended early, if it did; it is kept in the record's history.
        """
        if not self._closed:
            self._closed = True
            with self._lock:
                self._send()
            self._queue.put(None)
            self._thread.join()
            self._finish(reason)
        return self.path

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind, problem, trace) -> None:
        self.close("" if problem is None else f"{problem or kind.__name__}")

    def _send(self) -> None:
        if self._filled:
            self._queue.put(self._block[: self._filled].copy())
        self._filled = 0

    def _write(self) -> None:
        """The thread: writes blocks in order; those that cannot be written wait for the next attempt."""
        synced = time.monotonic()
        while True:
            try:
                block = self._queue.get(timeout=BLOCK_SECONDS)
            except queue.Empty:  # a slow test, or a stall: write the incomplete block
                with self._lock:
                    self._send()
                continue
            if block is None:
                break
            self._waiting.append(block)
            self._write_waiting()
            now = time.monotonic()
            if now - synced > SYNC_SECONDS and not self._waiting:
                with contextlib.suppress(OSError):
                    self._journal.sync()
                synced = now
        self._write_waiting()

    def _write_waiting(self) -> None:
        try:
            while self._waiting:
                block = self._waiting[0]
                try:
                    self._journal.write(block)
                except OSError:
                    if len(block) == 1:
                        raise
                    self._waiting[:1] = np.array_split(block, 2)  # so that every row that fits is written
                else:
                    del self._waiting[0]
        except OSError as refused:
            self.problem = f"recording failed ({refused.strerror}); earlier rows are in {self.journal.name}."
            while sum(b.nbytes for b in self._waiting) > MOST_WAITING:
                self.lost += len(self._waiting.pop(0))

    def _finish(self, reason: str) -> None:
        with contextlib.suppress(OSError):  # a network disk may report an error only now
            self._journal.close()
        if not self.rows:
            self.journal.unlink(missing_ok=True)
            self.problem = "Nothing was recorded."
            return
        try:
            kept = read_journal(self.journal.read_bytes(), self.journal)
        except (OSError, FileProblem) as problem:
            self.lost, self.path = self.rows, self.journal
            self.problem = f"The recorded rows cannot be read back ({problem})."
            return
        rows = np.concatenate([kept.rows[: self._journal.rows], *self._waiting])
        notes = ["recorded during a hybrid test", *self._notes]
        notes += [f"the test ended early: {reason}"] if reason else []
        notes += [f"{self.lost} rows could not be recorded"] if self.lost else []
        try:
            write_hdf5(record_of(kept._replace(rows=rows), notes), self.path)
        except FileProblem as problem:
            self.lost = self.rows - len(kept.rows)
            self.problem = (
                f"{self.path} could not be written ({problem.problem}) The recorded rows are in {self.journal}: "
                f"{len(kept.rows)} of {self.rows} rows; read_record reads it."
            )
            self.path = self.journal
            return
        self.journal.unlink(missing_ok=True)
        if self.problem:
            self.problem = f"The disk was full for a while; {len(rows)} of {self.rows} rows are in {self.path}."


def check_recordable(path) -> None:
    """Refuse a file that cannot be made, before a test begins."""
    journal = Path(f"{_free(Path(path))}.journal")
    Appended(journal, anew=True).close()
    journal.unlink(missing_ok=True)


def _free(path: Path) -> Path:
    """The path, with a number added if that file or its journal exists already."""
    free, number = path, 2
    while free.exists() or Path(f"{free}.journal").exists():
        free, number = path.with_stem(f"{path.stem}-{number}"), number + 1
    return free
