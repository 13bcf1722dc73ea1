"""A replayed test: the measured force of a device, valid for its measured motion only."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, parameter
from vibrid.hybrid.device import SPECIMENS, LoopDevice, Reading
from vibrid.laws.base import Motion
from vibrid.records.readers import read_record
from vibrid.records.record import Record


class ReplayState(NamedTuple):
    """Seconds since the test began."""

    time: jax.Array


class Replay(LoopDevice):
    """A measured test as a device: at each time the force and the signals that were measured then.

    It is valid only for its measured motion: moved further than `tolerance` from it, or beyond the end of the record,
    it gives no force (NaN), and the test ends with a message. Made by `Replay.of(record)`.
    """

    step: Parameter = parameter("time between samples", "s", positive=True)
    displacement: Parameter = parameter("measured displacement", "m")
    force: Parameter = parameter("measured force", "N")
    others: Parameter = parameter("other measured signals (samples, signals)", "")
    tolerance: Parameter = parameter("largest distance from the measured displacement", "m", positive=True, zero=True)
    stiffness: Parameter = parameter("stiffness for the integrator", "N/m", positive=True, default=0.0)
    names: tuple[str, ...] = eqx.field(static=True, default=())
    units: tuple[str, ...] = eqx.field(static=True, default=())

    no_force_means: ClassVar[str] = (
        "A replayed test has forces only for its measured motion: it was moved away from it, or beyond its end."
    )

    @staticmethod
    def of(
        record: Record, displacement: str = "", force: str = "", tolerance: float = 1e-3, stiffness: float = 0.0
    ) -> Replay:
        """The test in a record.

        Arguments
            displacement, force: names of the channels; found by their quantity (imposed_displacement, element_force)
                when not given. All other channels are signals.
            tolerance: m, how far from the measured displacement it may be moved.
            stiffness: N/m, initial stiffness, for integrators that need it.
        """
        x = displacement or _only(record, "imposed_displacement", "displacement")
        f = force or _only(record, "element_force", "force")
        if not x or not f:
            raise InputError(f"Record '{record.name}' needs a displacement and a force to be replayed; name them.")
        rest = [c for c in record.channels if c.name not in (x, f) and np.isfinite(record[c.name]).all()]
        for name in (x, f):
            if not np.isfinite(record[name]).all():
                raise InputError(f"Channel '{name}' of record '{record.name}' has missing samples; fill or cut them.")
        return Replay(
            1.0 / record.rate,
            record[x],
            record[f],
            np.stack([record[c.name] for c in rest], axis=1) if rest else np.zeros((len(record), 0)),
            tolerance,
            stiffness,
            tuple(c.name for c in rest),
            tuple(c.unit for c in rest),
        )

    @property
    def signal_names(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.names

    @property
    def signal_units(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.units

    def start(self):
        return ReplayState(jnp.zeros(()))

    def initial_stiffness(self):
        return self.stiffness

    def trial(self, state, motion: Motion, companion, dt):
        time = state.time + dt
        last = self.force.shape[0] - 1
        place = time / self.step
        low = jnp.clip(jnp.floor(place), 0, last - 1).astype(jnp.int32)
        share = place - low

        def at(values):
            return values[low] + share * (values[low + 1] - values[low])

        inside = (jnp.abs(motion.e - at(self.displacement)) <= self.tolerance) & (place <= last + 1e-6)
        return Reading(jnp.where(inside, at(self.force), jnp.nan), at(self.others)), ReplayState(time)


def _only(record: Record, quantity: str, argument: str) -> str:
    """The channel with a quantity, empty where there is none; refused where there are several."""
    names = [c.name for c in record.channels if c.quantity == quantity]
    if len(names) > 1:
        raise InputError(
            f"Record '{record.name}' has {len(names)} channels of {quantity} ({', '.join(names)}); name one as "
            f"`{argument}`."
        )
    return names[0] if names else ""


@SPECIMENS.register("replay")
class ReplayFile(LoopDevice):
    """A measured test in a file, until it is read; the arguments are those of `Replay.of`."""

    file: str = eqx.field(static=True)
    displacement: str = eqx.field(static=True, default="")
    force: str = eqx.field(static=True, default="")
    tolerance: float = eqx.field(static=True, default=1e-3)
    stiffness: float = eqx.field(static=True, default=0.0)

    def read(self, folder) -> Replay:
        """The test in the file, which is named relative to a folder."""
        quantities = {self.displacement: "imposed_displacement", self.force: "element_force"}
        record = read_record(Path(folder) / self.file, quantities={k: v for k, v in quantities.items() if k} or None)
        return Replay.of(record, self.displacement, self.force, self.tolerance, self.stiffness)
