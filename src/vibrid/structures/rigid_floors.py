"""A building in plan: rigid floors that move in x and y and turn, on frame lines that resist along their direction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import as_entries, as_floats
from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import Law, check_law
from vibrid.structures.base import STRUCTURES, Attachment, Structure, as_attachments, as_damping
from vibrid.structures.damping import Damping

_DIRECTIONS = ("x", "y", "rotation")


def _as_direction(value: Any) -> str | float:
    if isinstance(value, str):
        if value not in ("x", "y"):
            raise InputError(
                f"A frame line stands along 'x', 'y' or an angle in degrees from x towards y, not '{value}'."
            )
        return value
    return as_floats([value], "the angle of a frame line in degrees")[0]


def _as_point(value: Any) -> tuple[float, float]:
    point = as_floats(value, "the position of a frame line")
    if len(point) != 2:
        raise InputError(f"A frame line stands at a point (x, y) of the plan, not at {len(point)} numbers.")
    return point[0], point[1]


class FrameLine(eqx.Module):
    """A plane frame or wall of a building, which resists the drift of its storeys along one direction.

    Arguments
        storeys: one law per storey, from the ground up; fewer than there are floors where the line ends below the roof.
        at: m, (x, y) of a point on the line.
        direction: "x", "y", or the angle of the line in degrees from x towards y.
    """

    storeys: tuple[Law, ...] = eqx.field(converter=lambda value: as_entries(value, "storey laws"))
    at: tuple[float, float] = eqx.field(static=True, converter=_as_point)
    direction: str | float = eqx.field(static=True, converter=_as_direction)

    def __check_init__(self) -> None:
        if not self.storeys:
            raise InputError("A frame line needs a law for at least its lowest storey.")
        for i, law in enumerate(self.storeys):
            if not isinstance(law, Law):
                raise InputError(f"Storey {i} of a frame line needs a law such as Linear(stiffness=...), not {law!r}.")
            if law.components != 1:
                raise InputError(f"Storey {i} of a frame line needs a law of one deformation.")
        for law in {id(law): law for law in self.storeys}.values():
            check_law(law)

    @property
    def along(self) -> tuple[float, float]:
        """The unit vector of its direction."""
        if isinstance(self.direction, str):
            return (1.0, 0.0) if self.direction == "x" else (0.0, 1.0)
        angle = np.radians(self.direction)
        return float(np.cos(angle)), float(np.sin(angle))

    @property
    def row(self) -> np.ndarray:
        """(3,): its displacement along its direction from x, y and rotation of a floor."""
        c, s = self.along
        return np.array([c, s, self.at[0] * s - self.at[1] * c])


def _as_lines(value: Iterable[FrameLine]) -> tuple[FrameLine, ...]:
    lines = as_entries(value, "frame lines")
    for item in lines:
        if not isinstance(item, FrameLine):
            raise InputError(f"A frame line is written FrameLine(storeys, at=(x, y), direction='x'), not {item!r}.")
    return lines


@STRUCTURES.register("rigid-floor-building")
class RigidFloorBuilding(Structure):
    """A building whose floors move in x and y and turn about the vertical, each as one rigid plate.

    Arguments
        masses: kg, one per floor, lowest first.
        rotary: kg m², rotary inertia of the floors about their centres of mass: one number, or one per floor. A uniform
            rectangle of sides a and b has m (a² + b²)/12.
        lines: `FrameLine`s; the drift of a storey is taken at the line, along its direction.
        centre_x, centre_y: m, centres of mass in plan: one number, or one per floor.
        damping: None, `Rayleigh`, `Modal`, or a matrix.
        attachments: further laws between places, or between a place and the ground.
        incidence: rad, angle of incidence of the ground motion: its x is turned by it from x towards y of the plan, and
            its y likewise. Absolute accelerations stay those along the axes of the plan.

    Places are "1.x", "1.y" and "1.rotation": floor 1 (0 is the lowest, "roof" the last) at the origin of the plan; and
    "1@6.0,2.5.x": the point (6.0, 2.5) m of that floor. Rotations are in rad from x towards y. A drift is that of the
    storey under a floor. Lines are read as `element_force` at "lines[2].storeys[0]". The ground moves in x and y.
    """

    masses: Parameter = parameter("floor masses", "kg", positive=True)
    rotary: Parameter = parameter("rotary inertia of the floors about their centres of mass", "kg m^2", positive=True)
    lines: tuple[FrameLine, ...] = eqx.field(converter=_as_lines)
    centre_x: Parameter = parameter("x of the centres of mass", "m", default=0.0)
    centre_y: Parameter = parameter("y of the centres of mass", "m", default=0.0)
    damping: Damping | None = eqx.field(converter=as_damping, default=None)
    attachments: tuple[Attachment, ...] = eqx.field(converter=as_attachments, default=())
    incidence: Parameter = parameter("angle from x of the plan to x of the ground motion", "rad", default=0.0)

    def __check_init__(self) -> None:
        n = self.floors
        if n == 0:
            raise InputError("A building needs the mass of each floor: masses = [2e4, 2e4].")
        for name in ("rotary", "centre_x", "centre_y"):
            if getattr(self, name).shape not in ((), (n,)):
                raise InputError(f"'{name}' is one number, or one for each of the {n} floors.")
        if isinstance(self.damping, Law | tuple):
            raise InputError(
                "Laws of damping belong to frame lines (Parallel) or attachments; damping here is Rayleigh, Modal or a "
                "matrix."
            )
        for i, line in enumerate(self.lines):
            if len(line.storeys) > n:
                raise InputError(f"Frame line {i} has {len(line.storeys)} storeys and the building {n} floors.")
        self._check_lines()
        for a in self.attachments:
            for place in filter(None, (a.at, a.to)):
                self.row(place)

    def _check_lines(self) -> None:
        """Refuse a storey that could move without any force."""
        for storey in range(self.floors):
            rows = [line.row for line in self.lines if len(line.storeys) > storey]
            joined = [self.row(a.at) - (0.0 if a.to is None else self.row(a.to)) for a in self.attachments]
            drift = slice(3 * storey, 3 * storey + 3)
            rows += [row[drift] for row in joined if np.any(row[drift])]
            if np.linalg.matrix_rank(np.array(rows).reshape(-1, 3)) < 3:
                raise InputError(
                    f"Storey {storey} can move or turn without resistance: it needs lines in two directions, and three "
                    "lines at least that do not meet in one point."
                )

    @property
    def floors(self) -> int:
        return self.masses.shape[0] if self.masses.ndim == 1 else 0

    # -- the model -------------------------------------------------------------------------------------------------

    def matrices(self) -> tuple[jax.Array, jax.Array | None]:
        """M over x, y and rotation of each floor at the origin of the plan; its lines are laws."""
        n = self.floors
        each = (jnp.broadcast_to(v, (n,)) for v in (self.masses, self.rotary, self.centre_x, self.centre_y))
        return jax.scipy.linalg.block_diag(*(_mass_of_floor(*values) for values in zip(*each, strict=True))), None

    def parts(self) -> list[tuple[str, Law, np.ndarray]]:
        parts = []
        for i, line in enumerate(self.lines):
            for storey, law in enumerate(line.storeys):
                row = self._at_floor(storey, line.row) - (self._at_floor(storey - 1, line.row) if storey else 0.0)
                parts.append((f"lines[{i}].storeys[{storey}]", law, row[None, :]))
        return parts

    def _at_floor(self, floor: int, values: np.ndarray) -> np.ndarray:
        row = np.zeros(3 * self.floors)
        row[3 * floor : 3 * floor + 3] = values
        return row

    # -- places ----------------------------------------------------------------------------------------------------

    @property
    def degrees_of_freedom(self) -> tuple[str, ...]:
        """Names of the degrees of freedom of the model, in order; each is a place."""
        return tuple(f"{floor}.{direction}" for floor in range(self.floors) for direction in _DIRECTIONS)

    def places(self) -> tuple[str, ...]:
        return tuple(name for name in self.degrees_of_freedom if not name.endswith(".rotation"))

    def split(self, place: str) -> tuple[int, tuple[float, float], str]:
        """Floor, point (x, y) and direction of a place."""
        where, _, direction = str(place).strip().rpartition(".")
        if direction not in _DIRECTIONS:
            raise InputError(f"'{place}' needs a direction: write '{place}.x', '{place}.y' or '{place}.rotation'.")
        floor, at, point = where.partition("@")
        try:
            x, y = (float(v) for v in point.split(",")) if at else (0.0, 0.0)
        except ValueError:
            raise InputError(f"'{place}' names no point of a floor; write it like '0@6.0,2.5.x'.") from None
        if not np.isfinite([x, y]).all():
            raise InputError(f"'{place}' names no point of a floor; write it like '0@6.0,2.5.x'.")
        return self._floor(floor), (x, y), direction

    def _floor(self, name: str) -> int:
        text = name.strip().lower()
        if text in ("roof", "top"):
            return self.floors - 1
        if text.isdigit() and int(text) < self.floors:
            return int(text)
        raise InputError(
            f"'{name}' is not a floor of this building; they are numbered 0 to {self.floors - 1}, the last is 'roof'."
        )

    def row(self, place: str) -> np.ndarray:
        floor, point, direction = self.split(place)
        return self._at_floor(floor, _point_row(point, direction))

    def rotation_row(self, place: str) -> np.ndarray:
        text = str(place)
        return self.row(text if text.endswith(".rotation") else f"{text}.rotation")

    def drift_row(self, place: str) -> np.ndarray:
        floor, point, direction = self.split(place)
        own = _point_row(point, direction)
        return self._at_floor(floor, own) - (self._at_floor(floor - 1, own) if floor else 0.0)

    # -- ground ----------------------------------------------------------------------------------------------------

    def ground_axes(self) -> dict[str, str]:
        return {"x": "horizontal", "y": "horizontal"}

    def ground(self, direction: str = "") -> jax.Array:
        c, s, none = jnp.cos(self.incidence), jnp.sin(self.incidence), jnp.zeros(())
        axis = self.ground_axis(direction)
        return jnp.tile(jnp.stack([c, s, none] if axis == "x" else [-s, c, none]), self.floors)


def _mass_of_floor(mass, rotary, x, y) -> jax.Array:
    """(3, 3) at the origin, of a mass at (x, y)."""
    zero = jnp.zeros_like(mass)
    return jnp.stack([
        jnp.stack([mass, zero, -mass * y]),
        jnp.stack([zero, mass, mass * x]),
        jnp.stack([-mass * y, mass * x, rotary + mass * (x**2 + y**2)]),
    ])  # fmt: skip


def _point_row(point: tuple[float, float], direction: str) -> np.ndarray:
    """(3,): motion of a point in a direction from x, y and rotation of its floor at the origin."""
    return np.array({"x": [1, 0, -point[1]], "y": [0, 1, point[0]], "rotation": [0, 0, 1]}[direction], float)
