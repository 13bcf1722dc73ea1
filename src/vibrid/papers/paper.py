"""What a reproduced paper is made of: numbered tables and figures, and named studies beyond them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from vibrid.core.errors import InputError, Refusal, unknown_name
from vibrid.core.files import make_folder
from vibrid.core.progress import SILENT, Progress
from vibrid.core.registry import Registry
from vibrid.papers.verdict import Claim

PAPERS = Registry("paper")
"""The papers by their short names; each is imported when it is asked for."""


@dataclass(frozen=True)
class Check:
    """A promise beside what came out. `met` is None when there is nothing to promise, only to report."""

    what: str
    measured: str
    target: str = ""
    met: bool | None = None


@dataclass(frozen=True)
class Outcome:
    """What one item gives: rows of a table, a figure, promises, and a note on what differs from the paper."""

    rows: list[dict] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    note: str = ""
    figure: object | None = None


@dataclass(frozen=True)
class Item:
    """One table, figure or study of a paper."""

    kind: str  # "table", "figure" or "study"
    name: str
    title: str
    make: Callable[[Run], Outcome]
    real_data: bool = False
    part: str = ""  # of the paper, where it has several that are made apart

    @property
    def label(self) -> str:
        return f"{self.kind}-{self.name}"


class Paper:
    """A published document and the functions that make its items again.

    Example
        >>> PAPER = Paper("joint", "Bitro, Batou & Ouyang, simultaneous identification …")
        >>> @PAPER.table(2, "Identified bending stiffness")
        ... def table_2(run): return Outcome(rows=[…])
    """

    def __init__(self, name: str, citation: str, whole_loops: bool = False):
        """`whole_loops`: whether its items are long small loops over time (see `core.loops`)."""
        self.name, self.citation, self.whole_loops = name, citation, whole_loops
        self.items: list[Item] = []
        self.claims: list[Claim] = []
        self.head = ""
        self.canaries: dict[str, Callable[[Run], dict[str, tuple[float, float]]]] = {}

    def judge(self, claims: list[Claim], head: str = "") -> None:
        """What its page begins with: the table of verdicts, and the picture of the item whose label is `head`."""
        self.claims, self.head = claims, head

    def canary(self, *labels: str):
        """Decorator of a function that recomputes a few cheap numbers on which these items rest (`freshness`)."""

        def keep(compute):
            self.canaries |= dict.fromkeys(labels, compute)
            return compute

        return keep

    def table(self, number: int, title: str, real_data: bool = False, part: str = ""):
        return self._add("table", str(number), title, real_data, part)

    def figure(self, number: int, title: str, real_data: bool = False, part: str = ""):
        return self._add("figure", str(number), title, real_data, part)

    def study(self, name: str, title: str, real_data: bool = False, part: str = ""):
        """Something the paper does not have: an alternative beside it, real data, a limit."""
        return self._add("study", name, title, real_data, part)

    def _add(self, kind, name, title, real_data, part):
        def keep(make):
            self.items.append(Item(kind, name, title, make, real_data, part))
            return make

        return keep

    def chosen(self, wanted: dict[str, list[str]]) -> list[Item]:
        """The items named by kind, or by the part of the paper they belong to; all of them when nothing is named."""
        if not any(wanted.values()):
            return list(self.items)
        found = []
        for kind, names in wanted.items():
            if kind == "part":
                parts = {i.part for i in self.items if i.part}
                for name in names:
                    if name not in parts:
                        raise unknown_name(f"part of '{self.name}'", name, parts)
                found += [i for i in self.items if i.part in names]
                continue
            own = {i.name: i for i in self.items if i.kind == kind}
            for name in names:
                if name not in own:
                    raise unknown_name(f"{kind} of '{self.name}'", name, list(own))
                found.append(own[name])
        return found


class Run:
    """One call of `reproduce`: what items share while it lasts.

    Arguments
        quick: fewer seeds and shorter searches, to see that everything runs; never for numbers to keep.
        data: folder of real records, for the items that need them.
    """

    def __init__(self, quick: bool = False, data: Path | None = None, progress: Progress = SILENT):
        self.quick, self.progress = quick, progress
        self._data = None if data is None else Path(data)
        self._kept: dict = {}
        self.folder: Path | None = None
        """Where the results of the paper are written, while items are made."""
        self._fresh: set = set()
        self.reused = False
        """Whether the item at hand used something that an earlier one computed: its time is then not a cold one."""

    def begin_item(self) -> None:
        """What is computed from here on belongs to another item."""
        self._fresh, self.reused = set(), False

    def once(self, make: Callable, *arguments):
        """`make(run, *arguments)`, computed the first time only: a fit that a table and four figures show."""
        key = (make, arguments)
        if key not in self._kept:
            self._fresh.add(key)
            self._kept[key] = make(self, *arguments)
        self.reused |= key not in self._fresh
        return self._kept[key]

    def checkpoint(self, name: str) -> str | None:
        """File in which a long training is kept until its item is done, so that the same command resumes it.

        None where nothing is written, and for a quick run.
        """
        if self.folder is None or self.quick:
            return None
        folder = self.folder / "unfinished"
        make_folder(folder)
        return str(folder / f"{name}.npz")

    def real(self, relative: str) -> Path:
        """A file of the folder of real records."""
        if self._data is None:
            raise Refusal("This item needs real records: give their folder with --data FOLDER.")
        path = self._data / relative
        if not path.exists():
            raise InputError(f"'{relative}' is not in the folder of real records that was given.")
        return path


def load_paper(name: str) -> Paper:
    """A paper by its short name."""
    return PAPERS[name]
