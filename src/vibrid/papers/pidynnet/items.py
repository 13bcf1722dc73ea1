"""Liu & Meidani: physics-informed neural networks for structural systems with a multiphysics damping model."""

from vibrid.papers.pidynnet import (  # noqa: F401  (they add items)
    ablation,
    accuracy,
    algorithm_2,
    conditions,
    correction,
    figures,
    heat_transfer,
    histories,
    imperfect,
    loops,
    networks,
    recipe,
    sizes,
    their_ukf,
    unseen,
    verdicts,
)
from vibrid.papers.pidynnet.canaries import register
from vibrid.papers.pidynnet.paper import PAPER

register()
__all__ = ["PAPER"]
