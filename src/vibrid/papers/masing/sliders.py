"""Many parallel sliders, each followed: the model whose limit the Masing laws are."""

from __future__ import annotations

import numpy as np


def sliders(strengths: np.ndarray, ductility: float, stiffness: float, deformation: np.ndarray) -> np.ndarray:
    """Force of equal springs with sliders over a path that starts at rest.

    Arguments
        strengths: yield deformation of every element, m.
        ductility: each breaks for good when |deformation| reaches this many times its yield deformation.
        stiffness: of all elements together, N/m.
        deformation: (nt,) m.
    """
    count = len(strengths)
    plastic, alive, force = np.zeros(count), np.ones(count, bool), np.empty(len(deformation))
    for i, x in enumerate(deformation):
        elastic = np.clip(x - plastic, -strengths, strengths)
        plastic = x - elastic
        alive &= np.abs(x) < ductility * strengths
        force[i] = stiffness * np.sum(elastic * alive) / count
    return force


def quantiles(distribution, count: int) -> np.ndarray:
    """Yield deformations of `count` equally likely elements of a SciPy distribution."""
    return distribution.ppf((np.arange(count) + 0.5) / count)
