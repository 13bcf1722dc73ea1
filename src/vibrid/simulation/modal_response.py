"""The response of a structure that was simulated in its modes; the motion of a place is made when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.memory import refuse_without_memory
from vibrid.records.record import Record
from vibrid.simulation.in_modes import ModalSystem, modal_accelerations
from vibrid.simulation.parts_in_modes import Bulk, loops
from vibrid.simulation.response import Response, RunSettings, delayed
from vibrid.structures.base import Structure
from vibrid.structures.model import Loads
from vibrid.structures.sensors import Sensor, Sensors


@dataclass(frozen=True, eq=False)
class InModes:
    """How a response was computed in modes; printing it says so.

    Fields
        count, size: modes that were used, of all.
        shares: estimated error of the modes left out by quantity: the largest root mean square over all degrees of
            freedom over that of the response; empty where no mode was left out.
        corrected: whether the displacement has the static part of the modes left out.
        rows: deformations that laws act on, where these are no part of the modes; 0 for a linear structure.
    """

    count: int
    size: int
    shares: dict[str, float]
    corrected: bool
    rows: int = 0

    def __str__(self) -> str:
        errors = ", ".join(f"{name} {100 * share:.2g} %" for name, share in self.shares.items())
        if self.rows:
            modes = f"all {self.size} modes of the linear part, which leaves nothing out,"
            if self.corrected:
                modes = (
                    f"{self.count} of {self.size} coordinates, modes of the linear part and static shapes of laws and "
                    f"loads (estimated error of the others: {errors}),"
                )
            return f"by Newmark's method in {modes} with laws on {self.rows} deformations"
        if self.count == self.size:
            return f"in all {self.size} modes, which is exact"
        static = "with" if self.corrected else "without"
        return (
            f"in {self.count} of {self.size} modes {static} static correction; estimated error of the others: "
            f"{errors or 'not known'}"
        )


class ModalResponse(Response):
    """A `Response` that keeps the motion of modes; `modal` says how many, and with what error.

    `readings` and `measure` compute only what the sensors read. `displacement`, `velocity` and `acceleration` of all
    degrees of freedom are made on first use, and refused with their size where memory is too small.
    """

    modal: InModes
    system: ModalSystem
    coordinates: tuple[np.ndarray, np.ndarray, np.ndarray]  # (samples, k) q, q̇ and q̈
    bulk: Bulk | None

    def __init__(
        self,
        structure: Structure,
        excitation: Record,
        loads: Loads,
        inputs: np.ndarray,
        system: ModalSystem,
        motion: tuple[np.ndarray, ...],
        settings: RunSettings | None,
        modal: InModes,
        states: Any = None,
        bulk: Bulk | None = None,
    ):
        """`motion` is (q, q̇), or (q, q̇, q̈) beside the `states` of laws and the `bulk` that they act on."""
        whole = motion if len(motion) == 3 else (*motion, modal_accelerations(system, motion[0], motion[1], inputs))
        own = {
            "structure": structure, "excitation": excitation, "loads": loads, "inputs": inputs, "settings": settings,
            "system": system, "coordinates": whole, "modal": modal, "bulk": bulk,
        }  # fmt: skip
        for name, value in (own if states is None else own | {"states": states}).items():
            object.__setattr__(self, name, value)

    @cached_property
    def displacement(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        moved = self._everywhere(0, "displacement")
        return moved if self.system.static is None else moved + self.inputs @ self.system.static.T

    @cached_property
    def velocity(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._everywhere(1, "velocity")

    @cached_property
    def acceleration(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._everywhere(2, "acceleration")

    @cached_property
    def states(self) -> tuple:
        """Linear laws have none."""
        return tuple(() for _ in self.shape_of_model().groups)

    @checked
    def part(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Deformation (m) and force (N) of one part."""
        if self.bulk is None:
            return super().part(name)
        place = self.bulk.laws.part_index(name)
        q, v = map(jnp.asarray, self.coordinates[:2])
        e, f, _ = loops(self.bulk, q, v, self.states)
        return np.asarray(e[:, place]), np.asarray(f[:, place])

    def _everywhere(self, order: int, name: str) -> np.ndarray:
        samples, size = len(self.inputs), self.system.size
        refuse_without_memory(
            f"The {name} of {size} degrees of freedom at {samples} samples", 8.0 * samples * size,
            "take readings(sensors) of the places that matter, or a shorter record",
        )  # fmt: skip
        return self.coordinates[order] @ self.system.shapes.T

    def __repr__(self) -> str:
        return (
            f"Response of a {type(self.structure).__name__} to '{self.excitation.name}': {len(self.inputs)} samples, "
            f"{self.excitation.duration:g} s, {self.system.size} degrees of freedom\n  computed {self.modal}"
        )

    @checked
    def readings(self, sensors: Sequence[Sensor]) -> np.ndarray:
        """(samples, sensors) true readings: gain, delay and offset applied, no noise."""
        sensors = Sensors(sensors)
        arrays = self.structure.sensor_arrays(self.shape_of_model(), sensors)
        if arrays.forces is not None:
            return super().readings(sensors)
        y = self.inputs @ np.asarray(arrays.inputs).T
        for rows, own in zip(
            (arrays.displacement, arrays.velocity, arrays.acceleration), self.coordinates, strict=True
        ):
            if rows is not None:
                y = y + own @ (np.asarray(rows) @ self.system.shapes).T
        if arrays.displacement is not None and self.system.static is not None:
            y = y + self.inputs @ (np.asarray(arrays.displacement) @ self.system.static).T
        y = np.asarray(arrays.gain) * y + np.asarray(arrays.offset)
        delays = np.array([float(s.delay) for s in sensors])
        return np.asarray(delayed(y, jnp.asarray(delays), self.excitation.step)) if delays.any() else y
