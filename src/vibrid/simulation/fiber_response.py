"""The response inside a fibre frame: sections, fibres, base shear, drifts and hinges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from vibrid.core.errors import InputError
from vibrid.structures.fiber_checks import positive_definite
from vibrid.structures.fiber_frame import FiberFrame
from vibrid.structures.members import clear_length
from vibrid.structures.p_delta import PDeltaElement

KINDS = ("concrete", "steel")


@dataclass(frozen=True, eq=False)
class SectionHistory:
    """One section of a member over the samples of a response, permanent loads included."""

    strain: np.ndarray  # at mid-depth
    curvature: np.ndarray  # 1/m
    axial: np.ndarray  # N, tension positive
    moment: np.ndarray  # N m


@dataclass(frozen=True, eq=False)
class FibreHistory:
    """Strain and stress (N/m², tension positive) of one fibre, and the height (m) at which it is."""

    height: float
    strain: np.ndarray
    stress: np.ndarray


@dataclass(frozen=True)
class Hinge:
    """The largest values at one end of a member."""

    member: int
    end: str
    curvature: float  # 1/m
    steel: float  # largest strain of a bar over its yield strain
    concrete: float  # largest compressive strain of the core over its crushing strain
    softened: bool  # whether the section's stiffness was negative at some time


@dataclass(frozen=True)
class FrameSummary:
    """Drifts and hinges of a response; printing it gives two tables.

    `drifts`: (storey height m, largest drift m, residual drift m) from the lowest storey up.
    """

    drifts: tuple[tuple[float, float, float], ...]
    hinges: tuple[Hinge, ...]
    base_shear: float

    def __repr__(self) -> str:
        lines = ["storey   height      drift         residual", "              m     mm       %     mm       %"]
        for i, (height, most, left) in enumerate(self.drifts):
            parts = f"{1e3 * most:6.1f} {100 * most / height:7.2f} {1e3 * left:6.1f} {100 * left / height:7.2f}"
            lines.append(f"{i:6d} {height:8.3f} {parts}")
        lines += ["", "member  end    curvature   steel   core  softened", "                     1/m    ε/εy   ε/εu"]
        for h in self.hinges:
            ratios = f"{h.steel:7.2f} {h.concrete:6.2f}"
            lines.append(f"{h.member:6d}  {h.end:5s} {h.curvature:10.4f} {ratios}  {'yes' if h.softened else 'no'}")
        lines.append(f"largest base shear {self.base_shear / 1e3:.1f} kN")
        return "\n".join(lines)


def _group_of(frame: FiberFrame, member: int) -> tuple[int, int]:
    """The group of a member among the states of a response, and its row there."""
    return next((i, own.index(member)) for i, own in enumerate(frame.kinds().values()) if member in own)


class _Place:
    """A member among the groups of a response: the group's number, its states, and the member's row in them."""

    def __init__(self, response, member: int):
        frame = response.structure
        if not isinstance(frame, FiberFrame):
            raise InputError(f"Sections and fibres belong to a fibre frame, not to a {type(frame).__name__}.")
        if not 0 <= member < len(frame.members):
            raise InputError(f"Member {member} is not there; members are numbered 0 to {len(frame.members) - 1}.")
        if frame.members[member].formulation == "elastic":
            raise InputError(f"Member {member} is elastic and has no fibres.")
        self.group, self.row = _group_of(frame, member)
        self.states = response.states[self.group]

    def section(self, number: int) -> int:
        count = self.states.stiffness.shape[-1]
        if not -count <= number < count:
            raise InputError(f"The member has {count} sections, numbered 0 to {count - 1}; there is no {number}.")
        return number % count


def section_history(response, member: int, section: int = 0) -> SectionHistory:
    """Moment and curvature of one section (0 is at the first node, −1 at the last) of a response or pushover."""
    place = _Place(response, member)
    k = place.section(section)
    e, f = (np.asarray(values)[:, place.row, :, k] for values in (place.states.deformation, place.states.section_force))
    return SectionHistory(e[:, 0], e[:, 1], f[:, 0], f[:, 1])


def fibre_history(response, member: int, section: int = 0, height: float = 0.0, kind: str = "concrete") -> FibreHistory:
    """Stress and strain of the fibre nearest a height (m above mid-depth) of "concrete" or "steel".

    The strain follows from the recorded section; the stress from the material, sample by sample.
    """
    if kind not in KINDS:
        raise InputError(f"A fibre is of concrete or steel, not '{kind}'.")
    place = _Place(response, member)
    k, which = place.section(section), KINDS.index(kind)
    law = jax.tree.map(np.asarray, response.structure.built(()).groups[place.group].law)
    law: Any = law.member if isinstance(law, PDeltaElement) else law
    fibres = jax.tree.map(lambda leaf: leaf[place.row], law.fibres[which])
    used = np.where(np.asarray(fibres.areas) > 0, np.abs(np.asarray(fibres.heights) - height), np.inf)
    chosen = int(np.argmin(used))
    at = float(fibres.heights[chosen])
    history = section_history(response, member, section)
    strain = history.strain - at * history.curvature
    material = jax.tree.map(lambda leaf: leaf[chosen], fibres.material)
    start = material.start()
    if law.settled is not None:
        start = jax.tree.map(lambda leaf: leaf[place.row, k, chosen], law.settled.state.fibres[which])
    return FibreHistory(at, strain, np.asarray(_walk(material, start, strain)))


@jax.jit
def _walk(material, start, strain):
    def step(s, e):
        stress, _, s = material.respond(s, e)
        return s, stress

    return jax.lax.scan(step, start, strain)[1]


def base_shear(response) -> np.ndarray:
    """(samples,) N, horizontal force of all members that stand on a support, positive in x; P-Δ included."""
    frame = response.structure
    if not isinstance(frame, FiberFrame):
        raise InputError(
            f"base_shear adds the forces of the members of a FiberFrame; this response is of a {type(frame).__name__}. "
            "For a shear building, take the force of the first storey: response.part('storeys[0]')[1]."
        )
    held = {frame.nodes_and_supports().number(node) for node, _ in frame.supports}
    total = np.zeros(len(response.displacement))
    for i, member in enumerate(frame.members):
        for end, node in enumerate(member.nodes):
            if node in held:
                total = total + _end_forces(response, i)[:, 3 * end]
    return total


def _end_forces(response, member: int) -> np.ndarray:
    """(samples, 6) N and N m of a member at its two nodes, in x, y and rotation."""
    frame = response.structure
    nodes, (group, row) = frame.nodes_and_supports(), _group_of(frame, member)
    x = response.displacement + (np.asarray(frame.permanent().x) if frame.is_loaded else 0.0)
    ends = np.eye(nodes.size)[nodes.dofs(frame.connectivity()[[member]])[0]]
    moved = x @ nodes.onto_free(ends).T
    if frame.members[member].formulation == "elastic":
        law = frame.stacks()[group].law
        law: Any = law.member if isinstance(law, PDeltaElement) else law
        forces = moved @ frame.basic_rows(member).T @ np.asarray(law.stiffness[row])
    else:
        forces = np.asarray(response.states[group].force)[:, row]
    at_ends = forces @ frame.basic_rows(member)
    if frame.members[member].p_delta:
        length = clear_length(frame.length(member), frame.members[member].offsets)
        sway = moved @ frame.sway_row(member)
        at_ends = at_ends + (forces[:, 0] * sway / length)[:, None] * frame.sway_row(member)
    return at_ends


def frame_summary(response) -> FrameSummary:
    """Largest and last drift of every storey, the largest values at every member end, and the largest base shear."""
    frame = response.structure
    levels: dict[float, int] = {}
    for i, (_, y) in enumerate(frame.nodes):
        levels.setdefault(y, i)
    drifts, below = [], None
    for y, node in sorted(levels.items()):
        free = f"{node}.x" in frame.degrees_of_freedom
        x = response.displacement @ frame.row(f"{node}.x") if free else np.zeros(len(response.displacement))
        if below is not None:
            drift = x - below[1]
            drifts.append((y - below[0], float(np.abs(drift).max()), float(drift[-1])))
        below = y, x
    hinges = [
        _hinge(response, i, end)
        for i, member in enumerate(frame.members)
        if member.formulation != "elastic"
        for end in ("start", "end")
    ]
    return FrameSummary(tuple(drifts), tuple(hinges), float(np.abs(base_shear(response)).max()))


def _hinge(response, member: int, end: str) -> Hinge:
    fibers = response.structure.section_of(response.structure.members[member])
    section = 0 if end == "start" else -1
    history = section_history(response, member, section)
    bars = np.asarray(fibers.bar_heights)
    steel = np.abs(history.strain[:, None] - bars * history.curvature[:, None]).max()
    edge = 0.5 * float(fibers.depth) - float(fibers.cover)
    core = (np.abs(edge * history.curvature) - history.strain).max()
    place = _Place(response, member)
    stiffness = np.asarray(place.states.stiffness)[:, place.row]
    yield_strain = float(fibers.steel.yield_stress / fibers.steel.modulus)
    return Hinge(
        member,
        end,
        float(np.abs(history.curvature).max()),
        float(steel / yield_strain),
        float(core / fibers.core.crushing_strain),
        bool(~positive_definite(stiffness)[:, section].all()),
    )
