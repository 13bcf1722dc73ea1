"""Plane frames of reinforced concrete: members with fibre sections, rigid joints, permanent loads and P-Δ."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.core.errors import Divergence, InputError, unknown_name
from vibrid.laws.base import Law
from vibrid.structures import elements as el
from vibrid.structures.assembled import Assembled
from vibrid.structures.base import GROUND, STRUCTURES, Attachment, as_attachments, as_damping
from vibrid.structures.damping import Damping
from vibrid.structures.fiber_checks import refuse_lost_sections
from vibrid.structures.fiber_elements import Settled
from vibrid.structures.integration import HINGES
from vibrid.structures.members import (
    FrameMember,
    LeaningColumn,
    MemberLoad,
    PermanentLoad,
    basic_rows,
    clear_length,
    end_forces,
    fixed_end_moments,
    member_law,
)
from vibrid.structures.model import Loads, Model, Stack, stack_laws
from vibrid.structures.nodes import (
    Nodes,
    PointMass,
    Tie,
    as_choice,
    as_names,
    as_point_masses,
    as_points,
    as_supports,
    as_ties,
    check_elements,
)
from vibrid.structures.p_delta import sway_row, with_p_delta
from vibrid.structures.sections import FiberSection, ReinforcedSection, stack_fibres
from vibrid.structures.static import Balance, settle

_BALANCED = 1e-6  # of the permanent load: allowed unbalanced force
_PATIENT = 8  # iterations of the state determination in static tests


@STRUCTURES.register("fiber-frame")
class FiberFrame(Assembled):
    """A plane frame whose members have fibre sections. Small displacements; P-Δ of members (`p_delta`) and by
    leaning columns.

    Arguments
        nodes: m, (x, y) of each node; y points up.
        members: `FrameMember`s between nodes.
        sections: `ReinforcedSection`s or `FiberSection`s, named by the members.
        supports: {node: what it holds}: "fixed" (x, y, rotation), "pinned" (x, y), "roller" (y), or names.
        masses: `PointMass`es at nodes; the members' own mass (density of their sections) is lumped at their ends.
        loads, member_loads: `PermanentLoad`s at nodes and `MemberLoad`s along members. They act before any motion:
            displacements and forces of parts count from the equilibrium under them.
        leaning: `LeaningColumn`s, which carry load without resisting drift.
        damping: None, `Rayleigh`, `Modal`, or a matrix; it follows the stiffness before any load.
        attachments: laws between places, or between a place and the ground.
        iterations: of the state determination of force-based members in one step.
        load_steps: in how many steps the permanent loads are applied.
        softening: "refuse" stops a run in which a section's stiffness turns negative and states where and when; "allow"
            continues (crushing cover causes it), and stops only for numbers that are not finite.
        names: names of the nodes, in their order, in place of their numbers ("12.x"); members keep the numbers.
        ties: `Tie`s: nodes that follow others, as on a rigid floor.

    Every degree of freedom needs mass: give sections a density, or masses with rotary inertia. Places are "3.x", "3.y"
    and "3.rotation". Sensors read `element_force` at "members[2].axial", ".moment_start" and ".moment_end" (the change
    since the permanent loads).
    """

    nodes: tuple[tuple[float, ...], ...] = eqx.field(static=True, converter=as_points)
    members: tuple[FrameMember, ...] = eqx.field(converter=tuple)
    sections: tuple[ReinforcedSection | FiberSection, ...] = eqx.field(converter=tuple)
    supports: tuple[tuple[str, tuple[str, ...]], ...] = eqx.field(static=True, converter=as_supports, default=())
    masses: tuple[PointMass, ...] = eqx.field(converter=as_point_masses, default=())
    loads: tuple[PermanentLoad, ...] = eqx.field(converter=tuple, default=())
    member_loads: tuple[MemberLoad, ...] = eqx.field(converter=tuple, default=())
    leaning: tuple[LeaningColumn, ...] = eqx.field(converter=tuple, default=())
    damping: Damping | None = eqx.field(converter=as_damping, default=None)
    attachments: tuple[Attachment, ...] = eqx.field(converter=as_attachments, default=())
    iterations: int = eqx.field(static=True, default=2)
    load_steps: int = eqx.field(static=True, default=10)
    softening: str = eqx.field(static=True, converter=as_choice("softening", "refuse", "allow"), default="refuse")
    names: tuple[str, ...] = eqx.field(static=True, converter=as_names, default=())
    ties: tuple[Tie, ...] = eqx.field(converter=as_ties, default=())
    directions: ClassVar[tuple[str, ...]] = ("x", "y", "rotation")
    ground_direction: ClassVar[str] = "x"
    mass_model: ClassVar[str] = "lumped"

    def __check_init__(self) -> None:
        for i, point in enumerate(self.nodes):
            if len(point) != 2:
                raise InputError(f"Node {i} of a plane frame needs x and y, not {len(point)} numbers.")
        check_elements(self.coordinates(), self.connectivity(), "member", self.joined_nodes())
        names = [section.name for section in self.sections]
        if len(set(names)) < len(names):
            raise InputError(f"Two sections have one name among {', '.join(names)}.")
        for i, member in enumerate(self.members):
            if member.section not in names:
                raise InputError(f"Member {i}: {unknown_name('section', member.section, names)}")
            if member.integration == HINGES and member.formulation != "elastic":
                self._check_hinges(i)
        if self.iterations < 1 or self.load_steps < 1:
            raise InputError("A fibre frame needs at least one iteration and one load step.")
        self.check_places()
        for load in self.loads:
            self._whole_row(load.at)
        for load in self.member_loads:
            if not 0 <= load.member < len(self.members):
                last = len(self.members) - 1
                raise InputError(f"A load acts on member {load.member}; members are numbered 0 to {last}.")
        for column in self.leaning:
            if not np.any(self._drift(column)):
                raise InputError(f"The leaning column at '{column.top}' joins places that cannot move.")

    # -- geometry and mass -----------------------------------------------------------------------------------------

    def coordinates(self) -> np.ndarray:
        return np.array(self.nodes)

    def connectivity(self) -> np.ndarray:
        return np.array([member.nodes for member in self.members], dtype=int).reshape(-1, 2)

    def make_nodes(self) -> Nodes:
        kinds = {"fixed": ("x", "y", "rotation"), "pinned": ("x", "y"), "roller": ("y",)}
        return Nodes(
            len(self.nodes), self.directions, self.supports, kinds, {}, (), self.names, self.ties, self.nodes
        )  # fmt: skip

    def section_of(self, member: FrameMember) -> ReinforcedSection | FiberSection:
        return next(section for section in self.sections if section.name == member.section)

    def _lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths between nodes and rotations (members, 6, 6)."""
        ends = self.coordinates()[self.connectivity()]
        along = ends[:, 1] - ends[:, 0]
        length = np.linalg.norm(along, axis=1)
        return length, el.beam_rotation(along / length[:, None])

    def length(self, member: int) -> float:
        """m, of a member between its nodes."""
        return float(self._lengths()[0][member])

    def basic_rows(self, member: int) -> np.ndarray:
        """(3, 6): elongation and end rotations of a member from x, y and rotation of its two nodes."""
        length, turn = self._lengths()
        return basic_rows(length[member], self.members[member].offsets) @ turn[member]

    def sway_row(self, member: int) -> np.ndarray:
        """(6,): sway of a member, of which P-Δ makes a force, from x, y and rotation of its two nodes."""
        length, turn = self._lengths()
        return sway_row(length[member], self.members[member].offsets) @ turn[member]

    def stiffness_terms(self) -> list[Any]:
        raise InputError(
            "The supports of a fibre frame move together: its members are not linear, and under different motions they "
            "need the displacement of the ground, which is not computed."
        )

    def mass_terms(self) -> list[Any]:
        length, turn = self._lengths()
        line_mass = jnp.stack([self.section_of(m).density * self.section_of(m).area for m in self.members])
        return [(line_mass, turn.transpose(0, 2, 1) @ el.beam_mass(length, lumped=True) @ turn)]

    def matrices(self) -> tuple[jax.Array, jax.Array | None]:
        nodes = self.nodes_and_supports()
        stiffness = None
        for column in self.leaning:
            drift = self._drift(column)
            geometric = -column.load / column.height * np.outer(drift, drift)
            stiffness = geometric if stiffness is None else stiffness + geometric
        mass = nodes.over_free(self._whole_mass())
        return (jnp.diagonal(mass) if self._mass_is_diagonal() else mass), stiffness

    def _drift(self, column: LeaningColumn) -> np.ndarray:
        return self.row(column.top) - (0.0 if column.bottom is None else self.row(column.bottom))

    # -- members as laws -------------------------------------------------------------------------------------------

    def kinds(self) -> dict[tuple[str, str, int, bool], list[int]]:
        """The members by formulation, integration, number of points and P-Δ: those of one kind are computed together,
        and their states are one group of a response."""
        kinds: dict[tuple[str, str, int, bool], list[int]] = {}
        for i, m in enumerate(self.members):
            points = 0 if m.integration == HINGES or m.formulation == "elastic" else m.points
            integration = "" if m.formulation == "elastic" else m.integration
            kinds.setdefault((m.formulation, integration, points, m.p_delta), []).append(i)
        return kinds

    def stacks(self) -> list[Stack]:
        """The members before any motion, under the loads along them; those of one kind together."""
        length, _ = self._lengths()
        nodes = self.nodes_and_supports()
        rows = np.zeros((len(self.members), 4, nodes.size))
        for i, dofs in enumerate(nodes.dofs(self.connectivity())):
            rows[i][:3, dofs], rows[i][3, dofs] = self.basic_rows(i), self.sway_row(i)
        fibres = stack_fibres(self.sections)
        names = [section.name for section in self.sections]
        stacks = []
        for kind, chosen in self.kinds().items():
            which = np.array([names.index(self.members[i].section) for i in chosen])
            p_delta = kind[3]

            def law(fibres, clear, hinges, load, kind=kind):
                formulation, integration, points, p_delta = kind
                made = member_law(fibres, clear, hinges, load, formulation, integration, points, self.iterations)
                return with_p_delta(made, clear) if p_delta else made

            stacked = jax.vmap(law)(
                jax.tree.map(lambda leaf, which=which: leaf[which], fibres),
                jnp.asarray([clear_length(length[i], self.members[i].offsets) for i in chosen]),
                jnp.stack([self._hinges(i) for i in chosen]),
                jnp.stack([self._load_along(i) for i in chosen]),
            )
            own = nodes.onto_free(rows[chosen, : 4 if p_delta else 3])
            stacks.append(Stack(tuple(f"members[{i}]" for i in chosen), stacked, own))
        return stacks

    def _hinges(self, member: int):
        given = self.members[member].hinges
        return jnp.broadcast_to(
            jnp.where(jnp.isnan(given), 0.5 * self.section_of(self.members[member]).depth, given), (2,)
        )

    def _check_hinges(self, member: int) -> None:
        """Each hinge takes four times its length of the member; together they must leave something between them."""
        hinges = self._hinges(member)
        clear = clear_length(self._lengths()[0][member], self.members[member].offsets)
        if isinstance(hinges, Tracer):
            return
        taken = 4 * float(hinges.sum())
        if taken >= clear:
            raise InputError(
                f"The plastic hinges of member {member} are too long: four times both is {taken:.3g} m, its clear "
                f"length {clear:.3g} m. Give shorter hinges, or use gauss-lobatto."
            )

    def _load_along(self, member: int):
        return sum((line.load for line in self.member_loads if line.member == member), jnp.zeros(()))

    def laws(self) -> list[Law]:
        return [stack.law for stack in self.stacks()] + [a.law for a in self.attachments]

    def parts(self) -> list[Stack]:
        """The members under their permanent loads."""
        return self.settled_stacks(_under_permanent_loads(self.for_large_steps())[0] if self.is_loaded else ())

    def settled_stacks(self, settled: Any) -> list[Stack]:
        """The members, each kind with its state under the permanent loads."""
        stacks = self.stacks()
        for i, own in enumerate(settled):
            law = jax.vmap(lambda law, e, s: law.settled_at(e, s))(stacks[i].law, own.deformation, own.state)
            stacks[i] = stacks[i]._replace(law=law)
        return stacks

    def built(self, loads: Loads = GROUND) -> Model:
        settled = _under_permanent_loads(self.for_large_steps())[0] if self.is_loaded else ()
        model = _built(self, loads, settled)
        bare = [] if isinstance(model.mass, Tracer) else np.flatnonzero(np.diag(np.asarray(model.mass_matrix)) <= 0)
        if loads and len(bare):
            raise InputError(
                f"'{self.degrees_of_freedom[bare[0]]}' has no mass, so it cannot be moved: give the sections a "
                "density, or the node a point mass with rotary inertia."
            )
        return model

    # -- permanent loads -------------------------------------------------------------------------------------------

    @property
    def is_loaded(self) -> bool:
        """Whether there are permanent loads."""
        return bool(self.loads or self.member_loads)

    def permanent(self) -> Balance:
        """Equilibrium under the permanent loads, from no load: displacements, states, the force left unbalanced."""
        return _under_permanent_loads(self.for_large_steps())[1]

    def load_vector(self) -> jax.Array:
        """N and N m at the free degrees of freedom: permanent loads at nodes, and end forces of those on members."""
        nodes = self.nodes_and_supports()
        length, turn = self._lengths()
        dofs = nodes.dofs(self.connectivity())
        total = sum((load.force * self._whole_row(load.at) for load in self.loads), jnp.zeros(nodes.size))
        for i in {line.member for line in self.member_loads}:
            member, load = self.members[i], self._load_along(i)
            brought = end_forces(length[i], member.offsets, load)
            if member.formulation == "elastic":
                held = fixed_end_moments(length[i], member.offsets, load)
                brought = brought - basic_rows(length[i], member.offsets).T @ held
            total = total.at[dofs[i]].add(turn[i].T @ brought)
        return total @ nodes.following if nodes.ties else total[nodes.free]

    def for_large_steps(self) -> Self:
        return dataclasses.replace(self, iterations=max(self.iterations, _PATIENT))

    def check_states(self, states: Any, when: np.ndarray, unit: str = "s") -> None:
        """Refuse a run in which the permanent loads found no equilibrium or a section lost its stiffness."""
        if self.is_loaded:
            left, load = float(self.permanent().unbalanced), float(jnp.abs(self.load_vector()).max())
            if not left <= _BALANCED * load:
                raise Divergence(
                    f"The permanent loads find no equilibrium: the residual is {left:.3g} N. Use more load_steps, or "
                    "check whether the frame can carry them."
                )
        names = [[f"members[{i}]" for i in chosen] for chosen in self.kinds().values()]
        refuse_lost_sections(names, states, when, unit, self.softening == "allow")


@eqx.filter_jit
def _built(frame: FiberFrame, loads, settled) -> Model:
    return frame.model(loads, frame.settled_stacks(settled))


@eqx.filter_jit
def _under_permanent_loads(frame: FiberFrame) -> tuple[list[Settled], Balance]:
    """The members' deformations and states under the permanent loads, by kind, and the equilibrium."""
    load, size = frame.load_vector(), len(frame.nodes_and_supports().free)
    rows, groups, names = stack_laws(frame.stacks(), size)
    unit, none = jnp.ones(size), jnp.zeros((size, 0))
    model = Model(unit, unit, None, frame.matrices()[1], rows, groups, none, (), names)

    def at(factor):
        members: tuple[Any, ...] = groups
        loaded = tuple(dataclasses.replace(g, law=g.law.with_share(factor)) for g in members)
        return dataclasses.replace(model, groups=loaded), factor * load

    balance = settle(at, size, frame.load_steps)
    moved = model.deformations(balance.x, jnp.zeros(size)).e
    return [Settled(g.cut(moved), state) for g, state in zip(groups, balance.s, strict=True)], balance
