"""The watchdog of a served device: what happens to it when the client is silent or has gone in a test."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import InputError

WHEN_SILENT = ("hold", "ramp")


@dataclass(frozen=True)
class Watchdog:
    """What happens when the client of a running test is silent or has gone.

    Arguments
        silence: seconds without a message after which the client counts as silent, once it has moved the device; None
            takes the time `idle` of the `Listener`.
        when_silent: "hold" the device where it is, or "ramp" it to zero displacement.
        ramp_velocity: m/s of the ramp, of the largest displacement.
    """

    silence: float | None = None
    when_silent: str = "hold"
    ramp_velocity: float = 5e-3

    def __post_init__(self):
        if self.silence is not None and not self.silence > 0:
            raise InputError(f"The time of silence must be a positive number of seconds, not {self.silence!r}.")
        if self.when_silent not in WHEN_SILENT:
            raise InputError(f"With a silent client, 'hold' the device or 'ramp' it down, not '{self.when_silent}'.")
        if not 0 < self.ramp_velocity < math.inf:
            raise InputError(f"The velocity of the ramp must be a positive number, not {self.ramp_velocity!r} m/s.")

    def ramp(self, move: Callable[[np.ndarray, np.ndarray, float], bool], displacement: np.ndarray, begin: float,
             step: float) -> float:  # fmt: skip
        """Move a device from `displacement` to zero, in real time; returns the seconds that it took.

        `move(displacement, velocity, time)` makes one command and returns whether the next may follow.
        """
        distance = float(np.max(np.abs(displacement)))
        count = math.ceil(distance / (self.ramp_velocity * step))
        for k in range(1, count + 1):
            time.sleep(step)
            if not move(displacement * (1 - k / count), -displacement / (count * step), begin + k * step):
                return k * step
        return count * step
