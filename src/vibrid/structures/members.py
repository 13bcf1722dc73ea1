"""Members of a fibre frame as the user writes them, and their laws."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, Parameterised, parameter
from vibrid.structures.fiber_elements import DisplacementElement, ElasticElement, ForceElement
from vibrid.structures.integration import HINGES, RULES, along_member
from vibrid.structures.nodes import as_choice

FORMULATIONS = ("force", "displacement", "elastic")


def _pair(value) -> tuple[float, float]:
    shares = tuple(float(v) for v in value)
    if len(shares) != 2 or min(shares) < 0 or sum(shares) >= 1:
        raise InputError(f"Rigid offsets are two shares of the member's length, together below 1, not {value!r}.")
    return shares


def _ends(value) -> tuple[int, int]:
    pair = tuple(int(v) for v in value)
    if len(pair) != 2:
        raise InputError(f"A member joins two nodes, not {len(pair)}.")
    return pair


class FrameMember(Parameterised):
    """A beam or column between two nodes.

    Arguments
        nodes: (first, last); the member's axis points from the first to the last, its left side is up on a beam drawn
            to the right.
        section: name of its `ReinforcedSection`.
        formulation: "force" (default), "displacement" (many short members needed), or "elastic" (uncracked, linear).
        integration: "hinge-radau" (plastic hinges at both ends, six sections), "gauss-lobatto" or "gauss-legendre".
        points: number of sections of the Gauss rules.
        hinges: m, plastic-hinge lengths at the first and last node; by default half the depth of the section.
        offsets: shares of the length between nodes that are rigid at the first and last node, inside the joints.
        p_delta: whether its axial force N acts over the sway w of its ends, a force N w / L across it (the PDelta
            transformation of OpenSees).
    """

    nodes: tuple[int, int] = eqx.field(static=True, converter=_ends)
    section: str = eqx.field(static=True, converter=str)
    formulation: str = eqx.field(static=True, converter=as_choice("formulation", *FORMULATIONS), default="force")
    integration: str = eqx.field(static=True, converter=as_choice("integration", *RULES), default=HINGES)
    points: int = eqx.field(static=True, default=5)
    hinges: Parameter = parameter("plastic-hinge lengths at the two ends", "m", positive=True, default=np.nan)
    offsets: tuple[float, float] = eqx.field(static=True, converter=_pair, default=(0.0, 0.0))
    p_delta: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        if np.shape(self.hinges) not in ((), (2,)):
            raise InputError("Plastic hinges are given as one length, or one for each end.")
        if not 2 <= self.points <= 20:
            raise InputError(f"A member has 2 to 20 sections, not {self.points}.")


class PermanentLoad(Parameterised):
    """A force at a node that acts before any motion: N, along the direction of the place ("3.y" is up)."""

    force: Parameter = parameter("permanent force along the place's direction", "N")
    at: str = eqx.field(static=True, converter=str)


class MemberLoad(Parameterised):
    """A uniform load across a member that acts before any motion: N/m, positive towards the member's right side (down
    on a beam drawn from left to right)."""

    load: Parameter = parameter("permanent load along the member", "N/m")
    member: int = eqx.field(static=True)


class LeaningColumn(Parameterised):
    """A column that carries load and resists no drift: its P-Δ forces push the frame over.

    Arguments
        load: N, axial force of the column in this storey, all floors above together.
        height: m, of the storey.
        top, bottom: places of its ends ("3.x"); a bottom of None is the ground.
    """

    load: Parameter = parameter("axial force of the leaning column", "N", positive=True, zero=True)
    height: Parameter = parameter("height of the storey", "m", positive=True)
    top: str = eqx.field(static=True, converter=str)
    bottom: str | None = eqx.field(static=True, default=None, converter=lambda v: None if v is None else str(v))


# -- laws ----------------------------------------------------------------------------------------------------------


def clear_length(length: float, offsets: tuple[float, float]) -> float:
    """m, of the part that deforms."""
    return length * (1.0 - sum(offsets))


def basic_rows(length: float, offsets: tuple[float, float]) -> np.ndarray:
    """(3, 6): elongation and chord rotations of the clear part from the motion of the nodes in the member's axes."""
    clear = clear_length(length, offsets)
    first, last = (share * length / clear for share in offsets)
    return np.array([
        [-1, 0, 0, 1, 0, 0],
        [0, 1 / clear, 1 + first, 0, -1 / clear, last],
        [0, 1 / clear, first, 0, -1 / clear, 1 + last],
    ])  # fmt: skip


def member_law(fibres, clear, hinges, load, formulation: str, integration: str, points: int, iterations: int):
    """The law of a member's end deformations.

    Arguments
        fibres: of its sections.
        clear: m, length that deforms.
        hinges: (2,) m, plastic-hinge lengths.
        load: N/m across it.
    """
    if formulation == "elastic":
        uncracked = member_law(fibres, clear, hinges, load, "force", "gauss-legendre", 2, 1)
        return ElasticElement(uncracked.initial_stiffness())
    places, weights = along_member(integration, points, clear, hinges)
    zero, one = jnp.zeros_like(places), jnp.ones_like(places)
    if formulation == "force":
        kind, axial, bending = ForceElement, [one, zero, zero], [zero, places - 1.0, places]
    else:
        kind = DisplacementElement
        axial, bending = [one / clear, zero, zero], [zero, (6 * places - 4) / clear, (6 * places - 2) / clear]
    return kind(
        fibres=fibres,
        axial=jnp.stack(axial, axis=1),
        bending=jnp.stack(bending, axis=1),
        weights=weights * clear,
        loads=jnp.stack([zero, 0.5 * load * clear**2 * (places - places**2)]),
        settled=None,
        iterations=iterations,
        components=3,
    )


def end_forces(length: float, offsets: tuple[float, float], load) -> jnp.ndarray:
    """(6,) N and N m at the nodes, in the member's axes, of a load across it (N/m, downwards).

    Half of it at each end of the clear part, carried over the rigid offsets; the law of the clear part has its bending.
    """
    clear = clear_length(length, offsets)
    half = 0.5 * load * clear
    zero = jnp.zeros_like(half)
    return jnp.stack([zero, -half, -half * offsets[0] * length, zero, -half, half * offsets[1] * length])


def fixed_end_moments(length: float, offsets: tuple[float, float], load):
    """(3,) member forces that hold the ends of a linear member under a load across it."""
    moment = load * clear_length(length, offsets) ** 2 / 12
    return jnp.stack([0.0 * moment, moment, -moment])
