"""The files of a live run: estimates row by row (--out), and what it takes to resume after any end (--state).

The state is saved every few seconds. Samples that arrived since then are in a second file, `STATE.samples`, which is
written as they arrive: a run that was killed resumes with the last sample that it had received.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import secrets
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from vibrid.core.errors import FileProblem, VibridError, missing_file
from vibrid.core.files import Appended, cannot_write
from vibrid.identification.online.live import StoredState, read_state
from vibrid.records.streams import Arrival, ArrivalFile, read_arrivals

Failed = Callable[[FileProblem, str], None]


class EstimatesFile:
    """Rows of estimates; a full disk is reported once and the run continues."""

    def __init__(self, path: Path, failed: Failed):
        self.path, self.failed = path, failed
        self.file = Appended(path)
        self.heading: list[list[str]] = []  # written with the first row
        self.bytes = self.check = 0

    def begin(self, names) -> None:
        """Empty the file; only now: a run without samples does not touch an old file."""
        self.file.begin()
        self.heading = [["time", *names, *(f"{n} deviation" for n in names)]]

    def go_on(self, names, written: dict) -> None:
        """Continue after the rows that the saved state knows; later rows are computed again."""
        size, check = int(written["bytes"]), int(written["crc32"])
        content = self.path.read_bytes()
        if not content:
            self.begin(names)
        elif not size or zlib.crc32(content[:size]) != check or len(content) < size:
            raise FileProblem(
                self.path, "it is not the file that the run wrote before it was stopped; name another one with --out."
            )
        else:
            self.file.go_on_at(size)
            self.bytes, self.check = size, check

    def row(self, cells) -> None:
        lines = io.StringIO()
        csv.writer(lines).writerows([*self.heading, cells])
        data = lines.getvalue().encode()
        try:
            self.file.append(data)
        except OSError as problem:
            self.failed(cannot_write(self.path, problem), "rows are missing from it.")
            return
        self.heading = []
        self.bytes, self.check = self.bytes + len(data), zlib.crc32(data, self.check)

    def position(self) -> dict:
        """How much was written, as the state keeps it; on the disk before the state is."""
        try:
            self.file.sync()
        except OSError as problem:
            self.failed(cannot_write(self.path, problem), "rows may be missing from it.")
        return {"bytes": self.bytes, "crc32": self.check}


@dataclass(frozen=True)
class Stopped:
    """A run as it was stopped: its state, where one was saved, and the arrivals since then."""

    run: bytes
    state: StoredState | None
    taken: int = 0  # arrivals that the state contains
    arrivals: list[Arrival] = field(default_factory=list)
    origin: float | None = None  # the time of sample 0


class SavedRun:
    """The state of a run and the samples since, in two files that can be read after any end of the process.

    Arguments
        path: the file of the state; None: nothing is saved.
        columns: names of the columns, for the samples.
        failed: reports a file that could not be written.
    """

    def __init__(self, path: Path | None, columns, failed: Failed):
        self.path, self.columns, self.failed = path, list(columns), failed
        self.samples: ArrivalFile | None = None
        self.run = secrets.token_bytes(16)
        if path is not None:
            self.samples = ArrivalFile(samples_path(path), self.run, len(self.columns), self._failed)

    def _failed(self, problem: OSError | VibridError) -> None:
        path = samples_path(self.path or Path())
        written = problem if isinstance(problem, FileProblem) else cannot_write(path, OSError(*problem.args))
        self.failed(written, "samples since the last saved state would be lost if the process were killed.")

    def keep(self, arrivals):
        """The same arrivals, each kept in the file before it is used."""
        return arrivals if self.samples is None else self.samples.keep(arrivals)

    def save(self, live, taken: int, arrays: dict, **note) -> bool:
        """Save the state after `taken` arrivals; the samples before them are not needed any more."""
        if self.path is None or self.samples is None:
            return False
        try:
            live.save(self.path, arrays, run=self.run.hex(), taken=taken, columns=self.columns, **note)
        except FileProblem as problem:
            self.failed(problem, "its state was not saved.")
            return False
        self.samples.drop_before(taken)
        return True

    def close(self) -> None:
        if self.samples is not None:
            self.samples.close()

    # -- resume --------------------------------------------------------------------------------------------------

    def resume(self, source) -> Stopped:
        """What was kept of the stopped run; refused where there is none, or where it belongs to something else."""
        if self.path is None or self.samples is None:
            raise ValueError("a run without --state cannot be resumed")
        kept = read_arrivals(self.samples.path, len(self.columns))
        state = read_state(self.path) if self.path.exists() else None
        if state is None and kept is None:
            problem = missing_file(self.path)
            raise FileProblem(self.path, f"nothing to resume from: {problem.problem} Start without --resume.")
        stopped = self._stopped(state, kept)
        note = stopped.state.note if stopped.state is not None else None
        if note is not None and (note["source"]["kind"] != source.kind or note["columns"] != self.columns):
            raise FileProblem(
                self.path, "the run had another kind of source or other columns; start a new one, without --resume."
            )
        if note is not None and note["source"]["used"] != source.used(note["taken"]):
            raise FileProblem(
                self.path,
                f"the file given with --from does not begin with the {note['taken']} samples that the run has used; "
                "give the same file, or start a new run without --resume.",
            )
        if source.kind == "file":  # which is read again
            stopped = dataclasses.replace(stopped, taken=0 if note is None else note["taken"], arrivals=[])
        self.run = self.samples.run = stopped.run
        self.samples.continue_after(stopped.arrivals, stopped.taken)
        return stopped

    def _stopped(self, state: StoredState | None, kept) -> Stopped:
        run, first, arrivals = kept if kept is not None else (b"", 0, [])
        if state is None or (kept is not None and run.hex() != state.note.get("run") and first == 0):
            origin = arrivals[0].time if arrivals else None
            return Stopped(run, None, 0, arrivals, origin)  # killed before its first state was saved
        if kept is not None and run.hex() != state.note.get("run"):
            raise FileProblem(
                state.path, f"this state and the samples in '{samples_path(state.path)}' are of different runs."
            )
        try:
            note = state.note
            taken, origin = note["taken"], float(note["origin"])
            if not isinstance(taken, int) or not 0 <= taken < 2**62:
                raise TypeError("taken")
            checked = (note["source"]["kind"], note["source"]["used"], note["written"]["bytes"], note["order"]["next"])
            if state.arrays["first"].ndim != 2 or state.arrays["first"].shape[1] != len(note["columns"]) or not checked:
                raise ValueError("first samples")
            run = bytes.fromhex(note["run"])
        except (KeyError, TypeError, ValueError) as problem:
            raise FileProblem(
                state.path, f"it is not the state of a run of `vibrid online` ({type(problem).__name__}: {problem})."
            ) from None
        return Stopped(run, state, max(taken, first), arrivals[max(0, taken - first) :], origin)


def samples_path(state: Path) -> Path:
    """The file of the samples that a state does not contain yet."""
    return state.with_name(f"{state.name}.samples")
