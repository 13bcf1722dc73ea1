"""The latch of a safety stop: a stopped device is not moved again until a person clears the stop by name."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from vibrid.core.errors import FileProblem, InputError
from vibrid.core.files import write_text

FORMAT = 1
MOST_BYTES = 10_000_000


@dataclass(frozen=True)
class Stop:
    """A safety stop: when and why, and who cleared it when."""

    at: str
    reason: str
    cleared_by: str = ""
    cleared_at: str = ""

    def __str__(self) -> str:
        text = f"stopped at {self.at}: {self.reason}"
        return text + (f"; cleared by {self.cleared_by} at {self.cleared_at}" if self.cleared_by else "")


class StopLatch:
    """The safety stops of a device; while the last one is not cleared, the device must not be moved.

    Arguments
        path: file in which stops are kept, so that neither a restart nor another computer forgets them; None keeps them
            in memory. The file is read again at every use: another program may clear a stop.
    """

    def __init__(self, path=None):
        self.path = None if path is None else Path(path)
        self._stops: list[Stop] = []
        self._unsaved = False

    @property
    def stops(self) -> list[Stop]:
        """All stops, the first one first."""
        if self.path is not None and not self._unsaved:
            self._stops = _read(self.path)
        return self._stops

    @property
    def standing(self) -> Stop | None:
        """The stop that nobody has cleared; None when the device may be moved."""
        stops = self.stops
        return stops[-1] if stops and not stops[-1].cleared_by else None

    @property
    def note(self) -> str:
        """The last stop and who cleared it, for the record of the next test; empty when there was none."""
        stops = self.stops
        return str(stops[-1]) if stops and stops[-1].cleared_by else ""

    def set(self, reason: str) -> None:
        """Keep a stop. It holds in this program even when the file cannot be written (`FileProblem`)."""
        try:
            stops = self.stops
        except FileProblem:
            stops = self._stops
        self._stops, self._unsaved = [*stops, Stop(_now(), reason)], True
        self._save()

    def clear(self, by: str) -> Stop:
        """Clear the standing stop; `by` is the name of the person who inspected the device."""
        name = " ".join(by.split())
        if not any(character.isalpha() for character in name):
            raise InputError(f"A stop is cleared by a person: give a name, not '{by}'.")
        standing = self.standing
        if standing is None:
            raise InputError("There is no stop to clear.")
        cleared = replace(standing, cleared_by=name, cleared_at=_now())
        self._stops, self._unsaved = [*self._stops[:-1], cleared], True
        self._save()
        return cleared

    def _save(self) -> None:
        if self.path is not None:
            content = {"vibrid_stops": FORMAT, "stops": [asdict(stop) for stop in self._stops]}
            write_text(self.path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        self._unsaved = self.path is None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(path: Path) -> list[Stop]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError("too large")
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["vibrid_stops"] != FORMAT:
            raise ValueError("another format")
        return [Stop(**{key: str(value) for key, value in stop.items()}) for stop in content["stops"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise FileProblem(
            path,
            f"the safety stops of the device cannot be read ({problem}). Whether it may be moved is not known: inspect "
            "the device, then move this file away.",
        ) from None
