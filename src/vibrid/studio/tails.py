"""The rows of a running test as they are added, read from outside: the test does not know of it.

The rows of a test are in its journal, a file that is mapped into memory (`vibrid.records.journal`): a row is there as
soon as it was measured. The watcher reads that file, so that the loop of the test never waits for it, nor does anything
more than it does for its own recording. Estimates of an online run are read from the file that it writes.
"""

from __future__ import annotations

import csv
import json
import struct
from pathlib import Path

import numpy as np

from vibrid.records.journal import BLOCK, LONGEST_HEADER, MAGIC, MOST_ROWS, SIGNATURE

MOST_NEW = 65_536
"""Rows that one look gives, after a long pause too; older ones are in the record."""
PATIENCE = 40
"""Looks for which rows that are in no block yet are waited for."""
MOST_TEXT = 4_000_000
"""Bytes of a table that one look reads."""


class JournalTail:
    """The rows of a journal as they are added.

    Arguments
        path: the journal; it need not be there yet.
    """

    def __init__(self, path: Path):
        self.path = path
        self.channels: list[str] = []
        self.units: list[str] = []
        self.limits: dict[str, float] = {}
        """Of the channels that have one."""
        self.seen = 0
        """Rows up to the last look."""
        self._short = 0
        self._first = self._blocks = self._ring = self._at = self._in_blocks = 0

    def news(self) -> np.ndarray | None:
        """The rows since the last look (time first); None while there is no journal."""
        try:
            with open(self.path, "rb") as stream:
                if not self.channels and not self._header(stream):
                    return None
                return self._rows(stream)
        except (OSError, ValueError, struct.error):
            return None

    def _header(self, stream) -> bool:
        line = stream.readline(LONGEST_HEADER)
        if not line.startswith(SIGNATURE) or not line.endswith(b"\n"):
            return False
        about = json.loads(line)
        self._first, self._ring = len(line), int(about["ring"])
        self.channels = [str(c[0]) for c in about["channels"]]
        self.units = [str(c[2]) for c in about["channels"]]
        self.limits = {str(name): float(value) for name, value in about.get("limits", {}).items()}
        self._at = self._blocks = self._first + 8 + 8 * self._ring * self.width
        return True

    @property
    def width(self) -> int:
        """Numbers of a row."""
        return 1 + len(self.channels)

    def _rows(self, stream) -> np.ndarray:
        """Rows of the ring, which are the newest; what the ring has lost meanwhile, from the blocks."""
        stream.seek(self._first)
        content = stream.read(8 + 8 * self._ring * self.width)
        count = int.from_bytes(content[:8], "little")
        ring = np.frombuffer(content, "<f8", offset=8).reshape(self._ring, self.width)
        stream.seek(self._first)
        after = int.from_bytes(stream.read(8), "little")  # rows that were overwritten while the ring was read
        oldest = max(after - self._ring + 1, 0) if after > count or count >= self._ring else 0
        oldest = max(oldest, count - self._ring)
        parts = []
        if oldest > self.seen:
            parts.append(self._from_blocks(stream, oldest))
            self._short = self._short + 1 if self._in_blocks < oldest else 0
            if 0 < self._short <= PATIENCE:  # rows have left the ring, and their block is being written
                self.seen = max(self.seen, self._in_blocks)
                return parts[0][-MOST_NEW:]
        first = max(oldest, self.seen)
        parts.append(ring[np.arange(first, max(count, first)) % self._ring])
        self.seen = max(count, self.seen)
        return np.concatenate(parts)[-MOST_NEW:]

    def _from_blocks(self, stream, until: int) -> np.ndarray:
        """Rows `seen` to `until` from the blocks, as far as they are written; of blocks long past only the heads are
        read."""
        found, wanted = [np.empty((0, self.width))], max(self.seen, until - MOST_NEW)
        while self._in_blocks < until:
            stream.seek(self._at)
            head = stream.read(BLOCK.size)
            magic, rows, _ = BLOCK.unpack(head) if len(head) == BLOCK.size else (b"", 0, 0)
            if magic != MAGIC or not 0 < rows <= MOST_ROWS:
                break
            size = 8 * self.width * rows
            if self._in_blocks + rows > wanted:
                body = stream.read(size)
                if len(body) < size:
                    break
                block = np.frombuffer(body, "<f8").reshape(rows, self.width)
                found.append(block[max(wanted - self._in_blocks, 0) : until - self._in_blocks])
            self._in_blocks, self._at = self._in_blocks + rows, self._at + BLOCK.size + size
        return np.concatenate(found)


class EstimatesTail:
    """The rows of the table of an online run as they are added: time, estimates, deviations."""

    def __init__(self, path: Path):
        self.path, self.channels, self.seen, self._at = path, [], 0, 0

    def news(self) -> np.ndarray | None:
        """The rows since the last look; None while there is no table."""
        try:
            with open(self.path, "rb") as stream:
                if not self.channels and not self._header(stream):
                    return None
                text = self._text(stream)
        except (OSError, ValueError, csv.Error):
            return None
        lines = [line for line in text.decode("utf-8", errors="replace").splitlines() if line]
        rows = np.array([_numbers(line, 1 + len(self.channels)) for line in lines]).reshape(-1, 1 + len(self.channels))
        self.seen += len(rows)
        return rows

    def _header(self, stream) -> bool:
        line = stream.readline(1_000_000)
        if not line.endswith(b"\n"):
            return False
        self.channels = [name.strip() for name in next(csv.reader([line.decode("utf-8", errors="replace")]))][1:]
        self._at = len(line)
        return bool(self.channels)

    def _text(self, stream) -> bytes:
        """Whole lines that are new; the last ones where they are many."""
        stream.seek(0, 2)
        late = stream.tell() - self._at > MOST_TEXT
        self._at = max(self._at, stream.tell() - MOST_TEXT)
        stream.seek(self._at)
        text = stream.read(MOST_TEXT)
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        return whole[whole.find(b"\n") + 1 :] if late else whole  # the first line was cut


def _numbers(line: str, width: int) -> np.ndarray:
    """The numbers of a row; missing where it is damaged."""
    try:
        cells = np.array(line.split(","), float)
    except ValueError:
        return np.full(width, np.nan)
    return cells if len(cells) == width else np.full(width, np.nan)
