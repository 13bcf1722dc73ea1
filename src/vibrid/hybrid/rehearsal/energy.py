"""Energy that tracking errors bring into a hybrid test, beside the energy of the excitation.

A device whose displacement x differs from its target x̂ does the work ∫ f dx where the structure counts ∫ f dx̂; the
difference is energy that no excitation gave (Mosqueda, Stojadinovic & Mahin 2007).
"""

from __future__ import annotations

import numpy as np
import scipy

from vibrid.hybrid.result import HybridResult
from vibrid.laws.base import simplified
from vibrid.structures.model import Model


def input_energy(result: HybridResult) -> np.ndarray:
    """(samples,) J: work of the excitation on the displacements relative to the ground, up to every step."""
    response = result.response
    built: Model = simplified(result.test.structure).built(response.loads)
    model = built if isinstance(built, Model) else built.model(response.loads)
    force = np.asarray(response.inputs) @ np.asarray(model.load_matrix).T
    work = 0.5 * (force[1:] + force[:-1]) * np.diff(response.displacement, axis=0)
    return np.concatenate([[0.0], np.cumsum(work.sum(axis=1))])


def energy_error(result: HybridResult, name: str) -> np.ndarray:
    """(substeps,) J at the scale of the structure: energy fed in by the tracking error of one device, all in parallel.

    Positive: the loop gains energy, as with a delay.
    """
    part = next(p for p in result.test.parts if p.name == name)
    target, position, force = (result.devices[f"{name}.{key}"] for key in ("target", "displacement", "force"))
    scale = result.test.scaling
    whole = scale.force * scale.length * float(part.count)
    return whole * scipy.integrate.cumulative_trapezoid(force, position - target, initial=0.0)
