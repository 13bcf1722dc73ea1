"""Where and why a hybrid test ends early: a device leaves its limits, or the test diverges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vibrid.core.errors import Divergence, InputError
from vibrid.hybrid.chain import Row
from vibrid.hybrid.interlock import Interlock
from vibrid.hybrid.limits import SafetyLimits, require_limits
from vibrid.hybrid.parts import Experimental

if TYPE_CHECKING:
    from vibrid.hybrid.coordinator import HybridTest

ABSURD = 1e3
"""m: a test that commands a larger deformation has diverged."""


class DivergedTest(Divergence):
    """A hybrid test that diverged; `result` holds it up to there, or is None where nothing was finished."""

    result: Any = None


class EarlyEnd(NamedTuple):
    """The end of a test: the first substep that is not valid, the reason, and whether the test diverged."""

    substep: int
    reason: str
    diverged: bool


def limits_of(test: HybridTest, common: SafetyLimits | None) -> list[SafetyLimits | None]:
    """The limits of every part: its own and the `common` ones of the test, whichever is stricter; None for models."""
    limits: list[SafetyLimits | None] = []
    for part in test.parts:
        given = [one for one in (getattr(part, "limits", None), common) if one not in (None, SafetyLimits())]
        if not isinstance(part, Experimental) or not given:
            limits.append(None)
        else:
            limits.append(given[0] if len(given) == 1 else given[0].combined(given[1]))
    return limits


def require_on_all(test: HybridTest, opened, limits: Sequence[SafetyLimits | None], unlimited: bool) -> None:
    """Refuse a device in the laboratory without the limits that it needs."""
    external = [(part.name, own) for part, own in zip(test.parts, limits, strict=True) if part.is_outside]
    for (name, own), device in zip(external, opened, strict=True):
        if device.needs_limits:
            try:
                require_limits(own, unlimited, "that there are none: unlimited=True")
            except InputError as problem:
                raise InputError(f"'{name}': {problem}") from None


def early_end(test: HybridTest, x: np.ndarray, rows: Sequence[Row], limits: Sequence[SafetyLimits | None],
              start: float) -> EarlyEnd | None:  # fmt: skip
    """How a test of computed devices ends before its time; None when it does not.

    Arguments
        x: (steps + 1, n) displacements of the structure.
        rows: of every device, one entry per substep.
        limits: of every device.
        start: s, time of the structure at the first sample.
    """
    ends = [_diverged(test, x, rows, start)]
    step = 1.0 / test.rate
    for part, row, own in zip(test.parts, rows, limits, strict=True):
        if own is None:
            continue
        last = min([len(row.command), *(end.substep for end in ends if end is not None)])
        crossed = first_crossing(Interlock(own, start_time=0.0, nominal=step), row, step, last)
        if crossed is not None:
            reason = left_limits(part.name, _when(test, crossed.substep, start), crossed.text)
            reason += hint(device_that_adds_energy(test, rows, crossed.substep))
            ends.append(EarlyEnd(crossed.substep, reason, False))
    valid = [end for end in ends if end is not None]
    return min(valid, key=lambda end: (end.substep, end.diverged)) if valid else None


class LimitCrossing(NamedTuple):
    """The first substep at which a device leaves its limits, why, and whether the command of that substep is refused:
    then the device is not moved any more; otherwise it is its reading that is beyond a limit."""

    substep: int
    text: str
    is_command: bool


def first_crossing(
    interlock: Interlock, row: Row, step: float, last: int, rates: Sequence[float] | None = None
) -> LimitCrossing | None:
    """Where the commands and readings of a device, `step` seconds apart, leave its limits; None where they do not.

    rates: m/s, the velocities that are stated with the commands, if they are.
    """
    columns = (row.command[:last].tolist(), row.measured[:last].tolist(), row.force[:last].tolist())
    stated = rates if rates is not None else [0.0] * last
    for k, (command, measured, force) in enumerate(zip(*columns, strict=True)):
        trip = interlock.check_command((command,), (stated[k],), (0.0,), (k + 1) * step)
        if trip is not None:
            return LimitCrossing(k, f"the command is refused: {trip.text}", True)
        trip = interlock.check_reading((force,), measured)
        if trip is not None:
            return LimitCrossing(k, trip.text, False)
        interlock.commit()
    return None


def left_limits(name: str, when: str, text: str) -> str:
    """The reason of a test that ended because a device left its limits."""
    return f"'{name}' left its limits at {when}: {text}"


def _when(test: HybridTest, substep: int, start: float) -> str:
    return f"{start + (substep + 1) * test.step / test.substeps:.4g} s"


def _first(bad: np.ndarray) -> int:
    """Index of the first true entry; the length where there is none."""
    return int(np.argmax(bad)) if bad.any() else len(bad)


def _diverged(test: HybridTest, x: np.ndarray, rows: Sequence[Row], start: float) -> EarlyEnd | None:
    """The first substep at which something is not finite, or absurdly large, and the device that caused it."""
    moved = [_first(~(np.abs(row.command) < ABSURD)) for row in rows]
    force = [_first(~np.isfinite(row.force)) for row in rows]
    structure = max(_first(~np.asarray(np.isfinite(x).all(axis=1))) - 1, 0) * test.substeps
    first = min([structure, *moved, *force])
    if first >= len(rows[0].force):
        return None
    when = _when(test, first, start)
    source = device_that_adds_energy(test, rows, first)
    sentence = instability(source.name)
    if first < min([structure, *moved]):  # every motion was possible, and a device has no force
        part = test.parts[force.index(first)]
        failed = f"'{part.name}' gave no force at {when}."
        if source.is_unstable:
            return EarlyEnd(first, f"The test diverged. {sentence} Then {failed}", True)
        return EarlyEnd(first, f"{failed} {getattr(part.device, 'no_force_means', '')}".strip(), True)
    if not source.name:
        sentence = (
            f"No tested device had an error of tracking: {type(test.integrator).__name__} is not stable with this "
            "structure and step. Use a shorter step, or check the stiffnesses."
        )
    return EarlyEnd(first, f"The test diverged at {when}. {sentence}", True)


def instability(name: str) -> str:
    """The sentence about a device that made a test unstable; empty without a name."""
    if not name:
        return ""
    return (
        f"'{name}' made it unstable: the delay or the error of its actuator put energy into the structure, more than "
        "any other device. Compensate its delay, or make it shorter."
    )


def hint(source: AddedEnergy) -> str:
    """An addition to the reason why a test ended, if a device had put much energy into the structure."""
    if not source.is_unstable:
        return ""
    return (
        f". Until then the delay or the error of the actuator of '{source.name}' had put {source.energy:.3g} J into "
        "the structure, more than all devices took out"
    )


class AddedEnergy(NamedTuple):
    """Energy (J) that the error of tracking of a device put into the structure; no name where no device did so.

    `is_unstable`: it is more than all devices together have taken out.
    """

    name: str
    energy: float
    is_unstable: bool


def device_that_adds_energy(test: HybridTest, rows: Sequence[Row], last: int) -> AddedEnergy:
    """The tested device whose error of tracking put most energy into the structure before the substep `last`.

    A device that follows its target late or wrongly does the work `∫ F d(measured − target)` on the structure, which is
    not in the structure with the device in its place. The devices take out `∫ F d(measured)`.
    """
    # in units of the largest deformation, so that nothing overflows
    motions = [np.abs(np.asarray(row.target, float)[:last]).max(initial=0.0) for row in rows]
    length = max(motions, default=0.0) or 1.0
    added, taken = {}, 0.0
    for part, row in zip(test.parts, rows, strict=True):
        target, _, measured, force = (np.asarray(values, float)[:last] / length for values in row[:4])
        middle = 0.5 * (force[1:] + force[:-1]) * float(part.count)
        taken += max(float(np.nansum(middle * np.diff(measured))), 0.0)
        if isinstance(part, Experimental):
            added[part.name] = float(np.nansum(middle * np.diff(measured - target)))
    name = max(added, key=lambda name: added[name], default="")
    if not name or not added[name] > 1e-9 * taken:
        return AddedEnergy("", 0.0, False)
    return AddedEnergy(name, added[name] * length**2, added[name] > taken)
