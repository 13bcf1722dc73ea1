"""The experiment: the structure, the sensors on it, and how it stood when each record began."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from vibrid.core import paths
from vibrid.core.parameters import parameter
from vibrid.structures.base import Structure
from vibrid.structures.sensors import Sensor

ROOTS = ("structure", "sensors", "initial")


class Initial(eqx.Module):
    """Displacement and velocity of every degree of freedom at the first sample of a record."""

    displacement: object = parameter("displacement at the start", "m")
    velocity: object = parameter("velocity at the start", "m/s")

    @staticmethod
    def rest(size: int) -> Initial:
        return Initial(jnp.zeros(size), jnp.zeros(size))


class Experiment(eqx.Module):
    """Everything an unknown can point at: `structure`, `sensors[i]`, `initial[record]`."""

    structure: Structure
    sensors: tuple[Sensor, ...]
    initial: tuple[Initial, ...]

    @staticmethod
    def full_path(path: str) -> str:
        """A path from the experiment; one that starts elsewhere belongs to the structure."""
        first = paths.parse(path)[0]
        return path if first in ROOTS else f"structure.{path}"

    def short_path(self, path: str) -> str:
        """The same path as an engineer would write it."""
        return path.removeprefix("structure.")
