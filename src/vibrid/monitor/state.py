"""The state of a watched structure: one SQLite file that grows by a row for each window.

Every window is one transaction of a write-ahead log, put on the disk before the next one begins: the process may be
killed at any moment, and others may read meanwhile. Nothing in the file is executed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from vibrid.core.errors import FileProblem, InputError, newer_format
from vibrid.core.files import make_folder
from vibrid.monitor.event_fits import EventEstimate
from vibrid.monitor.series import Series

FILE = "state.sqlite"
FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, size INTEGER, modified INTEGER, start INTEGER, finish INTEGER,
    note TEXT);
CREATE TABLE IF NOT EXISTS windows (start INTEGER PRIMARY KEY, quantities BLOB, deviations BLOB, environment BLOB,
    modes TEXT, notes TEXT);
CREATE TABLE IF NOT EXISTS alarms (start INTEGER PRIMARY KEY, content TEXT);
CREATE TABLE IF NOT EXISTS events (start INTEGER PRIMARY KEY, content TEXT);
CREATE TABLE IF NOT EXISTS reached (name TEXT PRIMARY KEY, until INTEGER);
"""


@dataclass(frozen=True, eq=False)
class WindowEstimate:
    """What one window gave.

    Fields
        start: UTC at which it began.
        values, deviations: (q,) of the quantities that are followed; environment: (e,) means.
        modes: frequencies, damping ratios, deviations and shapes, for whoever looks later.
        notes: sentences on what was left out and why.
    """

    start: np.datetime64
    values: np.ndarray
    deviations: np.ndarray
    environment: np.ndarray
    modes: Mapping[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SeenFile:
    """A file of measurements: name, size, time of change, the instants it covers, and a note where it was refused."""

    name: str
    size: int
    modified: int
    start: np.datetime64 | None
    finish: np.datetime64 | None
    note: str = ""


class MonitorState:
    """Windows, files and alarms on disk.

    Arguments
        folder: where `state.sqlite` is, made where it is not there.
        readonly: to look at a state that another process writes.
    """

    def __init__(self, folder: str | PathLike[str], readonly: bool = False):
        self.path = Path(folder) / FILE
        if readonly and not self.path.exists():
            raise FileProblem(self.path, "there is no state of a watched structure; `vibrid track` makes it.")
        if not readonly:
            make_folder(folder)
        try:
            where = f"{self.path.resolve().as_uri()}?mode={'ro' if readonly else 'rwc'}"
            self._base = sqlite3.connect(where, uri=True, timeout=30.0, isolation_level=None)
            if not readonly:
                self._base.execute("PRAGMA journal_mode=WAL")
                self._base.execute("PRAGMA synchronous=FULL")
                self._base.executescript(_TABLES)
            format = self.about("format")
        except sqlite3.Error as problem:
            raise self._problem(problem) from problem
        if format is None and not readonly:
            self.describe({"format": FORMAT})
        elif isinstance(format, int) and format > FORMAT:
            raise newer_format(self.path, "state", format, f"format {FORMAT}")

    def __enter__(self) -> MonitorState:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._base.close()

    def _problem(self, problem: sqlite3.Error) -> FileProblem:
        return FileProblem(self.path, f"the state cannot be used ({problem}).")

    def _all(self, query: str, *values: Any) -> list[tuple]:
        try:
            return self._base.execute(query, values).fetchall()
        except sqlite3.Error as problem:
            raise self._problem(problem) from problem

    # -- what it is about --------------------------------------------------------------------------------------

    def about(self, key: str) -> Any:
        """A setting; None where there is none."""
        rows = self._all("SELECT value FROM about WHERE key = ?", key)
        return json.loads(rows[0][0]) if rows else None

    def describe(self, settings: Mapping[str, Any]) -> None:
        """Keep settings; one that is there with another value is refused: a series is made in one way."""
        for key, value in settings.items():
            known = self.about(key)
            if known is not None and known != json.loads(json.dumps(value)):
                raise InputError(
                    f"The state '{self.path.parent}' was begun with {key} = {known}, not {value}: go on with that, or "
                    "begin another state."
                )
        rows = [(key, json.dumps(value)) for key, value in settings.items()]
        try:
            with self._base:
                self._base.execute("BEGIN IMMEDIATE")
                self._base.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", rows)
        except sqlite3.Error as problem:
            raise self._problem(problem) from problem

    # -- files -------------------------------------------------------------------------------------------------

    def files(self) -> dict[str, SeenFile]:
        """The files that were looked at, by name."""
        rows = self._all("SELECT name, size, modified, start, finish, note FROM files ORDER BY name")
        return {row[0]: SeenFile(row[0], row[1], row[2], _instant(row[3]), _instant(row[4]), row[5]) for row in rows}

    def add_file(self, file: SeenFile) -> None:
        values = (file.name, file.size, file.modified, _nanoseconds(file.start), _nanoseconds(file.finish), file.note)
        self._all("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", *values)

    # -- windows -----------------------------------------------------------------------------------------------

    def starts(self) -> set[int]:
        """Nanoseconds since 1970 at which the windows that are done began."""
        return {row[0] for row in self._all("SELECT start FROM windows")}

    def append(self, window: WindowEstimate) -> None:
        """Keep a window; it is on the disk when this returns. One that is there already is refused."""
        numbers = [np.asarray(v, "<f8").tobytes() for v in (window.values, window.deviations, window.environment)]
        texts = json.dumps(dict(window.modes)), json.dumps(list(window.notes))
        try:
            self._base.execute(
                "INSERT INTO windows VALUES (?, ?, ?, ?, ?, ?)", (_nanoseconds(window.start), *numbers, *texts)
            )
        except sqlite3.IntegrityError:
            raise InputError(
                f"The window of {window.start} is in the state already: is another process writing it?"
            ) from None
        except sqlite3.Error as problem:
            raise self._problem(problem) from problem

    def series(self) -> Series:
        """All windows in order of time."""
        names, environment = tuple(self.about("quantities") or ()), tuple(self.about("environment") or ())
        rows = self._all("SELECT start, quantities, deviations, environment FROM windows ORDER BY start")
        columns = [
            np.frombuffer(b"".join(row[i] for row in rows), "<f8").reshape(len(rows), size)
            for i, size in ((1, len(names)), (2, len(names)), (3, len(environment)))
        ]
        starts = np.array([row[0] for row in rows], np.int64).astype("M8[ns]")
        return Series(starts, names, *columns, environment_names=environment)

    def notes(self) -> dict[np.datetime64, list[str]]:
        """Sentences on windows, of those that have some."""
        rows = self._all("SELECT start, notes FROM windows WHERE notes != '[]' ORDER BY start")
        return {np.datetime64(row[0], "ns"): json.loads(row[1]) for row in rows}

    # -- alarms ------------------------------------------------------------------------------------------------

    def alarms(self) -> list[dict[str, Any]]:
        """Those that were raised, the first one first."""
        return [json.loads(row[0]) for row in self._all("SELECT content FROM alarms ORDER BY start")]

    def raise_alarm(self, start: np.datetime64, content: Mapping[str, Any]) -> None:
        """Keep an alarm, or what is known of it now."""
        self._all("INSERT OR REPLACE INTO alarms VALUES (?, ?)", _nanoseconds(start), json.dumps(dict(content)))

    # -- events ------------------------------------------------------------------------------------------------

    def events(self) -> list[EventEstimate]:
        """Those that were found, in order of time; none in a state of before there were any."""
        if not self._all("SELECT name FROM sqlite_master WHERE name = 'events'"):
            return []
        rows = self._all("SELECT content FROM events ORDER BY start")
        return [EventEstimate.from_dict(json.loads(row[0])) for row in rows]

    def add_event(self, event: EventEstimate) -> None:
        """Keep an event; it is on the disk when this returns."""
        self._all("INSERT OR REPLACE INTO events VALUES (?, ?)", _nanoseconds(event.begin), json.dumps(event.as_dict()))

    def reached(self, name: str) -> int | None:
        """Nanoseconds since 1970 up to which something was done; None where it was not begun."""
        rows = self._all("SELECT until FROM reached WHERE name = ?", name)
        return rows[0][0] if rows else None

    def reach(self, name: str, until: int) -> None:
        """Say up to when something was done."""
        self._all("INSERT OR REPLACE INTO reached VALUES (?, ?)", name, until)


def _nanoseconds(instant: np.datetime64 | None) -> int | None:
    return None if instant is None else int(instant.astype("M8[ns]").astype(np.int64))


def _instant(nanoseconds: int | None) -> np.datetime64 | None:
    return None if nanoseconds is None else np.datetime64(nanoseconds, "ns")


def listed_modes(found: Any) -> dict[str, Any]:
    """Modes of a window for the state: numbers of seven digits."""

    def short(values: Sequence) -> Any:
        return json.loads(
            json.dumps(np.asarray(values, float).tolist()), parse_float=lambda text: float(f"{float(text):.7g}")
        )

    return {
        "places": list(found.places),
        "frequencies": short(found.frequencies),
        "frequency_deviations": short(np.nan_to_num(found.frequency_deviations, nan=-1.0)),
        "ratios": short(found.ratios),
        "shapes": short(found.shapes),
    }
