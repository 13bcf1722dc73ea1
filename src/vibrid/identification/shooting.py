"""Multiple shooting: each record cut into segments with their own initial states, whose gaps are closed gradually."""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.arguments import Array
from vibrid.core.errors import Refusal
from vibrid.core.progress import SILENT
from vibrid.identification.levenberg import descend
from vibrid.simulation.excitation import Drive
from vibrid.simulation.initial import Initial
from vibrid.simulation.run import Everything, Readings, run

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.problem import Problem


def shoot(
    problem: Problem,
    free: Array,
    deviations: np.ndarray,
    segments: int,
    iterations: int = 40,
    progress: Progress = SILENT,
) -> tuple[np.ndarray, bool]:
    """Improve φ by multiple shooting with a gap penalty that grows in four stages: φ, and whether Ctrl-C ended it."""
    if problem.delays:
        raise Refusal("Multiple shooting cannot use a delayed sensor, whose readings cross segments; use segments=1.")
    p = len(free)
    knots = tuple(_knots(d.samples, segments) for d in problem.data)
    states = [_first_states(problem, free, i, k) for i, k in enumerate(knots)]
    sizes = tuple(jnp.asarray(np.maximum(s.std(axis=0), 1e-3 * np.abs(s).max() + 1e-12)) for s in states)
    inner = [(s[1:] / np.asarray(size)).reshape(-1) for s, size in zip(states, sizes, strict=True)]
    z = np.concatenate([free, *inner])
    box = problem.unknowns.box().extended(len(z) - p)
    noise, cut_short = jnp.asarray(deviations), False
    for weight in (1.0, 10.0, 100.0, 1000.0):

        def evaluate(z, weight=weight):
            terms = _evaluate(problem, jnp.asarray(z[0]), noise, jnp.asarray(weight), sizes, knots)
            return tuple(a[None] for a in terms)

        descent = descend(
            problem,
            z[None],
            deviations,
            box=box,
            iterations=iterations,
            tolerance=1e-4,
            progress=progress,
            evaluate=evaluate,
        )
        z, cut_short = descent.free[0], descent.cut_short
        if cut_short:
            break
    return z[:p], cut_short


def _knots(samples: int, segments: int) -> tuple[int, ...]:
    """Sample numbers where segments of equal length begin; samples after the last are used by single shooting only."""
    length = (samples - 1) // segments
    return tuple(range(0, segments * length, length))


def _model_and_start(problem, free, record):
    experiment = problem.unknowns.apply(problem.experiment, free)
    model = experiment.structure.model(problem.data[record].loads)
    return experiment, model, experiment.initial[record]


@eqx.filter_jit
def _motion(problem, free, record):
    experiment, model, first = _model_and_start(problem, free, record)
    d = problem.data[record]
    x, v, _, s = run(
        model,
        problem.integrator,
        problem.driven(experiment, d),
        d.step,
        Everything(),
        first,
        problem.substeps,
    )
    return x, v, s


def _first_states(problem, free, record, knots) -> np.ndarray:
    """(segments, states) initial states: measured where sensors read displacement and velocity, else simulated.

    A reading is divided by the gain of its sensor; missing readings are interpolated linearly, and before the first and
    after the last the simulation is used.
    """
    x, v, s = (jax.tree.map(np.asarray, part) for part in _motion(problem, jnp.asarray(free), record))
    x, v = x.copy(), v.copy()
    data = problem.data[record]
    experiment = problem.unknowns.apply(problem.experiment, jnp.asarray(free))
    number = np.arange(data.samples)
    for c, sensor in enumerate(experiment.sensors):
        if sensor.quantity in ("displacement", "velocity"):
            row = np.asarray(experiment.structure.row(sensor.place))
            present = np.flatnonzero(np.asarray(data.present[:, c]))
            factor = float(sensor.gain) * row.sum()
            if np.count_nonzero(row) == 1 and present.size and factor != 0.0:
                target = x if sensor.quantity == "displacement" else v
                inside = slice(present[0], present[-1] + 1)
                values = np.asarray(data.readings)[present, c] - float(sensor.offset)
                read = np.interp(number[inside], present, values / factor)
                target[inside, int(np.argmax(row != 0))] = read
    return np.stack(
        [np.concatenate([x[k], v[k], ravel_pytree(jax.tree.map(lambda a, k=k: a[k], s))[0]]) for k in knots]
    )


@eqx.filter_jit
def _evaluate(problem, z, deviations, weight, sizes, knots):
    """Free vector and segment states → cost, gradient and Gauss–Newton matrix; segments run in parallel.

    The normal matrix is filled block by block: a segment depends on φ and its initial state, a gap also on the next
        one.
    """
    p = len(problem.unknowns)
    phi, total = z[:p], z.shape[0]
    cost, gradient, normal = jnp.zeros(()), jnp.zeros(total), jnp.zeros((total, total))
    offset = p
    for i, (begins, size) in enumerate(zip(knots, sizes, strict=True)):
        count, width = len(begins), size.shape[0]
        length = begins[1] - begins[0]
        inner = z[offset : offset + (count - 1) * width].reshape(count - 1, width)
        starts = jnp.concatenate([jnp.zeros((1, width)), inner])
        local = jnp.concatenate([jnp.broadcast_to(phi, (count, p)), starts], axis=1)

        def piece(local, begin, is_first, i=i, size=size, length=length):
            return _segment(problem, local[:p], local[p:], begin, is_first, i, size, length, deviations)

        at = (jnp.asarray(begins), jnp.arange(count) == 0)
        (jr, je), (r, end) = jax.vmap(jax.jacfwd(lambda *a, f=piece: (f(*a),) * 2, has_aux=True))(local, *at)
        for j in range(count):
            start = offset + (j - 1) * width  # of the initial state of segment j; that of the first is not free
            columns = np.concatenate([np.arange(p), start + np.arange(width if j else 0)])
            block = jr[j][:, : len(columns)]
            cost += 0.5 * jnp.vdot(r[j], r[j])
            gradient = gradient.at[columns].add(block.T @ r[j])
            normal = normal.at[np.ix_(columns, columns)].add(block.T @ block)
            if j + 1 < count:
                gap = weight * (end[j] - inner[j])
                following = offset + j * width + np.arange(width)
                block = weight * jnp.concatenate([je[j][:, : len(columns)], -jnp.eye(width)], axis=1)
                columns = np.concatenate([columns, following])
                cost += 0.5 * jnp.vdot(gap, gap)
                gradient = gradient.at[columns].add(block.T @ gap)
                normal = normal.at[np.ix_(columns, columns)].add(block.T @ block)
        offset += (count - 1) * width
    return cost, gradient, normal


def _segment(problem, q, w, begin, is_first, record, size, length: int, deviations):
    """Weighted residuals of one segment, and the scaled state at its end, from φ and its scaled initial state."""
    data = problem.data[record]
    experiment, model, first = _model_and_start(problem, q, record)
    rest, unravel = ravel_pytree(model.start())
    n = model.size
    w = jnp.where(is_first, jnp.concatenate([first.displacement, first.velocity, rest]), w * size)
    start = Initial(w[:n], w[n : 2 * n], unravel(w[2 * n :]))

    def cut(values, extra):
        return jax.lax.dynamic_slice_in_dim(values, begin, length + extra)

    whole = problem.driven(experiment, data)
    driven = Drive(cut(whole.samples, 1), cut(whole.coefficients, 0))
    arrays = experiment.structure.sensor_arrays(model, experiment.sensors)
    watch = _Both(Readings(arrays), Everything())
    y, (x, v, _, s) = run(model, problem.integrator, driven, data.step, watch, start, problem.substeps)
    r = ((cut(data.readings, 1) - y) * cut(data.present, 1) / deviations)[:-1].reshape(-1)
    last = jax.tree.map(lambda a: a[-1], s)
    return r, jnp.concatenate([x[-1], v[-1], ravel_pytree(last)[0]]) / size


class _Both(eqx.Module):
    readings: Readings
    motion: Everything

    def __call__(self, model, state, u):
        return self.readings(model, state, u), self.motion(model, state, u)
