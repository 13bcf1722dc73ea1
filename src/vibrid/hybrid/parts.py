"""The devices of a hybrid test: tested ones and modelled ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import equinox as eqx
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, Parameterised, parameter
from vibrid.hybrid.actuator import Actuator
from vibrid.hybrid.compensation import Compensator
from vibrid.hybrid.device import LawDevice, LoopDevice
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.substructure import Connection, Substructure
from vibrid.laws.base import Law
from vibrid.laws.commanded import Commanded
from vibrid.records.motions.similitude import Similitude

if TYPE_CHECKING:
    from vibrid.structures.base import Structure


def as_device(value: Law | LoopDevice | Substructure | Connection) -> Any:
    """The device of a law; devices, substructures and connections as they are."""
    if isinstance(value.law if isinstance(value, LawDevice) else value, Commanded):
        raise InputError(
            "A law with a command needs a control in a hybrid test: SemiActive(law, OnOff(2.0)), in a project file "
            '{kind = "semi-active", law = {…}, control = {on = 2.0}}.'
        )
    if isinstance(value, Law):
        return LawDevice(value)
    if not isinstance(value, LoopDevice | Substructure | Connection):
        raise InputError(f"A device is a law, a specimen, a network or a substructure, not {value!r}.")
    return value


def _text(value) -> str:
    return "" if value is None else str(value)


class Part(Parameterised):
    """A device at a place of the structure.

    Arguments
        device: a law, a specimen or network (`LoopDevice`), a `Substructure`, or a `Connection` to one.
        at, to: names of the places that it connects; without `to` it is connected to the ground. The deformation is
            the displacement of `at` − that of `to`.
        name: prefix of its channels.
        count: number of such devices in parallel; one is moved, its force is multiplied by this number.
    """

    device: LoopDevice = eqx.field(converter=as_device)  # or a substructure, or a connection to one
    at: str = eqx.field(static=True, converter=str)
    to: str = eqx.field(static=True, converter=_text, default="")
    name: str = eqx.field(static=True, default="")
    count: Parameter = parameter("devices in parallel", "", positive=True, default=1.0)

    @property
    def is_outside(self) -> bool:
        """Whether it is external: moved outside the compiled loop."""
        return not isinstance(self.device, LoopDevice)

    def row(self, structure: Structure) -> np.ndarray:
        """(n,): its deformation is `row @ x`."""
        return structure.row(self.at) - (structure.row(self.to) if self.to else 0.0)


class StandIn(Parameterised):
    """A virtual specimen with its actuator, which replaces an external device in a rehearsal."""

    device: LoopDevice = eqx.field(converter=as_device)
    actuator: Actuator | None = None


class Experimental(Part):
    """A tested device, virtual or in a laboratory.

    Arguments (beside those of `Part`)
        actuator: the actuator that moves a virtual specimen; moved exactly without one.
        compensator: compensation of the actuator's delay.
        rehearsal: the virtual specimen and actuator that replace an external device in `rehearse`.
        limits: safety limits of the device, at its own scale, checked on the commands that leave: after compensation.
            A test ends at the first command or reading beyond them.
    """

    actuator: Actuator | None = None
    compensator: Compensator | None = None
    rehearsal: StandIn | None = None
    limits: SafetyLimits | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        if self.actuator is not None and self.is_outside:
            raise InputError(f"'{self.name}' is external and has its own actuator: leave out the actuator.")


class Modelled(Part):
    """A modelled device, which may use measurements of a tested one.

    Arguments (beside those of `Part`)
        companion: name of the tested device whose measured motion, force and signals it is given at every step.
    """

    companion: str = eqx.field(static=True, default="")
    retired: ClassVar[dict[str, str]] = {"listens": "`listens` is called `companion` since 0.2."}

    def __new__(cls, *positional: Any, **named: Any) -> Self:
        for name in named:
            if name in cls.retired:
                raise InputError(cls.retired[name])
        return super().__new__(cls)

    def __check_init__(self) -> None:
        if self.is_outside:
            raise InputError(f"'{self.name}' is modelled, so its device is a law, a specimen or a network.")


@dataclass(frozen=True)
class Scaling:
    """Factors from the tested devices to the structure: quantity of the structure / that of the device.

    A structure at full scale with devices at half scale has length 2; with equal accelerations and stresses force is 4
    and time √2: `Scaling.similitude(2)`. Time counts as the structure's; the laboratory's is that over `time`.
    """

    length: float = 1.0
    force: float = 1.0
    time: float = 1.0

    def __post_init__(self) -> None:
        for name in ("length", "force", "time"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InputError(f"The factor of {name} must be a positive number, not {getattr(self, name)!r}.")

    @staticmethod
    def similitude(length: float) -> Scaling:
        """Equal accelerations and stresses: force length², time √length."""
        law = Similitude(length)
        return Scaling(law.length, law.force, law.time)
