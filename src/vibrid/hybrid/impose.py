"""A predefined test: a device is moved through a displacement history, with or without an actuator."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError, Refusal
from vibrid.hybrid.actuator import Actuator
from vibrid.hybrid.chain import Chain
from vibrid.hybrid.compensation import Compensator, TargetMotion
from vibrid.hybrid.device import LawDevice, LoopDevice
from vibrid.hybrid.interlock import Interlock
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.stopping import first_crossing
from vibrid.laws.base import Law
from vibrid.records.record import Channel, Record


class StoppedMotion(Refusal):
    """A device left its limits; `record` holds the motion up to there, or None where the first command is refused."""

    record: Record | None = None


def impose(
    device: LoopDevice | Law, target: Record, actuator: Actuator | None = None, compensator: Compensator | None = None,
    limits: SafetyLimits | None = None,
) -> Record:  # fmt: skip
    """Move a device through a displacement history and record its instruments.

    Arguments
        device: a virtual specimen, or a law.
        target: a record with a channel of quantity imposed_displacement (m), and imposed_velocity if it is known.
        actuator, compensator: the actuator and the compensation of its delay; without them the motion is exact.
        limits: of the device, as of one that is served: a command beyond them, after compensation, does not leave, and
            a reading beyond them ends the motion (`StoppedMotion`, with the record up to there).

    Returns a record with the channels `target`, `command`, `displacement` (measured), `force` and the device's signals.
    """
    names = {c.quantity: c.name for c in target.channels}
    if "imposed_displacement" not in names:
        raise InputError(f"Record '{target.name}' needs a channel with quantity imposed_displacement.")
    x = target[names["imposed_displacement"]]
    step = 1.0 / target.rate
    v = target[names["imposed_velocity"]] if "imposed_velocity" in names else np.gradient(x, step)
    if not (np.isfinite(x).all() and np.isfinite(v).all()):
        raise InputError(f"The displacement of record '{target.name}' has missing samples; fill or cut them first.")
    device = LawDevice(device) if isinstance(device, Law) else device
    chain = Chain(device, actuator, compensator)
    rows = jax.tree.map(np.asarray, _walk(chain, jnp.asarray(x), jnp.asarray(v), jnp.asarray(step)))
    crossed = None
    if limits is not None:
        stated = v.tolist() if actuator is None else None
        crossed = first_crossing(Interlock(limits, nominal=step), rows, step, len(x), stated)
    data = np.column_stack([rows.target, rows.command, rows.measured, rows.force, rows.signals])
    moves = [Channel(n, "imposed_displacement" if n == "displacement" else "displacement") for n in _MOVES]
    signals = [Channel(n, "other", u) for n, u in zip(device.signal_names, device.signal_units, strict=True)]
    channels = (*moves, Channel("force", "element_force"), *signals)
    imposed = target.replace("imposed on a device", data=data, channels=channels)
    if crossed is None:
        return imposed
    kept = crossed.substep + (not crossed.is_command)
    when = f"{target.start + crossed.substep * step:.4g} s"
    stopped = StoppedMotion(f"The device left its limits at {when}: {crossed.text}.")
    stopped.record = None if not kept else imposed.replace(f"stopped at {when}: {crossed.text}", data=data[:kept])
    raise stopped


_MOVES = ("target", "command", "displacement")


@eqx.filter_jit
def _walk(chain: Chain, x, v, dt):
    constants = chain.prepare(dt)
    slope = jnp.gradient(x) / dt
    bend = jnp.gradient(slope) / dt

    def step(state, target):
        row, _, state = chain.step(constants, state, TargetMotion(*target), None, dt)
        return state, row

    return jax.lax.scan(step, chain.start(constants), (x, slope, bend, v))[1]
