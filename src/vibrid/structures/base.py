"""The base class of structures: an engineer's description that compiles to a `Model`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.core import paths
from vibrid.core.arguments import Numbers, as_entries
from vibrid.core.attached import attached
from vibrid.core.errors import InputError, Refusal
from vibrid.core.memory import refuse_without_memory
from vibrid.core.numbers import as_array, is_known
from vibrid.core.parameters import Parameterised
from vibrid.core.registry import Registry
from vibrid.core.shown import InNotebooks
from vibrid.core.shown_parameters import lines_of
from vibrid.laws.base import Law, check_law
from vibrid.structures.damping import Damping, Explicit
from vibrid.structures.ground import axis_of, refuse_repeated
from vibrid.structures.model import Loads, Model, Part, stack_laws
from vibrid.structures.sensors import SensorArrays, compile_sensors

if TYPE_CHECKING:
    import pandas

    from vibrid.structures.sensors import Sensor

STRUCTURES = Registry("structure")

MANY_PARTS = 24

GROUND = (("ground_acceleration", ""),)
"""The usual input: one ground acceleration."""


class Attachment(eqx.Module):
    """A law between a place and the ground, or between two places.

    Deformation = displacement of `at` − displacement of `to` (0 when `to` is the ground).
    """

    law: Law
    at: str = eqx.field(static=True, converter=str)
    to: str | None = eqx.field(static=True, default=None, converter=lambda v: None if v is None else str(v))

    def __check_init__(self) -> None:
        if not isinstance(self.law, Law):
            raise InputError(f"An attachment needs a law such as Linear(stiffness=...), not {self.law!r}.")
        check_law(self.law)


# fmt: off
_ONLY_CALLED = frozenset({
    "matrices", "parts", "laws", "row", "drift_row", "carried", "ground", "ground_axes", "ground_axis",
    "ground_inertia", "driven_along", "built", "model", "moves_supports_apart", "check_states", "_check_memory",
    "_dampers", "_floor",
})
# fmt: on


class Structure(Parameterised, InNotebooks):
    """Base of all structures. Subclasses give `matrices`, `row` and, where they have them, `parts`.

    Fields that subclasses declare: `damping` (None, a `Damping`, or laws) and `attachments`.
    """

    def __repr__(self) -> str:
        return lines_of(self)

    if not TYPE_CHECKING:

        def __getattribute__(self, name, /):
            """Methods that are only ever called are bound as Python does: Equinox goes through all laws every time."""
            return object.__getattribute__(self, name) if name in _ONLY_CALLED else super().__getattribute__(name)

    # -- given by a subclass ---------------------------------------------------------------------------------------

    def matrices(self) -> tuple[jax.Array, jax.Array | None]:
        """(M, K): mass (n,) or (n, n) and the linear stiffness (n, n) or None, supports applied."""
        raise NotImplementedError

    def parts(self) -> Sequence[Part]:
        """(name, law, rows) of the laws that belong to the structure itself, or stacks of them."""
        return []

    def row(self, place: str) -> np.ndarray:
        """(n,): the displacement at a place is `row @ x`."""
        raise NotImplementedError

    def places(self) -> tuple[str, ...]:
        """Places of its degrees of freedom, rotations excepted, for sensors that could be added; none where it has no
        names for them."""
        return ()

    def rotation_row(self, place: str) -> np.ndarray:
        """(n,): the rotation at a place is `rotation_row @ x`."""
        return self.row(place)

    def drift_row(self, place: str) -> np.ndarray:
        raise Refusal(f"A {type(self).__name__} has no drifts to measure; use displacement at two places.")

    def strain_row(self, place: str) -> np.ndarray | jax.Array:
        raise Refusal(f"A {type(self).__name__} has no strain to measure.")

    def force_row(self, place: str) -> np.ndarray | jax.Array:
        raise InputError(f"'{place}' is not a part whose force can be measured here.")

    def ground_axes(self) -> dict[str, str]:
        """The directions in which the ground can move it, the first by default, each "horizontal", "vertical" or ""."""
        return {"": ""}

    def ground(self, direction: str = "") -> np.ndarray | jax.Array:
        """(n,): rigid-body displacement of every degree of freedom for a unit ground displacement."""
        raise NotImplementedError

    def ground_inertia(self, direction: str = "") -> Any:
        """(n,) kg: inertia force of every degree of freedom per unit ground acceleration, `M r`.

        Structures whose consistent mass couples free nodes to supported ones add the inertia of that coupling.
        """
        mass = self.matrices()[0]
        r = self.ground(direction)
        if is_known(mass) and mass.ndim == 1:
            return np.asarray(mass) * np.asarray(r)
        return mass * r if mass.ndim == 1 else mass @ jnp.asarray(r)

    def carried(self, place: str, direction: str = "") -> np.ndarray | jax.Array:
        """How far a place moves with a unit ground displacement: it makes a relative motion absolute."""
        return self.row(place) @ self.ground(direction)

    def moves_supports_apart(self, loads: Loads) -> bool:
        """Whether the inputs move supports differently: how far the ground carries it then depends on its stiffness."""
        return False

    def for_large_steps(self) -> Structure:
        """The same structure for static tests, whose steps are larger than those of a motion."""
        return self

    def check_states(self, states: Any, when: np.ndarray, unit: str = "s") -> None:
        """Refuse a run whose recorded states (one for each of `when`, in s or steps) show that a part failed."""

    # -- common to all ---------------------------------------------------------------------------------------------

    def ground_axis(self, direction: str = "") -> str:
        """The direction of ground motion for a name: one of `ground_axes`, or a name in files for it."""
        return axis_of(self.ground_axes(), direction, f"the {type(self).__name__}")

    def laws(self) -> list[Law]:
        """The laws of all parts and attachments."""
        return [law for _, law, _ in self.parts()] + [a.law for a in getattr(self, "attachments", ())]

    def replace(self, changes: Mapping[str, Any]) -> Self:
        """A copy with the values at some paths changed: `replace({"storeys[0].stiffness": 50.0})`."""
        structure = paths.replace(self, changes)
        paths.check(structure, changes)
        return structure

    @attached
    def from_pandas(self, frame: pandas.DataFrame) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """A copy with the parameters of a table, as `to_pandas()` of a structure or of a fit writes it.

        The index has the names of the parameters, the column `value` (or `estimate`) the numbers, `unit` their units;
        without a unit a number is SI. Parameters that the table does not name stay.
        """
        ...

    def built(self, loads: Loads = GROUND) -> Structure | Model:
        """What a run should be compiled for: the structure, or its model where building it takes long.

        The laws of a structure with many are stacked before a program is compiled, whose size then does not depend on
        their number.
        """
        known = not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(self))
        return self.model(loads) if known and self.has_many_parts else self

    @property
    def size(self) -> int:
        """Degrees of freedom of its model."""
        return eqx.filter_eval_shape(lambda s: s.matrices()[0], self).shape[-1]

    def shape_of_model(self, loads: Loads = GROUND) -> Model:
        """The model without its numbers: names and places only."""
        return eqx.filter_eval_shape(lambda s: s.model(loads), self)

    @property
    def has_many_parts(self) -> bool:
        """Whether it has so many laws that a program with one argument for each of their numbers compiles slowly."""
        return len(self.laws()) > MANY_PARTS

    def model(self, loads: Loads = GROUND, parts: Sequence[Part] | None = None) -> Model:
        """Compile for the given inputs: a tuple of ("ground_acceleration", direction) or ("load", place).

        A `Damping` of the whole structure follows its own stiffness, attachments excepted. `parts` replace those of the
        structure itself where they are known already.
        """
        loads = self.driven_along(loads)
        self._check_memory()
        mass, stiffness = self.matrices()
        n = mass.shape[-1]
        parts = list(self.parts() if parts is None else parts)
        count = len(parts)
        for i, a in enumerate(getattr(self, "attachments", ())):
            row = self.row(a.at) - (0.0 if a.to is None else self.row(a.to))
            parts.append((f"attachments[{i}]", a.law, np.asarray(row)[None, :]))
        rows, groups, names = stack_laws(parts, n)
        columns = [
            -self.ground_inertia(place) if quantity == "ground_acceleration" else self.row(place)
            for quantity, place in loads
        ]
        model = Model(
            mass=mass,
            inverse_mass=_reciprocal(mass) if mass.ndim == 1 else jnp.linalg.inv(mass),
            damping=None,
            stiffness=stiffness,
            incidence=rows,
            groups=groups,
            load_matrix=_side_by_side(columns, n),
            loads=loads,
            parts=names,
        )
        damping = getattr(self, "damping", None)
        if isinstance(damping, Damping):
            rows, groups, names = stack_laws(parts[:count], n)
            bare = dataclasses.replace(model, incidence=rows, groups=groups, parts=names)
            model = dataclasses.replace(model, damping=damping.matrix(model.mass_matrix, bare.initial_matrices()[2]))
        return model

    def _check_memory(self) -> None:
        """Refuse full matrices that would not fit in memory: M, its inverse, C and K, twice."""
        size = self.size
        if size > MANY_PARTS:
            refuse_without_memory(
                f"A model of {size} degrees of freedom with full matrices", 64.0 * size * size,
                "give its matrices to SparseMatrices, or reduce it first",
            )  # fmt: skip

    def driven_along(self, loads: Loads) -> tuple[tuple[str, str], ...]:
        """The inputs with the structure's own names of directions; two ground motions in one direction are refused."""
        inputs = tuple((q, self.ground_axis(place) if q == "ground_acceleration" else place) for q, place in loads)
        ground = [i for i, (quantity, _) in enumerate(inputs) if quantity == "ground_acceleration"]
        words, axes = [f"'{loads[i][1]}'" for i in ground], [inputs[i][1] for i in ground]
        refuse_repeated(words, axes, f"the {type(self).__name__}", "The inputs")
        return inputs

    def sensor_arrays(self, model: Model, sensors: Sequence[Sensor]) -> SensorArrays:
        """The sensors compiled for a model of this structure."""
        return compile_sensors(self, model, sensors)


def _reciprocal(mass: jax.Array) -> jax.Array:
    """1 / m of every degree of freedom."""
    return as_array(1.0 / np.asarray(mass)) if is_known(mass) else 1.0 / mass


def _side_by_side(columns: Sequence[Any], size: int) -> jax.Array:
    """The columns as a matrix (size, columns)."""
    if all(map(is_known, columns)):
        return as_array(np.stack(columns, axis=1) if columns else np.zeros((size, 0)))
    return jnp.stack([jnp.asarray(column, float) for column in columns], axis=1)


def as_damping(value: Damping | Law | Sequence[Law] | Numbers | None) -> Any:
    """Accept None, a Damping, one law, several laws, or a matrix of numbers."""
    if value is None or isinstance(value, Damping | Law):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(v, Law) for v in value):
        return tuple(value)
    return Explicit(cast("Numbers", value))  # an empty list or one of other things is refused there


def as_attachments(value: Iterable[Attachment]) -> tuple[Attachment, ...]:
    attachments = as_entries(value, "attachments")
    for item in attachments:
        if not isinstance(item, Attachment):
            raise InputError(f"An attachment is written Attachment(law, at=place), not {item!r}.")
    return attachments
