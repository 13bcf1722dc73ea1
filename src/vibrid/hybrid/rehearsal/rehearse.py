"""The rehearsal of a hybrid test: virtual tests that show what delay, noise and limits do to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import Divergence, InputError, Refusal
from vibrid.core.progress import Progress
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.prepare import on_steps
from vibrid.hybrid.rehearsal.delays import simulated_critical_delay
from vibrid.hybrid.rehearsal.judgement import Criteria, Judgement, Readiness, Reason, judge
from vibrid.hybrid.rehearsal.loop import Crossing, LinearLoop, Pole, linear_loop
from vibrid.hybrid.rehearsal.scatter import Scatter, run_scatter
from vibrid.hybrid.result import HybridResult
from vibrid.records.record import Record
from vibrid.simulation.excitation import loads_of

EXACT, PLANNED, UNCOMPENSATED, NOISELESS = "moved exactly", "as planned", "without compensation", "without noise"


@dataclass(frozen=True)
class Margin:
    """The delay at which the loop of small motions becomes unstable, for one device. Seconds, laboratory time."""

    device: str
    critical: Crossing
    """the delay of an otherwise exact device"""
    simulated: float | None
    """the same by simulation; None if no growth was found near it"""
    further: Crossing
    """the delay that may be added to the planned actuator and compensator"""


@dataclass(frozen=True, eq=False)
class Variant:
    """The test run in one way."""

    name: str
    peak: float
    """m, largest displacement of the place of interest; inf if the test diverged"""
    peak_change: float
    """of the largest displacement, as a share of that of exact motion"""
    difference: float
    """rms of the difference from exact motion / rms"""
    problem: str = ""
    result: HybridResult | None = None


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """The result of a rehearsal."""

    place: str
    variants: tuple[Variant, ...]
    margins: tuple[Margin, ...]
    poles: tuple[Pole, ...]
    unstable: bool | None
    """whether the loop of small motions is unstable as planned; None if it is not known"""
    scatter: Scatter | None
    judgement: Judgement
    """of the test as planned, with the findings of the whole rehearsal"""

    @property
    def level(self) -> Readiness:
        return self.judgement.level

    @property
    def reasons(self) -> list[str]:
        return self.judgement.reasons

    def variant(self, name: str) -> Variant | None:
        return next((v for v in self.variants if v.name == name), None)


def rehearse(
    test: HybridTest,
    excitation: Record,
    place: str,
    limits: SafetyLimits | None = None,
    *,
    runs: int = 64,
    scatter: float = 0.1,
    seed: int = 0,
    criteria: Criteria | None = None,
    progress: Progress | None = None,
) -> Rehearsal:
    """Rehearse a hybrid test with virtual devices, and judge whether it may be run.

    Arguments
        place: place of the structure whose displacement is of interest.
        limits: safety limits of the tested devices; stroke and velocity of the actuators count as well.
        runs: virtual tests with uncertain actuators and specimens; 0 for none.
        scatter: standard deviation of the logarithm of the uncertain parameters.
        criteria: values from which a test is to be run with care, or not at all.

    An external device is replaced by its `rehearsal`, a virtual specimen with an actuator.
    """
    criteria, progress = criteria or Criteria(), progress or Progress()
    if runs < 0 or not 0 <= scatter < 1:
        raise InputError(f"A rehearsal takes zero or more runs and a scatter from 0 to 1, not {runs} and {scatter}.")
    test = virtual(test)
    drive = on_steps(excitation, test.step)
    variants = _variants(test, drive, place, progress)
    progress.stage("critical delays")
    loop, findings = _loop(test, drive)
    margins = _margins(test, drive, loop) if loop else ()
    unstable = None if loop is None else bool(loop.unstable)
    poles = tuple(loop.poles()) if loop else ()
    spread = None
    if runs:
        progress.stage(f"{runs} tests with uncertain actuators and specimens")
        spread = run_scatter(test, drive, place, limits, runs=runs, scatter=scatter, seed=seed)
    planned = next(v for v in variants if v.name == PLANNED)
    of_run = judge(planned.result, limits, criteria) if planned.result is not None else Judgement((), (), ())
    findings += _findings(variants, margins, unstable, spread, criteria)
    judgement = dataclasses.replace(of_run, findings=(*findings, *of_run.findings))
    return Rehearsal(place, variants, margins, poles, unstable, spread, judgement)


def virtual(test: HybridTest) -> HybridTest:
    """The test with every external device replaced by its `rehearsal`."""
    parts = []
    for part in test.experimental:
        if part.is_outside:
            if part.rehearsal is None:
                raise Refusal(
                    f"'{part.name}' is external, so a rehearsal needs a virtual specimen in its place: give it "
                    "`rehearsal`, with a device and an actuator."
                )
            stand_in = part.rehearsal
            part = dataclasses.replace(part, device=stand_in.device, actuator=stand_in.actuator)
        parts.append(part)
    return dataclasses.replace(test, experimental=tuple(parts))


def _variants(test: HybridTest, drive: Record, place: str, progress: Progress) -> tuple[Variant, ...]:
    """The test moved exactly, as planned, and without compensation and noise where there are any."""
    tested = test.experimental
    plans = {EXACT: _each(test, lambda part: {"actuator": None, "compensator": None}), PLANNED: test}
    if any(part.compensator is not None for part in tested):
        plans[UNCOMPENSATED] = _each(test, lambda part: {"compensator": None})
    if any(part.actuator is not None and float(part.actuator.noise) > 0 for part in tested):
        plans[NOISELESS] = _each(test, _without_noise)
    row = test.structure.row(place)
    reference, variants = None, []
    for name, plan in plans.items():
        progress.stage(f"the test, {name}")
        try:
            result = dataclasses.replace(_each(plan, lambda part: {"limits": None}).run(drive), test=plan)
        except Divergence as problem:
            if name == EXACT:
                raise
            variants.append(Variant(name, np.inf, np.inf, np.inf, str(problem)))
            continue
        x = result.response.displacement @ row
        reference = x if reference is None else reference
        peak, first = float(np.abs(x).max()), float(np.abs(reference).max())
        difference = float(np.sqrt(np.mean((x - reference) ** 2) / np.mean(reference**2))) if first else 0.0
        variants.append(Variant(name, peak, peak / first - 1 if first else 0.0, difference, "", result))
    return tuple(variants)


def _each(test: HybridTest, change: Callable[..., dict]) -> HybridTest:
    parts = tuple(dataclasses.replace(part, **change(part)) for part in test.experimental)
    return dataclasses.replace(test, experimental=parts)


def _without_noise(part) -> dict:
    return {} if part.actuator is None else {"actuator": dataclasses.replace(part.actuator, noise=0.0, quantum=0.0)}


def _loop(test: HybridTest, drive: Record) -> tuple[LinearLoop | None, list[Reason]]:
    """The linearised loop; a finding instead of it where a part of it is not linear."""
    loop = linear_loop(test, loads_of(test.structure, drive))
    try:
        _ = [transfer(1j) for transfer in loop.transfers]
    except Refusal as problem:
        return None, [Reason(Readiness.CARE, f"the stability of small motions is not known: {problem}")]
    return loop, []


def _margins(test: HybridTest, drive: Record, loop: LinearLoop) -> tuple[Margin, ...]:
    margins = []
    for part in test.experimental:
        critical = loop.critical_delay(part.name)
        simulated = simulated_critical_delay(test, part.name, drive, critical)
        margins.append(Margin(part.name, critical, simulated, loop.margin(part.name)))
    return tuple(margins)


def _findings(variants, margins, unstable: bool | None, spread: Scatter | None, criteria: Criteria) -> list[Reason]:
    findings = []
    planned = next(v for v in variants if v.name == PLANNED)
    if planned.problem:
        findings.append(Reason(Readiness.NO_GO, f"the test as planned diverges: {planned.problem}"))
    else:
        worst = max(abs(planned.peak_change), planned.difference)
        text = (
            f"actuators change the largest displacement by {100 * planned.peak_change:+.1f} % "
            f"and the history by {100 * planned.difference:.1f} %"
        )
        findings.append(Reason(criteria.level("response", worst), text))
    if unstable:
        text = "the loop of small motions is unstable as planned: expect oscillations that yielding or slip must limit"
        findings.append(Reason(Readiness.CARE, text))
    care, _ = criteria.margin
    for margin in margins:
        if not unstable and margin.further.delay < care * margin.critical.delay:
            text = (
                f"{1e3 * margin.further.delay:.2g} ms of further delay of '{margin.device}' make the loop unstable "
                f"(critical delay {1e3 * margin.critical.delay:.3g} ms, {margin.critical.frequency:.3g} Hz)"
            )
            findings.append(Reason(Readiness.CARE, text))
    if spread is not None:
        level = criteria.level("stop", spread.probability)
        text = (
            f"{spread.stops} of {spread.runs} tests with actuators and specimens uncertain by "
            f"{100 * spread.scatter:.0f} % stop (below {100 * spread.at_most:.1f} % with 95 % confidence)"
        )
        if spread.stops and any(spread.first.values()):
            most = max(spread.first, key=lambda name: spread.first[name])
            text += f"; '{most}' is most often the first beyond a limit"
        findings.append(Reason(max(level, Readiness.CARE) if spread.stops else level, text))
    return findings
