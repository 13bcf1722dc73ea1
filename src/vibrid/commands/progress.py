"""Progress in the terminal: a live line with the time left, or plain lines without a terminal. Always on stderr.

A program that watches names a file in the environment variable VIBRID_PROGRESS; progress is added to it too.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from vibrid.commands.delivery import quiet_stdout
from vibrid.core.files import Appended
from vibrid.core.progress import SILENT, Progress


class LiveProgress(Progress):
    """One line per stage: its name, share done, time left."""

    def __init__(self, console=None):
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        self.bars = Bars(
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", style="dim"),
            console=console or Console(stderr=True),
            redirect_stdout=sys.stdout.isatty(),  # results printed between bars; a file or a pipe is not redirected
        )
        self.task = None

    def stage(self, label, total=None):
        self.finish()
        self.task = self.bars.add_task(label, total=total, note="")

    def update(self, done, note=""):
        if self.task is not None:
            self.bars.update(self.task, completed=done, note=note)

    def finish(self) -> None:
        """Mark the current stage as done, also where it needed fewer steps than expected."""
        if self.task is not None:
            self.bars.update(self.task, total=1, completed=1, note="")
            self.bars.stop_task(self.task)
        self.task = None


class PlainProgress(Progress):
    """A line when a stage begins, and one every few seconds while it lasts."""

    def __init__(self, stream=None, every: float = 5.0):
        self.stream, self.every = stream or sys.stderr, every
        self.label, self.total, self.last = "", None, 0.0

    def stage(self, label, total=None):
        self.label, self.total, self.last = label, total, time.monotonic()
        print(f"{label} ...", file=self.stream, flush=True)

    def update(self, done, note=""):
        now = time.monotonic()
        if now - self.last < self.every:
            return
        self.last = now
        share = f"{done} of {self.total}" if self.total else f"{done}"
        print(f"{self.label}: {share}{f', {note}' if note else ''}", file=self.stream, flush=True)


class FileProgress(PlainProgress):
    """A line of JSON in a file for every stage, and several a second while it lasts; plain lines as well, unless quiet.

    The keys are `stage`, `total` (null where it is not known), `done`, `note` and `time`.
    """

    def __init__(self, path: str, quiet: bool = False, every: float = 0.25):
        super().__init__()
        self.quiet, self.often, self.written = quiet, every, 0.0
        self.file = Appended(path)
        self.file.go_on()

    def stage(self, label, total=None):
        if not self.quiet:
            super().stage(label, total)
        self.label, self.total = label, total
        self._add(0, "")

    def update(self, done, note=""):
        if not self.quiet:
            super().update(done, note)
        if time.monotonic() - self.written >= self.often:
            self._add(done, note)

    def _add(self, done: int, note: str) -> None:
        self.written = time.monotonic()
        row = {"stage": self.label, "total": self.total, "done": int(done), "note": note, "time": time.time()}
        with suppress(OSError):  # a full disk stops no computation
            self.file.append(json.dumps(row).encode() + b"\n")


@contextmanager
def terminal_progress(quiet: bool = False) -> Iterator[Progress]:
    """The progress display that suits the terminal; with `quiet` none, and the output of libraries goes to stderr."""
    if watched := os.environ.get("VIBRID_PROGRESS"):
        progress = FileProgress(watched, quiet)
        with quiet_stdout(quiet), closing(progress.file):
            yield progress
    elif quiet:
        with quiet_stdout():
            yield SILENT
    elif sys.stderr.isatty():
        live = LiveProgress()
        with live.bars:
            yield live
            live.finish()
    else:
        yield PlainProgress()
