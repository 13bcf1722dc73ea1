"""Virtual pairs of devices, to train a network that listens: a tested device and a modelled one that is like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import paths
from vibrid.core.errors import InputError
from vibrid.hybrid.device import LoopDevice
from vibrid.hybrid.learned.along import walk
from vibrid.laws.base import Motion
from vibrid.laws.linear import Linear
from vibrid.records.motions import synthetic_motion
from vibrid.records.record import Channel, Record
from vibrid.simulation.simulate import simulate
from vibrid.structures.damping import Modal
from vibrid.structures.shear import ShearBuilding

BATCH = 64
"""Pairs that are moved together."""
_STIFFNESS, _MASS, _RATIO = 9e6, 9e3, 0.08  # of the ordinary storey; the building's frequencies vary about it


def virtual_pairs(
    device: LoopDevice, vary: Mapping[str, float], likeness: float, count: int, *, largest: float = 0.03,
    seconds: float = 20.0, rate: float = 1024.0, keep: float = 256.0, seed: int = 0,
) -> Iterator[tuple[Record, Record]]:  # fmt: skip
    """Tests of a tested and of a modelled device, each in another storey of a building under a synthetic earthquake.

    Arguments
        device: an ordinary device: a law in a `LawDevice`, or a virtual specimen.
        vary: standard deviation of the logarithm of each parameter that differs from device to device, by its path;
            paths with commas between them vary together.
        likeness: correlation of the two devices of a pair, from 0 to 1.
        count: of the pairs.
        largest: m, the larger deformation of a pair is between a fifth of this and this.
        seconds: of every test.
        rate: Hz, at which devices are moved.
        keep: Hz, of the records; `rate` is a multiple of it.
        seed: of everything that is drawn.
    """
    if not vary:
        raise InputError("Name at least one parameter that differs from device to device.")
    if not 0.0 <= likeness <= 1.0:
        raise InputError(f"The likeness of two devices is between 0 and 1, not {likeness:g}.")
    names = tuple(tuple(path.strip() for path in key.split(",")) for key in vary)
    for path, spread in ((path, spread) for key, spread in zip(names, vary.values(), strict=True) for path in key):
        value = paths.get(device, path)
        if jnp.ndim(value) or not float(value) > 0.0 or not spread >= 0.0:
            raise InputError(f"'{path}' cannot vary: it needs a positive value and a spread, not {value} and {spread}.")
    every = round(rate / keep)
    if count < 1 or every < 1 or abs(every * keep - rate) > 1e-6 * rate:
        raise InputError("Virtual pairs need a count of at least 1, and a rate that is a multiple of the kept one.")
    rng = np.random.default_rng(seed)
    for first in range(0, count, BATCH):
        size = min(BATCH, count - first)
        motions = []
        for i in range(size):
            storeys = [Linear(_STIFFNESS * np.exp(rng.uniform(-0.7, 0.7)))] * 2
            quake = synthetic_motion((seed, first + i), duration=seconds, rate=rate, pga=4.0)
            x = simulate(ShearBuilding([_MASS] * 2, storeys, damping=Modal(_RATIO)), quake).displacement.T
            motions.append(np.stack([x[0], x[1] - x[0]]))
        x = np.stack(motions)
        x *= largest * rng.uniform(0.2, 1.0, (size, 1, 1)) / np.abs(x).max(axis=(1, 2), keepdims=True)
        common, *apart = rng.standard_normal((3, size, len(vary)))
        forces = []
        seeds = rng.integers(2**31 - 1, size=(2, size))
        for own, moved, drawn in zip(apart, x.swapaxes(0, 1), seeds, strict=True):
            normal = np.sqrt(likeness) * common + np.sqrt(1.0 - likeness) * own
            factors = np.exp(normal * np.array(list(vary.values())))
            forces.append(np.asarray(_moved(device, names, factors, drawn, moved, 1.0 / rate)))
        for i in range(size):
            tested, modelled = (
                _record(x[i, j, every - 1 :: every], forces[j][i, every - 1 :: every], keep, f"{name}-{first + i}")
                for j, name in enumerate(("tested", "modelled"))
            )
            yield tested, modelled


@eqx.filter_jit
def _moved(device: LoopDevice, names: tuple[tuple[str, ...], ...], factors, seeds, x, dt):
    """(count, samples) N, of devices with factors (count, parameters) on their own, along x (count, samples); `seeds`
    (count,) of their noise, where they have some."""

    def one(factors, seed, x) -> Any:
        changes = {path: paths.get(device, path) * factors[i] for i, key in enumerate(names) for path in key}
        varied: Any = paths.replace(device, changes)
        if hasattr(device, "seed"):
            varied = eqx.tree_at(lambda d: d.seed, varied, seed)
        return walk(varied, Motion(x, jnp.gradient(x) / dt), None, dt).force

    return jax.vmap(one)(jnp.asarray(factors), jnp.asarray(seeds, jnp.int32), jnp.asarray(x))


def _record(x: np.ndarray, force: np.ndarray, rate: float, name: str) -> Record:
    channels = [Channel("displacement", "imposed_displacement"), Channel("force", "element_force")]
    return Record(np.stack([x, force], axis=1), channels, step=1.0 / rate, name=name)
