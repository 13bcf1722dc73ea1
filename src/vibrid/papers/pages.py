"""Running the items of a paper and writing their results: a JSON file for each item, figures, and one page."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.errors import Refusal
from vibrid.core.files import make_folder, write_bytes, write_text
from vibrid.core.version import __version__
from vibrid.papers.forecast import forecast, speed, spoken
from vibrid.papers.freshness import canaries_of, versions
from vibrid.papers.paper import Item, Paper, Run, load_paper
from vibrid.papers.verdict import made_otherwise, verdict_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

EARLIER = "**Made by an earlier form of this item or by a quick run: not used in the table of verdicts.**"
MARKS = {True: "met", False: "**missed**", None: ""}


def reproduce(name: str, wanted: dict[str, list[str]] | None = None, out: Path | str = "reproduced", run=None):
    """Compute the chosen items of a paper; each is written as soon as it is done. Returns the facts written."""
    written = []
    for item in made_again(name, wanted, out, run):
        item.write()
        written.append(item.facts)
    return written


def made_again(name: str, wanted: dict[str, list[str]] | None = None, out: Path | str = "reproduced", run=None):
    """The chosen items of a paper, one after another as they are computed; each can be shown and then written.

    An item that needs real records is skipped, with a message, when all items were asked for and no folder was given.
    """
    paper, run = load_paper(name), run or Run()
    wanted = wanted or {}
    run.folder = Path(out) / name
    for item in paper.chosen(wanted):
        expected = None if run.quick else forecast(item, run.folder, machine())
        time_left = "" if expected is None else f" ({spoken(expected)})"
        run.progress.stage(f"{item.kind} {item.name}: {item.title}{time_left}")
        run.begin_item()
        started = time.perf_counter()
        try:
            outcome = item.make(run)
        except Refusal as reason:
            if any(names for kind, names in wanted.items() if kind != "part"):
                raise
            run.progress.stage(f"{item.kind} {item.name} left out: {reason}")
            continue
        seconds = time.perf_counter() - started
        facts = facts_of(paper, item, outcome, seconds, run.quick) | {
            "cold": not run.reused,
            "speed": float(f"{speed():.3g}"),
        }
        facts["canaries"] = {} if item.label in paper.of_rows else canaries_of(paper, item.label, run)
        yield Made(paper, Path(out) / name, facts, outcome.figure)
        run.end_item()


@dataclass(frozen=True, eq=False)
class Made:
    """An item that was computed: its facts as plain data, and its figure."""

    paper: Paper
    folder: Path
    facts: dict
    figure: Figure | SubFigure | None = None

    def write(self) -> None:
        """Write the JSON file and the figure of the item, and rewrite the page of the paper."""
        make_folder(self.folder)
        if self.figure is not None:
            import matplotlib.pyplot as plt
            from matplotlib.figure import Figure

            from vibrid.report.save import small_png

            figure = self.figure if isinstance(self.figure, Figure) else self.figure.figure
            write_bytes(self.folder / f"{self.facts['item']}.png", small_png(figure))
            plt.close(figure)
        text = json.dumps(self.facts, indent=1, ensure_ascii=False) + "\n"
        write_text(self.folder / f"{self.facts['item']}.json", text)
        write_page(self.paper, self.folder)


def write_page(paper: Paper, folder: Path) -> None:
    """Write the page of a paper from the results in its folder; nothing is computed."""
    write_text(folder / "README.md", page(paper, folder))


def facts_of(paper: Paper, item: Item, outcome, seconds: float, quick: bool) -> dict:
    """The result of an item, its command, machine and versions, as plain data."""
    return {
        "paper": paper.name,
        "item": item.label,
        "title": item.title,
        "command": paper.command_of(item) + (" --quick" if quick else ""),
        "machine": machine(),
        "date": date.today().isoformat(),
        "version": __version__,
        "versions": versions(),
        "seconds": round(seconds, 1),
        "rows": [{k: _plain(v) for k, v in row.items()} for row in outcome.rows],
        "checks": [{k: _plain(v) for k, v in vars(c).items()} for c in outcome.checks],
        "note": outcome.note,
    }


def _plain(value):
    """A number or text that JSON can hold; infinities and NaN become null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def machine() -> str:
    """The machine: number of CPU cores, and GPU."""
    import jax

    kind = jax.default_backend()
    return f"{os.cpu_count()} CPU cores, {'no GPU' if kind == 'cpu' else f'one {kind.upper()}'}"


def page(paper: Paper, folder: Path) -> str:
    """The page of a paper from the files in `folder`: first picture, verdicts, then the items in the paper's order."""
    lines = [f"# {paper.name}", "", paper.citation, ""]
    lines += picture_line(folder, paper.head) if paper.head else []
    lines += verdict_table(paper.claims, paper.results(folder))
    for item in paper.items:
        file = folder / f"{item.label}.json"
        if file.exists():
            facts = json.loads(file.read_text(encoding="utf-8"))
            if made_otherwise(facts, paper.command_of(item)):
                facts["note"] = f"{facts['note']} {EARLIER}".strip()
            lines += section(facts, [] if item.label == paper.head else picture_line(folder, item.label))
    return "\n".join(lines)


def picture_line(folder: Path, label: str) -> list[str]:
    """The Markdown line that shows the picture of an item; empty if there is none."""
    return [f"![{label}]({label}.png)", ""] if (folder / f"{label}.png").exists() else []


def section(facts: dict, picture: list[str]) -> list[str]:
    """One item in Markdown: command, picture, rows, checks, note."""
    lines = [f"## {facts['item'].replace('-', ' ', 1).capitalize()}: {facts['title']}", ""]
    lines += [f"`{facts['command']}` ({time_of(facts)} on {facts['machine']}, {facts['date']})", ""]
    lines += picture
    if facts["rows"]:
        columns = list(dict.fromkeys(k for row in facts["rows"] for k in row))
        lines += ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(cell(row.get(c)) for c in columns) + " |" for row in facts["rows"]] + [""]
    if facts["checks"]:
        lines += ["| check | measured | target | |", "|---|---|---|---|"]
        lines += [f"| {c['what']} | {c['measured']} | {c['target']} | {MARKS[c['met']]} |" for c in facts["checks"]] + [
            ""
        ]
    return [*lines, facts["note"], ""] if facts["note"] else lines


def time_of(facts: dict) -> str:
    """The time of an item; an item that used results computed before it has no time of its own, and where that was not
    noted the time is a lower limit."""
    if facts.get("cold"):
        return f"{facts['seconds']:g} s"
    if "cold" not in facts and facts["seconds"] > 0:
        return f"at least {facts['seconds']:g} s"
    return "no time of its own: it uses results computed before it"


def cell(value) -> str:
    """A value of a row as text."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
