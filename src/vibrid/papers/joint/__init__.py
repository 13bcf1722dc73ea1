"""Bitro, Batou & Ouyang: structural parameters and dynamic loads together, in the time domain."""

from vibrid.papers.joint import cantilever, hammer, nonlinear, overpass, tower, truss  # noqa: F401  (they add items)
from vibrid.papers.joint.paper import PAPER

__all__ = ["PAPER"]
