"""Which methods agree: estimates of the same data by several methods, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from vibrid.identification.result import Identification

WIDTH = 2.0
"""Standard deviations within which two estimates agree."""


@dataclass(frozen=True)
class Agreement:
    """Two methods on the same data. They agree on a parameter if each estimate lies within ± 2σ of the other, by the
    larger of their σ: the data are the same, so a difference is due to the methods alone.

    agree, differ, unknown: names of the parameters; unknown: no method gives a σ. largest: the largest difference over
    the larger σ.
    """

    first: str
    second: str
    agree: tuple[str, ...]
    differ: tuple[str, ...]
    unknown: tuple[str, ...]
    largest: float

    def __str__(self) -> str:
        total = len(self.agree) + len(self.differ) + len(self.unknown)
        words = [f"{self.first} and {self.second} agree on {len(self.agree)} of {total}"]
        words += [f"differ in {', '.join(self.differ)}"] if self.differ else []
        words += [f"no σ for {', '.join(self.unknown)}"] if self.unknown else []
        return "; ".join(words) + (f" (largest difference {self.largest:.2g} σ)" if np.isfinite(self.largest) else "")


def agreements(results: Mapping[str, Identification]) -> list[Agreement]:
    """Every pair of methods."""
    found = []
    for (first, a), (second, b) in combinations(results.items(), 2):
        width = np.fmax(a.deviation, b.deviation)  # the one that is known
        with np.errstate(invalid="ignore", divide="ignore"):
            distance = np.abs(a.estimate - b.estimate) / width
        groups: dict[str, list[str]] = {"agree": [], "differ": [], "unknown": []}
        for name, value in zip(a.names, distance, strict=True):
            groups["unknown" if np.isnan(value) else "agree" if value <= WIDTH else "differ"].append(name)
        known = distance[np.isfinite(distance)]
        largest = float(known.max()) if known.size else float("nan")
        agree, differ, unknown = (tuple(names) for names in groups.values())
        found.append(Agreement(first, second, agree, differ, unknown, largest))
    return found
