"""Malik, Cao, Ricles & Downey (2025): networks that use measurements of a tested device in a hybrid simulation."""

from vibrid.papers.ocpnn import (  # noqa: F401  (imported to register their items)
    characterisation,
    closed_loop,
    companion,
    filters,
    motions,
    open_loop,
    open_loop_figures,
    published,
    real_device,
    rths,
    same_tests,
    semi_active,
    summary,
    tracking,
    variants,
    verdict,
)
from vibrid.papers.ocpnn.canaries import register
from vibrid.papers.ocpnn.paper import PAPER

register()
__all__ = ["PAPER"]
