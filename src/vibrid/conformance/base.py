"""Conformance checks: each is a requirement in words, and a function that checks it on an example."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


class Broken(AssertionError):
    """A requirement that an example does not meet; its text is the message."""


@dataclass(frozen=True)
class Promise:
    """One requirement: `words` state it, `attempt(example)` raises where it is not met, `applies(example)` states
    whether it applies to such an example."""

    words: str
    attempt: Callable[[Any], None]
    applies: Callable[[Any], bool]

    @property
    def name(self) -> str:
        return self.attempt.__name__

    def __call__(self, example) -> None:
        self.attempt(example)


class Checks:
    """The checks of one kind, in their order; used as a decorator to add one."""

    def __init__(self):
        self._all: list[Promise] = []

    def __call__(self, words: str, when: Callable[[Any], bool] = lambda example: True):
        def add(attempt):
            self._all.append(Promise(words, attempt, when))
            return attempt

        return add

    def __iter__(self) -> Iterator[Promise]:
        return iter(self._all)

    def pairs(self, examples: dict[str, Any]) -> list[tuple[Promise, str]]:
        """Every check with every example by name that it applies to."""
        return [(check, name) for check in self for name, example in examples.items() if check.applies(example)]


def expect(kept: bool, message: str) -> None:
    """Raise `Broken` with a message unless a requirement is met."""
    if not kept:
        raise Broken(message)


def same(found, wanted, what: str, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Raise `Broken` where numbers differ by more than `atol + rtol |wanted|`, naming the worst."""
    found, wanted = np.broadcast_arrays(np.asarray(found, dtype=float), np.asarray(wanted, dtype=float))
    with np.errstate(all="ignore"):  # numbers that are not finite are reported as wrong
        beyond = np.abs(found - wanted) - (atol + rtol * np.abs(wanted))
    wrong = ~(beyond <= 0) & ~(np.isnan(found) & np.isnan(wanted))
    if wrong.any():
        worst = int(np.argmax(np.where(wrong, np.nan_to_num(beyond, nan=np.inf), -np.inf)))
        raise Broken(f"{what}: {found.flat[worst]:.9g} where it should be {wanted.flat[worst]:.9g}.")


def finite(values, what: str) -> None:
    """Raise `Broken` where a number is not finite."""
    expect(bool(np.isfinite(np.asarray(values, dtype=float)).all()), f"{what} is not finite.")
