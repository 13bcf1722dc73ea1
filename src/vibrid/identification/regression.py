"""Regression on the equations of motion: with measured motion the unknowns often enter linearly."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import Refusal
from vibrid.identification.problem import Problem


def measured_motion(problem: Problem, record: int = 0):
    """x, v, a (nt, n) of every degree of freedom from the sensors that measure them (gains and offsets as stated)."""
    data = problem.data[record]
    structure = problem.experiment.structure
    model = structure.model(data.loads)
    arrays = structure.sensor_arrays(model, problem.sensors)
    carried = np.asarray(data.drive.samples) @ np.asarray(arrays.inputs).T
    y = (np.asarray(data.readings) - np.asarray(arrays.offset)) / np.asarray(arrays.gain) - carried
    read = {q: getattr(arrays, q) for q in ("displacement", "velocity", "acceleration")}
    read = {q: np.zeros((arrays.count, model.size)) if r is None else np.asarray(r) for q, r in read.items()}
    motion = []
    for quantity, rows in read.items():
        others = sum(np.abs(r).sum(axis=1) for q, r in read.items() if q != quantity)
        used = (np.abs(rows).sum(axis=1) > 0) & (others == 0)
        rank = np.linalg.matrix_rank(rows[used]) if used.any() else 0
        if rank < model.size:
            raise Refusal(
                f"Regression needs the {quantity} of every degree of freedom; the sensors determine {rank} of "
                f"{model.size}. Use TrajectoryFit or UnscentedKalman with these sensors."
            )
        motion.append(np.linalg.lstsq(rows[used], y[:, used].T, rcond=None)[0].T)
    return tuple(jnp.asarray(part) for part in motion)


def states_along(model, x, v, dt):
    """States of all laws at every sample of a measured motion, from rest: only the laws are integrated."""

    def body(s, pair):
        x0, v0, x1, v1 = pair
        s = model.advance(s, (x0, v0), (x1, v1), dt)
        return s, s

    first = model.start()
    _, rest = jax.lax.scan(body, first, (x[:-1], v[:-1], x[1:], v[1:]))
    return jax.tree.map(lambda start, later: jnp.concatenate([start[None], later]), first, rest)


def forces_along(model, x, v, dt):
    """(nt, n): forces of all laws along a measured motion, from rest."""

    def body(s, pair):
        x0, v0, x1, v1 = pair
        s = model.advance(s, (x0, v0), (x1, v1), dt)
        return s, model.forces(x1, v1, s)

    first = model.start()
    _, rest = jax.lax.scan(body, first, (x[:-1], v[:-1], x[1:], v[1:]))
    return jnp.concatenate([model.forces(x[0], v[0], first)[None], rest])


@eqx.filter_jit
def unbalance(problem: Problem, values, motions):
    """M a + f(x, v, s; θ) − L u at every sample of every record, law states integrated over the measured motion.

    Each equation is divided by the rms of its inertia force at the first guess, so that all have equal weight.
    """
    parts = []
    experiment = problem.unknowns.place(problem.experiment, values)
    guess = problem.unknowns.place(problem.experiment, problem.unknowns.start).structure
    for data, (x, v, a) in zip(problem.data, motions, strict=True):
        model = experiment.structure.model(data.loads)
        s = states_along(model, x, v, data.step)
        inertia = jax.vmap(model.mass_times)(a)
        r = inertia + jax.vmap(model.forces)(x, v, s) - jax.vmap(model.load)(data.drive.samples)
        guessed = jax.vmap(guess.model(data.loads).mass_times)(a)
        size = jnp.sqrt(jnp.mean(guessed**2, axis=0)) + 1e-300
        parts.append((r / size).reshape(-1))
    return jnp.concatenate(parts)


def regression(problem: Problem):
    """(A, b) with `A θ ≈ b`, or a refusal when the equations are not linear in the unknowns."""
    motions = tuple(measured_motion(problem, i) for i in range(len(problem.data)))
    u = problem.unknowns
    here = jnp.asarray(u.start)
    r0 = np.asarray(unbalance(problem, here, motions))
    slope = np.asarray(_slope(problem, here, motions))
    step = 0.3 * np.asarray(u.scale)
    expected = r0 + slope @ step
    actual = np.asarray(unbalance(problem, here + step, motions))
    curved = np.linalg.norm(actual - expected) / max(np.linalg.norm(slope @ step), 1e-300)
    if not curved < 1e-6:
        raise Refusal(
            "The equations of motion are not linear in these unknowns at the measured motion "
            f"(nonlinear part {100 * curved:.2g} %), so regression cannot be used. Use TrajectoryFit or "
            "UnscentedKalman, or keep only unknowns that multiply a force."
        )
    return slope, slope @ np.asarray(here) - r0


@eqx.filter_jit
def _slope(problem, values, motions):
    return jax.jacfwd(lambda theta: unbalance(problem, theta, motions))(values)
