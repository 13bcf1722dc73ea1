"""Loads and motion of a known structure, sample by sample: an augmented Kalman filter in square-root form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from vibrid.core.errors import InputError
from vibrid.identification.loads.recursion import PENALTIES, augment, exact_motion
from vibrid.structures.sensors import Sensors

if TYPE_CHECKING:
    from vibrid.structures.base import Structure
    from vibrid.structures.sensors import Sensor


class Filtered(NamedTuple):
    """The filter between samples: mean (m,) and lower root (m, m) of motion and loads given all readings so far."""

    mean: jax.Array
    root: jax.Array
    inputs: jax.Array  # known inputs at the last sample


class Step(NamedTuple):
    """Estimate after a sample: loads with standard deviations, and the whitened innovation of its readings."""

    load: jax.Array
    deviation: jax.Array
    surprise: jax.Array


class LoadFilter(eqx.Module):
    """Loads at known places on a known linear structure, online: `state, step = filter(state, readings)`.

    It uses only past readings: displacements respond late to a load, so accelerometers near the loads matter more than
    offline; `find_loads` on the whole record is always better. Loads are a random walk (or as `penalty` states) from
    sample to sample, and linear in between.

    Arguments
        structure: linear, all parameters known.
        sensors: with their noise stated.
        loads: places of the unknown loads.
        step: s, sampling step.
        innovation: standard deviation of the change of each load from sample to sample, N (of its size for
            penalty="size"). One number, or one per load.
        first: N, standard deviation of the loads at the first sample.
        known: known inputs, such as (("ground_acceleration", ""),), given to every call.
    """

    transition: jax.Array
    drive: jax.Array
    output: jax.Array
    known_inputs: jax.Array  # (2, m, known): B of the next and of the last known inputs
    known_output: jax.Array  # (ny, known)
    noise: jax.Array
    innovation: jax.Array
    first: jax.Array
    size: int = eqx.field(static=True)

    def __init__(
        self,
        structure: Structure,
        sensors: Sequence[Sensor],
        loads,
        step,
        innovation,
        first=None,
        known=(),
        penalty: str = "difference",
    ):
        sensors = Sensors(sensors)
        noise = np.array([float(s.noise) for s in sensors])
        if not np.all(noise > 0):
            raise InputError("A load filter needs the noise of every sensor: Sensor('acceleration', 2, noise=0.01).")
        late = [s.label for s in sensors if float(s.delay)]
        if late:
            raise InputError(f"A load filter cannot use delayed sensors ({', '.join(late)}); align them first.")
        if penalty not in PENALTIES:
            raise InputError(f"The penalty on loads is one of {', '.join(PENALTIES)}, not '{penalty}'.")
        places = [loads] if isinstance(loads, str | int) else list(loads)
        inputs = (*known, *(("load", str(p)) for p in places))
        motion = exact_motion(structure, sensors, inputs, step, "linear")
        shares = np.zeros((1, len(inputs), len(places)))
        shares[0, len(known) + np.arange(len(places)), np.arange(len(places))] = 1.0
        system = augment(motion, jnp.asarray(shares), penalty)
        m, count = system.transition.shape[-1], len(known)
        below = jnp.zeros((2, m - system.size, count))
        self.transition, self.drive, self.output = system.transition[0], system.drive[0], system.output[0]
        self.known_inputs = jnp.concatenate([motion.inputs[0, :, :, :count], below], axis=1)
        self.known_output = motion.direct[0, :, :count]
        self.noise = jnp.asarray(noise)
        self.innovation = jnp.broadcast_to(jnp.asarray(innovation, float), (len(places),))
        wide = 100.0 * self.innovation if first is None else jnp.broadcast_to(jnp.asarray(first, float), (len(places),))
        self.first = jnp.zeros(m).at[system.size :].set(jnp.tile(wide, (m - system.size) // len(places)))
        self.size = system.size

    def start(self) -> Filtered | None:
        """The state before the first sample, at rest."""
        return None

    def __call__(self, state: Filtered | None, readings, inputs=None) -> tuple[Filtered, Step]:
        """One sample: readings (ny,), NaN where one is missing, and the known inputs at it."""
        inputs = jnp.zeros(self.known_output.shape[1]) if inputs is None else jnp.atleast_1d(jnp.asarray(inputs))
        if state is None:
            return _correct(self, jnp.zeros_like(self.first), jnp.diag(self.first), jnp.asarray(readings), inputs)
        return _advance(self, state, jnp.asarray(readings), inputs)


@eqx.filter_jit
def _advance(filter: LoadFilter, state: Filtered, readings, inputs):
    """Predict over one step, then correct with a sample."""
    after, before = filter.known_inputs
    mean = filter.transition @ state.mean + after @ inputs + before @ state.inputs
    tall = jnp.concatenate([(filter.transition @ state.root).T, (filter.drive * filter.innovation).T])
    return _correct(filter, mean, jnp.linalg.qr(tall, mode="r").T, readings, inputs)


@eqx.filter_jit
def _correct(filter: LoadFilter, mean, root, readings, inputs):
    ny, m = filter.output.shape
    there = jnp.isfinite(readings)
    output = filter.output * there[:, None]
    error = jnp.where(there, readings - filter.output @ mean - filter.known_output @ inputs, 0.0)
    top = jnp.concatenate([jnp.diag(jnp.where(there, filter.noise, 1.0)), jnp.zeros((ny, m))], axis=1)
    upper = jnp.linalg.qr(jnp.concatenate([top, root.T @ jnp.concatenate([output.T, jnp.eye(m)], axis=1)]), mode="r")
    surprise = solve_triangular(upper[:ny, :ny].T, error, lower=True)
    mean, root = mean + upper[:ny, ny:].T @ surprise, upper[ny:, ny:].T
    loads = filter.drive.shape[1]
    own = slice(filter.size, filter.size + loads)
    return Filtered(mean, root, inputs), Step(mean[own], jnp.sqrt((root[own] ** 2).sum(axis=1)), surprise)


def run_filter(filter: LoadFilter, readings, inputs=None) -> Step:
    """A whole record (samples, ny) at once, compiled: loads (samples, loads), deviations and surprises."""
    readings = jnp.asarray(readings)
    known = jnp.zeros((len(readings), filter.known_output.shape[1])) if inputs is None else jnp.asarray(inputs)
    state, first = filter(None, readings[0], known[0])
    rest = _run(filter, state, readings[1:], known[1:])
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, rest)


@eqx.filter_jit
def _run(filter, state, readings, inputs):
    return jax.lax.scan(lambda state, sample: _advance(filter, state, *sample), state, (readings, inputs))[1]
