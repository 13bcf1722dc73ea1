"""Malik, Cao, Ricles & Downey (2025): networks beside a tested device in a real-time hybrid simulation."""

from vibrid.papers.ocpnn import characterisation, filters, real_device, rths, semi_active, tracking  # noqa: F401  (their items)
from vibrid.papers.ocpnn.paper import PAPER

__all__ = ["PAPER"]
