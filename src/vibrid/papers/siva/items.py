"""SIVA (López, Herzlieb & Moore 2025): the nonlinear cantilever, its tables and figures, and further studies."""

from vibrid.papers.siva import (  # noqa: F401  (they add their items)
    figures,
    noise,
    published,
    studies,
    tables,
    verdicts,
)
from vibrid.papers.siva.beam import PAPER

for item in PAPER.items:
    PAPER.canary(item.label)(tables.frequencies if item.label == "table-2" else tables.first_instants)

__all__ = ["PAPER"]
