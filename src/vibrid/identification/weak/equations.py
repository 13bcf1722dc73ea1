"""The equations of a structure as residuals of a motion that need not satisfy them, integrated over intervals.

    ∫ [ M ẍ + f(x, ẋ, s; θ) − L u ] dt = 0          one for each degree of freedom and interval
    ∫ [ ṡ − g(x, ẋ, s; θ) ] dt = 0                  one for each state of a law and interval

Noise in a smoothed motion averages out within an interval; residuals at points are more sensitive to it.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.arguments import Array
from vibrid.identification.problem import Problem
from vibrid.identification.weak.ground import Ground
from vibrid.laws.base import refuse_without_rate


class AbsoluteMotion(eqx.Module):
    """A motion at points in time, leading axes free: absolute displacement y with its rates, states s of the laws.

    `y` = x + r x_g (…, n); `s` (…, m) are the states of all laws in one vector, in the order of `flat_start`.
    """

    y: jax.Array
    dy: jax.Array
    ddy: jax.Array
    s: jax.Array
    ds: jax.Array


class Intervals(eqx.Module):
    """Gauss points on intervals of equal length, and the excitation there."""

    times: jax.Array  # (intervals, points) s
    weights: jax.Array  # (points,) s: they add up to the length of an interval
    ground: tuple[
        jax.Array, jax.Array, jax.Array
    ]  # displacement, velocity, acceleration carried (intervals, points, n)
    inputs: jax.Array  # (intervals, points, inputs)

    @property
    def length(self):
        return jnp.sum(self.weights)

    def integrate(self, values):
        """(intervals, …) from values at the points (intervals, points, …)."""
        return jnp.einsum("g,eg...->e...", self.weights, values)


def intervals_of(ground: Ground, edges: np.ndarray, points: int = 4) -> Intervals:
    """Gauss points on the intervals between equally spaced `edges` (s)."""
    place, weight = np.polynomial.legendre.leggauss(points)
    length = edges[1] - edges[0]
    times = edges[:-1, None] + 0.5 * length * (place + 1.0)
    inside = np.clip(times, 0.0, ground.duration)
    displacement, velocity, acceleration = ground.motion(inside)
    carried = (jnp.asarray(displacement), jnp.asarray(velocity), jnp.asarray(acceleration))
    return Intervals(
        jnp.asarray(times), jnp.asarray(0.5 * length * weight), carried, jnp.asarray(ground.inputs(inside))
    )


def check_rates(problem: Problem) -> None:
    """Refuse laws whose states have no rate equation."""
    for group in problem.experiment.structure.model(problem.data[0].loads).groups:
        refuse_without_rate(group.law)


def state_names(problem: Problem) -> tuple[str, ...]:
    """A name for every state, such as "damping[2]" or "storeys[0]", in the order of the flat vector."""
    model = problem.experiment.structure.model(problem.data[0].loads)
    names, parts = [], iter(name for name, _ in model.parts)
    for group, states in zip(model.groups, model.start(), strict=True):
        owners = [next(parts) for _ in range(group.count)]
        for leaf in jax.tree.leaves(states):
            each = int(np.prod(leaf.shape[1:], dtype=int))
            names += [name if each == 1 else f"{name}.{k}" for name in owners for k in range(each)]
    return tuple(names)


def flat_start(model) -> jax.Array:
    """(m,): the states of all laws at rest, in one vector."""
    return ravel_pytree(model.start())[0]


def flatten_states(states, samples: int):
    """(samples, m) from the states of a response or of `states_along`, which have time first."""
    return jax.vmap(lambda s: ravel_pytree(s)[0], axis_size=samples)(states)


def residual_at(model, motion: AbsoluteMotion, ground, inputs):
    """(n + m,): the equations of motion (N) and of the states at one instant, for a motion without leading axes.

    M ẍ − L u is M ÿ for ground motion: with y smooth, the kinks of a recorded acceleration cancel.
    """
    x_g, v_g, a_g = ground
    _, unravel = ravel_pytree(model.start())
    dynamic, latent = model.residual(
        motion.y - x_g, motion.dy - v_g, motion.ddy - a_g, unravel(motion.s), unravel(motion.ds), inputs
    )
    return jnp.concatenate([dynamic, ravel_pytree(latent)[0]])


def point_residuals(model, motion: AbsoluteMotion, intervals: Intervals):
    """(intervals, points, n + m): the equations at every Gauss point."""
    at_point = jax.vmap(jax.vmap(lambda here, ground, u: residual_at(model, here, ground, u)))
    return at_point(motion, intervals.ground, intervals.inputs)


def weak_residuals(model, motion: AbsoluteMotion, intervals: Intervals):
    """(intervals, n + m): every equation integrated over every interval (N s, and the unit of each state)."""
    return intervals.integrate(point_residuals(model, motion, intervals))


def equation_sizes(model, motion: AbsoluteMotion, intervals: Intervals):
    """(n + m,): the size of each equation integrated over an interval, to which residuals are relative.

    For an equation of motion it is the rms inertia force of the absolute motion, for a state its rms rate, or its size
    over the length of the record where it hardly changes.
    """
    inertia = _rms(jax.vmap(jax.vmap(model.mass_times))(motion.ddy))
    duration = intervals.length * motion.s.shape[0]
    rate = jnp.maximum(_rms(motion.ds), _rms(motion.s) / duration)
    return jnp.concatenate([jnp.maximum(part, 1e-9 * jnp.max(part, initial=1e-290)) for part in (inertia, rate)]) * (
        intervals.length
    )


def _rms(values):
    return jnp.sqrt(jnp.mean(values**2, axis=(0, 1)))


def model_at(problem: Problem, free: Array, record: int = 0):
    """The model of the structure with the unknowns at φ."""
    return problem.unknowns.apply(problem.experiment, free).structure.model(problem.data[record].loads)
