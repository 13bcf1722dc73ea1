"""The interlock of a tested device: every command is checked before it leaves, every reading when it arrives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from vibrid.hybrid.limits import NO_LIMIT, SafetyLimits, beyond


class Trip(NamedTuple):
    """Why a device may not be moved: the limit (`kind`), and the message.

    `kind` is the name of a limit, or "command" or "reading" for values that are not finite, or "time".
    """

    kind: str
    text: str


class Interlock:
    """Checks the commands to one device and its readings against `SafetyLimits`.

    A device may be moved several times before a step is committed. Velocity and acceleration are differences from the
    last committed command, over the time between the two; the size of a step is the difference from the last command,
    committed or not, because a device moves to each of them.

    Arguments
        limits: of the device.
        start: m, the deformations at which the device is.
        start_time: s, the time there; None where it is not known, as when a client connects. The first command is then
            checked by the size of its step, and by the velocity that it states.
        nominal: s, the time between commits where the client sends no time.
    """

    def __init__(self, limits: SafetyLimits, start: Sequence[float] = (0.0,), start_time: float | None = None,
                 nominal: float = 1.0 / 1024):  # fmt: skip
        self.limits, self.nominal = limits, nominal
        self.deformation = tuple(map(float, start))
        """m, of the last command that left."""
        count = len(self.deformation)
        self._at, self._time, self._rate = self.deformation, start_time, (0.0,) * count
        self._force, self._energy = (0.0,) * count, 0.0
        self._next_rate, self._next_time = self._rate, start_time
        self._next_force, self._next_energy = self._force, 0.0

    def check_command(self, deformation, rate, acceleration, time: float) -> Trip | None:
        """Whether a command must not leave; otherwise it counts as sent.

        Arguments: one deformation (m), rate (m/s) and acceleration (m/s²) per deformation of the device, as stated with
        the command, and its time (s).
        """
        if len(self.deformation) == 1 and self._passes(deformation[0], rate[0], acceleration[0], time):
            return None
        limits = self.limits
        if not (all(map(math.isfinite, (*deformation, *rate, *acceleration))) and math.isfinite(time)):
            named = {"displacement": deformation, "velocity": rate, "acceleration": acceleration}
            wrong = [beyond(name, values, NO_LIMIT) for name, values in named.items()]
            return Trip("command", next(filter(None, wrong), f"the time is {time}, which is not a finite number"))
        before = self._time
        if before is not None and time < before:
            return Trip("time", f"the time runs backwards, from {before:.6g} s to {time:.6g} s")
        text = beyond("displacement", deformation, limits.displacement)
        if text:
            return Trip("displacement", text)
        steps = [new - old for new, old in zip(deformation, self.deformation, strict=True)]
        text = beyond("step", steps, limits.step)
        if text:
            return Trip("step", text.replace("step", "the change from the last command", 1))
        text = beyond("velocity", rate, limits.velocity)
        if text:
            return Trip("velocity", text)
        text = beyond("acceleration", acceleration, limits.acceleration)
        if text:
            return Trip("acceleration", text)
        by_differences = (0.0,) * len(steps)
        if before is not None:
            dt = time - before if time > before else self.nominal
            by_differences = tuple((new - old) / dt for new, old in zip(deformation, self._at, strict=True))
            note = f" by differences over {dt:.4g} s"
            text = beyond("velocity", by_differences, limits.velocity, note)
            if text:
                return Trip("velocity", text)
            changes = [(new - old) / dt for new, old in zip(by_differences, self._rate, strict=True)]
            text = beyond("acceleration", changes, limits.acceleration, note)
            if text:
                return Trip("acceleration", text)
        self.deformation, self._next_rate, self._next_time = tuple(deformation), by_differences, time
        return None

    def _passes(self, x: float, v: float, a: float, time: float) -> bool:
        """The same for one deformation in the usual case, a few times faster: whether no limit is exceeded.

        Comparisons with NaN are false; then, and with any other doubt, the whole check decides.
        """
        limits, before = self.limits, self._time
        if before is None or not before < time < NO_LIMIT:
            return False
        dt = time - before
        rate = (x - self._at[0]) / dt
        most, fastest, hardest = limits.displacement, limits.velocity, limits.acceleration
        passes = (
            -most <= x <= most
            and -fastest <= v <= fastest
            and -fastest <= rate <= fastest
            and -hardest <= a <= hardest
            and -hardest <= (rate - self._rate[0]) / dt <= hardest
            and -limits.step <= x - self.deformation[0] <= limits.step
        )
        if passes:
            self.deformation, self._next_rate, self._next_time = (x,), (rate,), time
        return passes

    def check_reading(self, force, position: float | None = None) -> Trip | None:
        """Whether the device must not be moved any more after a reading: the force (N, one per deformation), and the
        measured displacement (m) if there is one."""
        most = self.limits.force
        if len(force) != 1 or not -most <= force[0] <= most:
            text = beyond("force", force, most)
            if text:
                return Trip("reading" if "finite" in text else "force", f"the measured {text}")
        text = None if position is None else beyond("displacement", (position,), self.limits.displacement)
        if text:
            return Trip("reading" if "finite" in text else "displacement", f"the measured {text}")
        work = 0.0
        for i, now in enumerate(force):
            work += 0.5 * (self._force[i] + now) * (self.deformation[i] - self._at[i])
        self._next_force, self._next_energy = force, self._energy + work
        if -self.limits.energy <= self._next_energy <= self.limits.energy:
            return None
        text = beyond("energy", (self._next_energy,), self.limits.energy)
        return Trip("energy", str(text).replace("energy", "the energy of this cycle", 1))

    def commit(self) -> None:
        """The last command becomes the one from which differences are taken."""
        new_cycle = self._at[0] < 0 <= self.deformation[0]
        self._at, self._rate, self._time = self.deformation, self._next_rate, self._next_time
        self._force, self._energy = self._next_force, 0.0 if new_cycle else self._next_energy
