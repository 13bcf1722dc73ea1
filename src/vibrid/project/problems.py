"""Errors of a project file: every error as one message with its line and its key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from vibrid.core.errors import FileProblem

Keys = tuple[str | int, ...]


@dataclass(frozen=True)
class Mistake:
    """One error: its keys in the file, and a message."""

    keys: Keys
    message: str


class ProjectProblem(FileProblem):
    """All errors of a project file, one line each."""

    def __init__(self, path: Path, text: str, mistakes: list[Mistake]):
        lines = sorted((line_of(text, m.keys) or 0, i) for i, m in enumerate(mistakes))
        self.problems = tuple(mistakes[i] for _, i in lines)
        messages = [
            FileProblem(path, f"{spell(mistakes[i].keys)}: {mistakes[i].message}".removeprefix(": "), line or None)
            for line, i in lines
        ]
        super().__init__(path, messages[0].problem, messages[0].line)
        self.args = ("\n".join(str(m) for m in messages),)


def spell(keys: Keys) -> str:
    """`structure.storeys[0].stiffness` from its keys."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def keys_of(location: tuple, data) -> Keys:
    """The keys of the file for a pydantic location: without the names of choices, `<…>`, and wrapped lists."""
    keys: list[str | int] = []
    for step in location:
        if isinstance(step, str) and step.startswith("<"):
            continue
        if isinstance(step, int):
            if not isinstance(data, list):
                continue
            data = data[step] if step < len(data) else None
        else:
            data = data.get(step) if isinstance(data, dict) else None
        keys.append(step)
    return tuple(keys)


# -- finding the line ------------------------------------------------------------------------------------------------

_HEADER = re.compile(r"""^[ \t]*(\[\[?)([\w.\-"' \t]+)\]\]?[ \t]*(?:#.*)?$""", re.MULTILINE)


def line_of(text: str, keys: Keys) -> int | None:
    """The line of a key, or of the nearest table above it; None when neither is found."""
    if not keys:
        return None
    start, end, rest = _table(text, keys)
    found = start
    for key in rest:
        place = _entry(text, found or 0, end, key) if isinstance(key, int) else _key(text, found or 0, end, key)
        if place is None:
            break
        found = place
    return None if found is None else text.count("\n", 0, found) + 1


def _table(text: str, keys: Keys) -> tuple[int | None, int, Keys]:
    """Start and end of the table with the longest header that leads to the keys, and the remaining keys."""
    best: tuple[int | None, int, Keys] = (None, len(text), keys)
    first = _HEADER.search(text)
    if first is not None:
        best = (None, first.start(), keys)
    seen: dict[str, int] = {}
    headers = list(_HEADER.finditer(text))
    for i, header in enumerate(headers):
        names = tuple(part.strip().strip("\"'") for part in header.group(2).split("."))
        spelled: list[str | int] = []
        for depth, name in enumerate(names):
            spelled.append(name)
            joined = ".".join(names[: depth + 1])
            if depth == len(names) - 1 and header.group(1) == "[[":
                seen[joined] = seen.get(joined, -1) + 1
            if joined in seen:
                spelled.append(seen[joined])
        size = len(spelled)
        if best[0] is None and tuple(spelled)[: len(keys)] == keys:
            best = (header.start(2), header.end(), ())
        elif tuple(spelled) == keys[:size] and len(keys) - size < len(best[2]):
            end = headers[i + 1].start() if i + 1 < len(headers) else len(text)
            best = (header.start(2), end, keys[size:])
    return best


def _key(text: str, start: int, end: int, key: str) -> int | None:
    match = re.compile(rf"(?<![\w.\-\"'])[\"']?{re.escape(key)}[\"']?[ \t]*[=.]").search(text, start, end)
    return None if match is None else match.start()


def _entry(text: str, start: int, end: int, index: int) -> int | None:
    """Where entry `index` of the list that follows `start` begins."""
    opening = text.find("[", start, end)
    if opening < 0:
        return None
    depth, count, quote, place = 0, 0, "", opening
    while place < end:
        character = text[place]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "#":
            place = text.find("\n", place) if "\n" in text[place:end] else end
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
            if depth == 0:
                return None
        elif character == "," and depth == 1:
            count += 1
        if count == index and place > opening and character not in ", \t\r\n#":
            return place
        place += 1
    return None
