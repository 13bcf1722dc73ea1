"""Largest contributions of the unknown terms, and the residual that no term of the model explains."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.identification.acceleration import Measured, accelerations
from vibrid.identification.problem import Problem
from vibrid.identification.regression import states_along

MISSING = 0.01
"""Share of the accelerations, noise apart, that may stay unexplained before physics is called missing."""


@eqx.filter_jit
def _force_slopes(problem: Problem, values, motion, record: int):
    """(nt, n, p): how the forces of one record change with the values θ."""
    x, v, _ = motion
    data = problem.data[record]

    def forces(theta):
        model = problem.unknowns.place(problem.experiment, theta).structure.model(data.loads)
        return jax.vmap(model.forces)(x, v, states_along(model, x, v, data.step))

    return jax.jacfwd(forces)(values)


def largest_forces(problem: Problem, measured: Measured, values) -> np.ndarray:
    """(p,): N per unit of every unknown, the largest force it makes at any place and time of the records."""
    theta = jnp.asarray(values)
    slopes = [np.asarray(_force_slopes(problem, theta, m, r)) for r, m in enumerate(measured.motions)]
    return np.max([np.abs(s).max(axis=(0, 1)) for s in slopes], axis=0)


def not_identifiable(problem: Problem, measured: Measured, values, deviation) -> tuple[np.ndarray, list[str]]:
    """Which unknowns cannot be distinguished from zero (p,), and messages with the largest force each could contribute.

    `deviation` (p,) is one standard deviation. Only unknowns that may be zero (no sign, no bounds) are judged.
    """
    unit = largest_forces(problem, measured, values)
    most = unit * (np.abs(values) + 2 * np.asarray(deviation))
    total = np.max(unit * np.abs(values))
    vague = (np.array(problem.unknowns.kinds) == "linear") & (np.abs(values) < 2 * np.asarray(deviation))
    return vague, [
        f"'{problem.unknowns.names[i]}' is not identifiable, it cannot be distinguished from zero: it could "
        f"contribute at most {most[i]:.2g} N, {100 * most[i] / total:.2g} % of the largest term."
        for i in np.flatnonzero(vague)
    ]


@eqx.filter_jit
def _residual(problem: Problem, values, motion, record: int):
    """Unexplained acceleration (nt, n), and deformations, rates and rows of every part at values θ."""
    x, v, a = motion
    model = problem.unknowns.place(problem.experiment, values).structure.model(problem.data[record].loads)
    part = jax.vmap(model.part_deformations)(x, v)
    every = jnp.zeros((0, model.size)) if model.rows is None else model.rows
    rows = jnp.concatenate([jnp.zeros((0, model.size)), *(every[g.rows] for g in model.groups)])
    return a - accelerations(problem, values, motion, record), part.e, part.w, rows, jnp.linalg.inv(model.mass_matrix)


def missing_physics(problem: Problem, measured: Measured, columns: np.ndarray, values, noise_share: float):
    """(share, messages): the part of the accelerations that is neither explained nor noise; a message if it matters.

    The residual is expressed at every part as the force there that explains most of it, and that force is compared with
    functions of the part's deformation and of its rate.
    """
    theta = jnp.asarray(values)
    parts = [_residual(problem, theta, m, r) for r, m in enumerate(measured.motions)]
    left, e, w = (np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(3))
    rows, inverse = np.asarray(parts[0][3]), np.asarray(parts[0][4])
    seen = left @ columns
    signal = np.concatenate([np.asarray(m[2]) for m in measured.motions]) @ columns
    share = float(np.sqrt(max(np.mean(seen**2) / np.mean(signal**2) - noise_share**2, 0.0)))
    if share < MISSING:
        return share, []
    message = (
        f"{100 * share:.2g} % of the measured accelerations have no explanation: physics is missing from the model"
    )
    model = problem.experiment.structure.model(problem.data[0].loads)
    candidates = []
    for name, i in model.parts:
        through = columns.T @ inverse @ rows[i]
        force = seen @ through / max(through @ through, 1e-300)
        explained = 1.0 - np.mean((seen - force[:, None] * through) ** 2) / np.mean(seen**2)
        candidates.append((explained, name, force, e[:, i], w[:, i]))
    if not candidates:
        return share, [f"{message}, and it has no part with a law to look at."]
    explained, name, force, e, w = max(candidates, key=lambda f: f[0])
    if explained < 0.5:
        return share, [
            f"{message}, and no force at one of its parts would supply it (the best, at {name}, supplies "
            f"{100 * explained:.0f} %): look for a force at another place, or at the masses and damping."
        ]
    by = {"deformation": _followed(force, _shapes(e)), "rate of deformation": _followed(force, _velocities(w))}
    best = max(by, key=by.__getitem__)
    follows = f"follows its {best}: give that part another law or another term."
    if by[best] < 0.5:
        follows = "follows neither deformation nor rate alone: a law with memory, or what a reduction leaves out."
    return share, [
        f"{message}. A force at {name}, {np.sqrt(np.mean(force**2)):.3g} N rms, would supply "
        f"{100 * explained:.0f} % of it and {follows}"
    ]


def _shapes(e):
    size = np.sqrt(np.mean(e**2)) + 1e-300
    return np.stack([(e / size) ** p for p in range(1, 8)] + [np.abs(e) / size], axis=1)


def _velocities(w):
    size = np.sqrt(np.mean(w**2)) + 1e-300
    return np.stack([w, w * np.abs(w) / size, w**3 / size**2, size * np.tanh(20 * w / size)], axis=1)


def _followed(force, basis) -> float:
    """Share of a force that a combination of functions explains."""
    fitted = basis @ np.linalg.lstsq(basis, force, rcond=None)[0]
    return float(1.0 - np.mean((force - fitted) ** 2) / np.mean(force**2))
