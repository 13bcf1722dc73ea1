"""Multilinear hysteresis with strength loss, without and with pinching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, check_parameters, parameter
from vibrid.laws.base import LAWS
from vibrid.laws.envelopes import Polyline
from vibrid.laws.excursions import Corner, ExcursionLaw, Reloading, Worn, line_to, over

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("multilinear")
class Multilinear(ExcursionLaw):
    """An envelope of straight lines through any number of points, rising or falling, with straight reloading to the
    farthest past deformation and a loss of strength and stiffness with deformation and energy.

    The envelope passes (0, 0) and the points (deformation, force); beyond the last one the force is constant. At the
    end of every excursion (a zero of the force) the next one is worn by damage indices of Park & Ang's form,
    `δ = a x_max/x_last + b E/E_mon` ≤ 0.95, x_max the larger of the two past extremes, E the energy dissipated so far
    and E_mon that of the envelope up to its last point:

    - forces of the envelope × (1 − δ_F), by `strength_by_deformation` a and `strength_by_energy` b;
    - unloading stiffness × (1 − δ_K), by `unloading_by_deformation` and `unloading_by_energy`; never below the
      steepest slope of the envelope after its first point.
    """

    deformations: Parameter = parameter("deformations of the envelope's points", "m", positive=True)
    forces: Parameter = parameter("forces of the envelope's points", "N", positive=True, zero=True)
    negative_ratio: Parameter = parameter("forces for e < 0 / for e > 0", "", positive=True, default=1.0)
    strength_by_deformation: Parameter = parameter("loss of strength a", "", positive=True, default=0.0)
    strength_by_energy: Parameter = parameter("loss of strength b", "", positive=True, default=0.0)
    unloading_by_deformation: Parameter = parameter("loss of unloading stiffness a", "", positive=True, default=0.0)
    unloading_by_energy: Parameter = parameter("loss of unloading stiffness b", "", positive=True, default=0.0)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        deformations, forces = loop.envelope_points()
        return {"deformations": deformations, "forces": forces, "strength_by_energy": 0.01}

    def __check_init__(self) -> None:
        check_parameters(self, type(self).__name__)
        points, pushes = self.deformations, self.forces
        if points.ndim < 1 or points.shape != pushes.shape or points.shape[-1] < 2:
            raise InputError(
                f"{type(self).__name__} needs two points or more, as many deformations as forces; it has "
                f"{np.size(points)} and {np.size(pushes)}."
            )
        if isinstance(points, Tracer) or not np.all(np.isfinite(points)):
            return  # refused with its value elsewhere
        if np.any(np.diff(np.asarray(points)) <= 0.0):
            raise InputError(f"The deformations of {type(self).__name__} must grow from point to point.")
        known = not isinstance(pushes, Tracer) and bool(np.all(np.isfinite(pushes)))
        if known and not np.all(np.asarray(pushes)[..., 0] > 0.0):
            raise InputError(f"The force of the first point of {type(self).__name__} must be positive.")

    def first_stiffness(self) -> jax.Array:
        return self._pushes()[0] / self.deformations[0] * jnp.maximum(1.0, self.negative_ratio)

    def first_target(self, way: jax.Array | float) -> jax.Array:
        return self.deformations[0]

    def envelope(self, way: jax.Array, worn: Worn) -> Polyline:
        factor = worn.strength * jnp.where(way > 0.0, 1.0, self.negative_ratio)
        return Polyline(self.deformations, factor * self._pushes())

    def _pushes(self) -> jax.Array:
        """The forces; NaN where a deformation has passed its neighbour in a fit, which no constructor can refuse."""
        return jnp.where(jnp.all(jnp.diff(self.deformations) > 0.0), self.forces, jnp.nan)

    def wear(self, own: Worn, other: Worn, unloading: jax.Array, spent: jax.Array, energy: jax.Array) -> Any:
        x, f = self.deformations, self._pushes()
        once = 0.5 * f[0] * x[0] + Polyline(x, f).integral(x[0], x[-1])
        farthest = jnp.maximum(own.target, other.target)
        reach = jnp.where(farthest > x[0], farthest, 0.0) / x[-1]
        weak = jnp.clip(self.strength_by_deformation * reach + self.strength_by_energy * energy / once, 0.0, 0.95)
        soft = jnp.clip(self.unloading_by_deformation * reach + self.unloading_by_energy * energy / once, 0.0, 0.95)
        steepest = jnp.max(jnp.diff(f) / jnp.diff(x)) * jnp.maximum(1.0, self.negative_ratio)
        stiffness = jnp.maximum(self.first_stiffness() * (1.0 - soft), steepest)
        return own._replace(strength=1.0 - weak), jnp.minimum(stiffness, unloading)

    def reload(self, zero: jax.Array, target: Corner, own: Worn, unloading: jax.Array) -> Reloading:
        start = Corner(zero, jnp.zeros_like(zero))
        return over((start, start), zero, target, unloading)


@LAWS.register("pinching")
class Pinching(Multilinear):
    """Multilinear hysteresis that reloads over a pinched point, of the family of Lowes, Mitra & Altoontash (2003).

    Once a direction has passed the first point of its envelope, reloading heads for
    `(r_e x_t, r_F F_t)`, a share of the farthest past deformation and of its force, then for (x_t, F_t), then follows
    the envelope. Where the pinched point does not lie ahead and below the straight line to the target, reloading is
    straight. Stated differences: unloading is straight to zero force, the loss is linear in deformation and energy, and
    there is no shift of the target.
    """

    pinching_deformation: Parameter = parameter("r_e, of the farthest deformation", "", positive=True, default=0.5)
    pinching_force: Parameter = parameter("r_F, of its force", "", positive=True, default=0.25)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        return super().first_guess(loop) | {"pinching_deformation": 0.5, "pinching_force": 0.25}

    def reload(self, zero: jax.Array, target: Corner, own: Worn, unloading: jax.Array) -> Reloading:
        bend = Corner(self.pinching_deformation * target.x, self.pinching_force * target.f)
        passed = target.x > self.deformations[0] * (1.0 + 1e-9)
        start = Corner(zero, jnp.zeros_like(zero))
        below = bend.f < line_to(start, target, unloading).at(bend.x)
        pinch = Corner(jnp.where(passed & below, bend.x, zero), bend.f)
        return over((pinch, start), zero, target, unloading)
