"""Liu & Meidani: physics-informed neural networks for structural systems with a multiphysics damping model."""

from vibrid.papers.paper import Paper

PAPER = Paper(
    "pidynnet",
    "T. Liu, H. Meidani: Physics-informed neural networks for system identification of structural systems with a "
    "multiphysics damping model (2023).",
)

__all__ = ["PAPER"]
