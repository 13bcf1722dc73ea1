"""Zero-phase Butterworth filters and tapers."""

from __future__ import annotations

import numpy as np
import scipy

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.records.gaps import complete
from vibrid.records.record import Record, step_of


@checked
def butterworth(record: Record, low: float | None = None, high: float | None = None, order: int = 4) -> Record:
    """Filtered forwards and backwards, so that nothing shifts in time.

    low: frequencies below it (Hz) are removed; high: those above it. One of them gives a high-pass or low-pass filter,
    both a band-pass. order: of the Butterworth filter before it is run twice, so the gain is
    1 / (1 + (f/f_c)^(2·order)), one half at the corner.
    """
    data = complete(record, "Filtering")
    nyquist = record.rate / 2
    for label, corner in (("low", low), ("high", high)):
        if corner is not None and not 0 < corner < nyquist:
            raise InputError(
                f"The corner `{label}` must lie between 0 and the Nyquist frequency {nyquist:g} Hz, not {corner!r}."
            )
    if not (isinstance(order, (int, np.integer)) and 1 <= order <= 20):
        raise InputError(f"The order of a Butterworth filter is a whole number from 1 to 20, not {order!r}.")
    if low is not None and high is not None:
        if low >= high:
            raise InputError(f"The band from {low:g} to {high:g} Hz is empty; `low` must be below `high`.")
        kind, corners, slowest, text = "bandpass", (low, high), low, f"band-pass {low:g} to {high:g} Hz"
    elif low is not None:
        kind, corners, slowest, text = "highpass", low, low, f"high-pass {low:g} Hz"
    elif high is not None:
        kind, corners, slowest, text = "lowpass", high, high, f"low-pass {high:g} Hz"
    else:
        raise InputError("A filter needs `low` (Hz), `high` (Hz) or both.")
    sections = scipy.signal.butter(order, corners, btype=kind, fs=record.rate, output="sos")
    pad = min(len(record) - 1, int(np.ceil(3 * order * record.rate / slowest)))
    filtered = scipy.signal.sosfiltfilt(sections, data, axis=0, padlen=pad)
    return record.replace(f"filtered: zero-phase Butterworth {text}, order {order} run twice", data=filtered)


@checked
def taper(record: Record, seconds: float | None = None, share: float = 0.05, ends: str = "both") -> Record:
    """Both ends faded in and out with a half cosine, over `seconds` or a `share` of the record at each end.

    ends: 'both', 'start' or 'end'.
    """
    if ends not in ("both", "start", "end"):
        raise InputError(f"`ends` is 'both', 'start' or 'end', not {ends!r}.")
    count = round(seconds * record.rate) if seconds is not None else round(share * len(record))
    if not 0 <= count <= len(record) // (2 if ends == "both" else 1):
        raise InputError(f"A taper of {count} samples does not fit a record of {len(record)}.")
    window = np.ones(len(record))
    fade = 0.5 * (1 - np.cos(np.pi * (np.arange(count) + 0.5) / max(count, 1)))
    if count and ends != "end":
        window[:count] = fade
    if count and ends != "start":
        window[-count:] = fade[::-1]
    return record.replace(f"tapered over {count * step_of(record):g} s ({ends})", data=record.data * window[:, None])
