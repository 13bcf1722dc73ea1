"""Malik, Cao, Ricles & Downey (2025): networks beside a tested device in a real-time hybrid simulation."""

from vibrid.papers.ocpnn import (  # noqa: F401  (their items)
    characterisation,
    closed_loop,
    companion,
    filters,
    motions,
    open_loop,
    published,
    real_device,
    rths,
    semi_active,
    tracking,
    variants,
)
from vibrid.papers.ocpnn.paper import PAPER

__all__ = ["PAPER"]
