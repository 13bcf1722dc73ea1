"""Loads at given unknowns: the inner problem of methods with unknown loads, and the misfit of the outer one.

For each value of the unknowns θ the loads that fit best are computed exactly; the remaining misfit depends on θ alone
(variable projection, Golub & Pereyra 1973). With S the covariance of the readings when the loads are unknown,

    cost = ½ rᵀ S⁻¹ r,   gradient = −Jᵀ S⁻¹ r,   normal matrix = Jᵀ S⁻¹ J     (Kaufman's Jacobian J = ∂y/∂θ, loads held)

and all three come from whitened innovations of the filter: S is never formed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.errors import Divergence, InputError
from vibrid.identification.loads import recursion
from vibrid.identification.loads.estimate import Weights
from vibrid.identification.loads.recursion import LoadSystem
from vibrid.identification.loads.smoother import Factors, deviations, factorise, filtered, smoothed
from vibrid.identification.problem import Problem, predict
from vibrid.identification.problem_data import Data
from vibrid.simulation.excitation import drive

if TYPE_CHECKING:
    from vibrid.structures.sensors import Sensor


@dataclass(frozen=True)
class Solution:
    """Loads (samples, loads) of one record at given unknowns, with the recursion about them."""

    loads: np.ndarray
    system: LoadSystem
    factors: Factors
    white: jax.Array  # (samples, ny): whitened innovations

    @property
    def cost(self) -> float:
        return 0.5 * float(jnp.vdot(self.white, self.white))


def unloaded_innovations(solution: Solution, noise: np.ndarray) -> np.ndarray:
    """(samples, ny): innovations without the directions that a load at the same instant can explain.

    They are white for any loads when structure and sensors are right.
    """
    root = np.asarray(solution.factors.root[-1]) / noise[:, None]
    values, vectors = np.linalg.eigh(root @ root.T)
    quiet = vectors[:, : len(values) - solution.system.loads]
    scaled = np.asarray(solution.white) @ root.T  # innovations over the noise
    return (scaled @ quiet) @ quiet.T * noise


def inputs_with(data: Data, loads):
    """(samples, inputs): the known inputs of a record and the given unknown loads together."""
    return data.drive.samples + (shares_of(data) * loads[:, None, :]).sum(axis=2)


def shares_of(data: Data) -> jax.Array:
    """(1 or samples, inputs, loads): the inputs per unit of every unknown load of a record that has some."""
    if data.shares is None:
        raise InputError(f"Record '{data.name}' has no unknown loads.")
    return data.shares


def put_loads(problem: Problem, record: int, loads) -> Problem:
    """The problem with the loads of one record taken as known."""
    old = problem.data[record]
    new = dataclasses.replace(old, drive=drive(inputs_with(old, jnp.asarray(loads)), problem.hold, problem.substeps))
    return dataclasses.replace(problem, data=(*problem.data[:record], new, *problem.data[record + 1 :]))


@eqx.filter_jit
def _exact(problem: Problem, free, record: int, penalty: str):
    experiment = problem.unknowns.apply(problem.experiment, free)
    data = problem.data[record]
    motion = recursion.exact_motion(experiment.structure, experiment.sensors, data.loads, data.step, problem.hold)
    return recursion.augment(motion, shares_of(data), penalty)


@eqx.filter_jit
def _linearised(problem: Problem, free, record: int, penalty: str):
    experiment = problem.unknowns.apply(problem.experiment, free)
    data = problem.data[record]
    motion, readings = recursion.linearised_motion(experiment, data, problem.integrator, record, problem.hold)
    return recursion.augment(motion, shares_of(data), penalty), readings


@eqx.filter_jit
def slopes(problem: Problem, free: Array, record: int):
    """(samples, ny, p): ∂ readings / ∂φ at the inputs the problem holds."""
    return jax.jacfwd(lambda q: problem.predict(q, record))(free)


@jax.jit
def _stationary(transition, drive, spread, doublings: int = 14):
    """Standard deviations of the state after a long time under innovations of the given standard deviation."""
    covariance = (drive * spread) @ (drive * spread).T

    def twice(_, carry):
        a, p = carry
        return a @ a, p + a @ p @ a.T

    _, p = jax.lax.fori_loop(0, doublings, twice, (transition, covariance))
    return jnp.sqrt(jnp.maximum(jnp.diagonal(p), 0.0))


def first_deviations(system: LoadSystem, weights: Weights) -> np.ndarray:
    """(m,): standard deviations of motion and loads at the first sample."""
    m = system.transition.shape[-1]
    out = np.zeros(m)
    out[system.size :] = np.tile(weights.first, (m - system.size) // system.loads)
    if weights.motion > 0:
        shaken = np.asarray(_stationary(system.transition[0], system.drive[0], jnp.asarray(weights.spread)))
        out[: system.size] = weights.motion * shaken[: system.size]
    return out


def system_at(problem: Problem, free: Array, record: int, penalty: str) -> LoadSystem:
    """The recursion of motion and loads at the unknowns φ, a nonlinear structure about its motion without the loads."""
    if recursion.is_exact(problem):
        return _exact(problem, jnp.asarray(free), record, penalty).reached()
    return _linearised(problem, jnp.asarray(free), record, penalty)[0]


def solve_loads(
    problem: Problem,
    free: Array,
    record: int,
    weights: Weights,
    penalty: str,
    start=None,
    iterations: int = 15,
    settled: float = 1e-13,
) -> Solution | None:
    """The loads of one record that fit best at the unknowns φ.

    A linear structure needs one pass; a nonlinear one is linearised about its motion until the loads converge
    (Gauss–Newton with step halving, from `start`). None where its motion cannot be simulated. `settled` as in
    `factorise`.
    """
    free, data = jnp.asarray(free), problem.data[record]
    samples, r = data.samples, shares_of(data).shape[-1]
    if recursion.is_exact(problem):
        system = system_at(problem, free, record, penalty)
        misfit = (data.readings - predict(problem, free, record)) * data.present
        return _pass(system, data, misfit, weights, None, settled)
    loads = np.zeros((samples, r)) if start is None else np.asarray(start)
    solution, best = None, np.inf
    for _ in range(iterations):
        held = put_loads(problem, record, loads)
        system, readings = _linearised(held, free, record, penalty)
        misfit = (data.readings - readings) * data.present
        here = _criterion(misfit, loads, weights, penalty)
        if not np.isfinite(here):
            break
        step = _pass(system, data, misfit, weights, (loads, penalty), settled)
        solution, best = step, here
        if np.linalg.norm(step.loads - loads) <= 1e-5 * np.linalg.norm(step.loads):
            break
        move, share = step.loads - loads, 1.0
        while share > 1e-2:
            trial = loads + share * move
            seen = predict(put_loads(problem, record, trial), free, record)
            value = _criterion((data.readings - seen) * data.present, trial, weights, penalty)
            if value < best:
                break
            share *= 0.5
        else:
            break
        loads = trial
    return solution


def followed(solution: Solution | None) -> Solution:
    """A solution of `solve_loads`; a motion that could not be simulated is refused."""
    if solution is None:
        raise Divergence(
            "The motion of the structure could not be simulated, so its loads cannot be estimated: check its "
            "parameters, or use a smaller step."
        )
    return solution


def _criterion(misfit, loads, weights: Weights, penalty: str) -> float:
    """The criterion that the loads minimise: misfit over noise, innovations over their standard deviation."""
    w = recursion.innovations(jnp.asarray(loads), penalty) / weights.spread
    first = jnp.asarray(loads[0]) / weights.first
    return float(jnp.sum((misfit / weights.noise) ** 2) + jnp.sum(w**2) + jnp.sum(first**2))


def _pass(system: LoadSystem, data: Data, misfit, weights: Weights, about, settled: float) -> Solution:
    """One exact least-squares solution for the loads; `about` are the loads at which the system was linearised."""
    system = system.masked(np.asarray(data.present))
    first = first_deviations(system, weights)
    factors = factorise(system, weights.noise, weights.spread, first, data.samples, settled=settled)
    push = start = None
    if about is not None:
        loads, penalty = about
        w = recursion.innovations(jnp.asarray(loads), penalty)
        push = -jnp.concatenate([w, jnp.zeros_like(w[:1])])[:, :, None]
        start = jnp.zeros((len(first), 1)).at[system.size : system.size + system.loads, 0].set(-jnp.asarray(loads[0]))
    white, past = filtered(system, factors, misfit[:, :, None], push, start)
    change = np.asarray(smoothed(system, factors, white, past)[:, :, 0])
    return Solution(change if about is None else about[0] + change, system, factors, white[:, :, 0])


def projected(problem: Problem, free: Array, record: int, solution: Solution):
    """Cost, gradient and normal matrix of the unknowns with the loads of one record eliminated."""
    held = put_loads(problem, record, solution.loads)
    used = slopes(held, jnp.asarray(free), record) * problem.data[record].present[:, :, None]
    white, _ = filtered(solution.system, solution.factors, used)
    return (
        solution.cost,
        -np.asarray(jnp.einsum("kyp,ky->p", white, solution.white)),
        np.asarray(jnp.einsum("kyp,kyq->pq", white, white)),
    )


def uncertain_rows(
    held: Problem,
    free: Array,
    record: int,
    weights: Weights,
    penalty: str,
    covariance,
    sensors: Sequence[Sensor] | None = None,
):
    """(samples, rows): standard deviation of the loads, or of the readings of other sensors.

    `held` is the problem with the loads taken as known. Two causes are added: the noise with the structure known, and
    the uncertainty of the structure, `covariance` (of φ; None where it is known).
    """
    data, free = held.data[record], jnp.asarray(free)
    system = system_at(held, free, record, penalty)
    rows, direct = None, 0.0
    uncertain = covariance is not None and len(held.unknowns)
    if sensors is not None:
        other = dataclasses.replace(held, experiment=dataclasses.replace(held.experiment, sensors=tuple(sensors)))
        rows = system_at(other, free, record, penalty).output
        direct = slopes(other, free, record) if uncertain else 0.0
    system, first = system.masked(np.asarray(data.present)), first_deviations(system, weights)
    factors = factorise(system, weights.noise, weights.spread, first, data.samples, rows=rows)
    variance = deviations(system, factors) ** 2
    if uncertain:
        used = slopes(held, free, record) * data.present[:, :, None]
        moved = direct - smoothed(system, factors, *filtered(system, factors, used))
        variance = variance + np.asarray(jnp.einsum("krp,pq,krq->kr", moved, jnp.asarray(covariance), moved))
    return np.sqrt(variance)
