"""All items of the paper."""

from vibrid.papers.joint import cantilever, hammer, nonlinear, overpass, tower, truss  # noqa: F401  (they add items)
from vibrid.papers.joint.paper import PAPER

__all__ = ["PAPER"]
