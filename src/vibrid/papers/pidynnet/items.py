"""Liu & Meidani: physics-informed neural networks for structural systems with a multiphysics damping model."""

from vibrid.papers.pidynnet import (  # noqa: F401  (they add items)
    accuracy,
    figures,
    imperfect,
    networks,
    recipe,
    sizes,
    unseen,
    verdicts,
)
from vibrid.papers.pidynnet.paper import PAPER

__all__ = ["PAPER"]
