"""What a test demands of its actuators, beside their limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.result import HybridResult
from vibrid.hybrid.stopping import limits_of

SHOWN = {
    "displacement": (1e3, "mm"), "velocity": (1e3, "mm/s"), "acceleration": (1.0, "m/s²"), "step": (1e3, "mm"),
    "force": (1e-3, "kN"), "energy": (1e-3, "kJ"),
}  # fmt: skip
"""Quantities of the command and the force that are compared with limits: factor and unit in which they are shown. The
energy is that of one cycle."""


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
        factor, unit = SHOWN[self.quantity]
        return (
            f"the {self.quantity} of '{self.device}' reaches {factor * self.largest:.4g} {unit}, "
            f"{100 * self.share:.0f} % of its limit of {factor * self.limit:.4g} {unit}"
        )


def smallest_limits(test: HybridTest, limits: SafetyLimits | None) -> list[dict[str, float]]:
    """The limits of every tested device: safety limits, or the stroke and velocity of its actuator if smaller."""
    found = []
    for part, of_part in zip(test.experimental, limits_of(test, limits), strict=False):
        of_machine = {}
        if part.actuator is not None:
            of_machine = {"displacement": float(part.actuator.stroke), "velocity": float(part.actuator.velocity_limit)}
        safety = of_part or SafetyLimits()
        found.append({name: min(float(getattr(safety, name)), of_machine.get(name, np.inf)) for name in SHOWN})
    return found


def histories_of(command: Any, force: Any, dt: float) -> dict[str, Any]:
    """Sizes of the quantities of a device, sampled every `dt` seconds of the laboratory; `command` is not limited."""
    steps = jnp.diff(command, prepend=0.0)
    return {
        "displacement": jnp.abs(command),
        "velocity": jnp.abs(steps) / dt,
        "acceleration": jnp.abs(jnp.diff(steps, prepend=0.0)) / dt**2,
        "step": jnp.abs(steps),
        "force": jnp.abs(force),
        "energy": jnp.abs(energy_of_cycles(command, force)),
    }


def energy_of_cycles(command: Any, force: Any) -> Any:
    """J: work of the force since the cycle began, as the interlock counts it: a cycle ends at the passage of the
    command through zero in the positive direction."""
    before = jnp.concatenate([jnp.zeros(1), command[:-1]])
    mean = 0.5 * (force + jnp.concatenate([jnp.zeros(1), force[:-1]]))
    total = jnp.cumsum(mean * (command - before))
    ends = jnp.where((before < 0) & (command >= 0), jnp.arange(len(command)), -1)
    last = jnp.concatenate([jnp.full(1, -1), jax.lax.cummax(ends)[:-1]])  # the end of the cycle before
    return total - jnp.where(last >= 0, total[last], 0.0)


def demands(result: HybridResult, limits: SafetyLimits | None = None) -> list[Demand]:
    """The demands of every tested device; `limits` beside those of the test itself."""
    time, rows = result.devices.time, []
    dt = result.devices.step / result.test.scaling.time
    for part, of_part in zip(result.test.experimental, smallest_limits(result.test, limits), strict=True):
        sizes = histories_of(result.devices[f"{part.name}.command"], result.devices[f"{part.name}.force"], dt)
        for quantity, limit in of_part.items():
            history = np.asarray(sizes[quantity])
            beyond = np.flatnonzero(~(history <= limit))
            when = float(time[beyond[0]]) if len(beyond) else None
            rows.append(Demand(part.name, quantity, float(history.max()), limit, when))
    return rows


def first_beyond(rows: list[Demand]) -> Demand | None:
    """The demand that leaves its limit first."""
    return min((row for row in rows if row.beyond_at is not None), key=lambda row: row.beyond_at or 0.0, default=None)
