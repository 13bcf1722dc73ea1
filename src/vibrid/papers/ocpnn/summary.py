"""The picture at the head of the page: errors on the validation motions, drawn from results that are in the folder."""

from __future__ import annotations

import numpy as np

from vibrid.core.errors import Refusal
from vibrid.papers.ocpnn.paper import PAPER
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.verdict import Results
from vibrid.report import style

COLUMNS = {"NRMSE, %": "NRMSE, whole record [%]", "strong part, %": "NRMSE, strong part [%]", "R²": "R²"}
PRINTED, PUBLISHED, OURS, LAWS = "printed", "as published", "ours", "laws"
COLOURS = {PRINTED: style.INK, PUBLISHED: style.RESIDUAL, OURS: style.PREDICTED, LAWS: style.MEASURED}
SHOWN = (
    ("data-driven", PRINTED, "table-3", "validation (paper)"),
    ("data-driven", PUBLISHED, "study-published-data-driven", "validation"),
    ("data-driven", OURS, "table-3", "validation"),
    ("physics-based", PRINTED, "table-3", "validation (paper)"),
    ("physics-based", PUBLISHED, "study-published-physics-based", "validation"),
    ("physics-based", OURS, "table-3", "validation"),
    ("offline", PUBLISHED, "study-published-offline", "validation"),
    ("offline", OURS, "table-3", "validation"),
    ("CUKF", PRINTED, "table-3", "validation (paper)"),
    ("CUKF, settings of the paper", PUBLISHED, "table-3", "validation"),
    ("CUKF", LAWS, "table-3", "validation"),
    ("LuGre, fitted", LAWS, "table-3", "validation"),
    ("zero force", LAWS, "table-3", "validation"),
)
"""Model, whose result it is, item and motions."""


@PAPER.study("summary", "Errors on the validation motions: printed, as published, ours, and laws")
def summary(run: Run) -> Outcome:
    """A picture of results that are in the folder; nothing is computed."""
    if run.folder is None:
        raise Refusal("The summary is drawn from results in a folder: use `vibrid reproduce ocpnn --out FOLDER`.")
    results, rows = PAPER.results(run.folder), []
    for model, whose, item, motions in SHOWN:
        found = seeds(results, item, model, motions)
        if found:
            row = {"model": model, "whose": whose, "initial weights": len(found)}
            rows.append(row | {c: float(np.mean(v)) for c in COLUMNS if (v := values(found, c))})
    note = (
        "From Table 3 and the studies of the networks as published; nothing is computed anew. Means over the initial "
        "weights, which are drawn as dots. Printed numbers are of the paper's device and motions, the others of "
        "virtual specimens; printed are NRMSE and R², not the strong part."
    )
    return Outcome(rows, note=note, figure=draw(rows, results))


def seeds(results: Results, item: str, model: str, motions: str) -> list[dict]:
    """The rows of a model, one for each of its initial weights."""
    return [r for r in results.rows(item) if r.get("model") == model and r.get("motions") == motions]


def values(rows: list[dict], column: str) -> list[float]:
    """The means of `mean ± deviation`."""
    return [float(str(row[column]).split(" ")[0]) for row in rows if row.get(column) not in (None, "")]


def draw(rows: list[dict], results: Results):
    """One panel a measure, one line a model; the colour says whose result it is."""
    figure = style.new_figure(12.0, 4.4)
    shown = {(model, whose): (item, motions) for model, whose, item, motions in SHOWN}
    with style.styled():
        axes = figure.subplots(1, len(COLUMNS), sharey=True)
        for ax, (column, words) in zip(axes, COLUMNS.items(), strict=True):
            for place, row in enumerate(reversed(rows)):
                item, motions = shown[row["model"], row["whose"]]
                each = values(seeds(results, item, row["model"], motions), column)
                colour = COLOURS[row["whose"]]
                if each:
                    ax.barh(place, np.mean(each), height=0.62, color=colour, alpha=0.35)
                    ax.plot(each, [place] * len(each), "o", color=colour, markersize=4)
            ax.axvline(0.0, color=style.INK, lw=0.7)
            ax.set_xlabel(words)
        names = [f"{row['model'].removesuffix(', settings of the paper')}, {row['whose']}" for row in reversed(rows)]
        axes[0].set_yticks(range(len(rows)), [n.removesuffix(f", {LAWS}") for n in names])
        axes[0].grid(axis="y", visible=False)
    return figure
