"""An unknown load: a force whose history is to be estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vibrid.core.arguments import Numbers, checked
from vibrid.core.errors import InputError, Refusal


@checked
@dataclass(frozen=True, eq=False)
class UnknownLoad:
    """A load of unknown history at a known place, given among the unknowns of a problem.

    Arguments
        at: the place, as named by the structure: a floor, "tip", "2.y"; the direction for ground motion.
        positions: m on a beam, one for each sample, for a moving load (a vehicle); `at` is then only its name.
            Off the beam it has no effect.
        speed, enters: m/s and s, instead of positions: a load that enters the beam at its first node at a time and
            crosses it at constant speed.
        deviation: N, prior standard deviation of the load, where its size is known roughly; by default the method
            chooses it.
        quantity: "load", or "ground_acceleration" for an unmeasured base motion.
    """

    at: str | int
    positions: Numbers | None = None
    deviation: float | None = None
    quantity: str = "load"
    speed: float | None = None
    enters: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", str(self.at))
        if self.quantity not in ("load", "ground_acceleration"):
            raise InputError(f"An unknown load is a 'load' or a 'ground_acceleration', not a '{self.quantity}'.")
        if self.deviation is not None and not self.deviation > 0:
            raise InputError(f"The prior deviation of the load at '{self.at}' must be positive, not {self.deviation}.")

        if self.positions is not None and self.speed is not None:
            raise InputError(f"The load '{self.at}' is given positions and a speed; give one of them.")

    @property
    def moves(self) -> bool:
        return self.positions is not None or self.speed is not None

    def inputs(self, structure: Any) -> tuple[tuple[str, str], ...]:
        """The inputs of the structure through which the load acts: its place, or every node for a moving load."""
        if not self.moves:
            return ((self.quantity, str(self.at) if self.quantity == "load" else structure.ground_axis(self.at)),)
        if not hasattr(structure, "rows_at"):
            raise Refusal(f"A load can move on a Beam, not on a {type(structure).__name__}.")
        return tuple(("load", place) for place in structure.lateral_places())

    def shares(self, structure: Any, time: np.ndarray) -> np.ndarray:
        """(1 or samples, inputs): each input per newton of load at the given times."""
        if not self.moves:
            return np.ones((1, 1))
        if self.speed is not None:
            x = structure.positions[0] + self.speed * (time - time[0] - self.enters)
        else:
            x = np.asarray(self.positions, float)
        if x.shape != time.shape:
            raise InputError(
                f"The load '{self.at}' needs one position for each of the {len(time)} samples, not {x.shape}."
            )
        columns = np.stack([structure.row(place) for place in structure.lateral_places()])  # one node each
        return structure.rows_at(x) @ columns.T
