"""SIVA (López, Herzlieb & Moore 2025): the nonlinear cantilever, its tables and figures, and further studies."""

from vibrid.papers.siva import (  # noqa: F401  (they register their items)
    figures,
    noise,
    published,
    studies,
    tables,
    verdicts,
)
from vibrid.papers.siva.beam import PAPER

__all__ = ["PAPER"]
