"""What a device model is given: samples of a test, and the constants of a test."""

from __future__ import annotations

from typing import Any, NamedTuple

Numbers = Any
"""Arrays of JAX, or of NumPy before they are used by JAX."""


class DeviceSample(NamedTuple):
    """One sample of a test, or of many (leading axes)."""

    x: Numbers  # m, displacement
    v: Numbers  # m/s
    companion: Numbers  # (…, signals) of the tested device: force, displacement, …


class Setting(NamedTuple):
    """The constants of a test."""

    capacity: Numbers  # (…, 2) N, for each direction
    first_force: Numbers  # (…) N, before the test: the only information on the initial position in the play
