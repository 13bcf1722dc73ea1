"""The acceleration map: accelerations of a structure with values θ at the measured motion.

    ä(t; θ) = M⁻¹ (L u − f(x, v, s; θ))        x, v measured, s integrated over them

Only the states of laws are simulated, so a map costs one evaluation per sample. Where it is linear in θ, as for
stiffnesses and polynomial terms, it is tabulated once: ä = offset + slope θ.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.identification.problem import Problem
from vibrid.identification.regression import measured_motion, states_along
from vibrid.identification.smoothing import consistent_motion, noise_levels, remaining_noise

_NEGLIGIBLE = 1e-3  # noise over signal below which measured states are not smoothed
_VISIBLE = 0.05  # noise over signal in an acceleration above which modes are compared instead of degrees of freedom
_CLEAR = 0.1  # noise over signal up to which a mode is compared


class Measured(NamedTuple):
    """The motion of all records: x and v as used, a as measured, and their noise (σ over rms of the signal)."""

    motions: tuple[tuple[jax.Array, jax.Array, jax.Array], ...]
    noise: tuple[np.ndarray, np.ndarray]  # (n,) m and m/s left in x and v
    acceleration_noise: np.ndarray  # (n,) m/s²
    level: float
    smoothed: bool


def measure(problem: Problem, smooth: bool | None = None) -> Measured:
    """Measured states of every record, smoothed where they are noisy (`smooth=None`) or as `smooth` states."""
    raw = [tuple(np.asarray(p) for p in measured_motion(problem, i)) for i in range(len(problem.data))]
    size = [np.sqrt(np.mean(np.concatenate([r[q] for r in raw]) ** 2, axis=0)) + 1e-300 for q in range(3)]
    noise = [np.sqrt(np.mean([noise_levels(r[q]) ** 2 for r in raw], axis=0)) for q in range(3)]
    noise = [np.maximum(n, 1e-9 * s) for n, s in zip(noise, size, strict=True)]
    level = float(max(np.median(n / s) for n, s in zip(noise[:2], size[:2], strict=True)))
    smooth = level > _NEGLIGIBLE if smooth is None else smooth
    left = noise[:2]
    if smooth:
        steps = [d.step for d in problem.data]
        raw = [(*consistent_motion(*r[:2], noise, h), r[2]) for r, h in zip(raw, steps, strict=True)]
        left = remaining_noise(noise, max(steps))
    motions = tuple((jnp.asarray(x), jnp.asarray(v), jnp.asarray(a)) for x, v, a in raw)
    return Measured(motions, (left[0], left[1]), noise[2], level, bool(smooth))


def compared(problem: Problem, measured: Measured) -> tuple[np.ndarray, int | None]:
    """(n, m) columns in which accelerations are compared, each of unit size; and the number of modes, None for degrees
    of freedom.

    All degrees of freedom have equal weight while the noise is small. Where noise in the measured displacements, times
    the stiffness, exceeds 5 % of an acceleration, the modes of the structure about rest are compared instead, those
    with
    little noise: `Φᵀ M` times the equation of motion needs only their own coordinates.
    """
    a = np.concatenate([np.asarray(m[2]) for m in measured.motions])
    model = problem.experiment.structure.model(problem.data[0].loads)
    mass, damping, stiffness = (np.asarray(part) for part in model.initial_matrices())
    inverse = np.linalg.inv(mass)
    carried = [inverse @ stiffness * measured.noise[0], inverse @ damping * measured.noise[1]]

    def share(columns):
        """Noise over signal of accelerations in these columns."""
        left = np.sqrt(sum(((columns.T @ part) ** 2).sum(axis=1) for part in carried))
        return left / _rms(a @ columns)

    places = np.eye(len(mass))
    if np.max(share(places)) <= _VISIBLE:
        return places / _rms(a), None
    _, shapes = scipy.linalg.eigh(stiffness, mass)
    modal = mass @ shapes
    order = np.argsort(share(modal))
    kept = order[: max(1, int(np.sum(share(modal) < _CLEAR)))]
    columns = modal[:, np.sort(kept)]
    return columns / _rms(a @ columns), len(kept)


def _rms(values: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.mean(values**2, axis=0))
    return np.where(size > 0, size, 1.0)


def accelerations(problem: Problem, values, motion, record: int) -> jax.Array:
    """(nt, n) accelerations of one record at values θ, in m/s²."""
    x, v, _ = motion
    data = problem.data[record]
    model = problem.unknowns.place(problem.experiment, values).structure.model(data.loads)
    s = states_along(model, x, v, data.step)
    return jax.vmap(model.acceleration)(x, v, s, data.drive.samples)


class Tabulated(eqx.Module):
    """Samples of a map that is linear in θ: `offset + slope θ` and the measured accelerations, in compared columns."""

    real: jax.Array  # (samples, m)
    offset: jax.Array  # (samples, m)
    slope: jax.Array  # (samples, m, p)

    def fake(self, values, index) -> jax.Array:
        """(batch, m): sample `index[i]` with the values of row i (batch, p)."""
        return self.offset[index] + jnp.sum(self.slope[index] * values[:, None, :].astype(self.slope.dtype), axis=-1)

    def slopes(self, values) -> np.ndarray:
        """(samples, m, p): how they change with the values."""
        return np.asarray(self.slope)

    def at(self, values) -> np.ndarray:
        """(samples, m) with one set of values."""
        return np.asarray(self.offset) + np.asarray(self.slope) @ np.asarray(values)


class IntegratedSamples(eqx.Module):
    """Samples of any other map: the states of laws are integrated over whole records, for a few sets of values."""

    real: jax.Array
    problem: Problem
    motions: tuple
    columns: jax.Array
    records: tuple[int, ...] = eqx.field(static=True)
    begin: tuple[int, ...] = eqx.field(static=True)  # first and last sample of each record that belong here
    end: tuple[int, ...] = eqx.field(static=True)
    draws: int = eqx.field(static=True)

    def fake(self, values, index) -> jax.Array:
        """(batch, m): the first `draws` rows of values are used for all samples, in turn."""
        whole = jax.vmap(self.traced)(values[: self.draws])
        return whole[jnp.arange(index.shape[0]) % self.draws, index]

    def at(self, values) -> np.ndarray:
        """(samples, m) with one set of values."""
        return np.asarray(_traced(self, jnp.asarray(values)))

    def slopes(self, values) -> np.ndarray:
        """(samples, m, p): how they change with the values."""
        return np.asarray(_traced_slopes(self, jnp.asarray(values)))

    def traced(self, values) -> jax.Array:
        parts = [
            accelerations(self.problem, values, self.motions[r], r)[b:e]
            for r, b, e in zip(self.records, self.begin, self.end, strict=True)
        ]
        return jnp.concatenate(parts) @ self.columns


@eqx.filter_jit
def _traced(samples: IntegratedSamples, values):
    return samples.traced(values)


@eqx.filter_jit
def _traced_slopes(samples: IntegratedSamples, values):
    return jax.jacfwd(samples.traced)(values)


@eqx.filter_jit
def _table(problem, values, motions, columns):
    """Accelerations of all records and their slopes in θ, in compared columns."""
    tables = []
    for r, motion in enumerate(motions):

        def compared_at(theta, r=r, motion=motion):
            return accelerations(problem, theta, motion, r) @ columns

        tables.append((compared_at(values), jax.jacfwd(compared_at)(values)))
    return tables


@eqx.filter_jit
def _all(problem, values, motions, columns):
    return [accelerations(problem, values, m, r) @ columns for r, m in enumerate(motions)]


class AccelerationMap(NamedTuple):
    """Training and validation samples, and the size at which each unknown alone would explain the accelerations."""

    training: Tabulated | IntegratedSamples
    validation: Tabulated | IntegratedSamples
    sizes: np.ndarray  # (p,)
    linear: bool


def acceleration_map(problem: Problem, measured: Measured, columns, validation, draws: int = 8) -> AccelerationMap:
    """Tabulate or trace the map of a problem.

    Arguments
        validation: records kept for validation, or a share: the last part of every record.
        draws: sets of values in a batch where states must be integrated.
    """
    u = problem.unknowns
    start = np.asarray(u.start)
    table = jax.tree.map(np.asarray, _table(problem, jnp.asarray(start), measured.motions, jnp.asarray(columns)))
    real = [np.asarray(m[2]) @ columns for m in measured.motions]
    size = np.sqrt(np.mean(np.concatenate([s for _, s in table]) ** 2, axis=(0, 1)))
    alone = np.sqrt(np.mean(np.concatenate(real) ** 2)) / np.maximum(size, 1e-100)
    step = np.where(np.array(u.kinds) == "linear", alone, 0.3 * np.asarray(u.scale))
    moved = _all(problem, jnp.asarray(start + step), measured.motions, jnp.asarray(columns))
    curved = max(
        np.linalg.norm(np.asarray(there) - (here + slope @ step)) / (np.linalg.norm(slope @ step) + 1e-300)
        for there, (here, slope) in zip(moved, table, strict=True)
    )
    linear = bool(curved < 1e-6)
    sizes = np.where(np.array(u.kinds) == "linear", alone, np.asarray(u.scale)) if linear else np.asarray(u.scale)
    parts = _split([len(r) for r in real], validation)

    def samples(which):
        if linear:
            offset = [here - slope @ start for here, slope in table]
            slopes = [slope for _, slope in table]
            parts = (np.concatenate([p[r][b:e] for r, b, e in which]) for p in (real, offset, slopes))
            return Tabulated(*map(jnp.asarray, parts))
        records, begin, end = zip(*which, strict=True)
        target = jnp.asarray(np.concatenate([real[r][b:e] for r, b, e in which]))
        return IntegratedSamples(target, problem, measured.motions, jnp.asarray(columns), records, begin, end, draws)

    return AccelerationMap(samples(parts[0]), samples(parts[1]), sizes, linear)


def _split(lengths: list[int], validation) -> tuple[list, list]:
    """(record, first, last) of the samples for training and for validation."""
    if isinstance(validation, float):
        cuts = [round(n * (1 - validation)) for n in lengths]
        return [(r, 0, c) for r, c in enumerate(cuts)], [
            (r, c, n) for r, (c, n) in enumerate(zip(cuts, lengths, strict=True))
        ]
    kept = [(r, 0, n) for r, n in enumerate(lengths)]
    return [k for k in kept if k[0] not in validation], [k for k in kept if k[0] in validation]
