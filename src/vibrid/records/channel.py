"""A channel: what was measured, where, in which direction, and in which unit."""

from __future__ import annotations

from dataclasses import dataclass

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError, nearest
from vibrid.records.units import parse_unit

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
    "command": "V",  # what a semi-active device is told
    "other": "",
}
"""Every quantity a channel can carry, with the SI unit it is stored in."""

EXCITATIONS = ("ground_acceleration", "load", "imposed_displacement", "imposed_velocity", "command")
"""Quantities that drive a structure; all others are responses."""

_MOMENTS = ("load", "element_force")


def fits(quantity: str, unit: str) -> bool:
    """Whether numbers of a quantity can be in this SI unit: the force at a rotation is a moment, `other` any."""
    return quantity == "other" or unit == QUANTITIES[quantity] or (quantity in _MOMENTS and unit == "N*m")


@checked
@dataclass(frozen=True)
class Channel:
    """One column of a record: what was measured, where, and in which direction.

    Arguments
        name: its name, unique in a record.
        quantity: one of `QUANTITIES`, such as "absolute_acceleration"; "other" by default.
        unit: the SI unit of the numbers; by default that of the quantity.
        location: the place on the structure, e.g. 0 or "roof".
        direction: of a ground motion or a sensor, e.g. "x".
    """

    name: str
    quantity: str = "other"
    unit: str = ""  # the SI unit the numbers are in, empty when unknown or dimensionless
    location: str | int = ""
    direction: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", str(self.location))
        if self.quantity not in QUANTITIES:
            raise InputError(
                f"Channel '{self.name}': there is no quantity called '{self.quantity}'; "
                f"{nearest(self.quantity, QUANTITIES)}"
            )
        expected = QUANTITIES[self.quantity]
        if not self.unit or self.unit == expected:
            object.__setattr__(self, "unit", expected)
            return
        try:
            known = parse_unit(self.unit)
        except InputError as problem:
            raise InputError(f"Channel '{self.name}': {problem}") from None
        if not fits(self.quantity, known.symbol):
            what = f"in {expected}" if expected else "without a unit"
            raise InputError(f"Channel '{self.name}': a {self.quantity} is {what}, not in {self.unit}.")
        if known.factor != 1.0 or known.offset:
            raise InputError(
                f"Channel '{self.name}': the numbers of a record are in SI units, here {known.symbol or 'none'}, not "
                f"in {self.unit}; convert them with vibrid.records.units.to_si."
            )
        object.__setattr__(self, "unit", known.symbol)
