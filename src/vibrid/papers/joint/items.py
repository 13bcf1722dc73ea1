"""All items of the paper."""

from vibrid.papers.joint import (  # noqa: F401  (they add items, and the verdict)
    cantilever,
    cantilever_updates,
    hammer,
    nonlinear,
    overpass,
    tower,
    truss,
    verdict,
)
from vibrid.papers.joint.paper import PAPER

__all__ = ["PAPER"]
