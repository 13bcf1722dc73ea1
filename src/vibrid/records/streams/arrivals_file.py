"""Samples kept in a file as they arrive, before they are used: a run that was killed loses none that had arrived.

Little-endian: a head (`VBA1`, 16 bytes that name the run, the 64-bit index of the first arrival, a 16-bit count of
channels), then one row an arrival: 64-bit number and time, 64-bit values, and the CRC-32 of the row. A row that was cut
short or is damaged ends the file. Nothing in it can be executed.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from vibrid.core.errors import FileProblem, VibridError
from vibrid.core.files import Appended, write_bytes
from vibrid.records.streams.order import Arrival

MAGIC = b"VBA1"
HEAD = struct.Struct("<4s16sQH")
CHECK = struct.Struct("<I")
MOST_BYTES = 2**31


class ArrivalFile:
    """The arrivals that no saved state contains yet.

    Arguments
        path: the file. It is begun with the first arrival; until then a file of an earlier run is left alone.
        run: 16 bytes that name the run.
        channels: values of every arrival.
        failed: called with the error when a row cannot be written; rows are missing then until the next `drop_before`.

    Arrivals may come from another thread than calls of `drop_before`.
    """

    def __init__(self, path, run: bytes, channels: int, failed: Callable[[OSError | VibridError], None]):
        self.path, self.run, self.channels, self.failed = Path(path), run, channels, failed
        self.row = _row(channels)
        self.received = 0  # arrivals so far
        self.first = 0  # index of the first one in the file
        self._file: Appended | None = None
        self.broken = False  # rows are missing from the file
        self._lock = threading.Lock()

    def keep(self, arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
        """The same arrivals, each passed on after it was written."""
        for arrival in arrivals:
            self.append(arrival)
            yield arrival

    def append(self, arrival: Arrival) -> None:
        """Write one arrival; a failure is reported and does not stop the run."""
        with self._lock:
            self.received += 1
            if self.broken:
                return
            body = self.row.pack(arrival.number, arrival.time, *arrival.values)
            try:
                if self._file is None:
                    self.first = self.received - 1
                    self._begin(b"")
                if self._file is not None:
                    self._file.append(body + CHECK.pack(zlib.crc32(body)))
            except (OSError, VibridError) as problem:
                self.broken = True
                self.failed(problem)

    def continue_after(self, kept: list[Arrival], first: int) -> None:
        """Go on with the file of the same run, which holds `kept` from index `first`."""
        with self._lock:
            self.first, self.received = first, first + len(kept)
            self._begin(b"".join(self._packed(arrival) for arrival in kept))

    def drop_before(self, index: int) -> None:
        """Remove the arrivals before an index: a saved state contains them."""
        with self._lock:
            if self._file is None and not self.broken:
                return
            size = self.row.size + CHECK.size
            try:
                skip = HEAD.size + max(0, index - self.first) * size
                rows = b"" if self.broken else self.path.read_bytes()[skip:]
                self.first = self.received - len(rows) // size
                self._begin(rows)
                self.broken = False
            except (OSError, VibridError) as problem:
                self.broken = True
                self.failed(problem)

    def close(self) -> None:
        """Close it; a file without arrivals is removed."""
        with self._lock:
            if self._file is None:
                return
            self._file.close()
            self._file = None
            with contextlib.suppress(OSError):
                if self.path.stat().st_size <= HEAD.size:
                    self.path.unlink()

    def _packed(self, arrival: Arrival) -> bytes:
        body = self.row.pack(arrival.number, arrival.time, *arrival.values)
        return body + CHECK.pack(zlib.crc32(body))

    def _begin(self, rows: bytes) -> None:
        """A new file with these rows takes the place of the old one at once."""
        if self._file is not None:
            self._file.close()
            self._file = None
        write_bytes(self.path, HEAD.pack(MAGIC, self.run, self.first, self.channels) + rows)
        self._file = Appended(self.path)
        self._file.go_on_at(os.path.getsize(self.path))


def read_arrivals(path, channels: int) -> tuple[bytes, int, list[Arrival]] | None:
    """The name of the run, the index of the first arrival, and the arrivals; None where there is no file."""
    path = Path(path)
    if not path.exists():
        return None
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FileProblem(path, "it is larger than the samples of a run can be; remove it to start again.")
        content = path.read_bytes()
    except OSError as problem:
        raise FileProblem(path, f"it cannot be read ({problem.strerror}).") from None
    if len(content) < HEAD.size or content[:4] != MAGIC:
        raise FileProblem(path, "it does not hold the samples of a run; remove it to go on from the saved state.")
    _, run, first, count = HEAD.unpack_from(content)
    if count != channels:
        raise FileProblem(path, f"it holds samples of {count} channels, and the project has {channels}.")
    row, arrivals = _row(channels), []
    for at in range(HEAD.size, len(content) - row.size - CHECK.size + 1, row.size + CHECK.size):
        body = content[at : at + row.size]
        if CHECK.unpack_from(content, at + row.size)[0] != zlib.crc32(body):
            break
        number, time, *values = row.unpack(body)
        arrivals.append(Arrival(number, time, tuple(values)))
    return run, first, arrivals


def _row(channels: int) -> struct.Struct:
    return struct.Struct(f"<qd{channels}d")
