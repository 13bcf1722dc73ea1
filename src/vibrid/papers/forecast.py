"""How long an item of a paper takes on this machine, from the time that it took on this or another one.

The time that is stored with a result counts only if the item began from nothing (`cold`) and the speed of its machine
was measured with it. Without such a time there is no forecast.
"""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path

import numpy as np

from vibrid.papers.paper import Item

_ROUNDS = 5


@cache
def speed() -> float:
    """Speed of this machine: rounds per second of a fixed computation in NumPy and in Python, the fastest of five.

    It takes about a tenth of a second. Only its ratio between two machines has a meaning.
    """
    matrix = np.random.default_rng(0).normal(size=(120, 120))
    shortest = np.inf
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        value = np.linalg.inv(matrix @ matrix.T + 120 * np.eye(120))[0, 0]
        for number in range(30_000):
            value = 0.5 * value + number
        shortest = min(shortest, time.perf_counter() - started)
    return 1.0 / shortest


def forecast(item: Item, folder: Path, machine: str) -> float | None:
    """Seconds that the item is expected to take here, from its result in `folder`; None where nothing can be said.

    `machine`: the description of this one; a time from one with another number of cores or another GPU says nothing.
    """
    try:
        facts = json.loads((folder / f"{item.label}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    known = facts.get("cold") and facts.get("speed") and "--quick" not in facts.get("command", "")
    if not known or facts.get("machine") != machine:
        return None
    return float(facts["seconds"]) * float(facts["speed"]) / speed()


def spoken(seconds: float | None) -> str:
    """The forecast in words.

    Example
        >>> spoken(0.4), spoken(93.0), spoken(5000.0), spoken(None)
        ('about 1 s', 'about 90 s', 'about 80 min', 'no time is known for this machine')
    """
    if seconds is None:
        return "no time is known for this machine"
    if seconds < 100:
        return f"about {max(1, round(seconds, -1) if seconds > 20 else round(seconds)):.0f} s"
    return f"about {round(seconds / 60, -1) if seconds > 2400 else round(seconds / 60):.0f} min"
