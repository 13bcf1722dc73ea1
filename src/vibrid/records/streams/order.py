"""Samples in order, each once: late, repeated and lost samples are counted separately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Arrival(NamedTuple):
    """One sample: its number, its time in seconds, one value a channel; NaN is missing."""

    number: int
    time: float
    values: Sequence[float]


class Sequencer:
    """Passes samples on in the order of their numbers.

    An early sample waits for those before it until `patience` later ones have come; then the missing ones become a gap
    of NaN samples. A sample that comes after that, or twice, is dropped. A number that jumps by more than `longest_gap`
    is accepted only after `believe` such packets in a row (a sender that was restarted).

    Arguments
        step: seconds between samples, for the times of lost ones.
    """

    def __init__(self, step: float, patience: int = 8, longest_gap: int = 1000, believe: int = 20):
        self.step, self.patience, self.longest_gap, self.believe = step, patience, longest_gap, believe
        self.next: int | None = None
        self.waiting: dict[int, Arrival] = {}
        self.last_time = 0.0
        self.late = self.repeated = self.lost = self.restarts = 0
        self._strange = 0

    def feed(self, arrival: Arrival) -> list[Arrival]:
        """The samples that can be passed on now."""
        if self.next is None:
            self.next = arrival.number
        ahead = arrival.number - self.next
        if abs(ahead) > self.longest_gap:
            self._strange += 1
            if self._strange < self.believe:
                return []
            self.restarts += 1
            self.next, ahead = arrival.number, 0
            self.waiting.clear()
        self._strange = 0
        if ahead < 0:
            self.late += 1
            return []
        if arrival.number in self.waiting:
            self.repeated += 1
            return []
        self.waiting[arrival.number] = arrival
        return self._ready(given_up=len(self.waiting) > self.patience)

    def finish(self) -> list[Arrival]:
        """The samples still waiting, when no more will come."""
        return self._ready(given_up=bool(self.waiting))

    def _ready(self, given_up: bool) -> list[Arrival]:
        out: list[Arrival] = []
        if self.next is None:
            return out
        last = max(self.waiting, default=-1)
        while self.next in self.waiting or (given_up and self.next <= last):
            arrival = self.waiting.pop(self.next, None)
            if arrival is None:
                self.lost += 1
                width = len(next(iter(self.waiting.values())).values)
                arrival = Arrival(self.next, self.last_time + self.step, (float("nan"),) * width)
            out.append(arrival)
            self.last_time = arrival.time
            self.next += 1
        return out
