"""The verdict on a paper: each claim beside the results of the published recipe, our method and a simple alternative.

Claims contain no typed numbers: a field `{item|row|column|format}` names a result, and its number is read from the
JSON file of that item when the page is written. `row` is the value of the row's first column, or `#n`, the row's
number from 0; values of other columns may follow, ` & column=value`; `check: …` names a check by the beginning of its
text; the format of a number is Python's, `.3g` unless given.

Example
    Claim("Table 2: error of EI₁ 0.225 %", "reproduces", published="{table-2|EI_1 (N m²)|as published (%)} %")
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from vibrid.core.errors import InputError

REPRODUCES = "reproduces"
CORRECTED = "reproduces with a stated correction"
DOES_NOT = "does not, because"
UNTESTABLE = "cannot be tested"
VERDICTS = (REPRODUCES, CORRECTED, DOES_NOT, UNTESTABLE)

HEADINGS = (
    "claim of the paper",
    "as published, to its own end",
    "ours",
    "strongest simple alternative",
    "limit",
    "verdict",
)
NOT_MADE = "(not made)"
WITHHELD = "open: no verdict before the numbers of"
_FIELD = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Claim:
    """One row of the table of verdicts; the columns are those of `HEADINGS`, in Markdown.

    Arguments
        claim: statement of the paper: its number, table or figure, and the conditions.
        verdict: begins with one of `VERDICTS`, the reason or the correction follows; or a field whose text does, where
            the item itself judges its numbers.
        published: result of the paper's recipe under the paper's conditions, run to its own stopping rule.
        ours: result of our method under the same conditions.
        alternative: result of the strongest simple method.
        limit: the best result that the data or the discretisation allow.
    """

    claim: str
    verdict: str
    published: str = "–"
    ours: str = "–"
    alternative: str = "–"
    limit: str = "–"

    def __post_init__(self):
        if not self.verdict.startswith((*VERDICTS, "{")):
            raise InputError(f"A verdict begins with one of: {'; '.join(VERDICTS)}; not '{self.verdict}'.")

    def cells(self, results: Results) -> list[str]:
        """The texts of the row, with the numbers filled in; the verdict is withheld until all of them are there."""
        texts = (self.claim, self.published, self.ours, self.alternative, self.limit, self.verdict)
        before = len(results.missing)
        filled = [results.fill(text) for text in texts]
        if len(results.missing) > before:
            return [*filled[:-1], f"{WITHHELD} {results.commands_of(results.missing[before:])} are made"]
        if not filled[-1].startswith(VERDICTS):
            raise InputError(f"The field '{self.verdict}' is no verdict: '{filled[-1]}'.")
        return filled


def numbers(item: str, rows, column: str, shape: str = ".3g") -> str:
    """The fields of one column in several rows, to be used in the text of a claim."""
    return ", ".join(f"{{{item}|{row}|{column}|{shape}}}" for row in rows)


class Results:
    """The JSON files of a paper's results in a folder, from which the numbers of claims are read.

    A missing number is written as "(not made)"; `missing` lists these fields.

    Arguments
        commands: what makes each item, by label. A result that another command has made, of an earlier form of the item
            or a quick run, has no numbers here.
    """

    def __init__(self, folder: Path | str, commands: dict[str, str] | None = None):
        self.folder = Path(folder)
        self.commands = commands or {}
        self.missing: list[str] = []
        self._read: dict[str, dict | None] = {}

    def fill(self, text: str) -> str:
        """The text with each `{item|row|column|format}` replaced by its number."""
        return _FIELD.sub(lambda match: self._written(match.group(1)), text)

    def _written(self, field: str) -> str:
        item, row, column, shape = (*field.split("|"), ".3g")[:4]
        value = self.value(item, row, column)
        if value is None:
            self.missing.append(field)
            return NOT_MADE
        return f"{value:{shape}}" if isinstance(value, float) else str(value)

    def commands_of(self, fields: list[str]) -> str:
        """What makes the items of these fields, in words."""
        items = dict.fromkeys(field.split("|")[0] for field in fields)
        return ", ".join(f"`{self.commands[item]}`" if item in self.commands else item for item in items)

    def value(self, item: str, row: str, column: str):
        """One value of a result, or None if the file does not contain it."""
        facts = self._facts(item)
        if facts is None:
            return None
        if row.startswith("check: "):
            named = [c for c in facts["checks"] if c["what"].startswith(row.removeprefix("check: "))]
        elif row.startswith("#"):
            named = facts["rows"][int(row[1:]) :]
        else:
            first, *others = row.split(" & ")
            named = [r for r in facts["rows"] if r and str(next(iter(r.values()))) == first]
            for name, value in (other.split("=", 1) for other in others):
                named = [r for r in named if str(r.get(name)) == value]
        return named[0].get(column) if named else None

    def rows(self, item: str) -> list[dict]:
        """The rows of a result; none if there is no file."""
        facts = self._facts(item)
        return [] if facts is None else facts["rows"]

    def _facts(self, item: str) -> dict | None:
        if item not in self._read:
            file = self.folder / f"{item}.json"
            facts = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
            self._read[item] = None if facts is None or made_otherwise(facts, self.commands.get(item)) else facts
        return self._read[item]


def made_otherwise(facts: dict, command: str | None) -> bool:
    """Whether a result was made by another command than the one that makes its item now."""
    return command is not None and facts.get("command") != command


def verdict_table(claims: list[Claim], results: Results) -> list[str]:
    """The claims as a table in Markdown."""
    if not claims:
        return []
    rows = [HEADINGS, ["---"] * len(HEADINGS), *(claim.cells(results) for claim in claims)]
    return ["| " + " | ".join(cells) + " |" for cells in rows] + [""]
