"""The units in which a project file gives its numbers, to answer in the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vibrid.core.errors import InputError
from vibrid.identification.display import checked_units
from vibrid.identification.unknowns import UnknownSet
from vibrid.records.units import parse_unit

_WITH_UNIT = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*(\S.*?)\s*")


@dataclass(frozen=True)
class GivenUnits:
    """Units of a project file: of the structure by their SI unit, the most frequent one; of unknowns by their path."""

    of_structure: dict[str, str] = field(default_factory=dict)
    of_unknowns: dict[str, str] = field(default_factory=dict)

    def of(self, unknowns: UnknownSet) -> dict[str, str]:
        """The unit of display of every unknown that has one: that of its own limits or first guess, else that of the
        structure's values of the same kind."""
        found = {}
        for name, si_unit, places in zip(unknowns.names, unknowns.units, unknowns.places, strict=True):
            own = [unit for path, unit in self.of_unknowns.items() if any(_covers(path, place) for place in places)]
            found[name] = own[0] if own else self.of_structure.get(_symbol(si_unit), "")
        return checked_units(found, unknowns.names, unknowns.units)


def given_units(data: Mapping[str, Any]) -> GivenUnits:
    """The units in the tables `structure` and `unknown` of a project file."""
    counts: dict[str, Counter[str]] = {}
    for unit in _units_in(data.get("structure")):
        counts.setdefault(_symbol(unit), Counter())[unit] += 1
    of_unknowns: dict[str, str] = {}
    tables = data.get("unknown")
    for table in tables if isinstance(tables, list) else []:
        unit = next(_units_in([table.get(key) for key in ("start", "bounds", "prior", "scale")]), None)
        paths = table.get("path")
        if unit is not None:
            of_unknowns |= {path: unit for path in ([paths] if isinstance(paths, str) else paths or [])}
    return GivenUnits({symbol: units.most_common(1)[0][0] for symbol, units in counts.items()}, of_unknowns)


def _units_in(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        found = _WITH_UNIT.fullmatch(node)
        if found and _symbol(found[1]):
            yield found[1]
    elif isinstance(node, Mapping):
        for value in node.values():
            yield from _units_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from _units_in(value)


def _symbol(unit: str) -> str:
    """The SI unit that measures the same; "" for a pure number and for what is no unit."""
    try:
        return parse_unit(unit).symbol
    except InputError:
        return ""


def _covers(path: str, place: str) -> bool:
    """Whether a path of a project file, in which [*] is every index, names a place of the experiment."""
    pattern = re.escape(path).replace(r"\[\*\]", r"\[\d+\]")
    return re.fullmatch(pattern, place.removeprefix("structure.")) is not None
