"""Whether the sections of fibre members kept their stiffness during a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from vibrid.core.errors import Divergence
from vibrid.structures.fiber_elements import ElementState


def positive_definite(stiffness: np.ndarray) -> np.ndarray:
    """Whether section stiffnesses (…, 3, sections) resist every deformation."""
    k11, k12, k22 = (stiffness[..., i, :] for i in range(3))
    return (k11 > 0) & (k11 * k22 > k12**2)


def refuse_lost_sections(members: list[list[str]], states: Any, when: np.ndarray, unit: str, softening: bool) -> None:
    """Refuse recorded states (time first) in which a section lost its stiffness; states which section, and when.

    Arguments
        members: names of the members in each group of states; groups without fibres are skipped.
        when: s, or the `unit` given, of every row.
        softening: a stiffness may be negative, but not infinite or missing.
    """
    failures = []
    for names, state in zip(members, states, strict=False):
        if not isinstance(state, ElementState):
            continue
        k = np.asarray(state.stiffness)  # (time, members, 3, sections)
        sound = np.isfinite(k).all(axis=2) if softening else positive_definite(k)
        if not sound.all():
            row, member, section = np.argwhere(~sound)[0]
            failures.append((row, names[member], section, k[row, member]))
    if not failures:
        return
    row, member, section, k = min(failures, key=lambda failure: failure[0])
    what = "has a negative stiffness" if np.isfinite(k[:, section]).all() else "is not finite any more"
    at = f"{when[row]:g} s" if unit == "s" else f"{unit} {when[row]}"
    raise Divergence(
        f"Section {section} (of 0 to {k.shape[-1] - 1}) of {member} {what} at {at}. Its concrete has crushed, or the "
        'step is too large: use a smaller step, more iterations, tougher concrete, less load, or softening = "allow".'
    )
