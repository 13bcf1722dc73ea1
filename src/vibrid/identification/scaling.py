"""The scale of a structure: motion alone determines ratios of mass, damping and stiffness, not their common factor.

    M ẍ + f(x, ẋ) = −M r ẍ_g          multiply M and f by any factor: the same motion

A known load, a measured force, or one part with known parameters fixes the factor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import Refusal

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem

_SIZES = (1e-3, 1e-2, 0.1, 1.0)  # m: deformations at which forces are compared
_STEPS = 4  # of the path to each, so that laws with memory are reversed
_SAME = 1e-7


def refuse_unscaled(problem: Problem) -> None:
    """Refuse unknowns that can be scaled together without changing any reading."""
    if _force_is_known(problem) or not _moves_mass(problem):
        return
    names = _scaled_together(problem)
    if names:
        names += ["the unknown loads"] if problem.unknown_loads else []
        raise Refusal(
            "Masses and stiffnesses cannot be identified together from motion alone: scaling "
            f"{', '.join(names)} so that every force grows by the same factor leaves the response unchanged. Fix one "
            "of them, give one a prior, measure a force, or apply a known load."
        )


def _force_is_known(problem) -> bool:
    if any(s.quantity == "element_force" for s in problem.sensors):
        return True
    return any(
        quantity == "load" and (data.shares is None or not np.any(np.asarray(data.shares)[:, i]))
        for data in problem.data
        for i, (quantity, _) in enumerate(data.loads)
    )


def _moves_mass(problem) -> bool:
    """Whether an unknown changes the mass of the structure."""
    start = np.asarray(problem.unknowns.start)

    def mass(values):
        return np.asarray(problem.unknowns.place(problem.experiment, values).structure.matrices()[0])

    return bool(np.any(mass(start) != mass(1.1 * start)))


def _scaled_together(problem) -> list[str]:
    """Names of the unknowns whose joint scaling multiplies all forces of every motion; empty where there are none."""
    u = problem.unknowns
    force, slope = (np.asarray(part) for part in _forces_and_slopes(problem, u.start))
    fine = np.isfinite(force) & np.isfinite(slope).all(axis=1) & (force != 0.0)
    rows = slope[fine] * np.asarray(u.start) / force[fine, None]
    share = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=1e-12)[0]
    if not np.max(np.abs(rows @ share - 1.0), initial=0.0) < _SAME:
        return []
    moved = np.flatnonzero(np.abs(share) > 1e-6)
    return [] if np.isfinite(np.asarray(u.prior_mean)[moved]).any() else [u.names[i] for i in moved]


@eqx.filter_jit
def _forces_and_slopes(problem, values):
    """Inertia, resisting and ground forces on paths of several sizes, one vector, and how they change with θ."""
    loads, n = problem.data[0].loads, problem.experiment.initial[0].displacement.shape[0]
    ground = jnp.asarray([float(quantity == "ground_acceleration") for quantity, _ in loads])
    paths = np.random.default_rng(0).standard_normal((3, len(_SIZES), _STEPS, n)) * np.reshape(_SIZES, (-1, 1, 1))

    def forces(theta):
        model = problem.unknowns.place(problem.experiment, theta).structure.model(loads)

        def end_of(x, v, a):
            def step(carried, here):
                s, before = carried
                return (model.advance(s, before, here, 0.01), here), None

            (s, last), _ = jax.lax.scan(step, (model.start(), (jnp.zeros(n), jnp.zeros(n))), (x, v))
            return jnp.concatenate([model.mass_times(a[-1]), model.forces(*last, s)])

        moved = jax.vmap(end_of)(*map(jnp.asarray, paths)).reshape(-1)
        return jnp.concatenate([moved, model.load(ground)])

    return forces(values), jax.jacfwd(forces)(values)
