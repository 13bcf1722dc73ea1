"""Files in, windows out: a growing folder becomes a series of estimates, judged as it grows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vibrid.core.errors import InputError, VibridError
from vibrid.core.progress import SILENT, Progress
from vibrid.modal.ssi import ssi
from vibrid.monitor.baseline import Baseline, learn
from vibrid.monitor.chart import Chart, ChartReading
from vibrid.monitor.event_stream import EventWatch, look_for_events
from vibrid.monitor.followed import Followed, FollowedModes
from vibrid.monitor.location import Location, change_since, locate
from vibrid.monitor.series import Series
from vibrid.monitor.state import MonitorState, SeenFile, WindowEstimate, listed_modes
from vibrid.monitor.windows import window_of
from vibrid.records.clock import UtcClock, utc_text
from vibrid.records.record import Record, step_of

_KEPT = 256 * 2**20  # bytes of files in memory; the last two are kept in any case
_UPDATES = 64  # windows after an alarm in which its location is improved


@dataclass(frozen=True)
class WatchSettings:
    """How windows are made and judged; kept in the state, so that a series is made in one way.

    Arguments
        window: s.
        training: windows of the training period.
        channels, environment: names of channels; all that measure a motion, and none, by default.
        modal: further arguments of `ssi`.
        degree: of the regression on the environment.
        chart: when an alarm is raised.
    """

    window: float = 3600.0
    training: int = 500
    channels: tuple[str, ...] | None = None
    environment: tuple[str, ...] = ()
    modal: Mapping[str, Any] = field(default_factory=dict)
    degree: int = 1
    chart: Chart = field(default_factory=Chart)

    def __post_init__(self) -> None:
        if not (self.window > 0 and np.isfinite(self.window)):
            raise InputError(f"A window has a positive length in seconds, not {self.window}.")
        if self.training < 20:
            raise InputError(f"A training has at least 20 windows, not {self.training}.")

    def as_dict(self) -> dict[str, Any]:
        """For the state."""
        chart = self.chart
        return {
            "window": self.window,
            "training": self.training,
            "channels": None if self.channels is None else list(self.channels),
            "environment": list(self.environment),
            "modal": dict(self.modal),
            "degree": self.degree,
            "false_alarms": chart.false_alarms,
            "horizon": chart.horizon,
            "spans": list(chart.spans),
        }


@dataclass(frozen=True, eq=False)
class Watch:
    """A series judged: its baseline, what the chart says, and where the structure changed.

    Fields
        series: all windows; training: those of the training.
        baseline: None while the training lasts; reading: of the windows after it.
        location: where an alarm says that it changed, if parameters are followed.
    """

    series: Series
    training: int
    baseline: Baseline | None = None
    reading: ChartReading | None = None
    location: Location | None = None

    @property
    def alarm(self) -> np.datetime64 | None:
        """Start of the window that raised the first alarm."""
        first = None if self.reading is None else self.reading.first
        return None if first is None else self.series.starts[self.training + first]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what the training says, and does not say."""
        return (*(self.baseline.notes if self.baseline else ()), *(self.reading.notes if self.reading else ()))

    def lost_in_words(self) -> list[str]:
        """A sentence about quantities that are no longer found, up to the last window that says so."""
        if self.reading is None or not self.reading.lost.any():
            return []
        lost = np.flatnonzero(np.asarray(self.reading.lost.any(axis=0)))
        named = [self.series.names[i] for i in lost]
        return [
            f"No longer found: {', '.join(named)}. A large change moves a mode so far that it is not recognised; a "
            "sensor that fails may hide one too: compare the notes on the windows."
        ]


def watch(series: Series, settings: WatchSettings, sensitivity: np.ndarray, names: Sequence[str]) -> Watch:
    """Judge a series.

    Arguments
        sensitivity, names: (q, p) ∂ ln y/∂ ln θ and the names of θ; p = 0 where nothing is located.
    """
    n = settings.training
    if len(series) <= n:
        return Watch(series, n)
    baseline = learn(series.part(slice(0, n)), settings.degree)
    after = series.part(slice(n, None))
    reading = settings.chart.judge(baseline, after)
    location = None
    until = 0 if reading.first is None else min(len(after) - 1, reading.first + _UPDATES)
    if len(names) and reading.moved(until):
        location = locate(change_since(baseline, after, until), baseline.directions.T @ sensitivity, names)
    return Watch(series, n, baseline, reading, location)


class Tracker:
    """Follows a folder to which files are added.

    Arguments
        state: where windows are kept.
        folder: of the files; their names give the order in which they are read, their clocks the windows.
        read: gives the record of a file.
        settings: of windows and alarms.
        followed: what is followed; the modes of the first window by default.
        begin: UTC of the first file, where files have no clock: they then follow each other without gaps.
        tell: called with every sentence about files, windows, events and alarms.
        events: how earthquakes and trucks are found and identified; None where they are not looked for.
    """

    def __init__(
        self,
        state: MonitorState,
        folder: Path,
        read: Callable[[Path], Record],
        settings: WatchSettings,
        followed: Followed | None = None,
        begin: np.datetime64 | None = None,
        tell: Callable[[str], None] = lambda _: None,
        events: EventWatch | None = None,
    ):
        self.events = events
        self.state, self.folder, self._read, self.settings = state, Path(folder), read, settings
        self.followed, self.begin, self.tell = followed, begin, tell
        self._kept: OrderedDict[str, Record] = OrderedDict()
        self._left_out: set[str] = set()
        state.describe(settings.as_dict())
        if followed is not None:
            state.describe({"quantities": list(followed.names), "units": list(followed.units)})
        elif (known := state.about("reference")) is not None:
            self.followed = FollowedModes(known["frequencies"], np.array(known["shapes"]), known["places"])

    def look(self, final: bool = False, progress: Progress = SILENT) -> int:
        """Take in new files and estimate the windows that are complete, with `final` the last one too; how many."""
        seen = self._new_files()
        spans = [f for f in seen.values() if f.start is not None and f.finish is not None]
        if not spans:
            return 0
        if self.events is not None:
            progress.stage("events")
            look_for_events(self.state, self.events, spans, self._record, final, self.tell)
        length = round(self.settings.window * 1e9)
        done = self.state.starts()
        newest = max(_number(f.start) for f in spans)
        numbers: dict[int, list[SeenFile]] = {}
        for f in spans:
            for k in range(_number(f.start) // length, _number(f.finish) // length + 1):
                numbers.setdefault(k, []).append(f)
        todo = [k for k in sorted(numbers) if k * length not in done and (final or (k + 1) * length <= newest)]
        progress.stage("windows", len(todo))
        for count, k in enumerate(todo, 1):
            files = sorted(numbers[k], key=lambda f: (_number(f.start), f.name))
            self._estimate(np.datetime64(k * length, "ns"), [self._record(f) for f in files])
            progress.update(count)
        return len(todo)

    def watch(self) -> Watch:
        """Judge what is there, and keep an alarm."""
        g, names = (np.zeros((0, 0)), ()) if self.followed is None else self.followed.sensitivity()
        found = watch(self.state.series(), self.settings, g, names)
        if found.alarm is not None:
            first = not self.state.alarms()
            words = [] if found.location is None else str(found.location).split("\n")
            words = [*found.lost_in_words(), *words]
            content = {"window": utc_text(found.alarm), "location": words}
            self.state.raise_alarm(found.alarm, content)
            if first:
                self.tell(
                    f"ALARM in the window of {utc_text(found.alarm)}: the structure changed. {' '.join(words)}".strip()
                )
        return found

    # -- files -------------------------------------------------------------------------------------------------

    def _new_files(self) -> dict[str, SeenFile]:
        seen = self.state.files()
        for path in sorted(p for p in self.folder.iterdir() if p.is_file() and not p.name.startswith(".")):
            about = path.stat()
            old = seen.get(path.name)
            same = old is not None and (old.size, old.modified) == (about.st_size, about.st_mtime_ns)
            if same and (seen[path.name].start is not None or path.name in self._left_out):
                continue  # what an earlier run left out is looked at again: a setting may have been missing
            seen[path.name] = self._looked_at(path, about.st_size, about.st_mtime_ns, seen)
            self.state.add_file(seen[path.name])
        return seen

    def _looked_at(self, path: Path, size: int, modified: int, seen: Mapping[str, SeenFile]) -> SeenFile:
        try:
            record = self._with_clock(self._read(path), path.name, seen)
            assert record.clock is not None
            start, finish = record.clock.at(float(record.time[0])), record.clock.at(float(record.time[-1]))
        except VibridError as problem:
            self.tell(f"'{path.name}' was left out: {problem}")
            self._left_out.add(path.name)
            return SeenFile(path.name, size, modified, None, None, str(problem))
        length = round(self.settings.window * 1e9)
        done, old = self.state.starts(), seen.get(path.name)
        known = (
            ()
            if old is None or old.start is None
            else range(_number(old.start) // length, _number(old.finish) // length + 1)
        )
        covered = range(_number(start) // length, _number(finish) // length + 1)
        late = [k for k in covered if k * length in done and k not in known]
        if late:
            self.tell(
                f"'{path.name}' came late: {len(late)} of its windows were done without it, and stay as they are."
            )
        self._keep(path.name, record)
        return SeenFile(path.name, size, modified, start, finish)

    def _with_clock(self, record: Record, name: str, seen: Mapping[str, SeenFile]) -> Record:
        if not len(record):
            raise InputError(f"Record '{record.name}' is empty.")
        if record.clock is not None:
            return record
        if self.begin is None:
            raise InputError(
                f"Record '{record.name}' has no clock; write dates with a zone, or say when the first file begins "
                "(--begin 2024-05-01T00:00Z): files then follow each other."
            )
        ends = [f.finish for f in seen.values() if f.finish is not None and f.name < name]
        step = np.timedelta64(round(1e9 * step_of(record)), "ns")
        zero = max(ends) + step if ends else self.begin
        return record.shift(-float(record.time[0])).replace(clock=UtcClock(zero, "order of the files"))

    def _record(self, file: SeenFile) -> Record:
        if file.name not in self._kept:
            record = self._read(self.folder / file.name)
            if record.clock is None and file.start is not None:
                record = record.shift(-float(record.time[0])).replace(clock=UtcClock(file.start, "order of the files"))
            self._keep(file.name, record)
        return self._kept[file.name]

    def _keep(self, name: str, record: Record) -> None:
        self._kept[name] = record
        self._kept.move_to_end(name)
        while len(self._kept) > 2 and sum(kept.data.nbytes for kept in self._kept.values()) > _KEPT:
            self._kept.popitem(last=False)

    # -- windows -----------------------------------------------------------------------------------------------

    def _estimate(self, start: np.datetime64, records: list[Record]) -> None:
        s = self.settings
        shaken = () if self.events is None else [(event.begin, event.end) for event in self.state.events()]
        cut = window_of(records, start, s.window, s.channels, s.environment, shaken)
        notes, found = list(cut.notes), None
        if cut.pieces:
            try:
                used = set(cut.pieces[0].names)
                modal = dict(s.modal)
                if modal.get("references"):
                    modal["references"] = [name for name in modal["references"] if name in used] or None
                found = ssi(cut.pieces, **modal)
                notes += found.notes
            except VibridError as problem:
                notes.append(str(problem))
        if found is not None and self.followed is None:
            self.followed = FollowedModes.of(found)
            self.state.describe({"reference": listed_modes(found), "quantities": list(self.followed.names),
                                 "units": list(self.followed.units)})  # fmt: skip
        if self.followed is None:
            self.tell(f"{utc_text(start)}: no modes yet. {' '.join(notes)}")
            return
        q = len(self.followed.names)
        values, deviations = np.full(q, np.nan), np.full(q, np.nan)
        if found is not None:
            values, deviations = self.followed.estimate(found)
        modes = {} if found is None else listed_modes(found)
        self.state.append(WindowEstimate(start, values, deviations, cut.environment, modes, tuple(notes)))
        if notes:
            self.tell(f"{utc_text(start)}: {' '.join(notes)}")


def _number(instant: np.datetime64 | None) -> int:
    assert instant is not None
    return int(instant.astype(np.int64))
