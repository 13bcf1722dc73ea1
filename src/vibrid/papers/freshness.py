"""Freshness: whether stored results still hold, by a few numbers that are cheap to recompute (canaries).

An item registers a function, `@PAPER.canary("table-2")`, that returns `{name: (value, relative tolerance)}`. The
numbers are stored with the result under "canaries"; `vibrid reproduce --check` computes them again and compares.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from vibrid.core.errors import Refusal
from vibrid.core.version import __version__
from vibrid.papers.paper import Paper, Run


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
        _checked(paper, item.label, json.loads(file.read_text(encoding="utf-8")), run)
        for item in paper.items
        if (file := Path(folder) / f"{item.label}.json").exists()
    ]


def _checked(paper: Paper, label: str, facts: dict, run: Run) -> Freshness:
    stored = facts.get("canaries", {})
    if not stored:
        return Freshness(label, 0)
    try:
        now = canaries_of(paper, label, run)
    except Refusal:  # the item needs real records, and no folder was given
        return Freshness(label, 0)
    broken = []
    for name, canary in stored.items():
        if name not in now:
            broken.append(f"{name} is not computed any more")
        elif not abs(now[name]["value"] - canary["value"]) <= canary["tolerance"] * abs(canary["value"]):
            broken.append(f"{name} was {canary['value']:.8g} and is {now[name]['value']:.8g}")
    return Freshness(label, len(stored), tuple(broken))
