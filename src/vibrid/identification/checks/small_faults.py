"""Faults of instruments that are too small to see, and large against the noise: named by score tests, then confirmed.

The most likely one-parameter fault is taken out of the readings, the parameters are fitted again, and its size is read
again from what is left. It is told where the residuals then depend on nothing, or where it explains most of what all
such faults together could.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.digits import with_uncertainty
from vibrid.core.findings import WRONG, Finding
from vibrid.identification.checks.again import movable
from vibrid.identification.checks.dependence import noise_about_trend, tested_fits
from vibrid.identification.checks.refit import Correction, refit
from vibrid.identification.checks.scores import FaultScore, scored
from vibrid.identification.checks.work import around
from vibrid.identification.diagnostics import verdict
from vibrid.identification.levenberg import linearised
from vibrid.records.channel import QUANTITIES

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

LEAST = 25.0
"""Drop of χ² of a fault that is looked at."""

MOSTLY = 0.75
MOST_FAULTS = 3
_ROUNDS = 4
_TRIED, _CLOSE = 3, 0.7  # faults that are tried, and their drop of χ² over that of the first
_SETTLED = 0.1  # change of a size, in standard deviations
_SMALL = 0.5  # relative misfit and gain above which a fault is gross


@dataclass(frozen=True)
class _Fault:
    """A score with its size read again, the share of the misfit that it explains, whether the model then fits, and the
    drop of χ² of the next fault."""

    score: FaultScore
    share: float
    model_fits: bool
    left: float


def small_faults(fit: Identification) -> list[Finding]:
    """The faults that explain why a model does not quite fit; empty where none does, or the misfit is gross."""
    if max(f.relative for f in fit.fits) > _SMALL:
        return []
    keep, corrections, found = movable(fit), {}, []
    for _ in range(MOST_FAULTS):
        fault = _confirmed(fit, keep, corrections)
        if fault is None:
            return []
        found.append(fault)
        corrections = _corrected(fit, corrections, fault.score)
        if fault.model_fits:
            return [_told(fit, fault) for fault in found]
    return [_told(fit, found[0])] if found and found[0].share > MOSTLY else []


def _confirmed(fit: Identification, keep: np.ndarray, present: dict[int, Correction]) -> _Fault | None:
    """The most likely fault beside those that are there; of several that are about as likely, each is tried."""
    start = refit(fit.problem, fit.free, present) if present else None
    here = linearised(start.problem, start.free) if start else around(fit)
    scores, together = scored(here, noise_about_trend(here), keep)
    if not scores or scores[0].drop < LEAST:
        return None
    close = [score for score in scores[:_TRIED] if score.drop > _CLOSE * scores[0].drop]
    tried = [_refined(fit, keep, present, here.free, score, together) for score in close]
    return min(filter(None, tried), key=lambda fault: (not fault.model_fits, fault.left), default=None)


def _refined(fit, keep, present, free, first: FaultScore, together: float) -> _Fault | None:
    """A fault whose size was read again until nothing of it is left."""
    score, rounds = first, 0
    while True:
        if score.kind == "gain" and abs(score.size) > _SMALL:
            return None
        after = refit(fit.problem, free, _corrected(fit, present, score))
        there = linearised(after.problem, after.free)
        left, _ = scored(there, noise_about_trend(there), keep)
        again = next((s for s in left if (s.kind, s.channels) == (first.kind, first.channels)), None)
        if again is None:
            return None
        score = replace(first, size=score.size + again.size, deviation=again.deviation)
        rounds += 1
        if abs(again.size) < _SETTLED * again.deviation or rounds == _ROUNDS:
            break
    fits = tested_fits(after.fits, there, keep)
    return _Fault(score, min(first.drop / max(together, 1e-300), 1.0), verdict(fits)[0], left[0].drop)


def _corrected(fit: Identification, present: dict[int, Correction], score: FaultScore) -> dict[int, Correction]:
    """The corrections with one more fault."""
    made = dict(present)
    for c in score.channels:
        gain, delay = (1.0 + score.size if score.kind == "gain" else 1.0), score.size if score.kind == "delay" else 0.0
        old = made.get(c, Correction())
        clock = old.clock + (score.size if score.kind == "clock" else 0.0)
        added = old.added
        if score.kind in ("offset", "drift"):
            own = [np.full(d.samples, score.size) for d in fit.problem.data]
            if score.kind == "drift":
                own = [part * np.arange(len(part)) * d.step for part, d in zip(own, fit.problem.data, strict=True)]
            added = tuple(own if added is None else [a + b for a, b in zip(added, own, strict=True)])
        made[c] = Correction(old.gain * gain, old.delay + delay, clock, added)
    return made


def _told(fit: Identification, fault: _Fault) -> Finding:
    score = fault.score
    labels = [fit.problem.sensors[c].label for c in score.channels]
    every = len(labels) > 1
    who = "All channels are" if every else f"Channel '{labels[0]}' is"
    against = " against the excitation" if every else ""
    share = f"(explains {100 * fault.share:.0f} % of what is left over)"
    size, spread = abs(score.size), score.deviation

    def measured(factor: float, signed: bool = False) -> str:
        """Size ± 2σ in a unit that is `factor` times smaller."""
        return " ± ".join(with_uncertainty(factor * (score.size if signed else size), 2 * factor * spread))

    unit = QUANTITIES[fit.problem.sensors[score.channels[0]].quantity]
    if score.kind == "delay":
        late = "late" if score.size > 0 else "early"
        said = f"{who} {late} by {measured(1e3)} ms{against} {share}"
        cure = "shift the excitation." if every else "shift it, or name its delay as unknown."
    elif score.kind == "gain":
        large = "large" if score.size > 0 else "small"
        said = f"{who} too {large} by {measured(100)} %{against} {share}"
        cure = "check the calibration." if every else "check its calibration, or name its gain as unknown."
    elif score.kind == "offset":
        said = f"Channel '{labels[0]}' has an offset of {measured(1, True)} {unit} {share}"
        cure = "name its offset as unknown."
    elif score.kind == "drift":
        said = f"Channel '{labels[0]}' drifts by {measured(1, True)} {unit} every second {share}"
        cure = "remove its trend."
    else:
        slow = "slow" if score.size > 0 else "fast"
        whose = "of the excitation" if every else f"of channel '{labels[0]}'"
        slow = {"slow": "fast", "fast": "slow"}[slow] if every else slow
        said = f"The clock {whose} is {slow} by {measured(1e3)} ms every second {share}"
        cure = "give the samples their true times, and resample."
    numbers = {score.kind: 1.0 + score.size if score.kind == "gain" else score.size, "deviation": spread}
    return Finding(score.kind, WRONG, f"{said}: {cure}", "" if every else labels[0], float(fault.share), numbers)
