"""A device in a testing machine: its deformation is imposed, its force is the response."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.laws.base import Law, check_law
from vibrid.structures.base import STRUCTURES, Structure
from vibrid.structures.model import Loads, Model

if TYPE_CHECKING:
    from vibrid.structures.model import Stack

IMPOSED = (("imposed_displacement", ""), ("imposed_velocity", ""))
"""The inputs of a device test."""


class ImposedTest(Structure):
    """A specimen in a testing machine: one deformation is imposed, one force is the response. Subclasses give its law.

    The record imposes `imposed_displacement` (and `imposed_velocity`; differentiated from it when absent).
    """

    place: ClassVar[str]  # name of the specimen for sensors

    def specimen(self) -> Law:
        """The law of the specimen."""
        raise NotImplementedError

    def matrices(self) -> tuple[jax.Array, jax.Array | None]:
        return jnp.ones(1), None

    def parts(self) -> list[tuple[str, Law, np.ndarray]]:
        return [(self.place, self.specimen(), np.ones((1, 1)))]

    def model(
        self, loads: Loads = IMPOSED, parts: Sequence[tuple[str, Law, np.ndarray] | Stack] | None = None
    ) -> Model:
        if tuple(q for q, _ in loads) != tuple(q for q, _ in IMPOSED):
            raise InputError("A device is driven by imposed_displacement and imposed_velocity, not by loads.")
        return dataclasses.replace(super().model((), parts), load_matrix=jnp.zeros((1, len(IMPOSED))), loads=IMPOSED)

    def row(self, place: str) -> np.ndarray:
        if str(place) not in (self.place, "0"):
            raise InputError(f"This test has one place, '{self.place}'; '{place}' is not it.")
        return np.ones(1)

    def ground_axes(self) -> dict[str, str]:
        return {}

    def ground(self, direction: str = "") -> NoReturn:
        raise InputError(f"A {type(self).__name__} does not stand on ground that moves.")


@STRUCTURES.register("device")
class Device(ImposedTest):
    """One law under an imposed deformation: a damper in a testing machine, a storey in a cyclic test.

    Sensors read `element_force` at "device".
    """

    law: Law
    place: ClassVar[str] = "device"

    def __check_init__(self) -> None:
        if not isinstance(self.law, Law):
            raise InputError(f"A device needs a law such as Bilinear(...), not {self.law!r}.")
        check_law(self.law)

    def specimen(self) -> Law:
        return self.law
