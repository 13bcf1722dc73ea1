"""The clock of a test: virtual time, or real time with every wake-up and step timed and every late step counted."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from typing import Any

from vibrid.core.errors import InputError
from vibrid.hybrid.realtime import RealTime
from vibrid.hybrid.timing import Times, spoken

SPIN = 200e-6
"""Seconds of active waiting before a deadline: a sleeping thread wakes tens of µs late."""


@dataclass(frozen=True)
class ClockReport:
    """The timing of a test.

    wake: seconds from the time a step should begin to the time it began, if the step before was finished in time.
    step: seconds of work of each step. misses: late steps, which could not begin in time because the one before was not
    finished; behind: seconds by which the test fell behind real time through them.
    """

    rate: float
    steps: int
    wake: Times
    step: Times
    misses: int = 0
    behind: float = 0.0
    real: bool = True
    notes: tuple[str, ...] = field(default=())

    @property
    def held(self) -> bool:
        return self.misses == 0

    def __str__(self) -> str:
        work = f"a step took {self.step}"
        if not self.real:
            return f"Virtual time: {self.steps} steps; {work}."
        late = f"wake-ups were late by {self.wake}"
        if self.held:
            lines = [f"{self.rate:g} Hz was held: {self.steps} steps, none late; {late}; {work}."]
        else:
            share = 100.0 * self.misses / max(self.steps, 1)
            lines = [
                f"This computer did not hold {self.rate:g} Hz: of {self.steps} steps {self.misses} began late "
                f"({share:.2g} %), and the test fell {spoken(self.behind)} behind; {late}; {work}.",
                self._advice(),
            ]
        return " ".join([*lines, *self.notes])

    def _advice(self) -> str:
        times = self.step.summary()
        most, worst = times["p99.9"], max(times["worst"], self.wake.summary()["worst"])
        if most < 1.0 / self.rate:
            return (
                f"99.9 % of the steps took less than {spoken(most)}, so the rate is possible; single steps were "
                f"delayed, the worst by {spoken(worst)}: use a core of its own and a real-time priority, and run "
                "no other programs."
            )
        return f"It could hold about {0.8 / most:.3g} Hz: 99.9 % of the steps took less than {spoken(most)}."

    def as_dict(self) -> dict[str, Any]:
        """For JSON and reports."""
        return {
            "rate": self.rate, "steps": self.steps, "misses": self.misses, "behind": self.behind, "held": self.held,
            "real": self.real, "wake": self.wake.summary(), "step": self.step.summary(), "sentence": str(self),
        }  # fmt: skip


class Clock:
    """Virtual time: steps follow each other as fast as they can, and only their work is timed.

    Example
        >>> clock = Clock(1 / 1024)
        >>> clock.start()
        >>> for k in range(40960):
        ...     late = clock.wait()  # how many steps late this one begins: always 0 in virtual time
        ...     ...
        >>> print(clock.report())
    """

    real = False

    def __init__(self, step: float):
        if not 0 < step < 3600:
            raise InputError(f"The step of a clock must be a positive number of seconds, not {step!r}.")
        self.step = step
        self._work, self._wake = Times(), Times()
        self._began: float | None = None
        self.steps = self.misses = self.slipped = self.late = 0

    @property
    def work(self) -> Times:
        """Seconds that each finished step took."""
        return self._work

    @property
    def wake(self) -> Times:
        """Seconds by which each wake-up was late."""
        return self._wake

    def start(self) -> None:
        """The first step begins at the next `wait`."""

    def wait(self) -> int:
        """Wait until the next step should begin; returns by how many whole steps it begins late (also in `late`)."""
        now = time.perf_counter()
        if self._began is not None:
            self._work.add(now - self._began)
        self.steps += 1
        self._began = time.perf_counter()
        return 0

    def stop(self) -> None:
        """The last step is done; a second call does nothing."""
        if self._began is not None:
            self._work.add(time.perf_counter() - self._began)
            self._began = None

    def report(self) -> ClockReport:
        """The timing of the steps."""
        self.stop()
        return ClockReport(
            1.0 / self.step, self.steps, self._wake, self._work, self.misses, self.slipped * self.step, self.real
        )


class WallClock(Clock):
    """Real time: step k begins `k step` seconds after the first, by the monotonic clock of this computer.

    If a step is not finished when the next should begin, the next is late. The schedule then slips by whole steps, so
    that after a stall the test continues at its own rate: a device is never moved faster to catch up.

    Arguments
        step: seconds between steps, 1/1024 for most actuator controllers.
        settings: settings of the operating system (`RealTime`); refused ones are listed in the report.
        spin: seconds of active waiting before each deadline; 0 for none.
    """

    real = True

    def __init__(self, step: float = 1.0 / 1024, settings: RealTime | None = None, spin: float = SPIN):
        super().__init__(step)
        self.settings, self.spin = settings or RealTime(), spin
        self._origin = 0.0

    def start(self) -> None:
        self.settings.apply()

    def stop(self) -> None:
        super().stop()
        self.settings.restore()

    def wait(self) -> int:
        now = time.perf_counter()
        if self._began is None:
            self._origin = now - self.steps * self.step
            self.slipped = 0
        else:
            self._work.add(now - self._began)
        due = self._origin + (self.steps + self.slipped) * self.step
        self.steps += 1
        self.late = 0
        if now > due:  # the step before was not finished in time
            self.late = int((now - due) / self.step) + 1
            self.slipped += self.late
            self.misses += 1
        self._sleep_until(due + self.late * self.step)
        self._began = time.perf_counter()
        if not self.late:
            self._wake.add(self._began - due)
        return self.late

    def _sleep_until(self, due: float) -> None:
        rest = due - time.perf_counter() - self.spin
        if rest > 0:
            time.sleep(rest)
        while time.perf_counter() < due:
            pass

    def report(self) -> ClockReport:
        return dataclasses.replace(super().report(), notes=self.settings.notes)
