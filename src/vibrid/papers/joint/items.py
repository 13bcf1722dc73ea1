"""All items of the paper."""

from vibrid.papers.joint import (  # noqa: F401  (they add items, and the verdict)
    cantilever,
    cantilever_noise,
    cantilever_starts,
    cantilever_updates,
    hammer,
    hammer_updates,
    nonlinear,
    overpass,
    tower,
    truss,
    truss_sensors,
    truss_updates,
    verdict,
)
from vibrid.papers.joint.canaries import register
from vibrid.papers.joint.paper import PAPER

register()
__all__ = ["PAPER"]
