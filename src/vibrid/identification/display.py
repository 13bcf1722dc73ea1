"""Estimates in the units in which a user gave the values; all computing is in SI units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from vibrid.core.digits import with_uncertainty
from vibrid.core.errors import InputError
from vibrid.records.units import unit_for


def factor_of(unit: str, si_unit: str) -> float | None:
    """SI number per number in a unit; None where the unit measures something else or has another zero (°C)."""
    try:
        known = unit_for(unit, si_unit)
    except InputError:
        return None
    return known.factor if known.offset == 0 and math.isfinite(known.factor) and known.factor > 0 else None


def checked_units(units: Mapping[str, Any], names: tuple[str, ...], si_units: tuple[str, ...]) -> dict[str, str]:
    """Units of display by name; those that are not units of the parameter are left out."""
    known = dict(zip(names, si_units, strict=True))
    return {
        name: unit
        for name, unit in units.items()
        if name in known and isinstance(unit, str) and unit and factor_of(unit, known[name]) is not None
    }


def displayed(row: Mapping[str, Any], unit: str) -> dict[str, Any]:
    """The numbers of a row of `Identification.table` in another unit, and the estimate as text: `320.4 ± 1.2 MN/m`."""
    factor = factor_of(unit, row["unit"]) or 1.0
    estimate, spread = row["estimate"] / factor, 2 * row["standard_deviation"] / factor
    value, band = with_uncertainty(estimate, spread)
    return {
        "unit": unit,
        "si_per_unit": factor,
        "estimate": estimate,
        "standard_deviation": row["standard_deviation"] / factor,
        "interval_95": [end / factor for end in row["interval_95"]],
        "bounds": [None if end is None else end / factor for end in row["bounds"]],
        "cramer_rao_bound": row["cramer_rao_bound"] / factor,
        "text": " ".join(filter(None, [value, f"± {band}" if band else "", unit])),
    }
