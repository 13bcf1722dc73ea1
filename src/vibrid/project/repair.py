"""A project file with mistakes, read as far as it can be judged, so that all of its mistakes are reported at once.

A mistake in one place must not hide the others. Each is noted and then repaired in a copy of the file: a name takes the
nearest valid one, a number that cannot be read becomes 1, an entry of a list that cannot be repaired is left out, and
so is a table. The copy only serves to find further mistakes; nothing is computed from it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from vibrid.project.problems import Keys, Mistake, keys_of
from vibrid.project.section import Section

_ROUNDS = 12
_NUMBERS = ("quantity", "float_type", "float_parsing")
_STAND_IN = {"kind": "shear-building", "masses": [1.0], "storeys": [{"law": "linear", "stiffness": 1.0}]}


@dataclass
class Draft:
    """A file as it can be judged: its table, the mistakes found so far, and what they leave unjudged."""

    data: dict[str, Any]
    table: Any = None
    mistakes: list[Mistake] = field(default_factory=list)
    kept: dict[str, list[int]] = field(default_factory=dict)  # of a list: the index in the file of each entry left
    guessed: set[str] = field(default_factory=set)  # tables repaired in a way that may cause mistakes of its own
    left_out: set[str] = field(default_factory=set)  # tables, or lists with entries, that could not be repaired

    @property
    def numbers_known(self) -> bool:
        """Whether the numbers of the structure are those of the file."""
        return not any(mistake.keys[:1] == ("structure",) for mistake in self.mistakes)

    def add(self, found: list[Mistake]) -> None:
        """Note mistakes of the repaired copy at their places in the file, but for those that a repair may cause."""
        before = {mistake.keys for mistake in self.mistakes}
        for mistake in found:
            place = self.place(mistake.keys)
            said = Mistake(place, mistake.message)
            if place not in before and (not place or place[0] not in self.guessed) and said not in self.mistakes:
                self.mistakes.append(said)

    def place(self, keys: Keys) -> Keys:
        """The keys in the file of a place in the repaired copy."""
        if len(keys) > 1 and keys[0] in self.kept and isinstance(keys[1], int):
            return (keys[0], self.kept[str(keys[0])][keys[1]], *keys[2:])
        return keys


def draft_of(data: dict[str, Any], model: Callable[..., type[Section]]) -> Draft:
    """The table of a file and all mistakes of its entries; the table is None where nothing can be judged.

    model: the tables that a file may have; called with a file, those that this one has.
    """
    draft = Draft(copy.deepcopy(data))
    for whole in (False, *[True] * _ROUNDS):
        try:
            draft.table = (model() if whole else model(draft.data)).model_validate(draft.data)
            break
        except ValidationError as problem:
            if not whole:  # all names are made tables, and installed plugins searched, only where the file does not fit
                continue
            errors = problem.errors(include_url=False)
            places = [keys_of(e["loc"], draft.data) for e in errors]
            draft.add([Mistake(keys, e["msg"]) for keys, e in zip(places, errors, strict=True)])
            for keys, error in sorted(zip(places, errors, strict=True), key=lambda pair: _order(pair[0]), reverse=True):
                _repair(draft, keys, error)
    return draft


def _order(keys: Keys) -> tuple[tuple[bool, str | int], ...]:
    """Keys in the order of the file's lists, so that the last entry is removed first."""
    return tuple((isinstance(key, int), key) for key in keys)


def _repair(draft: Draft, keys: Keys, error) -> None:
    said = error.get("ctx") or {}
    kind, meant = said.get("kind", error["type"]), said.get("meant", "")
    table: Any = _at(draft.data, keys[:-1])
    last: Any = keys[-1] if keys else ""
    here, there = isinstance(table, dict | list), _has(table, last)
    if isinstance(table, dict) and kind == "extra_forbidden":
        value = table.pop(last, None)
        if meant and meant not in table:
            table[meant] = value
    elif here and kind == "literal_error" and meant:
        table[last] = meant
    elif there and kind == "choice" and meant:
        entry = table[last]
        entry = entry[0] if isinstance(entry, list) and len(entry) == 1 else entry
        if isinstance(entry, dict):
            entry[said["key"]] = meant
        else:
            table[last] = {said["key"]: meant}
    elif there and kind in _NUMBERS and keys[0] == "structure":
        table[last] = _ones(table[last])
    elif there and kind in _NUMBERS and isinstance(table, dict):
        del table[last]
    elif isinstance(table, dict) and kind == "missing" and keys[0] == "structure" and len(keys) > 1:
        table[last] = 1.0
        draft.guessed.add("structure")
    else:
        _leave_out(draft, keys)


def _leave_out(draft: Draft, keys: Keys) -> None:
    """Remove the entry of a list of tables, or the table, that has a mistake without a repair."""
    if not keys:
        return
    name = str(keys[0])
    draft.left_out.add(name)
    entries = draft.data.get(name)
    if isinstance(entries, list) and len(keys) > 1 and isinstance(keys[1], int) and keys[1] < len(entries):
        kept = draft.kept.setdefault(name, list(range(len(entries))))
        del entries[keys[1]], kept[keys[1]]
    else:
        draft.data.pop(name, None)
    if name == "structure":
        draft.data["structure"] = copy.deepcopy(_STAND_IN)


def _at(data, keys: Keys) -> Any:
    for key in keys:
        if not _has(data, key):
            return None
        data = data[key]
    return data


def _has(data, key: str | int) -> bool:
    if isinstance(data, dict):
        return key in data
    return isinstance(data, list) and isinstance(key, int) and key < len(data)


def _ones(value) -> Any:
    """Numbers of the same number and arrangement that are surely valid."""
    if isinstance(value, list):
        return [_ones(entry) for entry in value]
    return value if isinstance(value, dict) and set(value) == {"value", "count"} else 1.0
