"""Units as engineers write them, and the quantities that follow from them."""

import numpy as np
import pytest

from vibrid.core.errors import VibridError
from vibrid.records.units import STANDARD_GRAVITY, from_si, guess_quantity, to_si, unit_factor

pytestmark = pytest.mark.compat


@pytest.mark.parametrize(
    ("unit", "factor", "symbol"),
    [
        ("g", STANDARD_GRAVITY, "m/s^2"),
        ("G", STANDARD_GRAVITY, "m/s^2"),
        ("gal", 0.01, "m/s^2"),
        ("cm/s^2", 0.01, "m/s^2"),
        ("cm/sec/sec", 0.01, "m/s^2"),
        ("CM/SEC2", 0.01, "m/s^2"),
        ("m/s²", 1.0, "m/s^2"),
        ("in", 0.0254, "m"),
        ("in/s", 0.0254, "m/s"),
        ("kip", 4448.2216152605, "N"),
        ("lb", 4.4482216152605, "N"),
        ("kN", 1000.0, "N"),
        ("mm", 1e-3, "m"),
        ("deg", np.pi / 180, "rad"),
        ("microstrain", 1e-6, ""),
        ("ms", 1e-3, "s"),
        ("", 1.0, ""),
        ("gram", 1e-3, "kg"),
        ("mg", 1e-3 * STANDARD_GRAVITY, "m/s^2"),
    ],
)
def test_units_are_an_engineers(unit, factor, symbol):
    found = unit_factor(unit)
    assert found[0] == pytest.approx(factor, rel=1e-12)
    assert found[1] == symbol


@pytest.mark.parametrize("unit", ["furlongs per", "__import__('os')", "m^999", "kg**9**9", "(" * 50, "1/0", "€"])
def test_an_unknown_unit_is_refused_with_a_message(unit):
    with pytest.raises(VibridError, match="unit"):
        unit_factor(unit)


def test_units_translate_both_ways():
    assert to_si([2.0], "kip")[0] == pytest.approx(8896.443230521)
    assert from_si([9.80665], "g", "m/s^2")[0] == pytest.approx(1.0)
    with pytest.raises(VibridError, match="cannot be expressed"):
        from_si([1.0], "kN", "m")


@pytest.mark.parametrize(
    ("name", "unit", "quantity"),
    [
        ("roof_acc", "m/s^2", "absolute_acceleration"),
        ("ground", "g", "ground_acceleration"),
        ("rel_acc_3", "g", "acceleration"),
        ("storey_drift", "mm", "drift"),
        ("jack_load", "kN", "load"),
        ("brace", "kN", "element_force"),
        ("gauge strain", "microstrain", "strain"),
        ("x", "", "other"),
    ],
)
def test_quantities_follow_from_unit_and_name(name, unit, quantity):
    assert guess_quantity(name, unit) == quantity
