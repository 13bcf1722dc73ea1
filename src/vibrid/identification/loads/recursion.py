"""Structure and unknown loads as one linear recursion, for a smoother that estimates the loads in O(samples).

The state holds the motion ξ and the latest loads; its input is the innovation w of the loads:

    s = (ξ_k, f_k, f_{k−1}, …)     s_{k+1} = A_k s_k + G_k w_k     y_k = C_k s_k
    f_{k+1} = w_k                    a ridge: loads of limited size
    f_{k+1} = f_k + w_k              loads of limited first difference
    f_{k+1} = 2 f_k − f_{k−1} + w_k  loads of limited second difference

A penalty Σ w²/q on the innovations is then the same as white Gaussian innovations of variance q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.errors import Refusal
from vibrid.core.linalg import input_integrals
from vibrid.simulation.exact import ExactLinear
from vibrid.simulation.excitation import Input, drive

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem
    from vibrid.structures.base import Structure
    from vibrid.structures.sensors import Sensor

PENALTIES = {"size": (), "difference": (1.0,), "second-difference": (2.0, -1.0)}
"""Coefficients of the last loads in the next one when its innovation is zero."""

DEGREES = {"zero": 0, "linear": 1, "cubic": 3}
"""Degree of the polynomial of the loads between samples, by the name of the hold."""


class LinearRecursion(eqx.Module):
    """The motion of a structure as a linear recursion: `ξ_{k+1} = A ξ_k + Σ_j B_j u_{k+1−j}`, `y_k = C ξ_k + D u_k`.

    Leading axis: 1 for a recursion that is constant in time, else one entry per sample.
    """

    transition: jax.Array  # (T, m, m)
    inputs: jax.Array  # (T, lags, m, inputs): B of u_{k+1}, u_k, u_{k−1}, …
    output: jax.Array  # (T, ny, m)
    direct: jax.Array  # (T, ny, inputs)


class LoadSystem(eqx.Module):
    """Motion and loads together; see the top of this file."""

    transition: jax.Array  # A: (T, m, m)
    drive: jax.Array  # G: (T, m, loads)
    output: jax.Array  # C: (T, ny, m)
    size: int = eqx.field(static=True)  # of the motion ξ alone
    loads: int = eqx.field(static=True)
    penalty: str = eqx.field(static=True)

    @property
    def constant(self) -> bool:
        return self.transition.shape[0] == self.output.shape[0] == 1

    def reached(self) -> LoadSystem:
        """The same without states that no load excites (axial ones of a beam in bending): they remain zero.

        The cost of every step grows with the cube of the number of states.
        """
        if not self.constant:
            return self
        a, g = np.abs(np.asarray(self.transition[0])), np.abs(np.asarray(self.drive[0])).max(axis=1)
        size = np.sqrt(np.maximum(np.diag(a @ a.T), 1e-300))
        moved = g > 0
        for _ in range(len(g)):
            further = moved | ((a / size[:, None])[:, moved] > 1e-14).any(axis=1)
            if (further == moved).all():
                break
            moved = further
        if moved.all():
            return self
        keep = np.flatnonzero(moved)
        return replace(
            self,
            transition=self.transition[:, keep][:, :, keep],
            drive=self.drive[:, keep],
            output=self.output[:, :, keep],
            size=int(moved[: self.size].sum()),
        )

    def masked(self, present) -> LoadSystem:
        """The system without missing readings (0 in `present`, samples × ny); itself when none is missing."""
        if np.all(present):
            return self
        return replace(self, output=self.output * jnp.asarray(present)[:, :, None])

    @property
    def load_rows(self):
        """(loads, m): selects the present loads from the state."""
        rows = np.zeros((self.loads, self.transition.shape[-1]))
        rows[np.arange(self.loads), self.size + np.arange(self.loads)] = 1.0
        return jnp.asarray(rows)


def exact_motion(structure: Structure, sensors: Sequence[Sensor], inputs, step: float, hold: str) -> LinearRecursion:
    """The recursion of a linear structure whose inputs are polynomials between samples: exact, constant in time.

    `inputs` are (quantity, place) as for `Structure.model`, `step` is the sampling step in s.
    """
    model = structure.model(inputs)
    mass, damping, stiffness, load = model.linear()
    n = model.size
    a = jnp.block(
        [
            [jnp.zeros((n, n)), jnp.eye(n)],
            [-jnp.linalg.solve(mass, stiffness), -jnp.linalg.solve(mass, damping)],
        ]
    )
    b = jnp.concatenate([jnp.zeros_like(load), jnp.linalg.solve(mass, load)])
    degree = DEGREES[hold]
    a_d, gamma = input_integrals(a, b, step, degree)
    if degree == 0:
        lags = jnp.stack([jnp.zeros_like(gamma[0]), gamma[0]])  # u_{k+1} has no effect, u_k is held
    else:
        nodes = 1.0 - np.arange(degree + 1)  # where the samples u_{k+1}, u_k, u_{k−1}, … lie, in steps
        through = np.linalg.inv(np.vander(nodes, increasing=True))  # powers from values
        lags = jnp.einsum("pj,pnm->jnm", through, gamma)
    arrays = structure.sensor_arrays(model, sensors)
    s = model.start()

    def read(z, u):
        x, v = z[:n], z[n:]
        return model.output(arrays, x, v, model.acceleration(x, v, s, u), s, u)

    c, d = jax.jacfwd(read, argnums=(0, 1))(jnp.zeros(2 * n), jnp.zeros(load.shape[1]))
    return LinearRecursion(a_d[None], lags[None], c[None], d[None])


def linearised_motion(experiment, data, integrator, record: int, hold: str) -> tuple[LinearRecursion, jax.Array]:
    """The recursion of any structure, linearised about its motion under the inputs of `data` with an integrator.

    Also returns the readings (samples, ny) of that motion.
    """
    model = experiment.structure.model(data.loads)
    sensors = experiment.structure.sensor_arrays(model, experiment.sensors)
    constants = integrator.prepare(model, data.step)
    first = experiment.initial[record]
    u = data.drive.samples
    state = integrator.start(model, constants, first.displacement, first.velocity, model.start(), u[0])
    kept, fixed = eqx.partition(state, eqx.is_inexact_array)
    flat, rebuild = ravel_pytree(kept)

    def step(flat, before, after):
        state = eqx.combine(rebuild(flat), fixed)
        inside = Input(drive(jnp.stack([before, after]), hold).coefficients[0, 0], 0.0, 1.0, after)
        following = integrator.step(model, constants, state, inside, data.step)
        return ravel_pytree(eqx.filter(following, eqx.is_inexact_array))[0]

    def read(flat, here):
        state = eqx.combine(rebuild(flat), fixed)
        a = model.acceleration(state.x, state.v, state.s, here)
        return model.output(sensors, state.x, state.v, a, state.s, here)

    def body(flat, inputs):
        here, after = inputs
        slopes = jax.jacfwd(step, argnums=(0, 1, 2))(flat, here, after)
        seen = jax.jacfwd(read, argnums=(0, 1))(flat, here)
        return step(flat, here, after), (*slopes, *seen, read(flat, here))

    following = jnp.concatenate([u[1:], u[-1:]])
    _, (a, b1, b0, c, d, y) = jax.lax.scan(body, flat, (u, following))
    return LinearRecursion(a, jnp.stack([b0, b1], axis=1), c, d), y


def augment(motion: LinearRecursion, shares, penalty: str) -> LoadSystem:
    """Motion and loads as one recursion; `shares` (1 or samples, inputs, loads) are the inputs per unit load."""
    follow = PENALTIES[penalty]
    lags = motion.inputs.shape[1]
    r, m = shares.shape[-1], motion.transition.shape[-1]
    kept = max(1, lags - 1, len(follow))
    steps = max(motion.transition.shape[0], shares.shape[0])
    wide = jax.tree.map(lambda a: jnp.broadcast_to(a, (steps, *a.shape[1:])), motion)
    u = jnp.broadcast_to(shares, (steps, *shares.shape[1:]))

    def at(lag: int):
        """Shares at sample k + 1 − lag, for every k; the ends repeat."""
        return u[jnp.clip(jnp.arange(steps) + 1 - lag, 0, steps - 1)]

    newest = wide.inputs[:, 0] @ at(0)  # effect of the load at the end of the step
    columns = []
    for i in range(kept):
        column = jnp.zeros((steps, m, r))
        if i + 1 < lags:
            column = column + wide.inputs[:, i + 1] @ at(i + 1)
        if i < len(follow):
            column = column + follow[i] * newest
        columns.append(column)
    shift = np.eye(kept * r, k=-r)
    for i, weight in enumerate(follow):
        shift[:r, i * r : (i + 1) * r] = weight * np.eye(r)
    below = jnp.concatenate([jnp.zeros((kept * r, m)), jnp.asarray(shift)], axis=1)
    transition = jnp.concatenate(
        [
            jnp.concatenate([wide.transition, *columns], axis=2),
            jnp.broadcast_to(below, (steps, *below.shape)),
        ],
        axis=1,
    )
    new = np.zeros((kept * r, r))
    new[:r] = np.eye(r)
    drive = jnp.concatenate([newest, jnp.broadcast_to(jnp.asarray(new), (steps, kept * r, r))], axis=1)
    output = jnp.concatenate(
        [wide.output, wide.direct @ u, jnp.zeros((steps, wide.output.shape[1], (kept - 1) * r))], axis=2
    )
    return LoadSystem(transition, drive, output, m, r, penalty)


def innovations(loads, penalty: str):
    """(samples − 1, loads): w of a load history (samples, loads), zero before its first sample."""
    w = loads[1:]
    for i, weight in enumerate(PENALTIES[penalty]):
        earlier = jnp.concatenate([jnp.zeros((i, *loads.shape[1:])), loads[: len(loads) - 1 - i]])
        w = w - weight * earlier
    return w


def check_hold(problem: Problem) -> None:
    """Refuse holds, integrators and substeps that the recursion cannot represent."""
    if problem.hold not in DEGREES:
        raise Refusal(f"Unknown loads follow a hold of {', '.join(DEGREES)} between samples, not '{problem.hold}'.")
    if problem.hold == "cubic" and not is_exact(problem):
        raise Refusal(
            f"{type(problem.integrator).__name__} supports unknown loads with a 'linear' or 'zero' hold: a cubic one "
            "needs a linear structure and ExactLinear."
        )
    if not is_exact(problem) and not problem.integrator.begins_anywhere:
        raise Refusal(
            f"With unknown loads the readings are computed from x, v and the states of laws, without the accelerations "
            f"that {type(problem.integrator).__name__} also carries: use another integrator, for example Newmark."
        )
    if problem.substeps != 1:
        raise Refusal("Unknown loads are estimated at the samples of the record: substeps must be 1; resample instead.")


def is_exact(problem: Problem) -> bool:
    """Whether the recursion is that of a linear structure by matrix exponential."""
    return isinstance(problem.integrator, ExactLinear)
