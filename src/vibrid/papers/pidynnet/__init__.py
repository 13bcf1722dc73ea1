"""Liu & Meidani: physics-informed neural networks for structural systems with a multiphysics damping model."""

from vibrid.papers.pidynnet import accuracy  # noqa: F401  (it adds items)
from vibrid.papers.pidynnet.paper import PAPER

__all__ = ["PAPER"]
