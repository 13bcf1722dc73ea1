"""Freshness: whether stored results still hold, by a few numbers that are cheap to recompute (canaries).

An item registers a function, `@PAPER.canary("table-2")`, that returns `{name: (value, relative tolerance)}`. The
numbers are stored with the result under "canaries"; `vibrid reproduce --check` computes them again and compares. A name
`row|column` or `item|row|column` (as in a claim, see `verdict`) is a number in the rows of this result or of another of
the paper, which need not be stored; of a text it is the number at its beginning, of a number that is not in the folder
nothing is said. A result that another command has made than the one that makes the item now does not hold either.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from vibrid.core.errors import Refusal
from vibrid.core.version import __version__
from vibrid.papers.paper import Item, Paper, Run
from vibrid.papers.verdict import Results, made_otherwise


def versions() -> dict[str, str]:
    """Versions of the packages on which the numbers of a result can depend."""
    installed = {"vibrid": __version__, "python": platform.python_version()}
    for name in ("jax", "numpy", "scipy", "equinox", "optax"):
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def canaries_of(paper: Paper, label: str, run: Run) -> dict[str, dict[str, float]]:
    """The canaries of an item, computed now: name → value and relative tolerance."""
    if label not in paper.canaries:
        return {}
    numbers = run.once(paper.canaries[label])
    return {name: {"value": float(v), "tolerance": float(t)} for name, (v, t) in numbers.items()}


@dataclass(frozen=True)
class Freshness:
    """One result: a message for each canary that no longer holds; `checked` is the number of canaries computed."""

    label: str
    checked: int
    broken: tuple[str, ...] = ()


def check_results(paper: Paper, folder: Path | str, run: Run) -> list[Freshness]:
    """Recompute the canaries of every result of a paper in its folder."""
    return [
        _checked(paper, item, json.loads(file.read_text(encoding="utf-8")), run, Path(folder))
        for item in paper.items
        if (file := Path(folder) / f"{item.label}.json").exists()
    ]


def _checked(paper: Paper, item: Item, facts: dict, run: Run, folder: Path) -> Freshness:
    if made_otherwise(facts, paper.command_of(item)):
        made = f"it was made by `{facts.get('command')}`, and the item is made by `{paper.command_of(item)}`"
        return Freshness(item.label, 1, (made,))
    try:
        now = canaries_of(paper, item.label, run)
    except Refusal:  # the item needs real records, and no folder was given
        return Freshness(item.label, 0)
    stored, broken = _stored(item.label, facts, now, folder), []
    for name, value in stored.items():
        if name not in now:
            broken.append(f"{name} is not computed any more")
        elif value is None:
            broken.append(f"{name} is not in the result")
        elif not abs(now[name]["value"] - value) <= now[name]["tolerance"] * abs(value):
            broken.append(f"{name} was {value:.8g} and is {now[name]['value']:.8g}")
    return Freshness(item.label, len(stored), tuple(broken))


def _stored(label: str, facts: dict, now: dict, folder: Path) -> dict[str, float | None]:
    """The canaries that were stored with a result, and the numbers of its rows that are canaries."""
    results = Results(folder)
    of_rows = {name: _number(results.value(*_place(label, name))) for name in now if "|" in name}
    others = {name for name in of_rows if of_rows[name] is None and name.count("|") == 2}
    of_rows = {name: value for name, value in of_rows.items() if name not in others}
    kept = {name: canary["value"] for name, canary in facts.get("canaries", {}).items()}
    return of_rows | {name: value for name, value in kept.items() if "|" not in name}


def _place(label: str, name: str) -> tuple[str, str, str]:
    """Item, row and column of a canary that is a number in the rows of a result."""
    *item, row, column = name.split("|")
    return (item or [label])[0], row, column


def _number(value) -> float | None:
    """A number, or the one with which a text begins, as in "7.13 %" and "2.3 ± 0.9"."""
    if isinstance(value, str):
        value = value.split(" ")[0]
    return None if value is None else float(value)
