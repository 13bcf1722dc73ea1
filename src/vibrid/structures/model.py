"""The model that every structure compiles to: arrays, stacked laws and pure functions only.

    M ẍ + C ẋ + K x + Bᵀ f(Bx, Bẋ, s) = L u

x are displacements relative to the ground; each row of B turns them into one deformation; f are the forces of the
laws; u are the inputs (ground acceleration, loads at places).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.core.errors import InputError, Refusal, unknown_name
from vibrid.core.linalg import matvec, solve
from vibrid.laws.base import Law, Motion, refuse_without_rate
from vibrid.structures.incidence import Entries, Incidence, IncidenceRow, incidence, rows_of

if TYPE_CHECKING:
    from vibrid.structures.pattern import Pattern
    from vibrid.structures.sensors import SensorArrays

Loads: TypeAlias = Sequence[tuple[str, str]]
PhasePoint: TypeAlias = tuple[jax.Array, jax.Array]  # displacements and velocities
"""Inputs of a model: (quantity, place or direction) of each."""


class Group(eqx.Module):
    """Laws of one type, stacked: every array of `law` has a leading axis of `count` parts."""

    law: Law
    count: int = eqx.field(static=True)
    index: tuple[int, ...] = eqx.field(static=True)  # the row of B of each deformation of each part

    @property
    def components(self) -> int:
        return self.law.components

    @property
    def rows(self) -> slice | np.ndarray:
        """Its rows in B: a slice where they follow each other, which is faster than a list."""
        first, last = self.index[0], self.index[-1]
        return slice(first, last + 1) if self.index == tuple(range(first, last + 1)) else np.array(self.index)

    def cut(self, values: jax.Array) -> jax.Array:
        """This group's part of a vector over all rows: (count,) or (count, components)."""
        values_here = values[self.rows]
        return values_here if self.components == 1 else values_here.reshape(self.count, self.components)

    def add(self, total: jax.Array, own: jax.Array) -> jax.Array:
        """`total` over all rows with this group's forces added."""
        if self.index == tuple(range(total.shape[0])):
            return total + own
        return total.at[self.rows].add(own)


class Model(eqx.Module):
    """M, C, K, the rows B with their laws, and the inputs. Built by `Structure.model(loads)`."""

    mass: jax.Array  # (n, n), or (n,) when diagonal
    inverse_mass: jax.Array  # the same shape
    damping: jax.Array | None  # (n, n) N s/m
    stiffness: jax.Array | None  # (n, n) N/m
    incidence: Incidence | None  # the rows B, each deformation once however many laws share it
    groups: tuple[Group, ...]
    load_matrix: jax.Array  # L: (n, m)
    loads: tuple[tuple[str, str], ...] = eqx.field(static=True)  # (quantity, place or direction) of each input
    parts: tuple[tuple[str, int], ...] = eqx.field(static=True)  # name of each part and its place among part forces
    batched: bool = eqx.field(static=True, default=False)
    pattern: Pattern | None = eqx.field(static=True, default=None)  # for equations that are not solved in full

    @property
    def size(self) -> int:
        return self.mass.shape[-1]

    # -- products ----------------------------------------------------------------------------------------------

    def times(self, matrix: jax.Array, vector: jax.Array) -> jax.Array:
        return matvec(matrix, vector, self.batched)

    def mass_times(self, a: jax.Array) -> jax.Array:
        return self.mass * a if self.mass.ndim == 1 else self.times(self.mass, a)

    def divide_mass(self, f: jax.Array) -> jax.Array:
        return self.inverse_mass * f if self.inverse_mass.ndim == 1 else self.times(self.inverse_mass, f)

    def load(self, u: jax.Array) -> jax.Array:
        """L u: the load vector in newtons."""
        return self.times(self.load_matrix, u)

    @property
    def rows(self) -> jax.Array | np.ndarray | None:
        """B (r, n) as one matrix."""
        return None if self.incidence is None else self.incidence.dense()

    @property
    def mass_matrix(self) -> jax.Array:
        return jnp.diag(self.mass) if self.mass.ndim == 1 else self.mass

    # -- equations of a step -------------------------------------------------------------------------------------

    def zero_matrix(self) -> jax.Array:
        return jnp.zeros((self.size, self.size))

    def numbers_of(self, matrix: Any) -> jax.Array:
        """The numbers of C or K."""
        return matrix

    def assembled(self, group: Group, slopes: jax.Array) -> jax.Array:
        """`Σ Bᵀ k B` over the parts of a group."""
        assert self.incidence is not None
        return self.incidence.assemble(group.index, slopes)

    def prepared(self, matrix: jax.Array) -> jax.Array:
        """A matrix of a whole run, for many solutions: its inverse."""
        return jnp.linalg.inv(matrix)

    def solve_prepared(self, prepared: jax.Array, right: jax.Array) -> jax.Array:
        return self.times(prepared, right)

    def solve(self, matrix: jax.Array, right: jax.Array) -> jax.Array:
        return solve(matrix, right)

    def solve_function(self, function: Callable[[jax.Array], jax.Array], right: jax.Array) -> jax.Array:
        """x of `function(x) = right`, a linear function."""
        return solve(jax.vmap(function, out_axes=1)(jnp.eye(self.size)), right)

    # -- the laws ----------------------------------------------------------------------------------------------

    def start(self) -> Any:
        """States of all laws at rest: one entry a group."""
        return tuple(jax.vmap(lambda law: law.start(), axis_size=g.count)(g.law) for g in self.groups)

    def deformations(self, x: jax.Array, v: jax.Array) -> Motion:
        """Deformation and rate of every row."""
        if self.incidence is None:
            return Motion(jnp.zeros(0), jnp.zeros(0))
        return Motion(self.incidence.deform(x, self.batched), self.incidence.deform(v, self.batched))

    def _group_forces(self, x, v, s) -> list:
        e, w = self.deformations(x, v)
        return [
            jax.vmap(lambda law, e, w, state: law.force(e, w, state))(g.law, g.cut(e), g.cut(w), state).reshape(-1)
            for g, state in zip(self.groups, s, strict=True)
        ]

    def part_forces(self, x: jax.Array, v: jax.Array, s: Any) -> jax.Array:
        """The forces of every part, in the order of `parts`."""
        return jnp.concatenate([jnp.zeros(0), *self._group_forces(x, v, s)])

    def part_deformations(self, x: jax.Array, v: jax.Array) -> Motion:
        """The deformations of every part and their rates, in the order of `parts`."""
        motion = self.deformations(x, v)
        return Motion(*(jnp.concatenate([jnp.zeros(0)] + [value[g.rows] for g in self.groups]) for value in motion))

    def forces(self, x: jax.Array, v: jax.Array, s: Any) -> jax.Array:
        """All forces that oppose the motion, inertia excepted: C v + K x + Bᵀ f."""
        total = jnp.zeros_like(x)
        if self.stiffness is not None:
            total = total + self.times(self.stiffness, x)
        if self.damping is not None:
            total = total + self.times(self.damping, v)
        if self.incidence is not None:
            by_row = jnp.zeros(self.incidence.shape[0])
            for g, forces in zip(self.groups, self._group_forces(x, v, s), strict=True):
                by_row = g.add(by_row, forces)
            total = total + self.incidence.gather(by_row, self.batched)
        return total

    def rates(self, x: jax.Array, v: jax.Array, s: Any) -> Any:
        """ds/dt of every state; a path law is refused."""
        motion = self.deformations(x, v)
        for g in self.groups:
            refuse_without_rate(g.law)
        return tuple(
            jax.vmap(lambda law, e, w, state: law.state_rate(e, w, state))(
                g.law, g.cut(motion.e), g.cut(motion.w), state
            )
            for g, state in zip(self.groups, s, strict=True)
        )

    def advance(self, s: Any, before: PhasePoint, after: PhasePoint, dt: jax.Array | float) -> Any:
        """States after a step from the motion `before` = (x, v) to `after`; `s` is the committed state."""
        if self.incidence is None:
            return s
        b, a = self.deformations(*before), self.deformations(*after)
        return tuple(
            jax.vmap(lambda law, state, e0, w0, e1, w1: law.advance(state, Motion(e0, w0), Motion(e1, w1), dt))(
                g.law, state, g.cut(b.e), g.cut(b.w), g.cut(a.e), g.cut(a.w)
            )
            for g, state in zip(self.groups, s, strict=True)
        )

    def recorded(self, s: Any) -> Any:
        """The part of the states that a response keeps."""
        pairs = zip(self.groups, s, strict=True)
        return tuple(jax.vmap(lambda law, state: law.recorded(state))(g.law, state) for g, state in pairs)

    def tangent(
        self,
        s: Any,
        before: PhasePoint,
        after: PhasePoint,
        dx: jax.Array | float,
        dv: jax.Array | float,
        dt: jax.Array | float,
        end: Any = None,
    ) -> jax.Array:
        """d(forces)/dq at the end of a step from `before` = (x, v) to `after`, whose displacement moves by `dx q` and
        velocity by `dv q`; states of the laws included. `end` are the states there where they are known already."""
        total = self.zero_matrix()
        if self.stiffness is not None:
            total = total + dx * self.numbers_of(self.stiffness)
        if self.damping is not None:
            total = total + dv * self.numbers_of(self.damping)
        if self.incidence is None:
            return total
        b, a = self.deformations(*before), self.deformations(*after)
        known = [None] * len(self.groups) if end is None else end
        for g, state, there in zip(self.groups, s, known, strict=True):

            def slope(law, state, there, e0, w0, e1, w1):
                return law.slope(state, Motion(e0, w0), Motion(e1, w1), dt, dx, dv, there)

            k = jax.vmap(slope)(g.law, state, there, g.cut(b.e), g.cut(b.w), g.cut(a.e), g.cut(a.w))
            total = total + self.assembled(g, k.reshape(g.count, g.components, g.components))
        return total

    def acceleration(self, x: jax.Array, v: jax.Array, s: Any, u: jax.Array) -> jax.Array:
        """Relative acceleration of every degree of freedom in m/s²."""
        return self.divide_mass(self.load(u) - self.forces(x, v, s))

    def residual(
        self, x: jax.Array, v: jax.Array, a: jax.Array, s: Any, ds: Any, u: jax.Array
    ) -> tuple[jax.Array, Any]:
        """The residuals of a motion in the equations: (force residual in N, ds/dt residual)."""
        dynamic = self.mass_times(a) + self.forces(x, v, s) - self.load(u)
        return dynamic, jax.tree.map(lambda given, law: given - law, ds, self.rates(x, v, s))

    # -- linear views --------------------------------------------------------------------------------------------

    def initial_matrices(self) -> tuple[jax.Array, jax.Array, jax.Array]:
        """M, C, K of small quick motions about rest, with every law replaced by its first slope."""
        stiffness, damping = (
            self.zero_matrix() if own is None else self.numbers_of(own) for own in (self.stiffness, self.damping)
        )
        if self.incidence is None:
            return self.mass_matrix, damping, stiffness
        for g in self.groups:
            shape = (g.count, g.components, g.components)
            k = jax.vmap(lambda law: law.initial_stiffness())(g.law).reshape(shape)
            c = jax.vmap(lambda law: law.initial_damping())(g.law).reshape(shape)
            stiffness = stiffness + self.assembled(g, k)
            damping = damping + self.assembled(g, c)
        return self.mass_matrix, damping, stiffness

    @property
    def is_linear(self) -> bool:
        return all(g.law.is_linear for g in self.groups)

    def linear(self) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """M, C, K, L of a linear structure; a nonlinear one is refused with the names of its nonlinear laws."""
        if not self.is_linear:
            nonlinear = sorted({type(g.law).__name__ for g in self.groups if not g.law.is_linear})
            raise Refusal(
                f"The structure is not linear ({', '.join(nonlinear)}), so it has no constant M, C, K. "
                "Use initial_matrices() for small motions about rest, or a method that accepts nonlinear laws."
            )
        return (*self.initial_matrices(), self.load_matrix)

    # -- measuring -----------------------------------------------------------------------------------------------

    @property
    def part_places(self) -> dict[str, int]:
        """The place of every part among `part_forces`; "part.component" too where a part has several forces."""
        owners = [g.law for g in self.groups for _ in range(g.count)]
        places = {}
        for (name, place), law in zip(self.parts, owners, strict=True):
            places[name] = place
            places |= {f"{name}.{component}": place + i for i, component in enumerate(law.component_names)}
        return places

    def part_index(self, name: str) -> int:
        """The place of a part among `part_forces`."""
        if name not in self.part_places:
            raise unknown_name("part", name, self.part_places)
        return self.part_places[name]

    def output(
        self, sensors: SensorArrays, x: jax.Array, v: jax.Array, a: jax.Array, s: Any, u: jax.Array
    ) -> jax.Array:
        """The readings of the sensors (`SensorArrays`), without noise and delay."""
        y = self.times(sensors.inputs, u)
        if sensors.displacement is not None:
            y = y + self.times(sensors.displacement, x)
        if sensors.velocity is not None:
            y = y + self.times(sensors.velocity, v)
        if sensors.acceleration is not None:
            y = y + self.times(sensors.acceleration, a)
        if sensors.forces is not None:
            y = y + self.times(sensors.forces, self.part_forces(x, v, s))
        return sensors.gain * y + sensors.offset


class Stack(NamedTuple):
    """Parts with laws of one type that are stacked already: a leading axis over the parts on every array."""

    names: tuple[str, ...]
    law: Law
    rows: np.ndarray  # (parts, components, n)


Part: TypeAlias = tuple[str, Law, np.ndarray | Entries] | Stack
"""(name, law, rows) of one part, or a stack of parts."""


def stack_laws(
    parts: Sequence[Part], size: int
) -> tuple[Incidence | None, tuple[Group, ...], tuple[tuple[str, int], ...]]:
    """Gather parts with laws of one type (and one structure) into groups.

    `parts` are (name, law, rows) with rows of shape (components, n) or as `Entries`, or `Stack`s of them, each a group
    of its own. Returns the rows B, groups and part names.
    """
    kinds: dict = {}
    kind_of: dict[int, Any] = {}  # of every law object: the same one may be many parts
    for part in parts:
        if isinstance(part, Stack):
            kinds[part.names] = part
            continue
        name, law, rows = part
        if id(law) not in kind_of:
            leaves, tree = jax.tree.flatten(law)
            kind_of[id(law)] = tree, tuple(np.shape(leaf) for leaf in leaves)
        kinds.setdefault(kind_of[id(law)], []).append((name, law, rows))
    unique: dict[tuple, int] = {}
    distinct: list[IncidenceRow] = []
    groups, names, place = [], [], 0
    for members in kinds.values():
        index = []
        stacked = isinstance(members, Stack)
        each = zip(members.names, [members.law] * len(members.names), members.rows, strict=True) if stacked else members
        for name, law, given in each:
            rows = rows_of(given, size)
            if rows is None or len(rows) != law.components:
                raise InputError(f"Part '{name}' needs {law.components} rows of {size} numbers, not {np.shape(given)}.")
            names.append((name, place))
            place += law.components
            for row in rows:
                if row.key not in unique:
                    unique[row.key] = len(distinct)
                    distinct.append(row)
                index.append(unique[row.key])
        law = members.law if stacked else stacked_laws([m[1] for m in members])
        groups.append(Group(law, len(members.names) if stacked else len(members), tuple(index)))
    return (incidence(distinct, size) if distinct else None), tuple(groups), tuple(names)


def stacked_laws(laws: Sequence[Law]) -> Law:
    """Laws of one type as one law whose arrays have a leading axis; numbers that are known are stacked at once."""

    def stack(*leaves):
        known = not any(isinstance(leaf, Tracer) for leaf in leaves)
        return jax.device_put(np.stack([np.asarray(leaf) for leaf in leaves])) if known else jnp.stack(leaves)

    return jax.tree.map(stack, *laws)
