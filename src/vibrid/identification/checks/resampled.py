"""Records that were interpolated from uneven time stamps: the error of that is known, and not held against the model.

Interpolation mixes the noise of neighbouring samples, so that residuals are not white over a few samples, and it has an
error of its own, which `resample` states in the history of a record. Whiteness is therefore tested from the fifth lag
on, and a structured residual that is no larger than twice the stated error is no misfit of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vibrid.core.findings import KNOWN, Finding
from vibrid.identification.diagnostics import LOWER_LIMIT, channel_fits, verdict
from vibrid.records.record import Record
from vibrid.records.resample import interpolation_error

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

FIRST_LAG = 5


def allow_for_resampling(fit: Identification, records: Sequence[Record]) -> Identification:
    """The result judged with the error of its interpolated records; the same where there are none."""
    errors = {record.name: interpolation_error(record) for record in records}
    known = max(errors.values(), default=0.0)
    if not known or verdict(fit.fits)[0]:
        return fit
    fits = channel_fits(fit.problem, fit.predictions, first_lag=FIRST_LAG, known=known)
    named = ", ".join(f"'{name}'" for name, error in errors.items() if error)
    sentence = f"Resampled from uneven time stamps ({named}): effect {100 * known:.2g} %, counted as known."
    finding = Finding("resampled", KNOWN, sentence, "", 0.0, {"error": known})
    warnings = tuple(note for note in fit.warnings if note != LOWER_LIMIT) if verdict(fits)[0] else fit.warnings
    return fit.replace(fits=fits, checks=(*fit.checks, finding), warnings=warnings)
