"""The journal of a test: rows appended while it runs, readable however the test ends.

A line of JSON describes the columns; then come blocks, each `VBJ1`, a 32-bit count of rows, a CRC-32 of what
follows, and the rows: time and one value a channel, 64-bit little-endian. A block that was cut short, or is damaged,
ends the journal; everything before it is valid. Nothing in it can be executed.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vibrid.core.errors import FileProblem, newer_format
from vibrid.core.files import Appended, cannot_write
from vibrid.records.record import Channel, Record
from vibrid.records.sampling import on_grid, uniform_step

FORMAT = 1
SIGNATURE = b'{"vibrid_journal": '
BLOCK = struct.Struct("<4sII")
MAGIC = b"VBJ1"
LONGEST_HEADER = 1_000_000
MOST_ROWS = 1_000_000


class Journal:
    """A journal that is being written. A block that cannot be written completely is removed again."""

    def __init__(self, path, channels: Sequence[Channel], name: str = "", step: float | None = None):
        self.path = Path(path)
        about = {
            "name": name,
            "step": step,
            "channels": [[c.name, c.quantity, c.unit, c.location, c.direction] for c in channels],
        }
        header = SIGNATURE + f"{FORMAT}, ".encode() + json.dumps(about).encode()[1:] + b"\n"
        self._file = Appended(self.path, anew=True)
        try:
            self._file.append(header)
        except OSError as problem:
            self._file.close()
            raise cannot_write(self.path, problem) from problem

    def write(self, rows: np.ndarray) -> None:
        """Append a block of rows (time first); OSError when it cannot be written, and the rest stays valid."""
        body = np.ascontiguousarray(rows, "<f8").tobytes()
        self._file.append(BLOCK.pack(MAGIC, len(rows), zlib.crc32(body)) + body)

    def sync(self) -> None:
        """Put it on the disk, so that it survives a loss of power."""
        self._file.sync()

    def close(self) -> None:
        self._file.close()


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
        width = 1 + len(channels)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FileProblem(path, "the first line of this journal does not describe its columns.") from None
    blocks, at, whole = [np.empty((0, width))], end + 1, True
    while at < len(content):
        head = content[at : at + BLOCK.size]
        magic, rows, check = BLOCK.unpack(head) if len(head) == BLOCK.size else (b"", 0, 0)
        body = content[at + BLOCK.size : at + BLOCK.size + 8 * width * rows] if rows <= MOST_ROWS else b""
        if magic != MAGIC or len(body) != 8 * width * rows or zlib.crc32(body) != check:
            whole = False
            break
        blocks.append(np.frombuffer(body, "<f8").reshape(rows, width))
        at += BLOCK.size + len(body)
    return Journaled(name, channels, step, np.concatenate(blocks), whole)


def record_of(kept: Journaled, history: Sequence[str]) -> Record:
    """The record of the journal: rows in order of time, values that are not finite missing."""
    notes, rows = list(history), kept.rows
    if not kept.whole:
        notes.append("its end is missing or damaged")
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
