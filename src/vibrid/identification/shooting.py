"""Multiple shooting: each record cut into segments with starting states of their own, slowly pulled together."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.errors import Refusal
from vibrid.core.progress import SILENT
from vibrid.identification.levenberg import descend
from vibrid.simulation.excitation import Drive
from vibrid.simulation.run import Everything, Readings, Start, run


def shoot(problem, free, deviations, segments: int, iterations: int = 40, progress=SILENT) -> np.ndarray:
    """Improve φ by multiple shooting with a gap penalty that hardens in four stages; returns φ."""
    if problem.delays:
        raise Refusal("Multiple shooting cannot follow a delayed sensor across segments; use segments=1.")
    p = len(free)
    knots = [_knots(d.samples, segments) for d in problem.data]
    states = [_first_states(problem, free, i, k) for i, k in enumerate(knots)]
    sizes = [np.maximum(s.std(axis=0), 1e-3 * np.abs(s).max() + 1e-12) for s in states]
    shapes = [s[1:].shape for s in states]
    scaled = [((s[1:]) / size).reshape(-1) for s, size in zip(states, sizes, strict=True)]
    z = np.concatenate([free, *scaled])
    for weight in (1.0, 10.0, 100.0, 1000.0):
        evaluate = _evaluator(problem, p, knots, sizes, shapes, deviations, weight)
        z = descend(
            problem, z[None], deviations, iterations=iterations, tolerance=1e-4, progress=progress, evaluate=evaluate
        ).free[0]
    return z[:p]


def _knots(samples: int, segments: int) -> np.ndarray:
    """Sample numbers where segments begin; all segments have the same length, the last ones overlap if they must."""
    length = -(-(samples - 1) // segments)
    return np.minimum(np.arange(segments) * length, samples - 1 - length)


def _model_and_start(problem, free, record):
    experiment = problem.unknowns.apply(problem.experiment, free)
    model = experiment.structure.model(problem.data[record].loads)
    return experiment, model, experiment.initial[record]


@eqx.filter_jit
def _motion(problem, free, record):
    _, model, first = _model_and_start(problem, free, record)
    d = problem.data[record]
    x, v, _, s = run(
        model,
        problem.integrator,
        d.drive,
        d.step,
        Everything(),
        Start(first.displacement, first.velocity),
        problem.substeps,
    )
    return x, v, s


def _first_states(problem, free, record, knots) -> np.ndarray:
    """(segments, states) starting values: measured where sensors read displacement and velocity, else simulated."""
    x, v, s = (jax.tree.map(np.asarray, part) for part in _motion(problem, jnp.asarray(free), record))
    x, v = x.copy(), v.copy()
    structure, data = problem.experiment.structure, problem.data[record]
    for c, sensor in enumerate(problem.sensors):
        if sensor.quantity in ("displacement", "velocity"):
            row = structure.row(sensor.place)
            if np.count_nonzero(row) == 1:
                target = x if sensor.quantity == "displacement" else v
                target[:, int(np.argmax(row))] = np.asarray(data.readings[:, c])
    return np.stack(
        [np.concatenate([x[k], v[k], ravel_pytree(jax.tree.map(lambda a, k=k: a[k], s))[0]]) for k in knots]
    )


def _evaluator(problem, p, knots, sizes, shapes, deviations, weight):
    """free + segment states → cost, gradient and Gauss–Newton matrix, segments in parallel."""

    @eqx.filter_jit
    def compiled(problem, z, deviations):
        phi = z[:p]
        total = z.shape[0]
        cost, gradient, normal = 0.0, jnp.zeros(total), jnp.zeros((total, total))
        offset = p
        for i, (k, size, shape) in enumerate(zip(knots, sizes, shapes, strict=True)):
            data = problem.data[i]
            count, width = len(k), size.shape[0]
            length = int(k[1] - k[0]) if count > 1 else data.samples - 1
            _, model, _ = _model_and_start(problem, phi, i)
            _, unravel = ravel_pytree(model.start())
            inner = z[offset : offset + shape[0] * shape[1]].reshape(shape)

            def piece(phi_and_w, begin, is_first, i=i, data=data, unravel=unravel, size=size, length=length):
                q, w = phi_and_w[:p], phi_and_w[p:] * size
                experiment, model, first = _model_and_start(problem, q, i)
                rest = jnp.concatenate([first.displacement, first.velocity, ravel_pytree(model.start())[0]])
                w = jnp.where(is_first, rest, w)
                n = model.size
                start = Start(w[:n], w[n : 2 * n], unravel(w[2 * n :]))
                cut = lambda a, extra: jax.lax.dynamic_slice_in_dim(a, begin, length + extra)  # noqa: E731
                driven = Drive(cut(data.drive.samples, 1), cut(data.drive.coefficients, 0))
                arrays = experiment.structure.sensor_arrays(model, experiment.sensors)
                both = _Both(Readings(arrays), Everything())
                y, (x, v, _, s) = run(model, problem.integrator, driven, data.step, both, start, problem.substeps)
                r = ((cut(data.readings, 1) - y) * cut(data.present, 1) / deviations)[:-1].reshape(-1)
                end = jnp.concatenate([x[-1], v[-1], jax.vmap(lambda *a: ravel_pytree(a)[0])(s)[-1]])
                return r, end / size

            w0 = jnp.concatenate([jnp.zeros((1, width)), inner])
            stacked = jnp.concatenate([jnp.broadcast_to(phi, (count, p)), w0], axis=1)
            first_flag = jnp.arange(count) == 0
            begin = jnp.asarray(k)
            r, end = jax.vmap(piece)(stacked, begin, first_flag)
            jr, je = jax.vmap(jax.jacfwd(piece))(stacked, begin, first_flag)
            for j in range(count):
                columns = (
                    jnp.concatenate([jnp.arange(p), offset + (j - 1) * width + jnp.arange(width)])
                    if j
                    else jnp.arange(p)
                )
                block = jr[j][:, : p + (width if j else 0)]
                cost += 0.5 * jnp.vdot(r[j], r[j])
                gradient = gradient.at[columns].add(block.T @ r[j])
                normal = normal.at[columns[:, None], columns[None, :]].add(block.T @ block)
                if j + 1 < count:
                    gap = weight * (end[j] - inner[j])
                    big = jnp.zeros((width, total)).at[:, columns].add(weight * je[j][:, : p + (width if j else 0)])
                    big = big.at[:, offset + j * width + jnp.arange(width)].add(-weight * jnp.eye(width))
                    cost += 0.5 * jnp.vdot(gap, gap)
                    gradient = gradient + big.T @ gap
                    normal = normal + big.T @ big
            offset += shape[0] * shape[1]
        return cost, gradient, normal

    return lambda z: tuple(a[None] for a in compiled(problem, jnp.asarray(z[0]), jnp.asarray(deviations)))


class _Both(eqx.Module):
    readings: Readings
    motion: Everything

    def __call__(self, model, state, u):
        return self.readings(model, state, u), self.motion(model, state, u)
