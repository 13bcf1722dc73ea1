"""Records of tests with an imposed motion: their displacement, velocity and force."""

from __future__ import annotations

import numpy as np
import scipy

from vibrid.core.errors import InputError
from vibrid.records.record import Record

CORNER = 40.0
"""Hz, of the low-pass on a displacement before it is differentiated."""


def one_of(record: Record, quantity: str) -> np.ndarray:
    """The samples of the one channel with a quantity."""
    return record[name_of(record, quantity)]


def name_of(record: Record, quantity: str) -> str:
    """The name of the one channel with a quantity; a record with none or several is refused."""
    names = [c.name for c in record.channels if c.quantity == quantity]
    if len(names) != 1:
        listed = "none" if not names else ", ".join(names)
        raise InputError(f"Record '{record.name}' needs one channel with quantity {quantity}; it has {listed}.")
    return names[0]


def velocity_of(record: Record, corner: float = CORNER) -> np.ndarray:
    """m/s: the imposed velocity where it was measured, else the displacement low-passed and differentiated."""
    if any(c.quantity == "imposed_velocity" for c in record.channels):
        return one_of(record, "imposed_velocity")
    return differentiated(one_of(record, "imposed_displacement"), record.rate, corner)


def differentiated(x, rate: float, corner: float = CORNER) -> np.ndarray:
    """m/s: a displacement after a low-pass without delay (Butterworth of order 2, both ways), differentiated."""
    if 2 * corner < rate:
        x = scipy.signal.sosfiltfilt(scipy.signal.butter(2, corner, fs=rate, output="sos"), x)
    return np.gradient(x, 1.0 / rate)


def every_for(record: Record, rate: float) -> int:
    """Samples of a record for one at another rate; its own rate must be a whole multiple of it."""
    every = record.rate / rate
    if every < 0.999 or abs(every - round(every)) > 1e-3 * every:
        raise InputError(
            f"'{record.name}' has {record.rate:g} Hz; a model of {rate:g} Hz needs a whole multiple of that. Resample "
            "it, or choose another rate."
        )
    return max(round(every), 1)
