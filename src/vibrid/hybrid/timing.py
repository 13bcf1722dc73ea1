"""Durations of many steps: kept in a growing array, reported as median, p99, p99.9 and worst."""

from __future__ import annotations

import numpy as np

QUANTILES = {"median": 0.5, "p99": 0.99, "p99.9": 0.999, "worst": 1.0}


class Times:
    """Seconds, one after another; adding one costs a fraction of a microsecond."""

    def __init__(self, expected: int = 4096):
        self._kept = np.empty(max(expected, 16))
        self._count = 0

    def add(self, seconds: float) -> None:
        if self._count == len(self._kept):
            self._kept = np.concatenate([self._kept, np.empty_like(self._kept)])
        self._kept[self._count] = seconds
        self._count += 1

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> np.ndarray:
        """All of them, in order, in seconds."""
        return self._kept[: self._count]

    def summary(self) -> dict[str, float]:
        """Median, p99, p99.9 and worst in seconds; NaN where nothing was timed."""
        if not self._count:
            return dict.fromkeys(QUANTILES, float("nan"))
        quantiles = np.quantile(self.values, list(QUANTILES.values()), method="higher")
        return dict(zip(QUANTILES, map(float, quantiles), strict=True))

    def __str__(self) -> str:
        return ", ".join(f"{name} {spoken(value)}" for name, value in self.summary().items())


def spoken(seconds: float) -> str:
    """A duration with a suitable unit."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if abs(seconds) * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"
