"""The shear building: floors that move sideways, storeys that resist drift."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np

from vibrid.core.arguments import as_entries
from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import Law, check_law
from vibrid.structures.base import STRUCTURES, Attachment, Structure, as_attachments, as_damping
from vibrid.structures.damping import Damping
from vibrid.structures.incidence import Entries


@STRUCTURES.register("shear-building")
class ShearBuilding(Structure):
    """A chain of floor masses joined by storey laws; floor 0 is the lowest above the ground.

    Arguments
        masses: kg, one per floor, lowest first.
        storeys: one law per storey; storey i joins floor i − 1 (the ground for i = 0) to floor i. `Parallel([...])`
            puts several laws in one storey.
        damping: None; a law used in every storey (its parameters shared, its state not); one law per storey; or
            `Rayleigh`, `Modal`, or a matrix for the whole building.
        attachments: further laws between floors, or between a floor and the ground.

    Places are floor numbers "0" … "N−1" and "roof". Drift i belongs to storey i.
    """

    masses: Parameter = parameter("floor masses", "kg", positive=True)
    storeys: tuple[Law, ...] = eqx.field(converter=lambda value: as_entries(value, "storey laws"))
    damping: Damping | Law | tuple[Law, ...] | None = eqx.field(converter=as_damping, default=None)
    attachments: tuple[Attachment, ...] = eqx.field(converter=as_attachments, default=())

    def __check_init__(self) -> None:
        n = self.masses.shape[0] if self.masses.ndim == 1 else 0
        if n == 0 or len(self.storeys) != n:
            raise InputError(
                f"A shear building needs one storey law for each floor: {n} masses and {len(self.storeys)} storeys "
                "were given."
            )
        for i, law in enumerate(self.storeys):
            if not isinstance(law, Law):
                raise InputError(f"Storey {i} needs a law such as Linear(stiffness=...), not {law!r}.")
        laws = self.damping if isinstance(self.damping, tuple) else (self.damping,)
        for law in {id(law): law for law in (*self.storeys, *laws) if isinstance(law, Law)}.values():
            check_law(law)
        if isinstance(self.damping, tuple) and len(self.damping) != n:
            raise InputError(f"Give one damping law for each of the {n} storeys, not {len(self.damping)}.")

    @property
    def floors(self) -> int:
        return len(self.storeys)

    @property
    def size(self) -> int:
        return self.floors

    def matrices(self) -> tuple[jax.Array, jax.Array | None]:
        return self.masses, None

    def parts(self) -> list[tuple[str, Law, Entries]]:
        count = self.floors
        named = [(f"storeys[{i}]", i, law) for i, law in enumerate(self.storeys)]
        named += [(f"damping[{i}]", i, law) for i, law in enumerate(self._dampers())]
        return [(name, law, _rows(i, law.components, count)) for name, i, law in named]

    def laws(self) -> list[Law]:
        return [*self.storeys, *self._dampers(), *(a.law for a in self.attachments)]

    def _dampers(self) -> tuple[Law, ...]:
        """The damping law of every storey; none where the damping is of the whole building."""
        if isinstance(self.damping, Law):
            return (self.damping,) * self.floors
        return self.damping if isinstance(self.damping, tuple) else ()

    def places(self) -> tuple[str, ...]:
        return tuple(str(floor) for floor in range(self.floors))

    def row(self, place: str) -> np.ndarray:
        row = np.zeros(self.floors)
        row[self._floor(place)] = 1.0
        return row

    def drift_row(self, place: str) -> np.ndarray:
        i = self._floor(place)
        return self.row(place) - (self.row(str(i - 1)) if i else 0.0)

    def ground_axes(self) -> dict[str, str]:
        return {"": "horizontal"}

    def ground(self, direction: str = "") -> np.ndarray:
        self.ground_axis(direction)
        return np.ones(self.floors)

    def _floor(self, place: str) -> int:
        text = str(place).strip().lower()
        if text in ("roof", "top"):
            return self.floors - 1
        if text.isdigit() and int(text) < self.floors:
            return int(text)
        raise InputError(
            f"'{place}' is not a floor of this building; they are numbered 0 to {self.floors - 1}, the last is 'roof'."
        )


def _rows(floor: int, components: int, floors: int) -> Entries:
    """The drift below a floor, and the displacement of the floor for laws that need both."""
    columns = np.array([[floor, max(floor - 1, 0)], [floor, floor]])
    weights = np.array([[1.0, -1.0 if floor else 0.0], [1.0, 0.0]])
    return Entries(columns[:components], weights[:components], floors)
