"""A reproduced paper: its numbered tables and figures, and named studies that go beyond it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from vibrid.core.errors import InputError, Refusal, unknown_name
from vibrid.core.files import make_folder
from vibrid.core.progress import SILENT, Progress
from vibrid.core.registry import Registry
from vibrid.papers.verdict import Claim, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

PAPERS = Registry("paper")
"""The papers by their short names; each is imported when it is asked for."""


Canary = Callable[["Run"], dict[str, tuple[float, float]]]
"""Recomputes a few cheap numbers: (value, tolerance) by name."""


@dataclass(frozen=True)
class Check:
    """A requirement and the measured value. `met` is None when the value is only reported."""

    what: str
    measured: str
    target: str = ""
    met: bool | None = None


@dataclass(frozen=True)
class Outcome:
    """The result of one item: rows of a table, a figure, checks, and a note on the differences from the paper."""

    rows: list[dict] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    note: str = ""
    figure: Figure | SubFigure | None = None


@dataclass(frozen=True)
class Item:
    """One table, figure or study of a paper."""

    kind: str  # "table", "figure" or "study"
    name: str
    title: str
    make: Callable[[Run], Outcome]
    real_data: bool = False
    part: str = ""  # of the paper, where its parts can be computed separately

    @property
    def label(self) -> str:
        return f"{self.kind}-{self.name}"


class Paper:
    """A published document and the functions that compute its items.

    Example
        >>> PAPER = Paper("joint", "Bitro, Batou & Ouyang, simultaneous identification …")
        >>> @PAPER.table(2, "Identified bending stiffness")
        ... def table_2(run): return Outcome(rows=[…])
    """

    def __init__(self, name: str, citation: str, whole_loops: bool = False):
        """`whole_loops`: whether its items are long loops over time with little work per step (see `core.loops`)."""
        self.name, self.citation, self.whole_loops = name, citation, whole_loops
        self.items: list[Item] = []
        self.claims: list[Claim] = []
        self.head = ""
        self.canaries: dict[str, Canary] = {}
        self.of_rows: set[str] = set()
        """Items whose canaries are all numbers in rows of results: nothing is stored when they are made."""

    def judge(self, claims: list[Claim], head: str = "") -> None:
        """Set the beginning of its page: the table of verdicts, and the picture of the item with the label `head`."""
        self.claims, self.head = claims, head

    def canary(self, *labels: str, of_rows: bool = False):
        """Decorator of a function that recomputes a few cheap numbers on which these items depend (`freshness`).

        of_rows: all of them are numbers in rows of results.
        """

        def keep(compute: Canary) -> Canary:
            self.canaries |= {label: compute for label in labels}
            self.of_rows = self.of_rows - set(labels) | (set(labels) if of_rows else set())
            return compute

        return keep

    def table(self, number: int, title: str, real_data: bool = False, part: str = ""):
        return self._add("table", str(number), title, real_data, part)

    def figure(self, number: int, title: str, real_data: bool = False, part: str = ""):
        return self._add("figure", str(number), title, real_data, part)

    def study(self, name: str, title: str, real_data: bool = False, part: str = ""):
        """An item that the paper does not have: an alternative method, real data, a limit."""
        return self._add("study", name, title, real_data, part)

    def command_of(self, item: Item) -> str:
        """The command that makes an item."""
        return f"vibrid reproduce {self.name} --{item.kind} {item.name}" + (" --data FOLDER" if item.real_data else "")

    def results(self, folder: Path) -> Results:
        """Its results in a folder, as the table of verdicts reads them."""
        return Results(folder, {item.label: self.command_of(item) for item in self.items})

    def _add(self, kind, name, title, real_data, part):
        def keep(make):
            self.items.append(Item(kind, name, title, make, real_data, part))
            return make

        return keep

    def chosen(self, wanted: dict[str, list[str]]) -> list[Item]:
        """The items named by kind, or by the part of the paper they belong to; all of them when nothing is named."""
        if not any(wanted.values()):
            return list(self.items)
        chosen = []
        for kind, names in wanted.items():
            if kind == "part":
                parts = {i.part for i in self.items if i.part}
                for name in names:
                    if name not in parts:
                        raise unknown_name(f"part of '{self.name}'", name, parts)
                chosen += [i for i in self.items if i.part in names]
                continue
            items = {i.name: i for i in self.items if i.kind == kind}
            for name in names:
                if name not in items:
                    raise unknown_name(f"{kind} of '{self.name}'", name, list(items))
                chosen.append(items[name])
        return chosen


class Run:
    """One call of `reproduce`: its settings, and the results that its items share.

    Arguments
        quick: fewer seeds and shorter searches, to test that everything runs; the numbers are not to be used.
        data: folder of real records, for the items that need them.
    """

    def __init__(self, quick: bool = False, data: Path | None = None, progress: Progress = SILENT):
        self.quick, self.progress = quick, progress
        self.data = None if data is None else Path(data)
        self._kept: dict = {}
        self.folder: Path | None = None
        """Folder in which the results of the paper are written."""
        self.stored: set[Path] = set()
        """Files of finished jobs of the current item (`jobs`); they are removed when it is written."""
        self._fresh: set = set()
        self.reused = False
        """Whether the current item used results of an earlier one: its time is then not that of a cold run."""

    def begin_item(self) -> None:
        """Results computed from now on belong to a new item."""
        self._fresh, self.reused, self.stored = set(), False, set()

    def end_item(self) -> None:
        """The current item is written: what was stored to resume it is removed."""
        for file in self.stored:
            file.unlink(missing_ok=True)

    def once(self, make: Callable, *arguments):
        """`make(run, *arguments)`, computed at the first call only, for a fit that several tables and figures show."""
        key = (make, arguments)
        if key not in self._kept:
            self._fresh.add(key)
            self._kept[key] = make(self, *arguments)
        self.reused |= key not in self._fresh
        return self._kept[key]

    def known(self, make: Callable, arguments: tuple):
        """A result of `once` or `keep`, or None."""
        value = self._kept.get((make, arguments))
        self.reused |= value is not None and (make, arguments) not in self._fresh
        return value

    def keep(self, make: Callable, arguments: tuple, value) -> None:
        """Keep a result that was computed elsewhere, as if by `once`."""
        self._fresh.add((make, arguments))
        self._kept[make, arguments] = value

    def checkpoint(self, name: str) -> str | None:
        """File in which a long training is saved until its item is done, so that the same command resumes it.

        None if nothing is written, and for a quick run.
        """
        if self.folder is None or self.quick:
            return None
        folder = self.folder / "unfinished"
        make_folder(folder)
        return str(folder / f"{name}.npz")

    def real(self, relative: str) -> Path:
        """A file of the folder of real records."""
        if self.data is None:
            raise Refusal("This item needs real records: give their folder with --data FOLDER.")
        path = self.data / relative
        if not path.exists():
            raise InputError(f"'{relative}' is not in the folder of real records that was given.")
        return path


def load_paper(name: str) -> Paper:
    """A paper by its short name."""
    return PAPERS[name]
