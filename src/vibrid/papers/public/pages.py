"""Running the entries of public benchmarks, and the one page that shows all of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vibrid.core.errors import Refusal
from vibrid.core.files import make_folder, write_bytes, write_text
from vibrid.papers.forecast import speed
from vibrid.papers.freshness import canaries_of
from vibrid.papers.pages import facts_of, picture_line, section
from vibrid.papers.public.benchmark import BENCHMARKS, Benchmark, BenchmarkTrial, load_benchmark
from vibrid.papers.public.ledger import Ledger
from vibrid.papers.public.picture import NAME, draw_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

FOLDER, LEDGER = "public", "reads.json"
_INTRODUCTION = """# Public benchmarks

Problems, data and scores that others published, and our entries. For every benchmark the settings of all entries stand
in one file of the package, and every reading of a test part is written into a ledger ([reads.json](reads.json)) with
the SHA-256 of that file. Data that may not be shipped are read from a folder that the user names and are checked by
their SHA-256; data that follow from a published recipe are made here and called *own realisation*. `vibrid benchmark`
lists all of it.
"""


@dataclass(frozen=True, eq=False)
class ScoredEntry:
    """An entry that was made: its facts as plain data, and its figure."""

    folder: Path
    benchmark: Benchmark
    facts: dict
    figure: Figure | SubFigure | None = None

    def write(self) -> None:
        """Write the facts and the figure of the entry, and the page of all benchmarks again."""
        own = self.folder / self.benchmark.name
        make_folder(own)
        if self.figure is not None:
            import matplotlib.pyplot as plt
            from matplotlib.figure import Figure

            from vibrid.report.save import small_png

            figure = self.figure if isinstance(self.figure, Figure) else self.figure.figure
            write_bytes(own / f"{self.facts['item']}.png", small_png(figure))
            plt.close(figure)
        write_text(own / f"{self.facts['item']}.json", json.dumps(self.facts, indent=1, ensure_ascii=False) + "\n")
        write_public_page(self.folder)


def scored(name: str, entries: list[str], out: Path | str, trial: BenchmarkTrial) -> Iterator[ScoredEntry]:
    """The chosen entries of a benchmark (all when none is named), one after another as they are made.

    An entry that needs data which are not at hand is left out, with a message, unless it was named.
    """
    benchmark, folder = load_benchmark(name), Path(out) / FOLDER
    trial.folder = folder / name
    for item in benchmark.chosen({"entry": entries}):
        trial.progress.stage(f"entry {item.name}: {item.title}")
        trial.begin_item()
        trial.entry = item.name
        started = time.perf_counter()
        try:
            outcome = item.make(trial)
        except Refusal as reason:
            if entries:
                raise
            trial.progress.stage(f"entry {item.name} left out: {reason}")
            continue
        seconds = time.perf_counter() - started
        command = f"vibrid benchmark {name} --entry {item.name}" + (" --data FOLDER" if item.real_data else "")
        facts = facts_of(benchmark, item, outcome, seconds, trial.quick) | {
            "command": command + (" --quick" if trial.quick else ""),
            "cold": not trial.reused,
            "speed": float(f"{speed():.3g}"),
            "settings_sha256": benchmark.settings_sha256,
        }
        facts["canaries"] = canaries_of(benchmark, item.label, trial)
        yield ScoredEntry(folder, benchmark, facts, outcome.figure)
        trial.end_item()


def ledger_in(out: Path | str) -> Ledger:
    """The ledger of a folder of results."""
    return Ledger(Path(out) / FOLDER / LEDGER)


def write_public_page(folder: Path) -> None:
    """Write the page of all benchmarks from the results in their folder; nothing is computed."""
    draw_scores(folder)
    write_text(folder / "README.md", public_page(folder))


def public_page(folder: Path) -> str:
    """The page in Markdown: for every benchmark its rules, published scores, readings of the test part, entries."""
    lines, ledger = [_INTRODUCTION], Ledger(folder / LEDGER)
    lines += [f"![scores]({NAME})", ""] if (folder / NAME).exists() else []
    for name in BENCHMARKS:
        lines += _benchmark_lines(load_benchmark(name), folder / name, ledger)
    return "\n".join(lines)


def _benchmark_lines(benchmark: Benchmark, folder: Path, ledger: Ledger) -> list[str]:
    sha = benchmark.settings_sha256
    lines = [f"## {benchmark.name}", "", benchmark.citation, ""]
    lines += [f"- Split: {benchmark.split}", f"- Score: {benchmark.metric}"]
    where = f"../../src/vibrid/papers/public/settings/{benchmark.settings_file}"
    lines += [f"- Settings: [{benchmark.settings_file}]({where}), SHA-256 `{sha[:16]}…`"]
    lines += [f"- Test part, {told}" for told in ledger.told(benchmark.name, sha)] or ["- The test part was not read."]
    lines += [f"- Not run: {part}" for part in benchmark.not_run] + [""]
    if benchmark.published:
        lines += ["| published | score | reference |", "|---|---|---|"]
        lines += [f"| {s.method} | {s.value:g} | {s.reference} |" for s in benchmark.published] + [""]
    for item in benchmark.items:
        file = folder / f"{item.label}.json"
        if not file.exists():
            lines += [f"Entry {item.name} ({item.title}): not run.", ""]
            continue
        facts = json.loads(file.read_text(encoding="utf-8"))
        picture = [line.replace(f"({item.label}", f"({benchmark.name}/{item.label}") for line in
                   picture_line(folder, item.label)]  # fmt: skip
        made = section(facts, picture)
        lines += [f"#{made[0]}", *made[1:]]
        if facts.get("settings_sha256") != sha:
            lines += ["**This entry was made with other settings than those in force.**", ""]
    return lines
