"""Prediction by training on the equations alone, after Algorithm 2: networks learn the response to another motion.

The unknowns stay fixed and the state at the start of the record is imposed: without it the equations leave the phase
undetermined. The networks start from new initial weights, and the structure from rest; the paper's Algorithm 2,
which keeps the weights, is `fine_tune` of the method `pidynnet-as-published`.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.identification.experiment import Initial
from vibrid.identification.methods.pidynnet.precondition import factorise
from vibrid.identification.methods.pidynnet.task import Sizes, begin_at, make_task
from vibrid.identification.methods.pidynnet.training import Seeds, with_weights
from vibrid.identification.problem import Problem
from vibrid.identification.problem_data import Data
from vibrid.identification.weak.equations import AbsoluteMotion, flat_start, model_at
from vibrid.identification.weak.ground import ground_of
from vibrid.networks import train
from vibrid.records.record import Record, step_of
from vibrid.simulation.excitation import drive, inputs_of, loads_of

_SOFTNESS = 0.01
_NEAR = 1e3  # loss below which the small networks join the skip paths
_SETTLED = 1e-3  # relative fall of the loss in a round below which fine-tuning is done


@dataclass(frozen=True, eq=False)
class Tuned:
    """A motion predicted by networks: times (s), displacements relative to the ground (m), hidden states."""

    time: np.ndarray
    displacement: np.ndarray
    states: np.ndarray
    left: float  # rms of the equations over their size
    rounds: int
    seconds: float


def with_record(problem: Problem, record: Record) -> Problem:
    """The problem with another excitation and no readings, at rest at its start."""
    structure = problem.experiment.structure
    inputs = inputs_of(structure, record)
    none = jnp.zeros((len(record), len(problem.sensors)))
    name = "another motion"  # one for all: programs are compiled for each name
    data = Data(
        readings=none,
        present=none,
        drive=drive(inputs, problem.hold, problem.substeps),
        step=step_of(record),
        loads=loads_of(structure, record),
        name=name,
    )
    size = structure.model(data.loads).size
    experiment = dataclasses.replace(problem.experiment, initial=(Initial.rest(size),))
    return dataclasses.replace(problem, data=(data,), held_out=(none,), experiment=experiment)


def tune(method, fit, record: Record, progress, rounds: int = 15) -> Tuned:
    """Fine-tuning of the default setting: the loss of training without readings, in the sizes training had."""
    started = time.perf_counter()
    if "states" not in fit.history:
        raise InputError("Fine-tuning needs the result of PIDynNet; use fit.predict(record) with other methods.")
    problem = with_record(fit.problem, record)
    free = jnp.asarray(fit.free)
    ground = ground_of(problem)
    task = make_task(problem, ground, method.layout(problem, fit.free), None, np.ones(1))
    grid = task.grid.time
    model = model_at(problem, free)
    y, dy, ddy = (jnp.asarray(part) for part in ground.motion(grid))
    states = jnp.broadcast_to(flat_start(model), (len(grid), flat_start(model).size))
    rest = AbsoluteMotion(y, dy, ddy, states, jnp.zeros_like(states))  # x = 0: the structure rides on the ground
    drifts = np.linalg.solve(np.asarray(task.mix), fit.history["response"].T).T
    usual = np.concatenate([drifts, fit.history["states"]], axis=1)
    rate = np.gradient(fit.history["states"], fit.history["time"], axis=0)
    inertia = np.asarray(jax.vmap(model.mass_times)(ddy))
    terms = np.concatenate([inertia, np.tile(_rms(rate), (len(inertia), 1))], axis=1)
    sizes = Sizes(_rms(usual), _rms(terms) * float(task.intervals.length))
    task, skip = begin_at(task, sizes, rest)
    seeds = Seeds(method.descent(task, skip, fixed=True))
    x = seeds.one.join(jnp.asarray(skip), free, seeds.one.networks(jax.random.key(fit.seed)))[None]
    task = with_weights(task, np.ones(1), _SOFTNESS)
    progress.stage("fine-tuning", rounds)
    before = after = np.inf
    turn = 0
    for turn in range(rounds):
        factor = factorise(task, *seeds.middle(x), fixed=True)
        factor = eqx.tree_at(lambda f: f.bent, factor, factor.bent * (after < _NEAR))
        trained = train(seeds, seeds.start(x), jax.random.key(0), method.steps, block=method.steps, data=(task, factor))
        after = float(trained.history[0][-1, 0])
        x = trained.state.x
        progress.update(turn + 1, f"loss {after:.4g}")
        if before - after < _SETTLED * before:
            break
        before = after
    motion, _ = seeds.mean_motion(x, task)
    equations = np.asarray(task.equation_residuals(free, motion)) * _SOFTNESS
    return Tuned(
        grid, np.asarray(motion.y - y), np.asarray(motion.s), float(np.sqrt(np.mean(equations**2))), turn + 1,
        time.perf_counter() - started,
    )  # fmt: skip


def _rms(values: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.mean(values**2, axis=0))
    return np.maximum(size, 1e-6 * size.max() + 1e-12)
