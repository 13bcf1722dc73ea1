"""Changes of a project file by the page: the text keeps its comments and order, and stays the only state."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from vibrid.core.errors import InputError, require

Keys = Sequence[str | int]
MOST_STEPS = 200


def edited(text: str, operations: Sequence[Mapping[str, Any]]) -> str:
    """The text after changes, in their order.

    An operation has `do`, `at` (keys and indices) and, where it needs one, `value`:
    "set" a value, making the tables on the way; "remove" it, where it is there; "append" to a list of tables;
    "expand" parts that are written once with a `count` to one entry each.
    """
    tomlkit = require("tomlkit", "studio", "Changing a project file in the studio")
    try:
        document = tomlkit.parse(text)
    except tomlkit.exceptions.ParseError as problem:
        raise InputError(f"The text is not valid TOML ({problem}); correct it first.") from None
    if len(operations) > MOST_STEPS:
        raise InputError(f"At most {MOST_STEPS} changes are made at once.")
    for operation in operations:
        do, at = operation.get("do"), operation.get("at")
        if do not in _DO or not isinstance(at, list) or not at or not all(isinstance(k, str | int) for k in at):
            raise InputError(f"'{do}' at {at} is not a change of a project file.")
        try:
            _DO[do](tomlkit, document, at, operation.get("value"))
        except (KeyError, IndexError, TypeError, AttributeError, tomlkit.exceptions.TOMLKitError):
            where = ".".join(map(str, at))
            raise InputError(f"The text has no place for a change at '{where}'; change the text itself.") from None
    return tomlkit.dumps(document)


def _set(tomlkit: Any, document: Any, at: Keys, value: Any) -> None:
    node = document
    for i, key in enumerate(at[:-1]):
        if isinstance(key, str) and key not in node:
            node[key] = tomlkit.table() if i == 0 else tomlkit.inline_table()
        node = node[key]
    node[at[-1]] = _item(tomlkit, value, top=len(at) == 1)


def _remove(tomlkit: Any, document: Any, at: Keys, value: Any) -> None:
    node = document
    for key in at[:-1]:
        if isinstance(key, str) and key not in node:
            return
        node = node[key]
    if isinstance(at[-1], int) or at[-1] in node:
        del node[at[-1]]


def _append(tomlkit: Any, document: Any, at: Keys, value: Any) -> None:
    node = document
    for key in at[:-1]:
        node = node[key]
    if at[-1] not in node:
        node[at[-1]] = tomlkit.aot()
    node[at[-1]].append(_item(tomlkit, value, top=True))


def _expand(tomlkit: Any, document: Any, at: Keys, value: Any) -> None:
    node = document
    for key in at[:-1]:
        node = node[key]
    plain = node[at[-1]].unwrap()
    if isinstance(plain, dict) and set(plain) == {"value", "count"}:  # numbers
        node[at[-1]] = _item(tomlkit, [plain["value"]] * int(plain["count"]))
        return
    parts = [plain] if isinstance(plain, dict) else plain
    if all(not isinstance(part, dict) or "count" not in part for part in parts):
        return
    single = []
    for part in parts:
        entry = {k: v for k, v in part.items() if k != "count"}
        single += [copy.deepcopy(entry) for _ in range(int(part.get("count", 1)))]
    if len(single) > MOST_STEPS:
        raise InputError(f"{len(single)} parts are too many to be written one by one.")
    array = tomlkit.array()
    array.extend(_item(tomlkit, entry) for entry in single)
    if isinstance(node[at[-1]], tomlkit.items.AoT):  # written as tables: they would come after the new line
        del node[at[-1]]
    node[at[-1]] = array.multiline(True)


def _item(tomlkit: Any, value: Any, top: bool = False) -> Any:
    """A value as TOML writes it: tables inside others in one line."""
    if isinstance(value, dict):
        made = tomlkit.table() if top else tomlkit.inline_table()
        for key, inner in value.items():
            made[str(key)] = _item(tomlkit, inner)
        return made
    if isinstance(value, list) and value and all(isinstance(v, dict) for v in value) and top:
        made = tomlkit.aot()
        for inner in value:
            made.append(_item(tomlkit, inner, top=True))
        return made
    if isinstance(value, list):
        made = tomlkit.array()
        made.extend(_item(tomlkit, inner) for inner in value)
        return made
    if value is None or not isinstance(value, str | bool | int | float):
        raise InputError("A value in a project file is a text, a number, true or false, a list or a table.")
    return tomlkit.item(value)


_DO = {"set": _set, "remove": _remove, "append": _append, "expand": _expand}
