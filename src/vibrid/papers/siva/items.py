"""SIVA (López, Herzlieb & Moore 2025): the nonlinear cantilever, its tables and figures, and further studies."""

from vibrid.papers.siva import figures, published, studies, tables, verdicts  # noqa: F401  (they register their items)
from vibrid.papers.siva.beam import PAPER

__all__ = ["PAPER"]
