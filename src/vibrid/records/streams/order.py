"""Samples in order, each once: what arrives late, twice or never is told apart and counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Arrival(NamedTuple):
    """One sample: its number, its time in seconds, one value a channel; NaN is missing."""

    number: int
    time: float
    values: Sequence[float]


class Sequencer:
    """Hands samples on in the order of their numbers.

    A sample that is early waits for those before it until `patience` later ones have come; then the missing are given
    up as a gap of NaN samples. What comes after it was given up, or twice, is dropped. A number that jumps by more than
    `longest_gap` is not believed until `believe` packets in a row say so (a sender that started anew).

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
        """The samples that can be handed on now."""
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
        """What is still waiting, when nothing more will come."""
        return self._ready(given_up=bool(self.waiting))

    def _ready(self, given_up: bool) -> list[Arrival]:
        out: list[Arrival] = []
        if self.next is None:
            return out
        last = max(self.waiting, default=-1)
        while self.next in self.waiting or (given_up and self.next <= last):
            found = self.waiting.pop(self.next, None)
            if found is None:
                self.lost += 1
                width = len(next(iter(self.waiting.values())).values)
                found = Arrival(self.next, self.last_time + self.step, (float("nan"),) * width)
            out.append(found)
            self.last_time = found.time
            self.next += 1
        return out
