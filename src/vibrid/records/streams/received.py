"""Messages from the network put together into files of equal spans of time, in a folder that `vibrid track` follows.

A message is a small file of any known format, with a clock. What has come and is not yet in a file stands in a journal
in the same folder, so that a kill at any moment loses nothing that was taken in.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vibrid.core.errors import InputError, VibridError
from vibrid.core.files import Appended, make_folder, write_bytes
from vibrid.records.clock import utc_text
from vibrid.records.joined import join
from vibrid.records.readers import Layout, read_source
from vibrid.records.readers.source import Limits, Source
from vibrid.records.record import Record, step_of
from vibrid.records.writers import write_hdf5

LARGEST = 4 * 1024**2
"""Bytes of a message; a larger one is refused."""
_JOURNAL = ".received"
_LIMITS = Limits(file_bytes=LARGEST, expanded_bytes=16 * LARGEST, numbers=2_000_000, members=16)
_NANO = 1_000_000_000
_PENDING = 200_000_000  # numbers of a span


@dataclass(frozen=True)
class Message:
    """What came in one piece: its bytes, and for a source that can be resumed, which station's and its number."""

    payload: bytes
    station: str = ""
    sequence: str = ""


class Received:
    """The files of a folder to which messages are added.

    Arguments
        folder: of the files; made where it is not there.
        span: s, of a file; files begin at multiples of it in UTC.
        patience: s by which a channel may be behind the newest one before a file is written without it.
        layout: units, gains and names of the messages.
        tell: called with every sentence about messages and files.
    """

    def __init__(
        self,
        folder: Path,
        span: float = 300.0,
        patience: float = 60.0,
        layout: Layout | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ):
        if not (np.isfinite(span) and span >= 1 and patience >= 0):
            raise InputError(f"A file spans at least 1 s, and patience is not negative: not {span} and {patience} s.")
        self.folder, self._span, self._patience = make_folder(folder), round(span * _NANO), round(patience * _NANO)
        self._layout, self._tell = layout or Layout(), tell
        self.sequences: dict[str, str] = {}
        """Station → number of its last message."""
        self.written: list[Path] = []
        """Files written by this run."""
        self.messages = 0
        """Messages taken in by this run."""
        self.late = 0
        """Messages that came when their file was written."""
        self._pending: list[tuple[Message, list[Record]]] = []
        self._ends: dict[str, int] = {}
        self._resume()

    def add(self, message: Message) -> int:
        """Take in a message and write the files that are complete; how many."""
        entry = _packed(message)
        if not self._taken(message):
            return 0
        self._journal.append(entry)
        self.messages += 1
        return self.settle()

    def settle(self, final: bool = False) -> int:
        """Write the files of spans that are complete, with `final` of all; how many."""
        count = 0
        while self._pending:
            first = min(_start(r) for _, records in self._pending for r in records) // self._span
            end = (first + 1) * self._span
            newest = max(self._ends.values())
            whole = all(own >= end for own in self._ends.values()) or newest >= end + self._patience
            if not (whole or final):
                break
            self._write(first * self._span, end)
            count += 1
        if count:
            self._rewrite()
        return count

    @property
    def unfinished(self) -> int:
        """Messages that are in the journal, and not all of them in a file."""
        return len(self._pending)

    def close(self) -> None:
        """Close the journal; what is in it is taken up by the next run."""
        self._journal.close()

    # -- messages ----------------------------------------------------------------------------------------------

    def _taken(self, message: Message) -> bool:
        """Whether a message has samples that are not in a file yet."""
        if message.station:
            self.sequences[message.station] = message.sequence
        if len(message.payload) > LARGEST:
            self._tell(f"A message of {len(message.payload)} bytes was left out: more than {LARGEST}.")
            return False
        try:
            records = read_source(Source("message", message.payload, _LIMITS), self._layout)
            records = [r for r in records if len(r)]
            for r in records:
                step_of(r)
                if r.clock is None:
                    raise InputError("it has no clock: write dates with a zone, such as 2024-05-01T12:00:00Z.")
        except VibridError as problem:
            self._tell(f"A message was left out: {problem}")
            return False
        records = [rest for r in records if (rest := self._unwritten(r)) is not None]
        if not records:
            return False
        self._pending.append((message, records))
        for record in records:
            end = _start(record) + round(len(record) * step_of(record) * _NANO)
            for name in record.names:
                self._ends[name] = max(self._ends.get(name, end), end)
        return True

    def _unwritten(self, record: Record) -> Record | None:
        """What of a record does not belong to a file that is there; None where nothing is left: it came too late."""
        rest: Record | None = record
        while rest is not None and self._path(start := _start(rest) // self._span * self._span).exists():
            _, rest = _split(rest, start + self._span)
        if rest is None:
            self.late += 1
            if self.late in (1, 10, 100) or self.late % 1000 == 0:
                self._tell(f"{self.late} message(s) came when their file was written, and were left out.")
        return rest

    # -- files -------------------------------------------------------------------------------------------------

    def _path(self, start: int) -> Path:
        stamp = utc_text(np.datetime64(start, "ns")).replace("-", "").replace(":", "")
        return self.folder / f"{stamp}.h5"

    def _write(self, start: int, end: int) -> None:
        """The file of a span; what goes beyond it stays."""
        inside, left = [], []
        for message, records in self._pending:
            rest = []
            for r in records:
                now, later = _split(r, end)
                inside += [now] if now is not None else []
                rest += [later] if later is not None else []
            if rest:
                left.append((message, rest))
        self._pending = left
        channels = sorted({name for r in inside for name in r.names})
        for name in [n for n in self._ends if self._ends[n] < end]:
            del self._ends[name]  # it stopped; the next files do not wait for it
            self._tell(f"{utc_text(np.datetime64(start, 'ns'))}: channel '{name}' ends before its file does.")
        path = self._path(start)
        for number, record in enumerate(join(inside, path.stem, _PENDING)):
            own = path if number == 0 else path.with_name(f"{path.stem}-{number + 1}.h5")
            if own.exists():
                self._tell(f"'{own.name}' is there already; what came again for it was left out.")
                continue
            write_hdf5(record, own)
            self.written.append(own)
        self._tell(f"{path.name}: {len(channels)} channel(s)")

    # -- journal -----------------------------------------------------------------------------------------------

    def _rewrite(self) -> None:
        """The journal with what is in no file yet."""
        self._journal.close()
        last = [Message(b"", station, number) for station, number in self.sequences.items()]
        write_bytes(self.folder / _JOURNAL, b"".join(map(_packed, [*last, *(m for m, _ in self._pending)])))
        self._open()

    def _open(self) -> None:
        path = self.folder / _JOURNAL
        size = path.stat().st_size if path.exists() else 0
        self._journal = Appended(path)
        self._journal.go_on_at(size)

    def _resume(self) -> None:
        path = self.folder / _JOURNAL
        content = path.read_bytes() if path.exists() else b""
        good = 0
        for message, good in _unpacked(content):  # noqa: B007
            if message.payload:
                self._taken(message)
            else:
                self.sequences[message.station] = message.sequence
        self._journal = Appended(path)
        self._journal.go_on_at(good)
        if self._pending:
            self._tell(f"Goes on with {len(self._pending)} messages of the last run.")


def _start(record: Record) -> int:
    assert record.utc is not None
    return int(record.utc.astype(np.int64))


def _split(record: Record, instant: int) -> tuple[Record | None, Record | None]:
    """The samples before an instant, and those from it on."""
    step = step_of(record) * _NANO
    count = int(np.clip(np.ceil((instant - _start(record)) / step - 1e-6), 0, len(record)))
    if count in (0, len(record)):
        return (record, None) if count else (None, record)
    cut = [record.replace(data=part, start=record.start + first * step_of(record))
           for part, first in ((record.data[:count], 0), (record.data[count:], count))]  # fmt: skip
    return cut[0], cut[1]


def _packed(message: Message) -> bytes:
    """An entry of the journal: a line that says how long the payload is, and the payload."""
    head = {"size": len(message.payload), "station": message.station, "sequence": message.sequence}
    return json.dumps(head).encode() + b"\n" + message.payload


def _unpacked(content: bytes):
    """(message, where its entry ends) of a journal, up to an entry that was cut off."""
    place = 0
    while (line := content.find(b"\n", place)) >= 0:
        try:
            head = json.loads(content[place:line])
            end = line + 1 + int(head["size"])
            message = Message(content[line + 1 : end], str(head["station"]), str(head["sequence"]))
        except (ValueError, KeyError, TypeError):
            return
        if head["size"] < 0 or end > len(content):
            return
        yield message, end
        place = end
