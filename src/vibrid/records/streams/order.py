"""Samples in order, each once: late, repeated and lost samples are counted separately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

WRAP = 2**32
"""Numbers of samples in packets have 32 bits and begin again at 0 after the largest."""


class Arrival(NamedTuple):
    """One sample: its number, its time in seconds, one value a channel; NaN is missing."""

    number: int
    time: float
    values: Sequence[float]


class Sequencer:
    """Passes samples on in the order of their numbers.

    An early sample waits for those before it until `patience` later ones have come; then the missing ones become a gap
    of NaN samples. A sample that comes after that, or twice, is dropped. A number that jumps by more than `longest_gap`
    is accepted only after `believe` such samples in a row, which are then passed on too:

    - forward, the samples between are lost; the gap is passed on as at most `longest_gap` NaN samples.
    - backward, the sender was restarted. What happened between is not known: one NaN sample is passed on.

    `state` and `restore` carry everything over to another process. After `resumed` the source may repeat itself from
    the beginning: samples that were passed on before are dropped and counted in `known`.

    Arguments
        step: seconds between samples, for the times of lost ones.
    """

    COUNTS = ("late", "repeated", "lost", "restarts", "wild")

    def __init__(self, step: float, patience: int = 8, longest_gap: int = 1000, believe: int = 20):
        self.step, self.patience, self.longest_gap, self.believe = step, patience, longest_gap, believe
        self.next: int | None = None
        self.waiting: dict[int, Arrival] = {}
        self.last_time = 0.0
        self.late = self.repeated = self.lost = self.restarts = self.wild = self.known = 0
        self._far: list[Arrival] = []  # samples whose numbers jump
        self._resumed: int | None = None  # the number with which a resumed run goes on

    def feed(self, arrival: Arrival) -> list[Arrival]:
        """The samples that can be passed on now."""
        if self.next is None:
            self.next = arrival.number
        ahead = (arrival.number - self.next + WRAP // 2) % WRAP - WRAP // 2
        arrival = arrival._replace(number=self.next + ahead)
        if self._resumed is not None and arrival.number < self._resumed:
            self.known += 1
            return []
        if abs(ahead) > self.longest_gap:
            return self._jump(arrival)
        self.wild += len(self._far)
        self._far = []
        return self._place(arrival)

    def _place(self, arrival: Arrival) -> list[Arrival]:
        if self.next is not None and arrival.number < self.next:
            self.late += 1
            return []
        if arrival.number in self.waiting:
            self.repeated += 1
            return []
        self.waiting[arrival.number] = arrival
        return self._ready(given_up=len(self.waiting) > self.patience)

    def _jump(self, arrival: Arrival) -> list[Arrival]:
        """A sample far from the last ones: dropped unless many in a row agree."""
        if self._far and abs(arrival.number - self._far[-1].number) > self.longest_gap:
            self.wild += len(self._far)
            self._far = []
        self._far.append(arrival)
        if len(self._far) < self.believe:
            return []
        agreed, self._far = self._far, []
        out = self._ready(given_up=True)
        first, next_number = min(a.number for a in agreed), self.next or 0
        width = len(arrival.values)
        gap = first - next_number
        if gap < 0:
            self.restarts += 1
        else:
            self.lost += gap
        for number in range(next_number, next_number + (1 if gap < 0 else min(gap, self.longest_gap))):
            out.append(self._missing(number, width))
        self.next = first
        for sample in agreed:
            out += self._place(sample)
        return out

    def finish(self) -> list[Arrival]:
        """The samples still waiting, when no more will come."""
        self.wild += len(self._far)
        self._far = []
        return self._ready(given_up=bool(self.waiting))

    def _ready(self, given_up: bool) -> list[Arrival]:
        out: list[Arrival] = []
        if self.next is None:
            return out
        last = max(self.waiting, default=self.next - 1)
        while self.next in self.waiting or (given_up and self.next <= last):
            arrival = self.waiting.pop(self.next, None)
            if arrival is None:
                self.lost += 1
                arrival = self._missing(self.next, len(next(iter(self.waiting.values())).values))
            out.append(arrival)
            self.last_time = arrival.time
            self.next += 1
        return out

    def _missing(self, number: int, width: int) -> Arrival:
        self.last_time += self.step
        return Arrival(number, self.last_time, (float("nan"),) * width)

    # -- stop and resume -----------------------------------------------------------------------------------------

    def state(self) -> dict:
        """Everything that the next sample depends on, as numbers and lists."""
        return {
            "next": self.next,
            "last_time": self.last_time,
            "waiting": [_listed(a) for a in self.waiting.values()],
            "far": [_listed(a) for a in self._far],
            **{name: getattr(self, name) for name in self.COUNTS},
        }

    def restore(self, state: dict) -> None:
        """Go on from a `state`; ValueError, OverflowError, TypeError or KeyError where it is not one."""
        self.next = None if state["next"] is None else int(state["next"])
        self.last_time = float(state["last_time"])
        waiting, self._far = ([_arrival(entry) for entry in state[key]] for key in ("waiting", "far"))
        self.waiting = {arrival.number: arrival for arrival in waiting}
        for name in self.COUNTS:
            setattr(self, name, int(state[name]))

    def resumed(self) -> None:
        """From here on the source may repeat itself: samples that were passed on are dropped and counted in `known`."""
        self._resumed = self.next


def _listed(arrival: Arrival) -> list:
    return [arrival.number, arrival.time, list(arrival.values)]


def _arrival(entry) -> Arrival:
    number, time, values = entry
    return Arrival(int(number), float(time), tuple(map(float, values)))
