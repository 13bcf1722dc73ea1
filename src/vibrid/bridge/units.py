"""The units of a script: OpenSees has none, so they are asked for once."""

from __future__ import annotations

from dataclasses import dataclass

from vibrid.core.errors import InputError
from vibrid.records.units import parse_unit

_NAMES = ("force", "length", "time")


@dataclass(frozen=True)
class ScriptUnits:
    """Factors from the units of a script to SI."""

    text: str
    force: float
    length: float
    time: float

    @property
    def mass(self) -> float:
        """kg in the unit of mass, force · time² / length."""
        return self.force * self.time**2 / self.length

    @property
    def stress(self) -> float:
        return self.force / self.length**2


def parse_units(text: str) -> ScriptUnits:
    """Units from "N, m, s": of force, length and time, in any order."""
    words = [word.strip() for word in str(text).split(",") if word.strip()]
    found: dict[str, float] = {}
    for word in words:
        unit = parse_unit({"sec": "s", "inch": "in"}.get(word.lower(), word))
        if unit.kind not in _NAMES or unit.kind in found:
            raise InputError(f"'{text}' needs one unit of force, one of length and one of time, as \"kN, m, s\".")
        found[unit.kind] = unit.factor
    if len(found) != 3:
        missing = ", ".join(name for name in _NAMES if name not in found)
        raise InputError(f"'{text}' has no unit of {missing}; write all three, as \"kip, in, s\".")
    return ScriptUnits(text, found["force"], found["length"], found["time"])
