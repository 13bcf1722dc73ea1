"""Numbers with the digits that their uncertainty supports."""

from __future__ import annotations

import math

DIGITS = 4
"""Meaningful digits of a number whose uncertainty is not known."""
MOST_DIGITS = 7


def with_uncertainty(value: float, spread: float) -> tuple[str, str]:
    """A value and its ± as text: two digits of the ±, and the value to the same decimal place.

    At most seven digits of the value are given; four where the ± is not known.

    Example
        >>> with_uncertainty(320.4361, 1.1732), with_uncertainty(2.60055e7, 2.33e4), with_uncertainty(0.05, math.nan)
        (('320.4', '1.2'), ('2.6006e+07', '2.3e+04'), ('0.05', ''))
    """
    if not math.isfinite(value):
        return f"{value:g}", ""
    if not math.isfinite(spread) or spread <= 0:
        return f"{value:.{DIGITS}g}", ""
    last = _leading(float(f"{spread:.1e}")) - 1  # power of ten of the last digit
    if value != 0:
        last = max(last, _leading(value) - MOST_DIGITS + 1)
    rounded = round(value / 10.0**last) * 10.0**last
    if (rounded != 0 and not 1e-3 <= abs(rounded) < 1e6) or spread >= 1e6:
        top = max(_leading(rounded) if rounded else last, last)
        return f"{rounded:.{top - last}e}", f"{spread:.1e}"
    decimals = max(-last, 0)
    return f"{rounded:.{decimals}f}", f"{_two_digits(spread):.{max(1 - _leading(_two_digits(spread)), 0)}f}"


def _two_digits(value: float) -> float:
    return float(f"{value:.1e}")


def _leading(value: float) -> int:
    """Power of ten of the first digit."""
    return math.floor(math.log10(abs(value)))
