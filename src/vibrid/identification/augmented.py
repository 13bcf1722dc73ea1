"""The joint state of motion and unknowns in filters: z = (x, v, law states, φ).

Functions use the loads of the problem's first record: a filter of several records passes a problem with the data of one
at a time, and the number of that record for its initial state.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.arguments import Array
from vibrid.core.errors import InputError, Refusal
from vibrid.identification.problem import Problem
from vibrid.simulation.excitation import drive
from vibrid.simulation.run import Everything, advance_sample, run


def _experiment_and_model(problem: Problem, free):
    """The experiment at φ and its model, set for evaluation at many joint states at once."""
    experiment = problem.unknowns.apply(problem.experiment, free)
    return experiment, dataclasses.replace(experiment.structure.model(problem.data[0].loads), batched=True)


def width(problem: Problem) -> int:
    """Length of x, v and law states together."""
    _, model = _experiment_and_model(problem, jnp.asarray(problem.start))
    return 2 * model.size + ravel_pytree(model.start())[0].shape[0]


def first_state(problem: Problem, free: Array, record: int = 0):
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


def move(problem: Problem, z, before, inputs, dt, between=None):
    """z one sample later. `between` (pieces, powers, m) are the polynomials of a `Drive` from `before` to `inputs`;
    without them they follow from the problem's hold, where the two samples are enough for that."""
    p = len(problem.unknowns)
    experiment, model, x, v, s = _open(problem, z)
    constants = problem.integrator.prepare(model, dt / problem.substeps)
    between = _polynomials(problem.hold, before, inputs) if between is None else between
    between = between.at[:, 0].set(problem.excited(experiment, between[:, 0]))
    before, inputs = problem.excited(experiment, before), problem.excited(experiment, inputs)
    moved = _advanced(problem, model, constants, (x, v, s), before, inputs, dt, between)
    return jnp.concatenate([moved, z[-p:]])


def _advanced(problem: Problem, model, constants, motion, before, inputs, dt, between):
    """x, v and law states one sample later, one after another."""
    x, v, s = motion
    state = problem.integrator.start(model, constants, x, v, s, before)
    state = advance_sample(model, problem.integrator, constants, state, between, inputs, dt, problem.substeps)
    return jnp.concatenate([state.x, state.v, ravel_pytree(state.s)[0]])


class Tangents:
    """The motion at given φ, and how it and its readings change with the state and with the inputs at the samples.

    The hold between samples is "zero" or "linear", as for `move`.
    """

    def __init__(self, problem: Problem, free: Array, record: int):
        self.problem, self.data = problem, problem.data[0]
        self.experiment = problem.unknowns.apply(problem.experiment, free)
        self.model = self.experiment.structure.model(self.data.loads)
        self.constants = problem.integrator.prepare(self.model, self.data.step / problem.substeps)
        self.sensors = self.experiment.structure.sensor_arrays(self.model, self.experiment.sensors)
        self.first = self.experiment.initial[record]
        self.unravel = ravel_pytree(self.model.start())[1]

    def motion(self):
        """(nt, states): x, v and law states at every sample."""
        driven = self.problem.driven(self.experiment, self.data)
        arguments = (self.model, self.problem.integrator, driven, self.data.step)
        x, v, _, s = run(*arguments, Everything(), self.first, self.problem.substeps)
        return jax.vmap(lambda *parts: ravel_pytree(parts)[0])(x, v, s)

    def _parts(self, state):
        n = self.model.size
        return state[:n], state[n : 2 * n], self.unravel(state[2 * n :])

    def moved(self, state, before, inputs):
        """The state one sample later."""
        before, inputs = (self.problem.excited(self.experiment, u) for u in (before, inputs))
        between = _polynomials(self.problem.hold, before, inputs)
        constants, dt = self.constants, self.data.step
        return _advanced(self.problem, self.model, constants, self._parts(state), before, inputs, dt, between)

    def read(self, state, inputs):
        """Readings of the sensors."""
        x, v, s = self._parts(state)
        inputs = self.problem.excited(self.experiment, inputs)
        return self.model.output(self.sensors, x, v, self.model.acceleration(x, v, s, inputs), s, inputs)


def _polynomials(hold: str, before, inputs):
    """(1, powers, m): the inputs from one sample to the next, from these two alone."""
    if hold not in ("zero", "linear"):
        raise InputError(
            f"A '{hold}' hold needs later samples, which a run sample by sample does not have: use 'linear' or 'zero', "
            "or identify from the whole record."
        )
    return drive(jnp.stack([before, inputs]), hold).coefficients[0]


def read(problem: Problem, z, inputs):
    """Readings of the sensors at z."""
    experiment, model, x, v, s = _open(problem, z)
    inputs = problem.excited(experiment, inputs)
    arrays = experiment.structure.sensor_arrays(model, experiment.sensors)
    return model.output(arrays, x, v, model.acceleration(x, v, s, inputs), s, inputs)


def check_steps(problem: Problem) -> None:
    """Refuse integrators whose step cannot start at a joint state."""
    if not problem.integrator.begins_anywhere:
        raise Refusal(
            f"A filter advances x, v and the states of laws from sample to sample; the accelerations that "
            f"{type(problem.integrator).__name__} also carries would be lost: use another integrator, for example "
            "Newmark, or TrajectoryFit with this one."
        )


def at_priors(problem: Problem, free: Array) -> np.ndarray:
    """φ with every unknown that has a prior at its mean, where a filter must start."""
    u = problem.unknowns
    mean, low, high = (np.asarray(part) for part in (u.prior_mean, u.low, u.high))
    given = np.isfinite(mean)
    for i in np.flatnonzero(given & ((mean <= low) | (mean >= high))):
        raise InputError(
            f"The prior of '{u.names[i]}' has its mean {mean[i]:g} on or outside the bounds ({low[i]:g}, {high[i]:g}): "
            "a filter starts there, so give a mean inside them, or use TrajectoryFit."
        )
    return np.where(given, u.to_free(np.where(given, mean, np.asarray(u.start))), np.asarray(free))


@eqx.filter_jit
def state_sizes(problem: Problem, free: Array, record: int = 0):
    """rms of x, v and law states over a record when simulated with φ: the scales of the filter."""
    experiment, model = _experiment_and_model(problem, free)
    d, start = problem.data[0], experiment.initial[record]
    x, v, _, s = run(
        model, problem.integrator, problem.driven(experiment, d), d.step, Everything(), start, problem.substeps
    )
    flat = jax.vmap(lambda *parts: ravel_pytree(parts)[0])(x, v, s)
    return jnp.sqrt(jnp.mean(flat**2, axis=0))


def noise_guess(problem: Problem) -> np.ndarray:
    """First estimate of the noise of every sensor, from third differences of its readings.

    Where a signal is smooth over four samples this is its white noise; where it is not, it is too large, which is safe
    for a filter. It is at least a thousandth of the signal.
    """
    given = problem.given_deviations()
    rough = []
    for c in range(len(problem.sensors)):
        each = [np.asarray(d.readings)[np.asarray(d.present)[:, c] > 0, c] for d in problem.data]
        jumps = np.concatenate([np.abs(np.diff(y, 3)) for y in each if len(y) > 3] or [np.zeros(1)])
        rough.append(np.median(jumps) / 0.6745 / np.sqrt(20.0))
    guess = np.maximum(rough, 1e-3 * problem.signal_size())
    return np.where(np.isfinite(given), given, guess)
