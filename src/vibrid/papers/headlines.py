"""The papers' own headlines in one table, filled from the results as the tables of verdicts are.

One rule chooses the rows: the numbers that the paper puts forward, in its case, metric and data; each is followed by
its recipe as published, run to its own end, and by ours. An error stands beside every time, and where settings were
chosen on tests that are then reported, the row says so.

    python -m vibrid.papers.headlines results docs/what-is-proved.md
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from vibrid.core.files import write_text
from vibrid.papers.paper import load_paper
from vibrid.papers.verdict import numbers

COLUMNS = ("paper", "its headline", "printed", "as published, to its own end", "ours", "simplest alternative, limit")


class Headline(NamedTuple):
    """One row; texts with the fields of `verdict`."""

    paper: str
    what: str
    printed: str
    published: str
    ours: str
    beside: str


def noisy_load(level: str, figure: int, printed: str) -> Headline:
    row, column = f"study-as-published|{level} % noise (Figures {figure}, {figure + 1}), worst of 10 seeds", "Eq. 29"
    ours = f"figure-{figure}"
    return Headline(
        "joint",
        f"load at {level} % noise, largest over time",
        printed,
        f"{{{row}|load, largest error over time (% of its peak)}} % (worst of ten seeds); EI₃ {{{row}|EI_3 (%)}} %",
        f"{{{ours}|load (largest over time)|median of seeds (%)}} %, {column} "
        f"{{{ours}|load (Eq. 29)|median of seeds (%)}} % (median of ten); EI₃ {{{ours}|EI_3|median of seeds (%)}} %",
        f"bound of EI₃ {{{ours}|EI_3|Cramér–Rao bound (%)}} %",
    )


def networks(system: str, words: str, printed: str) -> Headline:
    item = f"study-paper-conditions-{system}"
    cells = lambda column: numbers(item, ("0 %", "2.5 %", "5 %"), column, ".2g")  # noqa: E731
    return Headline(
        "pidynnet",
        f"{words}, Kobe, 1000 Hz, c(0) known: mean error at 0, 2.5, 5 % noise",
        printed,
        f"{cells('as published')} %",
        f"`PIDynNet` {cells('PIDynNet')} % (its network adds nothing to its linear path)",
        f"`WeakCollocation` {cells('WeakCollocation')} %, UKF {cells('UKF')} %; bound "
        + numbers(item, ("2.5 %", "5 %"), "bound", ".2g")
        + " %",
    )


def online(case: int, objective: int, printed: str) -> Headline:
    row = f"table-1|{case}"
    return Headline(
        "masing",
        f"Kobe, 10 % noise, objective {objective}: ‖θ̂ − θ‖/‖θ‖",
        f"{printed} (one run)",
        f"{{{row}|as printed|.2g}} (median of 20 seeds, worst {{{row}|as printed, worst|.2g}})",
        f"{{{row}|OnlineMasing|.2g}} (worst {{{row}|worst|.2g}})",
        f"`OnlineRecall` {{{row}|OnlineRecall|.2g}} (worst {{{row}|its worst|.2g}})",
    )


EI, TO_END = ("EI_1 (N m²)", "EI_2 (N m²)", "EI_3 (N m²)"), "as published, to ε (%)"
LOAD, LINEAR = "load (Eq. 29)", "JointLoads, linear hold (%)"


def off(row: str, which: str = "median") -> str:
    """Errors of k1 and k3 of one seed."""
    return ", ".join(f"{{{row}|{name} off, {which} seed [%]}}" for name in ("k1", "k3"))


EARLY, END = (f"study-as-published|full beam, epoch {epoch}" for epoch in (1000, 10000))
PAIR = "on real tests left out in turn, on which settings were chosen"
SITES = ("Northern Calif-03, Ferndale City Hall", "Loma Prieta, Emeryville")


def of_models(model: str, seeds: tuple[str, ...], item: str = "table-3", column: str = "NRMSE, %") -> str:
    return ", ".join(f"{{{item}|{model} & motions=validation & seed={seed}|{column}}}" for seed in seeds)


def in_tests(model: str) -> str:
    return "; ".join(
        ", ".join(f"{{table-5|{site} & model={model} & capacity, kN={kn}|NRMSE, %}}" for kn in ("13.0", "18.0", "23.0"))
        for site in SITES
    )


THREE = ("0", "1", "2")
HEADLINES = (
    Headline(
        "joint",
        "cantilever, no noise: EI₁, EI₂, EI₃; load",
        "0.225, 0.177, 0.109 %; 0.0243 %",
        f"{numbers('table-2', EI, TO_END)} %; {{table-2|{LOAD}|{TO_END}}} %, "
        "{study-as-published|Table 2|iterations} iterations",
        f"{numbers('table-2', EI, LINEAR)} %; {{table-2|{LOAD}|{LINEAR}}} %",
        "cubic hold: EI₃ {table-2|EI_3 (N m²)|JointLoads, cubic hold (%)} %",
    ),
    noisy_load("1", 8, "1.85 %"),
    noisy_load("5", 10, "3.86 %"),
    Headline(
        "siva",
        "full beam: k1, k3 (one seed, 1000 epochs)",
        "0.00, −0.06 %",
        f"1000 epochs {off(EARLY)} %; 10 000 epochs {off(END)} % (median of ten seeds; worst {off(END, 'worst')} %)",
        "{study-seeds|check: seeds with k1 and k3 within 0.5 %|measured} seeds within 0.5 %, the worst k3 "
        "{study-seeds|full beam & seed=4|k3 off [%]|+.3f} %; reduced beam "
        "{study-seeds|check: seeds with k1 and k3 within 0.2 %|measured} within 0.2 %",
        "least squares {table-3|full beam & method=LeastSquares|k1|.0f} N/m, "
        "{table-3|full beam & method=LeastSquares|k3|.5g} N/m³ (true 11000, 1e+08)",
    ),
    networks("cubic", "cubic, ten floors", "0.94, 1.58, 1.42 %"),
    networks("bouc-wen", "Bouc–Wen, three floors", "1.58, 1.41, 1.26 %"),
    Headline(
        "ocpnn",
        "data-driven network, validation motions: NRMSE; R²",
        "1.87 %; 0.97 (one real device)",
        f"{of_models('data-driven', THREE, 'study-published-data-driven')} %; "
        f"{of_models('data-driven', THREE, 'study-published-data-driven', 'R²')} (virtual specimens)",
        f"another network: {of_models('data-driven', THREE)} %; {of_models('data-driven', THREE, column='R²')}",
        f"fitted LuGre {of_models('LuGre, fitted', ('',))} %, filter tuned on these motions "
        f"{of_models('CUKF', ('',))} %, zero force {of_models('zero force', ('',))} %",
    ),
    Headline(
        "ocpnn",
        f"the same {PAIR} (52 tests): NRMSE",
        "not public",
        "the paper's layers {study-real-device|all (52) & model=network of the paper|NRMSE, %} %",
        "{study-real-device|all (52) & model=recommended: mean of both that know the companion's law|NRMSE, %} %",
        "law with backlash {study-real-device|all (52) & model=backlash, fitted to the companion|NRMSE, %} %, LuGre "
        "{study-real-device|all (52) & model=LuGre, fitted|NRMSE, %} %",
    ),
    Headline(
        "ocpnn",
        "two hybrid tests (Ferndale; Emeryville), force of the modelled device: NRMSE",
        "2.45; 2.72 %",
        "not run in a loop",
        f"at 13, 18, 23 kN: {in_tests('data-driven')} %",
        f"filter {in_tests('CUKF')} %",
    ),
    online(4, 1, "0.025"),
    online(8, 2, "0.119"),
)


def headline_table(results: Path) -> list[str]:
    """The rows in Markdown, with their numbers from a folder of results."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for row in HEADLINES:
        found = load_paper(row.paper).results(results / row.paper)
        cells = [found.fill(text) for text in row[1:]]
        lines.append("| " + " | ".join([f"[{row.paper}](../results/{row.paper}/README.md)", *cells]) + " |")
    return lines


def put_into(page: Path, results: Path) -> None:
    """Replace the table of a page that begins with these columns."""
    lines, table = page.read_text(encoding="utf-8").splitlines(), headline_table(results)
    first = lines.index(table[0])
    end = next(i for i in range(first, len(lines) + 1) if i == len(lines) or not lines[i].startswith("|"))
    write_text(page, "\n".join([*lines[:first], *table, *lines[end:]]) + "\n")


if __name__ == "__main__":
    put_into(Path(sys.argv[2]), Path(sys.argv[1]))
