"""Ashrafi & Smyth (2007): deteriorating distributed elements with viscous damping, identified online."""

from __future__ import annotations

from vibrid.papers.masing import tables
from vibrid.papers.paper import Paper

PAPER = Paper(
    "masing",
    "S. A. Ashrafi & A. W. Smyth, A robust online parametric identification method for non-deteriorating and "
    "deteriorating distributed element models with viscous damping, Int. J. Non-Linear Mechanics 42 (2007) 1194–1203.",
)

PAPER.table(1, "Online identification of the distributed element model with viscous damping", real_data=True)(
    lambda run: tables.table_1(run, real=True)
)
PAPER.table(2, "Identification with a wrong distribution", real_data=True)(tables.table_2)
PAPER.study("table-1-synthetic", "Table 1 with synthetic motions that need no real record")(
    lambda run: tables.table_1(run, real=False)
)
PAPER.study("guard", "Fifty seeds at 10 % noise: is a wrong answer flagged?", real_data=True)(tables.guard)
