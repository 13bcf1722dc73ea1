"""Units as engineers write them, and the quantities that follow from them."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vibrid.core.errors import VibridError
from vibrid.project.quantities import in_si
from vibrid.records import Channel, read_record
from vibrid.records.unit_factors import FACTORS, ZEROS
from vibrid.records.unit_vocabulary import UNITS
from vibrid.records.units import STANDARD_GRAVITY, from_si, guess_quantity, parse_unit, to_si, unit_factor, unit_for

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


# -- the closed vocabulary --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "factor", "symbol", "kind"),
    [
        ("Nm", 1.0, "N*m", "moment"),
        ("kNm", 1e3, "N*m", "moment"),
        ("KNM", 1e3, "N*m", "moment"),
        ("kN-m", 1e3, "N*m", "moment"),
        ("N·m", 1.0, "N*m", "moment"),
        ("N.m", 1.0, "N*m", "moment"),
        ("lb-ft", 1.3558179483314004, "N*m", "moment"),
        ("kNm/rad", 1e3, "N*m/rad", "rotational stiffness"),
        ("kN\u00a0s/m", 1e3, "N*s/m", "damping"),
        ("kN*s/m", 1e3, "N*s/m", "damping"),
        ("kN/m", 1e3, "N/m", "stiffness"),
        ("N/mm²", 1e6, "Pa", "stress"),
        ("MPA", 1e6, "Pa", "stress"),
        ("Mpa", 1e6, "Pa", "stress"),
        ("in.", 0.0254, "m", "length"),
        ("in./sec.^2", 0.0254, "m/s^2", "acceleration"),
        ("mph", 0.44704, "m/s", "velocity"),
        ("gram/cm^3", 1e3, "kg/m^3", "density"),
        ("mV/g", 1e-3 / STANDARD_GRAVITY, "kg*m/(s*A)", "other"),
        ("KSI", 6894757.293168361, "Pa", "stress"),
        ("in/s²", 0.0254, "m/s^2", "acceleration"),
        ("m s-2", 1.0, "m/s^2", "acceleration"),
        ("m·s⁻²", 1.0, "m/s^2", "acceleration"),
        ("cm/s**2", 0.01, "m/s^2", "acceleration"),
        ("GALS", 0.01, "m/s^2", "acceleration"),
        ("MM", 1e-3, "m", "length"),
        ("μm", 1e-6, "m", "length"),
        ("ue", 1e-6, "", "strain"),
        ("με", 1e-6, "", "strain"),
        ("%", 0.01, "", "none"),
        ("mm/m", 1e-3, "", "none"),
        ("rad/s", 1.0, "rad/s", "angular velocity"),
        ("rpm", 2 * np.pi / 60, "rad/s", "angular velocity"),
        ("kHz", 1e3, "Hz", "frequency"),
        ("1/s", 1.0, "1/s", "rate"),
        ("counts", 1.0, "count", "counts"),
        ("mV", 1e-3, "V", "voltage"),
        ("N/(m s^3)", 1.0, "kg/s^5", "other"),
        ("(m/s)^2", 1.0, "m^2/s^2", "other"),
        ("N s^2/m^3", 1.0, "kg/m^2", "other"),
        ("1/°C", 1.0, "1/K", "other"),
    ],
)
def test_the_fields_units_have_one_meaning(unit, factor, symbol, kind):
    known = parse_unit(unit)
    assert known.factor == pytest.approx(factor, rel=1e-12)
    assert (known.symbol, known.kind, known.offset) == (symbol, kind, 0.0)


@pytest.mark.parametrize(("unit", "kelvin"), [("degC", 293.15), ("°C", 293.15), ("deg C", 293.15), ("℃", 293.15)])
def test_a_temperature_has_its_own_zero(unit, kelvin):
    assert to_si([20.0], unit)[0] == pytest.approx(kelvin)
    assert from_si([kelvin], unit, "K")[0] == pytest.approx(20.0)
    assert to_si([68.0], "degF")[0] == pytest.approx(293.15)
    with pytest.raises(VibridError, match="zero of its own"):
        unit_factor(unit)


@pytest.mark.parametrize(
    ("unit", "advice"),
    [
        ("mPa", "write MPa"),
        ("mpa", "write MPa"),
        ("mil", "thou"),
        ("nm", r"N\*m for a moment"),
        ("NM", r"N\*m for a moment"),
        ("Mg", "t for a mass"),
        ("ton", "write t"),
        ("C", "degC"),
        ("Mm", "write mm"),
        ("Mrad", "write mrad"),
        ("mn", "MN or mN"),
        ("g/cm^3", "write gram"),
        ("N/m s", r"two ways; write N/\(m\*s\)"),
        ("kg/m·s", "two ways"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(unit, advice):
    with pytest.raises(VibridError, match=advice):
        parse_unit(unit)


@pytest.mark.parametrize(("unit", "nearest"), [("kNn", "kN"), ("milimeter", "millimeter"), ("kN/secnd", "second")])
def test_an_unknown_unit_comes_with_the_nearest(unit, nearest):
    with pytest.raises(VibridError, match=f"did you mean '{nearest}'"):
        parse_unit(unit)


@pytest.mark.parametrize(
    "unit",
    ["9^9^9", "m^9^9", "((m^9)^9)^9", "m^", "m^n", "m*/s", "kN/", "/s", "()", "m)", "2 m", "1e-6", "m" * 100, "m²³"],
)
def test_a_text_that_is_no_unit_is_refused(unit):
    with pytest.raises(VibridError, match="is not a unit"):
        parse_unit(unit)


def test_every_spelling_is_converted_and_its_symbol_is_a_unit():
    for spelling in UNITS:
        symbol = parse_unit(spelling).symbol
        again = parse_unit(symbol)
        assert (again.factor, again.symbol, again.offset) == (1.0, symbol, 0.0), spelling


@given(st.lists(st.tuples(st.sampled_from(sorted(UNITS)), st.integers(-3, 3)), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_products_of_units_are_products_of_their_factors(parts):
    text = "*".join(f"{unit}^{power}" for unit, power in parts)
    assume(len(text) <= 60)
    try:
        known = parse_unit(text)
    except VibridError as problem:
        assert "power above 9" in str(problem) or "g is standard gravity" in str(problem)
        return
    factor = np.prod([parse_unit(unit).factor ** float(power) for unit, power in parts])
    assert known.factor == pytest.approx(factor, rel=1e-9)
    again = parse_unit(known.symbol)
    assert (again.symbol, again.factor, again.offset) == (known.symbol, 1.0, 0.0)


@given(st.text(alphabet="mksNgPaH1/*^()-. ²·°µ", max_size=70))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_unit_or_refused(text):
    try:
        assert parse_unit(text).factor > 0
    except VibridError as problem:
        assert str(problem)


def test_frequencies_are_cycles():
    assert unit_for("rad/s", "Hz").to_si(2 * np.pi) == pytest.approx(1.0)
    assert unit_for("rpm", "Hz").to_si(60.0) == pytest.approx(1.0)
    assert unit_for("Hz", "rad/s").to_si(1.0) == pytest.approx(2 * np.pi)
    assert in_si("6.283185307179586 rad/s", "Hz") == pytest.approx(1.0)
    assert in_si("60 rpm", "Hz") == pytest.approx(1.0)
    assert in_si("100 1/s", "Hz") == 100.0
    with pytest.raises(VibridError, match="'Hz' measures frequency; this number is in 1/s"):
        in_si("2 Hz", "1/s")


@pytest.mark.parametrize(("unit", "si"), [("kN", "m"), ("microstrain", "rad"), ("counts", ""), ("rad", ""), ("kN", "")])
def test_a_unit_that_does_not_fit_is_refused(unit, si):
    with pytest.raises(VibridError, match="cannot be expressed"):
        from_si([1.0], unit, si)


def test_channels_are_in_si():
    assert Channel("a", "other", "N m").unit == "N*m"
    assert Channel("a", "load", "N*m").unit == "N*m"  # at a rotation
    with pytest.raises(VibridError, match="in SI units, here m, not in mm"):
        Channel("a", "displacement", "mm")
    with pytest.raises(VibridError, match="a displacement is in m, not in kN"):
        Channel("a", "displacement", "kN")
    with pytest.raises(VibridError, match="Channel 'a': 'blorp' is not a unit"):
        Channel("a", "other", "blorp")


def test_a_file_in_the_fields_units(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "time [s],moment [kNm],temperature [°C],gauge [ue],stress [MPa],twist [rpm]\n0,1,20,3,4,60\n1,1,-10,3,4,60\n",
        encoding="utf-8",
    )
    record = read_record(path)
    np.testing.assert_allclose(record.data[0], [1e3, 293.15, 3e-6, 4e6, 2 * np.pi])
    assert [c.unit for c in record.channels] == ["N*m", "K", "", "Pa", "rad/s"]
    assert record.channel("gauge").quantity == "strain"
    path.write_text("time [s],stress [mPa]\n0,1\n1,2\n")
    with pytest.raises(VibridError, match=r"line 1: column 'stress': 'mPa' is not a unit with one meaning: write MPa"):
        read_record(path)


def test_the_factors_are_those_of_pint():
    """Every unit that is read: its factor, its dimension, and the zero of a temperature."""
    pint = pytest.importorskip("pint")
    registry = pint.UnitRegistry(cache_folder=None)
    assert set(FACTORS) == {unit.pint for unit in UNITS.values()}
    for unit in set(UNITS.values()):
        name = f"delta_{unit.pint}" if unit.offset else unit.pint
        base = (registry.Quantity(1.0) * registry(name)).to_base_units()
        factor, powers = FACTORS[unit.pint]
        assert factor == pytest.approx(base.magnitude, rel=2e-15, abs=0)  # ten roundings: products in another order
        dimensions = ("mass", "length", "time", "current", "temperature")
        assert powers == tuple(base.dimensionality.get(f"[{name}]", 0) for name in dimensions)
        if unit.offset:
            zero = registry.Quantity(0.0, unit.pint).to("kelvin").magnitude
            assert ZEROS[unit.pint] == pytest.approx(zero, rel=1e-15)
