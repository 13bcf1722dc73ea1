"""A hybrid test step by step: some of its devices are external, behind a network connection or in a laboratory.

The functions are those of the compiled test (`Plan`). The computation between two calls of the external devices is one
function, compiled as C where possible (`compiled_calls`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.errors import VibridError
from vibrid.hybrid.calls import compiled_calls
from vibrid.hybrid.chain import Row
from vibrid.hybrid.clock import Clock
from vibrid.hybrid.guards import DeviceGuards, Tripped
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.plan import DeviceAnswer, Outside, Plan
from vibrid.hybrid.prepare import make_plan, on_steps
from vibrid.hybrid.recorder import Recorder
from vibrid.hybrid.result import Glimpse, HybridResult, device_channels
from vibrid.hybrid.stopping import (
    device_that_adds_energy,
    early_end,
    hint,
    left_limits,
    limits_of,
    require_on_all,
)
from vibrid.hybrid.substructure import Connection, Substructure, stop_all
from vibrid.hybrid.warnings import Warnings
from vibrid.records.record import Channel, Record
from vibrid.simulation.excitation import inputs_of, loads_of

if TYPE_CHECKING:
    from vibrid.hybrid.coordinator import HybridTest

_EVERY = 0.1  # s between glimpses


def run_stepwise(
    test: HybridTest,
    excitation: Record,
    watch: Callable[[Glimpse], None] | None = None,
    *,
    clock: Clock | None = None,
    limits: SafetyLimits | None = None,
    unlimited: bool = False,
    record: Callable[[list[Channel], float], Recorder] | None = None,
    in_c: bool = True,
) -> HybridResult:
    """Run a test with external devices.

    Arguments
        clock: sets the pace; late substeps are counted and marked in the result.
        limits: of every tested device, beside its own: checked on every command before it leaves, and on every measured
            force. A device in the laboratory (`Substructure.needs_limits`) needs those of displacement, velocity, force
            and step.
        unlimited: move a device in the laboratory even without the limits it needs.
        record: makes the recorder of the substeps, from its channels and their step: `partial(Recorder, "test.h5")`.
        in_c: compile the computation of a step as C, if there is a compiler and the step can be written as C; False
            uses JAX.

    A device that fails, a limit that is exceeded, or Ctrl-C stops all external devices and ends the test; the result
    holds the test up to there, and `stopped` is the reason.
    """
    drive = on_steps(excitation, test.step)
    inputs, loads = inputs_of(test.structure, drive), loads_of(test.structure, drive)
    step = test.step if drive.step is None else drive.step
    guarded = limits_of(test, limits)
    opened: list[Substructure] = []
    reason, recorder = "the test could not begin", None
    try:
        for part in test.parts:
            device: Any = part.device
            if part.is_outside:
                opened.append(device.connect() if isinstance(device, Connection) else device)
        require_on_all(test, opened, guarded, unlimited)
        plan, carry, first = make_plan(test, loads, inputs[0], opened)
        shown = iter(opened)
        signals = [tuple((next(shown) if part.is_outside else part.device).signal_names) for part in test.parts]
        if record is not None:
            recorder = record(device_channels(test, signals), step / test.substeps)
        guards = DeviceGuards(test, opened, guarded, float(drive.start) / test.scaling.time)
        run = _Run(test, plan, carry, opened, clock, guards, recorder, in_c)
        reason = run.through(inputs, drive, watch)
    finally:
        with contextlib.ExitStack() as last:  # each of them, whatever the others raise; the devices first
            if recorder is not None:
                last.callback(recorder.close, reason)
            if clock is not None:
                last.callback(clock.stop)
            last.callback(stop_all, opened, reason or "the test is over")
    if not run.seen:
        raise VibridError(f"The test ended before its first step: {reason}")
    seen, rows = run.kept(first)
    more = {"stopped": reason, "missed": np.array(run.missed, int), "timing": clock and clock.report()}
    more["computed_by"] = run.computed_by
    end = early_end(test, seen[0], rows, [None] * len(rows), float(drive.start))
    return test.conclude(drive, loads, inputs, seen, rows, signals, end, **more)


class _Run:
    """The compiled calls of a test, and their results so far."""

    def __init__(self, test: HybridTest, plan: Plan, carry, opened, clock, guards, recorder, in_c: bool):
        self.test, self.plan, self.opened = test, plan, opened
        self.clock, self.guards, self.recorder = clock, guards, recorder
        last = plan.substeps - 1
        counts = [part.signals for part in plan.parts if isinstance(part, Outside)]
        cuts, received = np.cumsum([2 + n for n in counts])[:-1], sum(2 + n for n in counts)
        loads = plan.model.load_matrix.shape[1]

        def answers(numbers):
            return tuple(DeviceAnswer(part[0], part[1], part[2:]) for part in jnp.split(numbers, cuts))

        def asked(carry, j, rows, *seen):
            """One array of all outputs: the commands, the rows of the devices, and the state of the structure."""
            carry, commands = plan.command(carry, j)
            kept = [jnp.stack([*row[:4], *row.signals]) for row in rows]
            return jnp.concatenate([commands.reshape(-1), *kept, *seen]), carry

        def between(carry, given):
            """`given`: the number of the substep, and the answers of the devices."""
            carry, rows = plan.devices(carry, given[0], answers(given[1:]))
            return asked(carry, given[0] + 1, rows)

        def close(carry, given):
            """`given`: the answers of the devices, and the inputs of the structure before and after the step."""
            carry, rows = plan.devices(carry, last, answers(given[:received]))
            carry = plan.finish(carry, given[received:].reshape(2, loads))
            return asked(plan.begin(carry), 0, rows, ravel_pytree(plan.seen(carry))[0])

        first, carry = jax.jit(lambda carry: asked(plan.begin(carry), 0, ()))(carry)
        self.first = np.asarray(first)
        steps = [(close, received + 2 * loads)] + [(between, 1 + received)] * (last > 0)
        calls, self.computed_by = compiled_calls(steps, carry, in_c)
        self.close, self.between = calls[0], calls[-1]
        self.rows, self.seen, self.missed = [], [], []

    def through(self, inputs, drive: Record, watch) -> str:
        """The whole test; returns the reason why it was stopped, or ""."""
        steps, m = len(inputs) - 1, self.plan.substeps
        small = (self.test.step if drive.step is None else drive.step) / m
        ends = np.concatenate([inputs[:-1], inputs[1:]], axis=1).tolist()
        outside = len(self.opened)
        asked = 3 * outside
        shown = asked + self._columns()[-1]
        looked, at = time.monotonic(), float(drive.start)
        warned, told = Warnings(self.test.parts), 0
        if self.clock is not None:
            self.clock.start()
        try:
            commands = self.first.reshape(outside, 3)
            for k in range(steps):
                for j in range(m):
                    if self.clock is not None and self.clock.wait():
                        self.missed.append(k * m + j)
                    at = float(drive.start) + (k * m + j + 1) * small
                    numbers = self._ask(commands, at)
                    if j < m - 1:
                        out = self.between(np.array([j, *numbers]))
                    else:
                        out = self.close(np.array([*numbers, *ends[k]]))
                        self.seen.append(out[shown:])
                    commands, row = out[:asked].reshape(outside, 3), out[asked:shown]
                    self.rows.append(row)
                    if self.recorder is not None:
                        self.recorder.add(at, row)
                    self.guards.check_computed(row, self._columns(), at / self.test.scaling.time)
                if watch is not None and (time.monotonic() - looked > _EVERY or k == steps - 1):
                    looked = time.monotonic()
                    forces = self.rows[-1][self._columns()[:-1] + 3]
                    x = self.seen[-1][: self.plan.model.size]
                    when = float(drive.start) + small * np.arange(told + 1, len(self.rows) + 1)
                    warnings, told = warned.see(when, self._device_rows(first=told)), len(self.rows)
                    watch(Glimpse(drive.time[k + 1], x, forces, len(self.missed), steps, k + 1, warnings))
        except KeyboardInterrupt:
            return "stopped by Ctrl-C"
        except Tripped as trip:
            reason = left_limits(self.test.parts[trip.part].name, f"{at:.4g} s", str(trip))
            if len(self.rows) > 1:  # the device may suffer from another one
                reason += hint(device_that_adds_energy(self.test, self._device_rows(), len(self.rows)))
            return reason
        except (VibridError, OSError) as problem:
            return str(problem)
        return ""

    def _ask(self, commands: np.ndarray, at: float) -> list[float]:
        """Move every external device and collect its measurements: force, displacement and signals, in order.

        `at` is the time of the structure, in seconds. A command that the interlock refuses is not sent.
        """
        now, numbers = at / self.test.scaling.time, []
        try:
            self.guards.check_commands(commands, now)
            for i, device, (x, v, a) in zip(self.guards.external, self.opened, commands.tolist(), strict=True):
                force, position, signals = self._move(i, device, (x, v, a), now)
                numbers += [force, x if position is None else position, *signals]
                self.guards.check_reading(i, force, position)
        except Tripped:
            if self.recorder is not None:
                self.recorder.add(at, self._last_row(commands, numbers))
            raise
        return numbers

    def _move(self, i: int, device: Substructure, command: tuple[float, float, float], now: float):
        """Force, measured displacement and signals of an external device after a command."""
        try:
            x, v, a = command
            force = device.trial(np.array([x]), np.array([v]), np.array([a]), now)
            device.commit()
            return float(force[0]), device.position, device.signals
        except (VibridError, OSError):
            raise
        except Exception as problem:  # a library of the laboratory may raise anything
            name = self.test.parts[i].name
            raise VibridError(f"'{name}' failed at {now:.4g} s: {type(problem).__name__}: {problem}") from problem

    def _last_row(self, commands: np.ndarray, numbers: list[float]) -> np.ndarray:
        """What was commanded and measured in the substep that ends the test; the rest is missing."""
        places, measured = self._columns(), iter(numbers)
        row = np.full(places[-1], np.nan)
        for i, (x, _, _) in zip(self.guards.external, commands.tolist(), strict=True):
            row[places[i] + 1] = x
            for k in (3, 2, *range(4, places[i + 1] - places[i])):
                row[places[i] + k] = next(measured, np.nan)
        return row

    def _columns(self) -> np.ndarray:
        """First column of the rows of each device, and the end of the last."""
        return np.cumsum([0, *(4 + _signals(part) for part in self.plan.parts)])

    def kept(self, first):
        """The structure from its `first` state at whole steps, and the rows of their substeps."""
        moved = jax.vmap(ravel_pytree(first)[1])(jnp.asarray(np.stack(self.seen)))
        seen = jax.tree.map(lambda start, rest: np.concatenate([start[None], rest]), first, moved)
        return seen, self._device_rows(len(self.seen) * self.plan.substeps)

    def _device_rows(self, count: int | None = None, first: int = 0) -> tuple[Row, ...]:
        """The rows of every device in the substeps from `first` on, up to `count`."""
        table, rows = np.stack(self.rows[first:count]), []
        for begin, end in pairwise(self._columns()):
            target, command, measured, force = table[:, begin : begin + 4].T
            signals: Any = table[:, begin + 4 : end]
            rows.append(Row(target, command, measured, force, signals))
        return tuple(rows)


def _signals(part) -> int:
    return part.signals if isinstance(part, Outside) else len(part.device.signal_names)
