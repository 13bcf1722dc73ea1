"""All checks of a result, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vibrid.core.device import on_processor
from vibrid.core.findings import Finding
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.checks.damping import damping_of_modes
from vibrid.identification.checks.instruments import instrument_faults
from vibrid.identification.checks.refit import as_fitted
from vibrid.identification.checks.resampled import allow_for_resampling
from vibrid.identification.diagnostics import verdict
from vibrid.records.record import Record

if TYPE_CHECKING:
    from vibrid.identification.result import Identification


def checked_result(fit: Identification, records: Sequence[Record], progress: Progress = SILENT) -> Identification:
    """A result with what its checks found: causes of a misfit, the most important first, and known errors of the data.

    Faults of instruments are looked for where the model does not fit; the damping of modes always. A result with
    unknown loads, which explain any reading, is not checked, nor is one that was cut short.
    """
    if fit.cut_short or fit.problem.unknown_loads:
        return fit
    fit = allow_for_resampling(fit, records)
    progress.stage("checking the result")
    try:
        with on_processor():
            found = _causes(fit)
    except KeyboardInterrupt:
        return fit
    return fit.replace(checks=(*found, *fit.checks))


def _causes(fit: Identification) -> list[Finding]:
    problem, found = fit.problem, []
    if not verdict(fit.fits)[0]:
        found, _ = instrument_faults(as_fitted(problem, fit.free, fit.predictions), problem.start)
    return found or damping_of_modes(fit)
