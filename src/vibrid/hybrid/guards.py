"""The interlocks of all devices of a hybrid test that goes step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.errors import VibridError
from vibrid.hybrid.interlock import Interlock, Trip
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.substructure import Substructure

if TYPE_CHECKING:
    from vibrid.hybrid.coordinator import HybridTest


class Tripped(VibridError):
    """A device that must not be moved any more: the number of its part, and the reason."""

    def __init__(self, part: int, text: str):
        super().__init__(text)
        self.part = part


class DeviceGuards:
    """One interlock per device; commands to external devices are checked before any of them leaves.

    Arguments
        opened: the external devices, in the order of the parts.
        limits: of every part; None for none. Values that are not finite are refused in any case.
        start: s, time of the laboratory at the beginning.
    """

    def __init__(self, test: HybridTest, opened: Sequence[Substructure], limits: Sequence[SafetyLimits | None],
                 start: float):  # fmt: skip
        self.external = [i for i, part in enumerate(test.parts) if part.is_outside]
        self.computed = [i for i, own in enumerate(limits) if own is not None and i not in self.external]
        at = {i: device.position or 0.0 for i, device in zip(self.external, opened, strict=True)}
        self._interlocks = [
            Interlock(own or SafetyLimits(), (at.get(i, 0.0),), start, 1.0 / test.rate) for i, own in enumerate(limits)
        ]

    def check_commands(self, commands: np.ndarray, now: float) -> None:
        """Check (external, 3) displacements, velocities and accelerations at a time of the laboratory."""
        for i, (x, v, a) in zip(self.external, commands.tolist(), strict=True):
            _raise(i, self._interlocks[i].check_command((x,), (v,), (a,), now), "the command is refused: ")

    def check_reading(self, i: int, force: float, position: float | None) -> None:
        """Check what an external device measured, and commit its command."""
        trip = self._interlocks[i].check_reading((force,), position)
        self._interlocks[i].commit()
        _raise(i, trip)

    def check_computed(self, row: np.ndarray, columns: np.ndarray, now: float) -> None:
        """Check the tested devices that are computed, from the row of a substep."""
        for i in self.computed:
            command, measured, force = row[columns[i] + 1 : columns[i] + 4].tolist()
            _raise(i, self._interlocks[i].check_command((command,), (0.0,), (0.0,), now), "the command is refused: ")
            self.check_reading(i, force, measured)


def _raise(i: int, trip: Trip | None, words: str = "") -> None:
    if trip is not None:
        raise Tripped(i, words + trip.text)
