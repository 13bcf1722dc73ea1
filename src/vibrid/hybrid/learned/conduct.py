"""Is a learned model fit for a closed loop? Its conduct in cycles, at rest and beyond its training, without any test.

A model that predicts recorded tests well may still give energy to a structure in a loop, hold a force that creeps at
rest, or answer wildly where it was never moved. Here it is moved through cycles over a grid of amplitudes, frequencies
and offsets, each followed by rest; the work of its force tells what it takes and gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.hybrid.learned.in_loop import NetworkDevice
from vibrid.hybrid.learned.model import DeviceModel
from vibrid.hybrid.learned.passive import PassivePort
from vibrid.hybrid.learned.samples import DeviceSample, Setting
from vibrid.hybrid.learned.watch import GIVES, SMALL

AMPLITUDES = (SMALL, 0.2, 0.6, 1.0)
"""Of the largest displacement of the training tests; one more, `BEYOND`, is outside them."""
BEYOND = 3.0
FREQUENCIES = (0.3, 1.0, 3.0, 6.0)
"""Hz."""
OFFSETS = (0.0, 0.5)
"""Of the largest displacement."""

CREEPS, WILD = 0.02, 2.5
"""Shares from which conduct is unfit: growth of the force in ten seconds of rest (of the capacity; a force may fade),
and force (of the capacity). `GIVES` is that of energy given in a cycle (of 4 capacities × amplitude) or over all (of
capacity × largest displacement)."""

_CYCLES, _LATE, _RAMP, _REST = 6, 2, 1.0, 20.0  # cycles, those that count, s before them, s after them
_FASTEST = 1.2  # of the largest velocity of the training tests


@dataclass(frozen=True)
class Cycle:
    """A steady cycle: amplitude and offset in m, frequency in Hz, energy that the model takes in a cycle in J, the
    least energy that it had taken until any moment, its force after 20 s of rest, the change of that force in the last
    ten of them, and its largest force, in N."""

    amplitude: float
    frequency: float
    offset: float
    energy: float
    least: float
    rest: float
    creep: float
    largest: float

    @property
    def growth(self) -> float:
        """N, by which the force at rest grew in its last ten seconds; negative where it faded."""
        return abs(self.rest) - abs(self.rest - self.creep)


@dataclass(frozen=True)
class Conduct:
    """All cycles of a model with a capacity (N) and a largest displacement of its training tests (m)."""

    cycles: tuple[Cycle, ...]
    capacity: float
    displacement: float

    @property
    def reasons(self) -> list[str]:
        """Why the model is not fit for a loop; empty where it is."""
        found, every = [], self.cycles
        if not all(np.isfinite([c.energy, c.largest]).all() for c in every):
            return ["its force is not a finite number"]
        worst = min(every, key=lambda c: c.energy / c.amplitude)
        if worst.energy < -GIVES * 4.0 * self.capacity * worst.amplitude:
            found.append(f"it gives {-worst.energy:.3g} J in a cycle of {_at(worst)}")
        least = min(every, key=lambda c: c.least)
        if least.least < -GIVES * self.capacity * self.displacement:
            found.append(f"it has given {-least.least:.3g} J more than it took, at {_at(least)}")
        creep = max(every, key=lambda c: c.growth)
        if creep.growth > CREEPS * self.capacity:
            found.append(f"its force grows by {creep.growth:.3g} N in ten seconds of rest, after {_at(creep)}")
        wild = max(every, key=lambda c: c.largest)
        if wild.largest > WILD * self.capacity:
            found.append(f"its force reaches {wild.largest / self.capacity:.3g} capacities, at {_at(wild)}")
        return found

    @property
    def is_fit(self) -> bool:
        return not self.reasons

    @property
    def rest_force(self) -> float:
        """N, the largest after 20 s of rest."""
        return max((abs(c.rest) for c in self.cycles), default=0.0)

    def __str__(self) -> str:
        least = min(self.cycles, key=lambda c: c.energy / c.amplitude)
        share = 100 * least.energy / (4.0 * self.capacity * least.amplitude)
        said = (
            f"in {len(self.cycles)} cycles it takes at least {least.energy:.3g} J ({share:.3g} % of 4 capacities × "
            f"amplitude, at {_at(least)}); force after 20 s of rest at most {self.rest_force:.3g} N"
        )
        return said + (": fit for a loop." if self.is_fit else f": not fit for a loop, {'; '.join(self.reasons)}.")


def _at(cycle: Cycle) -> str:
    offset = f" about {1e3 * cycle.offset:.3g} mm" if cycle.offset else ""
    return f"{1e3 * cycle.amplitude:.3g} mm{offset} and {cycle.frequency:.2g} Hz"


def conduct(model: DeviceModel, capacity) -> Conduct:
    """The conduct of a model; `capacity`: N, one number or one for each direction. Signals of a tested device rest."""
    both = jnp.broadcast_to(jnp.asarray(capacity, float), (2,))
    size, fastest = model.features.displacement, _FASTEST * model.features.velocity
    grid = [
        (share * size, frequency, offset * size)
        for share in (*AMPLITUDES, BEYOND)
        for frequency in (model.rate / round(model.rate / f) for f in FREQUENCIES)  # whole samples in a cycle
        for offset in OFFSETS
        if 2 * np.pi * frequency * share * size <= fastest
    ] or [(AMPLITUDES[0] * size, FREQUENCIES[0], 0.0)]
    x = np.stack([_motion(*case, model.rate, max(_CYCLES / f for _, f, _ in grid)) for case in grid], axis=1)
    v = np.gradient(x, 1.0 / model.rate, axis=0)
    force = np.asarray(_forces(model, jnp.asarray(x), jnp.asarray(v), both), float)
    mean = float(both.mean())
    return Conduct(tuple(_cycle(case, x[:, i], force[:, i], model.rate) for i, case in enumerate(grid)), mean, size)


def refuse_unfit(parts) -> None:
    """Refuse networks among the devices of a test that are not fit for a loop; passive ones are, by construction."""
    for part in parts:
        device = getattr(part.device, "network", part.device)
        if not isinstance(device, NetworkDevice) or isinstance(device.model.answer, PassivePort):
            continue
        reasons = conduct(device.model, device.capacity).reasons
        if reasons:
            raise InputError(
                f"The network of '{part.name}' is not fit for a loop: {'; '.join(reasons)}. Train a passive one, or "
                "accept it: --accept."
            )


def _motion(amplitude: float, frequency: float, offset: float, rate: float, longest: float) -> np.ndarray:
    """Smoothly to the offset, cycles, and rest where they end; all motions are equally long."""
    t = np.arange(round((_RAMP + longest + _REST) * rate)) / rate
    ramp = offset * 0.5 * (1.0 - np.cos(np.pi * np.clip(t / _RAMP, 0.0, 1.0)))
    turning = np.clip(t - _RAMP, 0.0, _CYCLES / frequency)
    grown = np.clip(turning * frequency, 0.0, 1.0)  # the first cycle grows
    return ramp + amplitude * grown * np.sin(2 * np.pi * frequency * turning)


def _cycle(case: tuple[float, float, float], x: np.ndarray, force: np.ndarray, rate: float) -> Cycle:
    amplitude, frequency, offset = case
    work = 0.5 * (force[1:] + force[:-1]) * np.diff(x)
    first, last = (round((_RAMP + n / frequency) * rate) for n in (_CYCLES - _LATE, _CYCLES))
    rested = last + round(_REST * rate)
    end = force[min(rested, len(force) - 1)]
    before = force[min(rested - round(0.5 * _REST * rate), len(force) - 1)]
    running = np.cumsum(work)
    return Cycle(
        amplitude, frequency, offset, float(work[first:last].sum()) / _LATE, float(running.min(initial=0.0)),
        float(end), float(end - before), float(np.abs(force).max()),
    )  # fmt: skip


@eqx.filter_jit
def _forces(model: DeviceModel, x, v, capacity):
    cases = x.shape[1]
    sample = DeviceSample(x, v, jnp.zeros((*x.shape, len(model.companion_sizes))))
    setting = Setting(jnp.broadcast_to(capacity, (cases, 2)), jnp.zeros(cases))
    return model.along(model.start((cases,)), sample, setting)[0]
