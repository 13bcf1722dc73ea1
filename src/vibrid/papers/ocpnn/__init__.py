"""Malik, Cao, Ricles & Downey (2025): networks beside a tested device in a real-time hybrid simulation."""

from vibrid.papers.ocpnn import (  # noqa: F401  (their items)
    characterisation,
    closed_loop,
    open_loop,
    rths,
    tracking,
)
from vibrid.papers.ocpnn.paper import PAPER

__all__ = ["PAPER"]
