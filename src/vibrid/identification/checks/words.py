"""Factors between units, in words."""

from __future__ import annotations

import math

GRAVITY = 9.80665
_LENGTHS = {1000.0: "mm", 100.0: "cm", 39.3700787: "inches", 3.2808399: "feet"}
_NEAR = 0.05  # share by which a factor may differ from one of the list


def unit_hint(factor: float, quantity: str, near: float = _NEAR) -> str:
    """The unit that explains a factor of the readings, "in g?", the nearest of those known; "" where none does.

    `factor` is reading / true value, of either sign; `near` is the share by which it may differ.
    """
    known: dict[float, str] = {}
    if quantity.endswith("acceleration"):
        known |= {1.0 / GRAVITY: "in g?", GRAVITY: "in m/s² already, and given as g?", 1000 / GRAVITY: "in mg?"}
        known |= _of_lengths("/s²")
    elif quantity in ("displacement", "drift"):
        known |= _of_lengths("")
    elif quantity in ("velocity", "drift_velocity"):
        known |= _of_lengths("/s")
    elif quantity in ("element_force", "load"):
        known |= {1e-3: "in kN?", 1e-6: "in MN?", 1 / GRAVITY: "in kgf?", 1 / 4.4482216: "in lbf?"}
    elif quantity == "strain":
        known |= {1e6: "in microstrain?", 100.0: "in percent?"}
    away = {words: abs(math.log(abs(factor) / value)) for value, words in known.items()}
    best = min(away, key=lambda words: away[words], default="")
    return best if best and away[best] < math.log1p(near) else ""


def _of_lengths(per: str) -> dict[float, str]:
    given = {value: f"in {name}{per}?" for value, name in _LENGTHS.items()}
    return given | {1 / value: f"in m{per} already, and given as {name}{per}?" for value, name in _LENGTHS.items()}


def times(factor: float) -> str:
    """ "9.81 times too large" or "… too small" from reading / true value."""
    size = abs(factor)
    return f"{size:.3g} times too large" if size > 1 else f"{1 / size:.3g} times too small"
