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
from vibrid.laws.commanded import Commanded
from vibrid.structures.base import STRUCTURES, Structure
from vibrid.structures.model import Loads, Model

if TYPE_CHECKING:
    from vibrid.structures.model import Part

IMPOSED = (("imposed_displacement", ""), ("imposed_velocity", ""))
"""The inputs of a device test."""
COMMANDED = (*IMPOSED, ("command", ""))
"""Those of a semi-active device."""


class ImposedTest(Structure):
    """A specimen in a testing machine: one deformation is imposed, one force is the response. Subclasses give its law.

    The record imposes `imposed_displacement` (and `imposed_velocity`; differentiated from it when absent).
    """

    place: ClassVar[str]  # name of the specimen for sensors

    def specimen(self) -> Law:
        """The law of the specimen."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """What drives it."""
        return COMMANDED if isinstance(self.specimen(), Commanded) else IMPOSED

    @property
    def _size(self) -> int:
        return len(self.inputs) - 1

    def matrices(self) -> tuple[jax.Array, jax.Array | None]:
        return jnp.ones(self._size), None

    def parts(self) -> list[Part]:
        return [(self.place, self.specimen(), np.eye(self._size))]

    def model(self, loads: Loads = IMPOSED, parts: Sequence[Part] | None = None) -> Model:
        inputs = self.inputs
        if tuple(q for q, _ in loads) not in (tuple(q for q, _ in known) for known in (IMPOSED, inputs)):
            raise InputError("A device is driven by imposed_displacement and imposed_velocity, not by loads.")
        none = jnp.zeros((self._size, len(inputs)))
        return dataclasses.replace(super().model((), parts), load_matrix=none, loads=inputs)

    def row(self, place: str) -> np.ndarray:
        if str(place) not in (self.place, "0"):
            raise InputError(f"This test has one place, '{self.place}'; '{place}' is not it.")
        return np.eye(self._size)[0]

    def ground_axes(self) -> dict[str, str]:
        return {}

    def ground(self, direction: str = "") -> NoReturn:
        raise InputError(f"A {type(self).__name__} does not stand on ground that moves.")


@STRUCTURES.register("device")
class Device(ImposedTest):
    """One law under an imposed deformation: a damper in a testing machine, a storey in a cyclic test.

    Sensors read `element_force` at "device". A `Commanded` law also needs a channel of quantity command.
    """

    law: Law
    place: ClassVar[str] = "device"

    def __check_init__(self) -> None:
        if not isinstance(self.law, Law):
            raise InputError(f"A device needs a law such as Bilinear(...), not {self.law!r}.")
        check_law(self.law)

    def specimen(self) -> Law:
        return self.law
