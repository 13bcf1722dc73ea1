"""The journal of a test: rows appended while it runs, readable however the test ends.

A line of JSON describes the columns; then come blocks, each `VBJ1`, a 32-bit count of rows, a CRC-32 of what
follows, and the rows: time and one value a channel, 64-bit little-endian. A block that was cut short, or is damaged,
ends the journal; everything before it is valid. Nothing in it can be executed.

Between the line and the blocks is a ring of the last rows, a 64-bit count of all rows before it. It is mapped into
memory: a row is there as soon as it was added, before its block is written, and survives the kill of the program.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vibrid.core.errors import FileProblem, newer_format
from vibrid.core.files import Appended, cannot_write
from vibrid.records.record import Channel, Record
from vibrid.records.sampling import on_grid, uniform_step

FORMAT = 2
"""Format 1 had no ring."""
SIGNATURE = b'{"vibrid_journal": '
BLOCK = struct.Struct("<4sII")
MAGIC = b"VBJ1"
LONGEST_HEADER = 1_000_000
MOST_ROWS = 1_000_000
RING_ROWS = 512
_COUNT = 8  # bytes of the count before the ring
_ALIGNED = 64  # the line is filled up to a multiple of so many bytes


class Journal:
    """A journal that is being written. A block that cannot be written completely is removed again.

    Arguments
        limits: of channels, in either direction, for those who watch; the record does not keep them.
    """

    def __init__(self, path, channels: Sequence[Channel], name: str = "", step: float | None = None,
                 limits: Mapping[str, float] | None = None):  # fmt: skip
        self.path = Path(path)
        about = {
            "name": name,
            "step": step,
            "channels": [[c.name, c.quantity, c.unit, c.location, c.direction] for c in channels],
        }
        if limits:
            about["limits"] = dict(limits)
        header = SIGNATURE + f'{FORMAT}, "ring": {RING_ROWS}, '.encode() + json.dumps(about).encode()[1:]
        header += b" " * (-(len(header) + 1) % _ALIGNED) + b"\n"
        width = 1 + len(channels)
        self.rows = 0
        """Rows in blocks."""
        self._file = Appended(self.path, anew=True)
        try:
            self._file.append(header + bytes(_COUNT + 8 * RING_ROWS * width))
        except OSError as problem:
            self._file.close()
            raise cannot_write(self.path, problem) from problem
        self._map, self._added = _mapped(self.path, len(header) + _COUNT + 8 * RING_ROWS * width), 0
        self._count = self._ring = np.zeros(0)
        if self._map is not None:
            self._count = np.frombuffer(self._map, "<u8", 1, len(header))
            self._ring = np.frombuffer(self._map, "<f8", RING_ROWS * width, len(header) + _COUNT).reshape(-1, width)

    def keep(self, row: np.ndarray) -> None:
        """Keep a row (time first) until its block is written; takes a microsecond."""
        if self._map is not None:
            self._ring[self._added % RING_ROWS] = row
            self._added += 1
            self._count[0] = self._added  # last: a row that was cut short does not count

    def write(self, rows: np.ndarray) -> None:
        """Append a block of rows (time first); OSError when it cannot be written, and the rest stays valid."""
        body = np.ascontiguousarray(rows, "<f8").tobytes()
        self._file.append(BLOCK.pack(MAGIC, len(rows), zlib.crc32(body)) + body)
        self.rows += len(rows)

    def sync(self) -> None:
        """Put it on the disk, so that it survives a loss of power."""
        self._file.sync()

    def close(self) -> None:
        self._count = self._ring = np.zeros(0)
        if self._map is not None:
            self._map.close()
            self._map = None
        self._file.close()


def _mapped(path: Path, size: int) -> mmap.mmap | None:
    """The beginning of a file in memory; None on a disk that cannot do it."""
    with contextlib.suppress(OSError, ValueError):
        file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        try:
            return mmap.mmap(file, size)
        finally:
            os.close(file)
    return None


class Journaled(NamedTuple):
    """The content of a journal: rows with the time first, and whether it ends where a block ends."""

    name: str
    channels: list[Channel]
    step: float | None
    rows: np.ndarray
    whole: bool


def read_journal(content: bytes, path) -> Journaled:
    """The valid part of a journal."""
    end = content.find(b"\n", 0, LONGEST_HEADER)
    try:
        about = json.loads(content[: end if end > 0 else 0])
        format = int(about["vibrid_journal"])
        if format > FORMAT:
            raise newer_format(path, "journal", format, f"format {FORMAT}")
        channels = [Channel(*map(_text, entry)) for entry in about["channels"]]
        name, step = _text(about["name"]), about["step"]
        if step is not None and not (isinstance(step, float) and 0 < step < 1e9):
            raise TypeError(step)
        width, ring = 1 + len(channels), about.get("ring", 0)
        if type(ring) is not int or not 0 <= ring <= MOST_ROWS:
            raise TypeError(ring)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FileProblem(path, "the first line of this journal does not describe its columns.") from None
    first = end + 1 + (_COUNT + 8 * ring * width if ring else 0)
    blocks, at, whole = [np.empty((0, width))], first, True
    while at < len(content):
        head = content[at : at + BLOCK.size]
        magic, rows, check = BLOCK.unpack(head) if len(head) == BLOCK.size else (b"", 0, 0)
        body = content[at + BLOCK.size : at + BLOCK.size + 8 * width * rows] if rows <= MOST_ROWS else b""
        if magic != MAGIC or len(body) != 8 * width * rows or zlib.crc32(body) != check:
            whole = False
            break
        blocks.append(np.frombuffer(body, "<f8").reshape(rows, width))
        at += BLOCK.size + len(body)
    rows = np.concatenate(blocks)
    if ring and len(content) >= first:
        rows, is_complete = _with_ring(rows, content[end + 1 : first], ring)
        whole = is_complete if is_complete is not None else whole
    return Journaled(name, channels, step, rows, whole and len(content) >= first)


def _with_ring(rows: np.ndarray, content: bytes, ring: int) -> tuple[np.ndarray, bool | None]:
    """The rows of blocks and those after them in the ring; whether no row is missing, None where the ring has none."""
    count = int.from_bytes(content[:_COUNT], "little")
    if count <= len(rows):
        return rows, None
    missing = max(count - len(rows) - ring, 0)  # rows that are in no block, and no longer in the ring
    last = np.frombuffer(content, "<f8", offset=_COUNT).reshape(ring, -1)
    numbers = (len(rows) + missing) % ring + np.arange(count - len(rows) - missing)
    return np.concatenate([rows, last[numbers % ring]]), not missing


def record_of(kept: Journaled, history: Sequence[str]) -> Record:
    """The record of the journal: rows in order of time, values that are not finite missing."""
    notes, rows = list(history), kept.rows
    if not kept.whole:
        notes.append("rows are missing, or its end is damaged")
    times = np.where(np.isfinite(rows[:, 0]), rows[:, 0], -np.inf)
    later = times > np.concatenate([[-np.inf], np.maximum.accumulate(times)[:-1]]) if len(rows) else np.zeros(0, bool)
    if not later.all():
        notes.append(f"{int((~later).sum())} rows whose time did not increase were left out")
        rows = rows[later]
    data = np.where(np.isinf(rows[:, 1:]), np.nan, rows[:, 1:])
    times = rows[:, 0]
    step = kept.step if kept.step is not None and len(times) and on_grid(times, kept.step) else uniform_step(times)
    if step is not None:
        return Record(data, kept.channels, step=step, start=float(times[0]), name=kept.name, history=notes)
    return Record(data, kept.channels, times=times, name=kept.name, history=notes)


def _text(value) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
