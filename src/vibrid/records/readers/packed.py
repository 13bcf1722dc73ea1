"""Numbers of netCDF files as they were measured: missing ones as NaN, and packed ones expanded (CF conventions, 8.1).

number = stored * scale_factor + add_offset        NaN where stored is _FillValue, missing_value or out of its range
"""

from __future__ import annotations

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.readers.isolated import Hdf5Array

_DEFAULT_FILL = 9.969209968386869e36  # of netCDF, for floating point, where a file states none
_SINCE = " since "


def unpacked(array: Hdf5Array) -> np.ndarray:
    """The numbers of an array; InputError where an attribute that changes them is not a number."""
    about, stored = array.attributes, array.values
    if stored.dtype.kind not in "iuf":
        return stored
    missing = np.zeros(stored.shape, bool)
    if "_FillValue" not in about and stored.dtype.kind == "f" and stored.dtype.itemsize >= 4:
        missing = stored == stored.dtype.type(_DEFAULT_FILL)
    for word in ("_FillValue", "missing_value"):
        fill = _number(array, word)
        if fill is not None and not np.isnan(fill):
            missing |= stored == fill
    lowest, highest = _number(array, "valid_min"), _number(array, "valid_max")
    if isinstance(about.get("valid_range"), list) and len(about["valid_range"]) == 2:
        lowest, highest = about["valid_range"]
    if lowest is not None:
        missing |= stored < lowest
    if highest is not None:
        missing |= stored > highest
    scale, offset = _number(array, "scale_factor"), _number(array, "add_offset")
    if scale is None and offset is None and not missing.any():
        return stored
    values = stored * (1.0 if scale is None else scale) + (0.0 if offset is None else offset)
    return np.where(missing, np.nan, values)


def _number(array: Hdf5Array, word: str) -> float | None:
    value = array.attributes.get(word)
    if value is None or isinstance(value, float):
        return value
    raise InputError(f"'{array.name[:60]}': its attribute {word} is {str(value)[:40]!r}, which is not a number.")


def unit_and_epoch(text: str) -> tuple[str, str]:
    """A unit without the date it counts from, and that date: `milliseconds since 2024-05-01` has both."""
    unit, _, epoch = text.partition(_SINCE)
    return unit.strip(), epoch.strip()
