"""Supports that move differently: the names of their motions, and the pseudo-static motion that each causes.

    x_total = x + Σ R_s u_s,   K R_s = 0 at every free degree of freedom

R_s is the motion of the structure when the supports s move by one and nothing accelerates. x is the motion relative to
it, on which the damping of the structure acts; `M ẍ + C ẋ + K x = −Σ Tᵀ M R_s ü_s`, as for one rigid ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.core.errors import InputError
from vibrid.structures.elements import assemble

if TYPE_CHECKING:
    from vibrid.structures.assembled import Assembled
    from vibrid.structures.nodes import Nodes


def moved_supports(nodes: Nodes, word: str) -> tuple[list[int], str] | None:
    """The nodes and the direction of "0.x" or "0,3.x"; None where a word names no supports."""
    where, dot, direction = word.strip().rpartition(".")
    if not dot or direction not in nodes.directions or direction in (*nodes.removed, "rotation"):
        return None
    chosen = [nodes.number(name) for name in where.split(",")]
    for node, name in zip(chosen, where.split(","), strict=True):
        if not nodes.held[node, nodes.directions.index(direction)]:
            raise InputError(f"'{name.strip()}.{direction}' is not held, so that no ground moves it; name supports.")
    return chosen, direction


def check_supports(structure: Assembled, inputs: Sequence[tuple[str, str]]) -> None:
    """Refuse motions of supports that leave open how another support moves, or that act on parts that need more than
    accelerations of the ground."""
    nodes = structure.nodes_and_supports()
    words = [place for quantity, place in inputs if quantity == "ground_acceleration"]
    groups = [found for found in (moved_supports(nodes, word) for word in words) if found is not None]
    called = nodes.given_names or tuple(map(str, range(nodes.count)))
    for direction in dict.fromkeys(direction for _, direction in groups):
        if direction in words:
            raise InputError(
                f"The ground moves as a whole along '{direction}' and at single supports too; give one or the other."
            )
        moved = [node for chosen, along in groups if along == direction for node in chosen]
        twice = [node for node in moved if moved.count(node) > 1]
        if twice:
            raise InputError(f"Support '{called[twice[0]]}' is moved along {direction} by two channels; choose one.")
        held = np.flatnonzero(nodes.held[:, nodes.directions.index(direction)])
        still = [called[node] for node in held if node not in moved]
        if still:
            raise InputError(
                f"No channel says how support '{still[0]}' moves along {direction}, and others do; give it one (of "
                f"zeros where it stays), or let it move with another: '{called[moved[0]]},{still[0]}.{direction}'."
            )
    if not groups:
        return
    for i, attachment in enumerate(structure.declared.attachments):
        if attachment.to is None:
            raise InputError(
                f"Attachment {i} stands on the ground, whose supports move differently; attach it to the support that "
                "it stands on (to='0.x')."
            )
        damping = attachment.law.initial_damping() if attachment.law.is_linear else 0.0
        damped = not isinstance(damping, Tracer) and bool(np.any(np.asarray(damping)))
        if not attachment.law.is_linear or damped:
            raise InputError(
                f"Attachment {i} is a {type(attachment.law).__name__}, whose force under different motions of supports "
                "needs the displacement of the ground; only linear springs are computed there."
            )
    stiffness = _stiffness(structure)
    if isinstance(stiffness, Tracer):
        return
    inner = nodes.following.T @ np.asarray(stiffness) @ nodes.following
    scale = np.sqrt(np.maximum(np.diag(inner), 1e-300))
    if not np.linalg.eigvalsh(inner / np.outer(scale, scale))[0] > 1e-13:
        raise InputError("The structure is not held by its supports and springs, so that it does not follow them.")


def pseudo_static(structure: Assembled, word: str) -> jax.Array | np.ndarray:
    """(size,): the motion of every degree of freedom, before supports, when the named supports move by one."""
    nodes = structure.nodes_and_supports()
    found = moved_supports(nodes, word)
    if found is None:
        return nodes.rigid(word)
    chosen, direction = found
    moved = np.zeros((nodes.count, len(nodes.directions)))
    moved[chosen, nodes.directions.index(direction)] = 1.0
    carried = nodes.chained @ moved.ravel()
    follow, stiffness = nodes.following, _stiffness(structure)
    inner = -jnp.linalg.solve(follow.T @ stiffness @ follow, follow.T @ (stiffness @ carried))
    return follow @ inner + carried


def _stiffness(structure: Assembled) -> jax.Array:
    """K before supports, with the springs between places."""
    nodes = structure.nodes_and_supports()
    whole = assemble(nodes.size, nodes.dofs(structure.connectivity()), *structure.stiffness_terms())
    for attachment in structure.declared.attachments:
        row = structure._whole_row(attachment.at) - structure._whole_row(str(attachment.to))
        whole = whole + attachment.law.initial_stiffness() * np.outer(row, row)
    return whole
