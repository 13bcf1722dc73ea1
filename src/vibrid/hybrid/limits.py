"""Safety limits of a test: of the commanded motion of a device, and of its force."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from vibrid.core.errors import InputError

NO_LIMIT = sys.float_info.max
"""Larger than any finite number; infinite values and NaN are beyond every limit."""


@dataclass(frozen=True)
class SafetyLimits:
    """Largest displacement (m), velocity (m/s) and force (N) of any degree of freedom, in either direction."""

    displacement: float = NO_LIMIT
    velocity: float = NO_LIMIT
    force: float = NO_LIMIT

    def __post_init__(self):
        for name in ("displacement", "velocity", "force"):
            if not getattr(self, name) > 0:
                raise InputError(f"The limit of {name} must be a positive number, not {getattr(self, name)!r}.")

    def motion_beyond(self, displacement, velocity) -> str | None:
        """The message about the limit that a commanded motion exceeds; None when it may be imposed."""
        return _beyond("displacement", displacement, self.displacement, "m") or _beyond(
            "velocity", velocity, self.velocity, "m/s"
        )

    def force_beyond(self, force) -> str | None:
        """The message about the limit that a measured force exceeds; None when the test may continue."""
        return _beyond("force", force, self.force, "N")


def _beyond(quantity: str, values, limit: float, unit: str) -> str | None:
    for i, value in enumerate(values):
        if not -limit <= value <= limit:
            which = f"{quantity} {i + 1}" if len(values) > 1 else quantity
            if value != value or abs(value) == float("inf"):
                return f"{which} is {value}, which is not a finite number"
            return f"{which} is {value:.6g} {unit}, beyond the limit of {limit:.6g} {unit}"
    return None
