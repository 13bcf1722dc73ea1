"""Arrays of numbers that nothing can change any more."""

from __future__ import annotations

import numpy as np

from vibrid.core.errors import InputError


def numbers_of(value, what: str) -> np.ndarray:
    """An array of numbers, a copy where anything could change it; NaN may stand for a missing one."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and _is_fixed(value):
        return value
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(f"The {what} of a record must be numbers in rows of equal length ({problem}).") from problem


def _is_fixed(array: np.ndarray) -> bool:
    """Whether neither an array nor what it is a view of can be written to."""
    part: object = array
    while isinstance(part, np.ndarray) and not part.flags.writeable:
        part = part.base
    return part is None
