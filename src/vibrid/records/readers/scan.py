"""Searching in headings, by plain steps whose number grows with the length of the text and no faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


class NumberedLines(Iterator[str]):
    """The lines of a text, and the number of the last one that was taken; that one can be put back."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines, self._last, self._again, self.number = iter(lines), "", False, 0

    def __next__(self) -> str:
        if not self._again:
            self._last = next(self._lines)
        self._again = False
        self.number += 1
        return self._last

    def put_back(self) -> None:
        self._again = True
        self.number -= 1

    def until(self, ends: Callable[[str], object]) -> Iterator[str]:
        """The lines before the first one that ends a block, which comes next."""
        for line in self:
            if ends(line):
                self.put_back()
                return
            yield line


def squeezed(text: str) -> str:
    """A text with single spaces for white space, and none at its ends."""
    return " ".join(text.split())


def after(text: str, label: str) -> str | None:
    """What follows a label on its line, without spaces around it; None where the label, or anything after it, is not.

    The label is found in any case: `after("LOCATION: Roof ", "location:")` is "Roof".
    """
    place = text.lower().find(label.lower())
    if place < 0:
        return None
    rest = text[place + len(label) :].lstrip()
    return rest.split("\n", 1)[0].rstrip() or None


def in_brackets(text: str) -> tuple[str, str] | None:
    """A text before brackets, round or square, that end it, and what they contain; None where it ends otherwise."""
    text = text.strip()
    opening = {"]": "[", ")": "("}.get(text[-1:])
    if opening is None:
        return None
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        if text[place] == text[-1]:
            depth += 1
        elif text[place] == opening:
            depth -= 1
            if depth == 0:
                return text[:place].strip(), text[place + 1 : -1].strip()
    return None
