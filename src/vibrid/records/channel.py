"""A channel: what was measured, where, in which direction, and in which unit."""

from __future__ import annotations

from dataclasses import dataclass

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError, nearest

QUANTITIES: dict[str, str] = {
    "displacement": "m",  # relative to the ground
    "velocity": "m/s",  # relative to the ground
    "acceleration": "m/s^2",  # relative to the ground
    "absolute_acceleration": "m/s^2",  # what an accelerometer on a floor measures
    "rotation": "rad",
    "drift": "m",  # difference between two neighbouring places
    "drift_velocity": "m/s",
    "strain": "",
    "element_force": "N",  # force inside a part: a storey, a device, a bar
    "ground_acceleration": "m/s^2",
    "ground_velocity": "m/s",
    "ground_displacement": "m",
    "load": "N",  # force applied at a place
    "imposed_displacement": "m",  # deformation that a machine imposes on a device
    "imposed_velocity": "m/s",
    "other": "",
}
"""Every quantity a channel can carry, with the SI unit it is stored in."""

EXCITATIONS = ("ground_acceleration", "load", "imposed_displacement", "imposed_velocity")
"""Quantities that drive a structure; all others are responses."""


@checked
@dataclass(frozen=True)
class Channel:
    """One column of a record: what was measured, where, and in which direction."""

    name: str
    quantity: str = "other"
    unit: str = ""  # the unit the numbers are in: SI, empty when unknown or dimensionless
    location: str | int = ""
    direction: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", str(self.location))
        if self.quantity not in QUANTITIES:
            raise InputError(
                f"Channel '{self.name}': there is no quantity called '{self.quantity}'; "
                f"{nearest(self.quantity, QUANTITIES)}"
            )
        if not self.unit and QUANTITIES[self.quantity]:
            object.__setattr__(self, "unit", QUANTITIES[self.quantity])
