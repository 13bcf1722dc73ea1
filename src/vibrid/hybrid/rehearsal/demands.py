"""What a test demands of its actuators, beside their limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.parts import Experimental
from vibrid.hybrid.result import HybridResult

QUANTITIES = {"displacement": "m", "velocity": "m/s", "force": "N"}
"""Quantities of the command and the force that are compared with limits, and their units."""


@dataclass(frozen=True)
class Demand:
    """The largest value of a quantity of one device, beside its limit."""

    device: str
    quantity: str
    largest: float
    limit: float
    beyond_at: float | None
    """s, structure's time, at which the limit is first exceeded; None if it is not"""

    @property
    def share(self) -> float:
        """Of the limit; 0 without one."""
        return self.largest / self.limit

    def __str__(self) -> str:
        factor, unit = {"displacement": (1e3, "mm"), "velocity": (1e3, "mm/s"), "force": (1e-3, "kN")}[self.quantity]
        return (
            f"the {self.quantity} of '{self.device}' reaches {factor * self.largest:.4g} {unit}, "
            f"{100 * self.share:.0f} % of its limit of {factor * self.limit:.4g} {unit}"
        )


def limits_of(part: Experimental, limits: SafetyLimits | None) -> dict[str, float]:
    """The limits of a tested device: the smaller of the safety limits and the stroke and velocity of its actuator."""
    limits = limits or SafetyLimits()
    of_machine = {}
    if part.actuator is not None:
        of_machine = {"displacement": float(part.actuator.stroke), "velocity": float(part.actuator.velocity_limit)}
    return {name: min(float(getattr(limits, name)), of_machine.get(name, np.inf)) for name in QUANTITIES}


def histories_of(command: Any, force: Any, dt: float) -> dict[str, Any]:
    """Sizes of the quantities of a device, sampled every `dt` seconds of the laboratory; `command` is not limited."""
    velocity = jnp.abs(jnp.diff(command, prepend=0.0)) / dt
    return {"displacement": jnp.abs(command), "velocity": velocity, "force": jnp.abs(force)}


def demands(result: HybridResult, limits: SafetyLimits | None = None) -> list[Demand]:
    """The demands of every tested device."""
    time, rows = result.devices.time, []
    dt = result.devices.step / result.test.scaling.time
    for part in result.test.experimental:
        sizes = histories_of(result.devices[f"{part.name}.command"], result.devices[f"{part.name}.force"], dt)
        for quantity, limit in limits_of(part, limits).items():
            history = np.asarray(sizes[quantity])
            beyond = np.flatnonzero(~(history <= limit))
            when = float(time[beyond[0]]) if len(beyond) else None
            rows.append(Demand(part.name, quantity, float(history.max()), limit, when))
    return rows


def first_beyond(rows: list[Demand]) -> Demand | None:
    """The demand that leaves its limit first."""
    return min((row for row in rows if row.beyond_at is not None), key=lambda row: row.beyond_at or 0.0, default=None)
