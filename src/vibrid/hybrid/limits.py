"""Safety limits of a tested device: of the commanded deformation, and of the measured force."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields

from vibrid.core.errors import InputError

NO_LIMIT = sys.float_info.max
"""Larger than any finite number; infinite values and NaN are beyond every limit."""
REQUIRED = ("displacement", "velocity", "force", "step")
"""Limits without which a device is not served."""
UNITS = {
    "displacement": "m", "velocity": "m/s", "force": "N", "acceleration": "m/s^2", "step": "m", "energy": "J",
}  # fmt: skip
LARGEST = {"displacement": 10.0, "velocity": 20.0, "acceleration": 1e5, "force": 1e9}
"""No tested device reaches these values: a larger limit is a mistake of units."""


@dataclass(frozen=True)
class SafetyLimits:
    """Limits of one device, in either direction. They apply to the deformation of the device itself.

    Arguments
        displacement: m, largest deformation.
        velocity: m/s, both of the velocity that is stated with a command and of the difference of commands over time.
        force: N, largest measured force.
        acceleration: m/s², as stated with a command, and by differences of velocities.
        step: m, largest change of the deformation from one command to the next.
        energy: J, largest work of the force in one cycle: from one passage of the deformation through zero in the
            positive direction to the next. Elastic energy that is stored for a time counts too.
    """

    displacement: float = NO_LIMIT
    velocity: float = NO_LIMIT
    force: float = NO_LIMIT
    acceleration: float = NO_LIMIT
    step: float = NO_LIMIT
    energy: float = NO_LIMIT

    def __post_init__(self):
        for name, unit in UNITS.items():
            value = getattr(self, name)
            if not value > 0:
                raise InputError(f"The limit of {name} must be a positive number, not {value!r}.")
            if LARGEST.get(name, NO_LIMIT) < value < NO_LIMIT:
                raise InputError(
                    f"The limit of {name} is {value:g} {unit}, which no tested device reaches; limits are in {unit}. "
                    "Leave it out where there is none."
                )
        if self.displacement < NO_LIMIT and 2 * self.displacement < self.step < NO_LIMIT:
            raise InputError(
                f"The limit of one step ({self.step:g} m) is larger than the whole range of the deformation "
                f"(± {self.displacement:g} m): one of the two has a wrong unit."
            )

    @property
    def missing(self) -> tuple[str, ...]:
        """The required limits that are not set."""
        return tuple(name for name in REQUIRED if getattr(self, name) == NO_LIMIT)

    def combined(self, other: SafetyLimits) -> SafetyLimits:
        """The stricter of two limits of each quantity."""
        stricter = {f.name: min(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        if stricter["step"] < NO_LIMIT:  # within a smaller range no step is larger than the whole of it
            stricter["step"] = min(stricter["step"], 2 * stricter["displacement"])
        return SafetyLimits(**stricter)

    def motion_beyond(self, displacement, velocity) -> str | None:
        """The message about the limit that a commanded motion exceeds; None when it may be imposed."""
        return beyond("displacement", displacement, self.displacement) or beyond("velocity", velocity, self.velocity)

    def force_beyond(self, force) -> str | None:
        """The message about the limit that a measured force exceeds; None when the test may continue."""
        return beyond("force", force, self.force)


def require_limits(limits: SafetyLimits | None, unlimited: bool, how: str) -> SafetyLimits:
    """The limits of a device that is about to be moved; refused when required ones are missing.

    how: how the user states that there are to be none: `--unlimited`, or `unlimited=True`.
    """
    limits = limits or SafetyLimits()
    if limits.missing and not unlimited:
        raise InputError(
            f"The device has no limit of {', '.join(limits.missing)}: a wrong command could destroy it. Set the limits "
            f"of {', '.join(REQUIRED)} (and acceleration and energy, if they matter), or state {how}."
        )
    return limits


def beyond(quantity: str, values, limit: float, note: str = "") -> str | None:
    """The message about the first value beyond a limit; None when there is none."""
    unit = UNITS[quantity].replace("^2", "²")
    for i, value in enumerate(values):
        if not -limit <= value <= limit:
            which = f"{quantity} {i + 1}" if len(values) > 1 else quantity
            if value != value or abs(value) == float("inf"):
                return f"{which} is {value}, which is not a finite number"
            return f"{which} is {value:.6g} {unit}{note}, beyond the limit of {limit:.6g} {unit}"
    return None
