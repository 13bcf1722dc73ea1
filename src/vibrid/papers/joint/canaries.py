"""Numbers that are cheap to compute again, for each of the paper's structures; studies of other structures, which run
the same methods, have those of the structure that is most like theirs."""

from __future__ import annotations

from vibrid.papers.joint import cantilever, hammer, truss
from vibrid.papers.joint.paper import PAPER, percent
from vibrid.papers.paper import Run

Numbers = dict[str, tuple[float, float]]
CANTILEVER = (
    "table-2", *(f"figure-{number}" for number in (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)), "study-as-published",
    "study-holds", "study-lambda", "study-moving", "study-overpass",
)  # fmt: skip
TRUSS = (
    "table-4", "table-5", *(f"figure-{number}" for number in (16, 17, 18, 19, 21, 22, 23, 24, 25)),
    "study-truss-as-published",
)  # fmt: skip
HAMMER = (
    "table-6", *(f"figure-{number}" for number in (27, 29, 30, 31, 32, 33, 34, 35)), "study-hammer-as-published",
    "study-nonlinear", "study-tower-known-force", "study-tower-unknown-force",
)  # fmt: skip


def linear_hold(run: Run) -> Numbers:
    """`JointLoads` on the cantilever without noise."""
    found = run.once(cantilever.fit)
    stiffness, load = percent(cantilever.stiffness(found), cantilever.TRUE), found.loads[0].values[:, 0]
    column = "JointLoads, linear hold (%)"
    return {
        f"table-2|EI_3 (N m²)|{column}": (float(stiffness[2]), 0.01),
        f"table-2|load (Eq. 29)|{column}": (cantilever.load_error(load), 0.01),
    }


def dropping_load(run: Run) -> Numbers:
    """`JointLoads` on the truss under Equation 31's load."""
    errors = percent(run.once(truss.one_load, True).estimate, [truss.MODULUS, truss.RATIO])
    column = "Eq. 31 (drops at once): error (%)"
    return {f"table-4|{name}|{column}": (float(e), 0.01) for name, e in zip(("E", "ζ"), errors, strict=True)}


def hammer_on_the_chain(run: Run) -> Numbers:
    """`JointLoads` on the three masses under a blow."""
    errors = percent(run.once(hammer.fit, "chain").estimate[:3], hammer.STIFFNESS)
    return {f"table-6|k_{i + 1} (N/m)|chain data (%)": (float(errors[i]), 0.02) for i in range(2)}


def register() -> None:
    """To be called when all items are there."""
    for labels, numbers in ((CANTILEVER, linear_hold), (TRUSS, dropping_load), (HAMMER, hammer_on_the_chain)):
        PAPER.canary(*labels, of_rows=True)(numbers)
