"""All items of the paper."""

from __future__ import annotations

from vibrid.papers.masing import canaries, change, choices, devices, figures, other_laws, real_time, tables
from vibrid.papers.masing.verdict import CLAIMS
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
PAPER.figure(3, "A deteriorating trajectory and its two curves", real_data=True)(figures.figure_3)
PAPER.figure(4, "The time histories", real_data=True)(figures.figure_4)
PAPER.figure(6, "The reduction functions", real_data=True)(figures.figure_6)
PAPER.figure(7, "Parameters during identification", real_data=True)(figures.figure_7)
PAPER.figure(8, "The identified model under another earthquake", real_data=True)(figures.figure_8)
PAPER.study("table-1-synthetic", "Table 1 with synthetic motions that need no real record")(
    lambda run: tables.table_1(run, real=False)
)
PAPER.study("windows", "Window, stride and scale of the record, which are not printed", real_data=True)(choices.windows)
PAPER.study("ablation", "Reduction functions and random directions, one by one", real_data=True)(choices.ablation)
PAPER.study("no-deterioration", "Systems that do not deteriorate", real_data=True)(choices.no_deterioration)
PAPER.study("weibull", "Six parameters of a Weibull law", real_data=True)(choices.weibull)
PAPER.study("real-time", "Updates a second", real_data=True)(real_time.study)
PAPER.study("guard", "Fifty seeds at 10 % noise: is a wrong result flagged?", real_data=True)(tables.guard)
PAPER.study("stiffness-loss", "A storey loses 30 % of its stiffness during the test")(change.study)
PAPER.study("devices", "Real devices identified online", real_data=True)(devices.study)
PAPER.study("other-laws", "The paper's method on Bouc–Wen, bilinear and LuGre devices")(other_laws.study)
PAPER.canary(*(item.label for item in PAPER.items), of_rows=True)(canaries.one_record)
PAPER.judge(CLAIMS, head="table-1")
