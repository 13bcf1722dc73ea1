"""A network in a running test: energy that it gives, motion beyond its training, force beyond its capacity."""

from __future__ import annotations

import numpy as np

from vibrid.hybrid.learned.guard import Fault

GIVES = 0.01
"""Share of capacity × largest displacement from which energy that a model gave counts."""
FURTHER = 0.05
"""Share by which a network may be moved further than in its training."""
SMALL = 0.05
"""Of the largest displacement of its training: smaller motions are small."""


class NetworkWatch:
    """What a network does that it should not. Each kind is told once, when it happens.

    Arguments
        capacity: N, mean of the directions.
        displacement: m, the largest of its training.
        force_limit: in capacities, from which its force is flagged.
        first_force: N, before the test.
    """

    def __init__(self, capacity: float, displacement: float, force_limit: float, first_force: float = 0.0):
        self.capacity, self.displacement, self.force_limit = capacity, displacement, force_limit
        self._last, self._taken, self._largest = (0.0, first_force), 0.0, 0.0  # (m, N), J, m
        self._told: set[str] = set()

    def see(self, x: np.ndarray, force: np.ndarray, signals: np.ndarray) -> list[tuple[int, str]]:
        """Further substeps: the number among them at which something happened, and what. The last signal is `flags`."""
        path, pushes = (np.append(last, np.asarray(v, float)) for last, v in zip(self._last, (x, force), strict=True))
        taken = self._taken + np.cumsum(0.5 * (pushes[1:] + pushes[:-1]) * np.diff(path))
        largest = np.maximum.accumulate(np.append(self._largest, np.abs(x)))[1:]
        flags = np.nan_to_num(np.asarray(signals)[:, -1]).astype(int)
        self._last, self._taken, self._largest = (path[-1], pushes[-1]), float(taken[-1]), float(largest[-1])
        most = 1e3 * self.displacement
        kinds = {
            "energy": taken < -GIVES * self.capacity * np.maximum(largest, SMALL * self.displacement),
            "motion": largest > (1.0 + FURTHER) * self.displacement,
            "force": (flags & Fault.FORCE) > 0,
        }
        said = []
        for kind, there in kinds.items():
            if kind in self._told or not there.any():
                continue
            i = int(np.argmax(there))
            self._told.add(kind)
            texts = {
                "energy": f"has given {-taken[i]:.3g} J more than it took",
                "motion": f"is moved to {1e3 * x[i]:.3g} mm, further than in its training ({most:.3g} mm)",
                "force": f"gives {1e-3 * force[i]:.3g} kN, more than {self.force_limit:g} times its capacity",
            }
            said.append((i, texts[kind]))
        return said
