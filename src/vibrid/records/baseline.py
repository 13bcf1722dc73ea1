"""Baseline correction: removal of the offset and drift of a sensor."""

from __future__ import annotations

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.records.gaps import complete
from vibrid.records.integrate import cumulative
from vibrid.records.record import Record, step_of


@checked
def correct_baseline(
    record: Record, degree: int = 1, method: str = "polynomial", before: float | None = None
) -> Record:
    """A new record without offset and drift.

    method
        'polynomial': least-squares polynomial of `degree` (0: the mean) over the whole record, gaps left out.
        'start': the mean of the first `before` seconds, the quiet part before the motion.
        'velocity': for accelerations, the derivative of the polynomial of degree `degree` + 1 (no constant term) that
        fits their integral best, so that the velocity does not drift (the classical correction of accelerograms:
        G. V. Berg and G. W. Housner, Bulletin of the Seismological Society of America 51 (1961) 175–189).
    """
    if method == "polynomial":
        if not 0 <= degree <= 10:
            raise InputError(f"The degree of a baseline is 0 to 10, not {degree!r}.")
        x = np.linspace(-1, 1, len(record))
        data = np.array(record.data)
        for column in data.T:
            known = ~np.isnan(column)
            if known.sum() > degree:
                fit = np.polynomial.Legendre.fit(x[known], column[known], degree, domain=[-1, 1])
                column -= fit(x)
        return record.replace(f"baseline corrected: polynomial of degree {degree}", data=data)
    if method == "start":
        if before is None or not 0 < before <= record.duration:
            raise InputError("The method 'start' needs `before`, the length of the quiet part in seconds.")
        quiet = record.time - record.time[0] < before
        with np.errstate(invalid="ignore"):
            mean = np.nanmean(record.data[quiet], axis=0)
        return record.replace(f"baseline corrected: mean of the first {before:g} s", data=record.data - mean)
    if method == "velocity":
        data = complete(record, "Correcting the baseline by velocity")
        x = np.linspace(0.0, 1.0, len(record))
        powers = np.arange(1, degree + 2)
        basis = x[:, None] ** powers
        coefficients, *_ = np.linalg.lstsq(basis, cumulative(data, step_of(record)), rcond=None)
        slope = (powers * x[:, None] ** (powers - 1)) @ coefficients / record.duration
        return record.replace(f"baseline corrected: velocity polynomial of degree {degree + 1}", data=data - slope)
    raise InputError(f"There is no baseline method '{method}'; there are polynomial, start and velocity.")
