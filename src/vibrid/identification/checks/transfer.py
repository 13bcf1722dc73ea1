"""The transfer functions of a structure about rest, and values of the unknowns that have the same ones.

They are matched along a line to the right of the imaginary axis, s = 0.25 ω₁ + iω, where they are smooth: on the axis
their peaks move, and a descent from afar would stop at the first peak that it meets.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.identification.experiment import Experiment
from vibrid.identification.problem import Problem
from vibrid.identification.unknowns import UnknownSet
from vibrid.structures.model import Loads, Model
from vibrid.structures.modes import natural_frequencies

SHIFT = 0.25
"""Real part of s, over the first natural frequency."""

FEWEST_POINTS, MOST_POINTS = 8, 24
"""Complex frequencies: as many as a transfer function has coefficients, or twice the unknowns, within these."""

AT_ONCE = 16  # starts
SETTLED = 1e-5
"""Last step of a search, relative."""
_SMALL = 24  # rows of a matrix
_SILENT = 1e-9  # of the largest: a reading that does not follow an input


def transfer(
    experiment: Experiment, loads: Loads, s: jax.Array, damped: bool = True, along: jax.Array | None = None
) -> jax.Array:
    """(len(s), sensors, inputs): readings over inputs of small motions about rest, at complex frequencies in rad/s.

    along: (degrees of freedom, forces), over these forces instead of the inputs.
    """
    model = experiment.structure.model(loads)
    mass, damping, stiffness = model.initial_matrices()
    damping = damping if damped else jnp.zeros_like(damping)
    sensors = experiment.structure.sensor_arrays(model, experiment.sensors)
    forces = (None, None) if sensors.forces is None else [sensors.forces @ part for part in _part_matrices(model)]
    matrix = model.load_matrix if along is None else along
    direct = sensors.inputs if along is None else jnp.zeros((sensors.count, along.shape[1]))

    def at(s):
        x = _solved(mass * s**2 + damping * s + stiffness, matrix.astype(s.dtype))
        moved = ((sensors.displacement, 1.0), (sensors.velocity, s), (sensors.acceleration, s**2))
        rows = (*moved, (forces[0], 1.0), (forces[1], s))
        read = sum((power * (row @ x) for row, power in rows if row is not None), direct.astype(s.dtype))
        return sensors.gain[:, None] * read

    return jax.vmap(at)(s)


def _solved(matrix: jax.Array, right: jax.Array) -> jax.Array:
    """The solution of linear equations, whose derivatives are products with one inverse; exact to rounding, for what
    the inverse leaves over is solved again."""
    inverse = jax.lax.stop_gradient(jnp.linalg.inv(jax.lax.stop_gradient(matrix)))
    first = _product(inverse, right)
    return first + _product(inverse, right - _product(matrix, first))


def _product(a: jax.Array, b: jax.Array) -> jax.Array:
    """a b; of small matrices as one loop with what is around it, where a library would be called for each."""
    return jnp.sum(a[:, :, None] * b, axis=1) if len(a) <= _SMALL else a @ b


def _part_matrices(model: Model) -> tuple[jax.Array, jax.Array]:
    """(parts, n) twice: forces of the parts over displacements and velocities, with every law's first slopes."""
    stiffness, damping = [jnp.zeros((0, model.size))], [jnp.zeros((0, model.size))]
    for g in model.groups:
        assert model.rows is not None
        rows, shape = model.rows[g.rows].reshape(g.count, g.components, model.size), (g.count, *[g.components] * 2)
        k = jax.vmap(lambda law: law.initial_stiffness())(g.law).reshape(shape)
        c = jax.vmap(lambda law: law.initial_damping())(g.law).reshape(shape)
        for blocks, slope in ((stiffness, k), (damping, c)):
            blocks.append(jnp.einsum("gab,gbn->gan", slope, rows).reshape(-1, model.size))
    return jnp.concatenate(stiffness), jnp.concatenate(damping)


class AboutRest(eqx.Module):
    """The part of a problem that small motions about rest show: what a program is compiled for, whatever the record."""

    experiment: Experiment
    unknowns: UnknownSet
    loads: tuple[tuple[tuple[str, str], ...], ...] = eqx.field(static=True)  # of every kind of record
    step: float = eqx.field(static=True)

    @staticmethod
    def of(problem: Problem) -> AboutRest:
        loads = tuple(dict.fromkeys(data.loads for data in problem.data))
        kept = problem.experiment.initial if "initial state" in problem.unknowns.needs else ()
        experiment = dataclasses.replace(problem.experiment, initial=kept)
        return AboutRest(experiment, problem.unknowns, loads, problem.data[0].step)

    def transfers(self, free: jax.Array, s: jax.Array, damped: bool = True) -> jax.Array:
        """The transfer functions of every kind of record at φ, one vector."""
        experiment = self.unknowns.apply(self.experiment, free)
        return jnp.concatenate([transfer(experiment, loads, s, damped).reshape(-1) for loads in self.loads])

    def line(self, free: np.ndarray) -> np.ndarray:
        """Complex frequencies on a line beside the natural frequencies that the samples can show."""
        omega = 2.0 * np.pi * np.asarray(_frequencies(self, jnp.asarray(free)))
        omega = omega[np.isfinite(omega) & (omega > 0.0)]
        if not omega.size:
            return np.zeros(0, complex)
        top = min(1.15 * omega[-1], max(np.pi / self.step, 2.0 * omega[0]))
        return SHIFT * omega[0] + 1j * np.linspace(0.2 * omega[0], top, points_of(omega.size, len(free)))


def points_of(size: int, unknowns: int) -> int:
    """Number of complex frequencies for so many degrees of freedom and unknowns."""
    return int(np.clip(2 * min(size, unknowns) + 2, FEWEST_POINTS, MOST_POINTS))


@eqx.filter_jit
def _frequencies(about: AboutRest, free):
    structure = about.unknowns.apply(about.experiment, free).structure
    mass, _, stiffness = structure.model(about.loads[0]).initial_matrices()
    return natural_frequencies(mass, stiffness)


@eqx.filter_jit
def log_sizes(about: AboutRest, free: jax.Array, s: jax.Array, damped: bool) -> jax.Array:
    """ln |H| of all transfer functions, one vector."""
    return jnp.log(jnp.abs(about.transfers(free, s, damped)))


def matched(
    about: AboutRest, free: np.ndarray, starts: np.ndarray, s: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Free vectors (starts, p) whose transfer functions come closest to those at `free`, and their rms differences of
    log H; unknowns that small motions do not show stay where they are."""
    if not len(starts):
        return starts, np.zeros(0)
    box, ends = about.unknowns.box(), []
    for first in range(0, len(starts), AT_ONCE):  # all of one size, so that one program serves
        chosen = starts[np.minimum(np.arange(first, first + AT_ONCE), len(starts) - 1)]
        ends.append(_match(about, *map(jnp.asarray, (free, chosen, s, box.low, box.high, iterations))))
    phi, differences = (np.concatenate(parts)[: len(starts)] for parts in zip(*ends, strict=True))
    return phi, differences


def shown_unknowns(about: AboutRest, free: np.ndarray, s: np.ndarray) -> np.ndarray:
    """(p,): whether the transfer functions at `free` depend on an unknown."""
    return np.asarray(_shown(about, jnp.asarray(free), jnp.asarray(s)))


@eqx.filter_jit
def _shown(about: AboutRest, free, s):
    return _is_shown(_slopes(about, free, s)(free)[0])


def _is_shown(jacobian: jax.Array) -> jax.Array:
    return jnp.max(jnp.abs(jacobian), axis=0) > 1e-9


def _slopes(about: AboutRest, free, s):
    """φ → derivatives and values of the differences of log H from those at `free`, whose squares add to the mean."""
    there = about.transfers(free, s)
    heard = jnp.abs(there) > _SILENT * jnp.max(jnp.abs(there))
    weight = heard / jnp.sqrt(jnp.maximum(jnp.sum(heard), 1))
    there = jnp.where(heard, there, 1.0)

    def residual(phi):
        difference = jnp.log(jnp.where(heard, about.transfers(phi, s), 1.0) / there)
        r = jnp.concatenate([weight * difference.real, weight * jnp.sin(difference.imag)])
        return r, r

    return jax.jacfwd(residual, has_aux=True)


@eqx.filter_jit
def _match(about: AboutRest, free, starts, s, low, high, iterations):
    """Levenberg–Marquardt steps from all starts side by side."""
    slopes = _slopes(about, free, s)
    shown = _is_shown(slopes(free)[0])

    def begin(phi):
        return (phi, 1e-2, *slopes(phi), jnp.inf)

    def step(carry):
        phi, damping, jacobian, r, _ = carry
        normal = jacobian.T @ jacobian
        scale = jnp.where(shown, jnp.diag(normal) + 1e-12, 1.0)
        move = -jnp.linalg.solve(normal + jnp.diag(damping * scale + (~shown)), jacobian.T @ r)
        move = move * shown * jnp.minimum(1.0, 1.0 / (jnp.max(jnp.abs(move)) + 1e-12))
        trial = jnp.clip(phi + move, low, high)
        t_jacobian, t_r = slopes(trial)
        better = t_r @ t_r < r @ r
        kept = (jnp.where(better, new, old) for new, old in ((trial, phi), (t_jacobian, jacobian), (t_r, r)))
        phi, jacobian, r = kept
        return phi, jnp.where(better, damping / 5.0, damping * 6.0), jacobian, r, jnp.max(jnp.abs(move))

    def goes_on(carry):
        return (carry[0] < iterations) & (jnp.max(carry[1][-1]) > SETTLED)

    def next_step(carry):
        return carry[0] + 1, jax.vmap(step)(carry[1])

    first = jax.vmap(begin)(jnp.where(shown, starts, free))
    phi, _, _, r, _ = jax.lax.while_loop(goes_on, next_step, (0, first))[1]
    return phi, jnp.sqrt(jnp.sum(r * r, axis=1))
