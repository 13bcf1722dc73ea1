"""The critical delay of a device by simulation: the delay from which a small disturbance grows."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np

from vibrid.hybrid.actuator import LONGEST, Actuator, PureDelay
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.rehearsal.batch import run_many
from vibrid.hybrid.rehearsal.loop import Crossing
from vibrid.records.record import Record, step_of

_CYCLES = 60  # of the growing motion
_COUNT = 9  # delays at a time


def simulated_critical_delay(test: HybridTest, name: str, drive: Record, near: Crossing) -> float | None:
    """s, laboratory time: the delay of one device from which a small disturbance grows; None if it is not near `near`.

    Delays between 0.4 and 2 times the linearised one are tried, and where the growth changes its sign again between
    those two. Growth is the ratio of the deformation's amplitude at the frequency of `near` in the last 24 of sixty
    cycles to that in the 24 before them.
    """
    if not np.isfinite(near.delay) or near.delay <= 0:
        return None
    number = next(i for i, part in enumerate(test.experimental) if part.name == name)
    longest = (LONGEST - 4) / test.rate
    part = dataclasses.replace(test.experimental[number], actuator=Actuator(PureDelay(near.delay)), compensator=None)
    delayed = dataclasses.replace(
        test, experimental=(*test.experimental[:number], part, *test.experimental[number + 1 :])
    )
    kick = _disturbance(drive, _CYCLES / near.frequency)
    path = f"experimental[{number}].actuator.dynamics.delay"
    row = part.row(test.structure)

    def growth(histories):
        turned = (histories[0][0] @ row) * jnp.exp(-2j * jnp.pi * near.frequency * kick.time[1:])
        length = 2 * len(turned) // 5
        early, late = turned[-2 * length : -length], turned[-length:]
        window = np.hanning(length)  # suppresses the other modes
        return jnp.log(jnp.abs(late @ window) / jnp.abs(early @ window))

    def bracket(low: float, high: float) -> tuple[float, float, float] | None:
        """Two neighbouring delays between which the growth changes its sign, and where by a line between them."""
        delays = np.linspace(low, high, _COUNT)
        rates = run_many(delayed, kick, {path: delays}, growth)
        change = np.flatnonzero((rates[:-1] < 0) & ((rates[1:] > 0) | np.isnan(rates[1:])))
        if not len(change):
            return None
        at = int(change[0])
        share = rates[at] / (rates[at] - rates[at + 1]) if np.isfinite(rates[at + 1]) else 0.5
        below, above = float(delays[at]), float(delays[at + 1])
        return below, above, below + float(share) * (above - below)

    found = bracket(0.4 * near.delay, min(2.0 * near.delay, longest))
    found = found and bracket(*found[:2])
    return found and found[2]


def _disturbance(drive: Record, seconds: float) -> Record:
    """A short pulse, a millionth of the excitation, and then none."""
    steps = max(int(np.ceil(seconds / step_of(drive))), 100)
    data = np.zeros((steps, drive.data.shape[1]))
    data[1:4] = 1e-6 * np.abs(drive.data).max(axis=0)
    return drive.replace("a small pulse", data=data)
