"""All checks of a result, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vibrid.core.device import on_processor
from vibrid.core.findings import KNOWN, WRONG, Finding
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.checks.calibration import with_calibration_told
from vibrid.identification.checks.consistency import checked_filter, contradicted, most_likely
from vibrid.identification.checks.damping import damping_of_modes
from vibrid.identification.checks.input_noise import noise_of_inputs
from vibrid.identification.checks.instruments import exchanged_channels, instrument_faults
from vibrid.identification.checks.laws import missing_laws, stands_beside
from vibrid.identification.checks.numbers import checked_numbers, checked_step
from vibrid.identification.checks.recorded import recorded_faults
from vibrid.identification.checks.refit import as_fitted
from vibrid.identification.checks.resampled import allow_for_resampling
from vibrid.identification.checks.small_faults import MOSTLY, small_faults
from vibrid.identification.checks.time_step import HOLD
from vibrid.identification.checks.uniqueness import ANOTHER, checked_answers
from vibrid.identification.checks.work import first_model, forget, is_costly
from vibrid.identification.diagnostics import LOWER_LIMIT, verdict
from vibrid.records.record import Record
from vibrid.records.resample import interpolation_error

if TYPE_CHECKING:
    from vibrid.identification.result import Identification


MOST_STATES = 200
"""Degrees of freedom up to which a result is checked."""

RECORDED = "recorded values"
"""What `convergence["checks"]` says of a result of which only the recorded values were checked."""

AND_STEP = "recorded values and time step"
"""What it says of the result of a slow model."""

NOT_SOUGHT = "Faults of instruments were not looked for: that would take many times as long as this fit."


def checked_result(
    fit: Identification, records: Sequence[Record], progress: Progress = SILENT, may_change: Collection[str] = ()
) -> Identification:
    """A result with what its checks found: causes of a misfit, the most important first, and known errors of the data.

    The time step and the input between samples are checked first, then the noise; a result that is the least squares
    of the readings is fitted again where one of them asks for it. Faults that the recorded values show by themselves
    are always told; no other cause is looked for where one of them is wrong. Faults of instruments are looked for where
    the model does not fit; the damping of modes always. They are sought at the most likely values, also where a method
    answers another question: what it leaves over is its own doing. Of a result with unknown loads, which explain any
    reading, only the recorded values are checked; of a model whose simulation takes long (fibres, hundreds of degrees
    of freedom) these, the time step and whether it fits. A result that was cut short is not checked. A check that
    fails costs no result.

    may_change: what the caller left open, of "substeps" and "hold".
    """
    if fit.cut_short:
        return fit
    try:
        return with_calibration_told(_checked(fit, records, progress, may_change))
    finally:
        forget()


def _checked(
    fit: Identification, records: Sequence[Record], progress: Progress, may_change: Collection[str]
) -> Identification:
    """`checked_result`, but for errors of calibration."""
    if not fit.problem.unknown_loads:
        fit = allow_for_resampling(fit, records)
    resampled = any(interpolation_error(record) for record in records)
    try:
        recorded = recorded_faults(fit.problem, fit.predictions)
        if fit.problem.unknown_loads:
            return fit.replace(checks=(*recorded, *fit.checks), convergence=fit.convergence | {"checks": RECORDED})
        progress.stage("checking the result")
        if _is_slow(fit):
            fit = checked_step(fit, may_change)
            return fit.replace(checks=(*recorded, *fit.checks), convergence=fit.convergence | {"checks": AND_STEP})
        with on_processor():
            fit = checked_answers(checked_filter(fit))
            least = None if _is_wrong(recorded) else most_likely(fit)
            fit = checked_numbers(fit, may_change)
            least = fit if least is None else checked_numbers(least, may_change)
            own, found = contradicted(fit, least), _causes(least, resampled, recorded)
            if own:
                fit = fit.replace(warnings=tuple(note for note in fit.warnings if note != LOWER_LIMIT))
            if not verdict(fit.fits)[0] and is_costly(fit.problem) and not _is_wrong(recorded):
                fit = fit.replace(warnings=(*fit.warnings, NOT_SOUGHT))
    except KeyboardInterrupt:
        return fit
    except (ArithmeticError, LookupError, ValueError, RuntimeError, np.linalg.LinAlgError) as problem:
        reason = f"{type(problem).__name__}: {problem}"[:200]
        return fit.replace(warnings=(*fit.warnings, f"The causes of a misfit were not looked for ({reason})."))
    if _is_wrong(found):  # the doubts are those of wrong readings
        fit = fit.replace(checks=tuple(f for f in fit.checks if f.name != HOLD or f.verdict == KNOWN))
        if not verdict(fit.fits)[0]:  # and so are the answers
            fit = fit.replace(other_answers=(), checks=tuple(f for f in fit.checks if f.name != ANOTHER))
    return fit.replace(checks=(*found, *own, *fit.checks), convergence=fit.convergence | {"checks": "all"})


def _is_wrong(found: Collection[Finding]) -> bool:
    return any(finding.verdict == WRONG for finding in found)


def _is_slow(fit: Identification) -> bool:
    """Whether many more simulations would take long."""
    model = first_model(fit.problem)
    return model.size > MOST_STATES or any(group.law.is_heavy for group in model.groups)


def _causes(fit: Identification, resampled: bool, recorded: list[Finding]) -> list[Finding]:
    """Faults of the recorded values; where none of them is wrong, what residuals say, before them."""
    return recorded if _is_wrong(recorded) else [*_causes_of_residuals(fit, resampled), *recorded]


def _causes_of_residuals(fit: Identification, resampled: bool) -> list[Finding]:
    """Faults of instruments where the model does not fit; where they do not explain most of it, two channels that are
    exchanged; the damping of modes; then noise of the excitation, or a law that a storey lacks also where that noise
    explains what it can."""
    if "input_noise" in fit.convergence:  # whose method counts it
        return []
    found = []
    if not verdict(fit.fits)[0] and not is_costly(fit.problem):
        found = small_faults(fit)
        if found and max(finding.explains for finding in found) > MOSTLY:
            return found
        if exchanged := exchanged_channels(as_fitted(fit.problem, fit.free, fit.predictions), fit.problem.start):
            return exchanged
    others = damping_of_modes(fit)
    if not others:
        laws = [] if is_costly(fit.problem) else missing_laws(fit)
        noise = None if resampled else noise_of_inputs(fit)  # resampling is a known error of the excitation
        others = laws if noise is None or (laws and stands_beside(fit, noise)) else [noise.finding()]
    if found or others or verdict(fit.fits)[0] or is_costly(fit.problem):
        return others or found
    return instrument_faults(as_fitted(fit.problem, fit.free, fit.predictions), fit.problem.start)[0]
