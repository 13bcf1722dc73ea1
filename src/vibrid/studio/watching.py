"""What a page is shown of a running test: its pictures, thinned to what a screen can show, and its greatest values.

A page is sent what is new since its last look. Every part of the time that the width of a picture can show is two
values of a trace, its least and its greatest, so that no peak is lost and the work of a page does not grow with the
rate of the test.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.studio.tails import EstimatesTail, JournalTail
from vibrid.studio.thin import as_json, extremes, least_and_greatest

if TYPE_CHECKING:
    from vibrid.studio.jobs import Jobs

SECONDS = 20.0
"""Of the test that a picture shows."""
ACROSS = 600
"""Parts of a picture, which is about as many pixels wide."""


@dataclass(frozen=True)
class Picture:
    """Traces over time: `weights` makes them of the columns of the test.

    Arguments
        unit: of the traces and of the limit.
        lines: names of the traces.
        weights: one row a trace and one column a channel; `factor` brings them to the unit.
        limit: in either direction; None without one.
    """

    title: str
    unit: str
    lines: tuple[str, ...]
    weights: np.ndarray
    limit: float | None = None
    factor: float = 1.0


@dataclass(frozen=True)
class LoopPicture:
    """A force over a displacement, each a channel of the test."""

    title: str
    labels: tuple[str, str]
    columns: tuple[int, int]
    factors: tuple[float, float]


def pictures_of_devices(
    channels: Sequence[str], units: Sequence[str], limits: dict[str, float]
) -> tuple[list[Picture], list[LoopPicture]]:
    """Displacements, tracking error, force and loop of every device of a hybrid test."""
    unit_of, places = dict(zip(channels, units, strict=True)), {name: i for i, name in enumerate(channels)}
    each, pictures, loops = np.eye(len(channels)), [], []
    for name in (c.removesuffix(".force") for c in channels if c.endswith(".force")):
        target, measured, force = (f"{name}.{what}" for what in ("target", "displacement", "force"))
        if not {target, measured} <= places.keys():
            continue
        (along, small), (across, large) = (_READABLE.get(unit_of[c], (unit_of[c], 1.0)) for c in (measured, force))
        a, b, f = each[[places[target], places[measured], places[force]]]
        most, hardest = (
            limits[c] * factor if c in limits else None for c, factor in ((measured, small), (force, large))
        )
        title = f"{name}: target and measured displacement"
        pictures += [
            Picture(title, along, ("target", "measured"), np.array([a, b]), most, small),
            Picture(f"{name}: tracking error", along, ("target less measured",), np.array([a - b]), None, small),
            Picture(f"{name}: force", across, ("force",), np.array([f]), hardest, large),
        ]
        labels = (f"displacement [{along}]", f"force [{across}]")
        loops.append(LoopPicture(f"{name}: loop", labels, (places[measured], places[force]), (small, large)))
    return pictures, loops


_READABLE = {"m": ("mm", 1e3), "N": ("kN", 1e-3)}
"""Units of a laboratory for those of the record, and factors."""


def pictures_of_estimates(channels: Sequence[str]) -> list[Picture]:
    """Every estimate ± 2σ: the first half of the columns are values, the second their deviations."""
    half, each, pictures = len(channels) // 2, np.eye(len(channels)), []
    for i, name in enumerate(channels[:half]):
        value, deviation = each[i], each[half + i]
        weights = np.array([value, value - 2 * deviation, value + 2 * deviation])
        pictures.append(Picture(f"{name} ± 2σ", "", ("estimate", "− 2σ", "+ 2σ"), weights))
    return pictures


class JobView:
    """What one page has seen of one job."""

    def __init__(self, jobs: Jobs, number: int):
        self.jobs, self.number, self.folder = jobs, number, jobs.folder / str(number)
        self.tail: JournalTail | EstimatesTail | None = None
        self.pictures: list[Picture] = []
        self.loops: list[LoopPicture] = []
        self._weights = self._factors = self._greatest = np.empty(0)
        self._told = False

    def news(self) -> dict[str, Any] | None:
        """What is new; None for nothing."""
        running = self.jobs.state(self.number) in ("running", "queued")
        if self.tail is None:
            self.tail = self._find()
        rows = self.tail.news() if self.tail is not None else None
        if self.tail is None or rows is None or not len(rows):
            return None if running else {"job": self.number, "ended": True}
        said: dict[str, Any] = {"job": self.number, "ended": not running, "rows": self.tail.seen}
        if not self._told:
            self._told = True
            said |= self._begin(self.tail)
        return said | self._drawn(rows)

    def _begin(self, tail: JournalTail | EstimatesTail) -> dict[str, Any]:
        if isinstance(tail, EstimatesTail):
            self.pictures = pictures_of_estimates(tail.channels)
        else:
            self.pictures, self.loops = pictures_of_devices(tail.channels, tail.units, tail.limits)
        self._weights = np.concatenate([np.empty((0, len(tail.channels))), *(p.weights for p in self.pictures)])
        self._factors = np.repeat([p.factor for p in self.pictures], [len(p.lines) for p in self.pictures])
        self._greatest = np.zeros(len(self._weights))
        return {
            "kind": "online" if isinstance(tail, EstimatesTail) else "hybrid",
            "seconds": SECONDS,
            "pictures": [{"title": p.title, "unit": p.unit, "lines": p.lines, "limit": p.limit} for p in self.pictures],
            "loops": [{"title": loop.title, "labels": loop.labels} for loop in self.loops],
        }

    def _drawn(self, rows: np.ndarray) -> dict[str, Any]:
        """The traces and loops of new rows, the last values and the greatest ones since this page looks."""
        with np.errstate(invalid="ignore"):  # values that are missing
            traces = rows[:, 1:] @ self._weights.T if np.isfinite(rows).all() else _by_columns(rows, self._weights)
        traces = traces * self._factors
        self._greatest = np.fmax(self._greatest, np.fmax.reduce(np.abs(traces), axis=0))
        recent = slice(int(np.searchsorted(rows[:, 0], rows[-1, 0] - SECONDS)), None)
        times, shown, loops = rows[recent, 0], traces[recent], []
        span = float(times[-1] - times[0]) if np.isfinite(times[[0, -1]]).all() else SECONDS
        parts = max(1, math.ceil(ACROSS * span / SECONDS))
        for loop in self.loops:
            pair = rows[recent][:, [1 + column for column in loop.columns]] * loop.factors
            kept = np.unique(np.concatenate([extremes(side, parts)[0] for side in pair.T]))
            loops.append([as_json(side) for side in pair[kept].T])
        thinned = least_and_greatest(times, shown, parts)
        return {
            "at": as_json(rows[-1:, 0])[0],
            "times": as_json(thinned[0]),
            "traces": [as_json(trace) for trace in thinned[1].T],
            "trails": loops,
            "now": as_json(traces[-1]),
            "greatest": as_json(self._greatest),
        }

    def _find(self) -> JournalTail | EstimatesTail | None:
        """The journal, or the table of estimates, that the job writes."""
        with contextlib.suppress(OSError, ValueError):
            about = json.loads((self.folder / "job.json").read_text(encoding="utf-8"))
            written = Path(about.get("written", self.folder))
            if written.is_file():
                return EstimatesTail(written) if written.stat().st_size else None
            if (written / "estimates.csv").is_file():
                return EstimatesTail(written / "estimates.csv")
            journals = [p for p in written.iterdir() if p.name.endswith(".journal")]  # of an earlier test, perhaps
            newest = max(journals, key=lambda p: p.stat().st_mtime, default=None)
            if newest is not None and newest.stat().st_mtime >= self.jobs.started(self.number) - 1.0:
                return JournalTail(newest)
        return None


def _by_columns(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Traces of rows with missing values: one is missing where a channel that it is made of is."""
    used = weights != 0.0
    return np.stack([rows[:, 1:][:, u] @ w[u] for w, u in zip(weights, used, strict=True)], axis=1)
