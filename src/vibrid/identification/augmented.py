"""The joint state of motion and unknowns that filters carry: z = (x, v, law states, φ)."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.identification.problem import Problem
from vibrid.simulation.excitation import Input
from vibrid.simulation.run import Everything, Start, run


def _experiment_and_model(problem: Problem, free):
    """The experiment at φ and its model, set for evaluation at many joint states at once."""
    experiment = problem.unknowns.apply(problem.experiment, free)
    return experiment, dataclasses.replace(experiment.structure.model(problem.data[0].loads), batched=True)


def width(problem: Problem) -> int:
    """Length of x, v and law states together."""
    _, model = _experiment_and_model(problem, jnp.asarray(problem.start))
    return 2 * model.size + ravel_pytree(model.start())[0].shape[0]


def first_state(problem: Problem, free, record: int = 0):
    """z at the first sample for given φ."""
    experiment, model = _experiment_and_model(problem, free)
    first = experiment.initial[record]
    return jnp.concatenate([first.displacement, first.velocity, ravel_pytree(model.start())[0], free])


def _open(problem: Problem, z):
    """Experiment, model and (x, v, s) of a joint state."""
    p = len(problem.unknowns)
    experiment, model = _experiment_and_model(problem, z[-p:])
    n = model.size
    _, unravel = ravel_pytree(model.start())
    return experiment, model, z[:n], z[n : 2 * n], unravel(z[2 * n : -p])


def move(problem: Problem, z, before, inputs, dt):
    """z one sample later; inputs move linearly from `before` to `inputs`."""
    p = len(problem.unknowns)
    experiment, model, x, v, s = _open(problem, z)
    before, inputs = problem.excited(experiment, before), problem.excited(experiment, inputs)
    h = dt / problem.substeps
    constants = problem.integrator.prepare(model, h)
    state = problem.integrator.start(model, constants, x, v, s, before)
    share = 1.0 / problem.substeps
    for j in range(problem.substeps):
        end = before + (j + 1) * share * (inputs - before)
        u = Input(jnp.stack([before, inputs - before]), j * share, share, end)
        state = problem.integrator.step(model, constants, state, u, h)
    return jnp.concatenate([state.x, state.v, ravel_pytree(state.s)[0], z[-p:]])


def read(problem: Problem, z, inputs):
    """What the sensors read at z."""
    experiment, model, x, v, s = _open(problem, z)
    inputs = problem.excited(experiment, inputs)
    arrays = experiment.structure.sensor_arrays(model, experiment.sensors)
    return model.output(arrays, x, v, model.acceleration(x, v, s, inputs), s, inputs)


@eqx.filter_jit
def state_sizes(problem: Problem, free):
    """rms of x, v and law states over the first record when simulated with φ: the natural scales of the filter."""
    experiment, model = _experiment_and_model(problem, free)
    d, first = problem.data[0], experiment.initial[0]
    start = Start(first.displacement, first.velocity)
    x, v, _, s = run(
        model, problem.integrator, problem.driven(experiment, d), d.step, Everything(), start, problem.substeps
    )
    flat = jax.vmap(lambda *parts: ravel_pytree(parts)[0])(x, v, s)
    return jnp.sqrt(jnp.mean(flat**2, axis=0))


def noise_guess(problem: Problem) -> np.ndarray:
    """Noise of every sensor from the roughness of its readings (third differences), for want of better.

    Where a signal is smooth over four samples this is its white noise; where it is not, it is too large, which is the
    safe side for a filter. Never below a thousandth of the signal.
    """
    given = problem.given_deviations()
    rough = []
    for c in range(len(problem.sensors)):
        d = problem.data[0]
        y = np.asarray(d.readings)[np.asarray(d.present)[:, c] > 0, c]
        rough.append(np.median(np.abs(np.diff(y, 3))) / 0.6745 / np.sqrt(20.0))
    guess = np.maximum(rough, 1e-3 * problem.signal_size())
    return np.where(np.isfinite(given), given, guess)
