"""Warnings of the devices of a hybrid test while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vibrid.hybrid.chain import Row
from vibrid.hybrid.device import LoopDevice


class Warnings:
    """Asks the watches of all devices of a test, in order of time."""

    def __init__(self, parts: Sequence[Any]):
        devices = [(i, part) for i, part in enumerate(parts) if isinstance(part.device, LoopDevice)]
        watches = [(i, part.name, part.device.watch()) for i, part in devices]
        self._watches = [(i, name, watch) for i, name, watch in watches if watch is not None]

    def see(self, time: np.ndarray, rows: Sequence[Row]) -> tuple[str, ...]:
        """Sentences about further substeps: their times (s), and the rows of all devices in them."""
        said = []
        for i, name, watch in self._watches:
            _, _, x, force, signals = (np.asarray(values) for values in rows[i])
            said += [(time[at], f"{time[at]:.4g} s: '{name}' {text}.") for at, text in watch.see(x, force, signals)]
        return tuple(text for _, text in sorted(said))
