"""Columns as a person names them: `roof acc X (g)`, the heading in the file, or `roof acc X` without its unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from vibrid.records.readers import Column
from vibrid.records.readers.assemble import split_unit
from vibrid.records.record import Record
from vibrid.records.units import is_unit


def _apart(name: str) -> tuple[str, str | None]:
    """Name and unit of a heading; the whole text where the brackets hold no unit."""
    bare, unit = split_unit(name)
    return (bare, unit) if unit and is_unit(unit) else (name, None)


def _headings(names: Mapping[str, Column]) -> dict[str, tuple[str, str]]:
    """From the name without its unit to the heading and the unit, where only one heading has this name."""
    parts = {name: _apart(name) for name in names}
    counts = Counter(bare for bare, _ in parts.values())
    return {bare: (name, unit) for name, (bare, unit) in parts.items() if unit and counts[bare] == 1}


def with_units_apart(known: Mapping[str, Column]) -> dict[str, Column]:
    """Descriptions of columns, also under the names that a reader gives them: without the unit."""
    apart = {
        bare: replace(known[name], unit=known[name].unit or unit) for bare, (name, unit) in _headings(known).items()
    }
    return {**known, **apart}


def as_named(record: Record, known: Mapping[str, Column]) -> Record:
    """The record with its channels under the names of the project where these are headings with a unit."""
    changes = {
        bare: name for bare, (name, _) in _headings(known).items() if bare in record.names and name not in record.names
    }
    return record.relabel(changes) if changes else record
