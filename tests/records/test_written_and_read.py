"""What is written is read: any record, through every writer and reader, with units, quantities, places and history."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vibrid.core.errors import VibridError
from vibrid.records import QUANTITIES, Channel, Record, ResponseSpectrum, UtcClock, read_record
from vibrid.records.journal import Journal
from vibrid.records.motions.tables import read_target, write_spectra
from vibrid.records.streams.packets import pack, unpack
from vibrid.records.units import from_si, parse_unit

EVERY = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
names = (
    st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters='",;[]()'), min_size=1, max_size=12)
    .map(str.strip)
    .filter(bool)
)
UNITS = ("", "N*m", "K", "Pa", "rad/s", "kg/m^3", "Hz", "V", "count", "kg*m/(s^3*K)", "1/s", "J", "N/m")
OTHERS = {  # units of files for the SI unit of a channel
    "m": "mm cm in ft µm",
    "m/s": "mm/s in/s",
    "m/s^2": "g gal cm/s^2 in/s² mg",
    "N": "kN kip lb tf",
    "rad": "deg mrad",
    "K": "degC degF",
    "Pa": "MPa ksi",
    "N*m": "kNm lb-ft",
}
numbers = st.floats(allow_infinity=False, width=64)


instants = st.integers(-(10**18), 4 * 10**18).map(lambda n: np.datetime64(n, "ns"))
clocks = st.builds(UtcClock, instants, texts, st.none() | st.floats(0, 1e6))


@st.composite
def channels(draw):
    quantity = draw(st.sampled_from(sorted(QUANTITIES)))
    unit = draw(st.sampled_from(UNITS)) if quantity == "other" else ""
    place = draw(texts), draw(texts)
    return Channel(draw(names), quantity, unit, *place)


@st.composite
def records(draw, uniform=None, fewest=0):
    described = draw(st.lists(channels(), min_size=1, max_size=4, unique_by=lambda c: c.name))
    count = draw(st.integers(fewest, 7))
    data = draw(st.lists(st.tuples(*[numbers] * len(described)), min_size=count, max_size=count))
    data = np.array(data, float).reshape(count, len(described))
    even = draw(st.booleans()) if uniform is None else uniform
    if even:
        axis = {"step": draw(st.floats(1e-6, 1e3)), "start": draw(st.floats(-1e6, 1e6))}
    else:
        axis = {"times": np.array(sorted(draw(st.sets(st.floats(-1e6, 1e6), min_size=count, max_size=count))))}
    history = draw(st.lists(texts, max_size=3))
    return Record(data, described, name=draw(texts), history=history, clock=draw(st.none() | clocks), **axis)


def assert_equal(back: Record, record: Record) -> None:
    assert back.channels == record.channels
    assert (back.name, back.history, back.step) == (record.name, record.history, record.step)
    assert record.step is None or back.start == record.start
    assert back.clock == record.clock
    np.testing.assert_array_equal(back.time, record.time)
    np.testing.assert_array_equal(back.data, record.data)


@EVERY
@given(records())
def test_a_record_comes_back_from_csv(tmp_path, record):
    assert_equal(read_record(record.write_csv(tmp_path / "a.csv")), record)


@EVERY
@given(records())
def test_a_record_comes_back_from_hdf5(tmp_path, record):
    assert_equal(read_record(record.write_hdf5(tmp_path / "a.h5")), record)


@EVERY
@given(records(), st.data())
def test_a_record_comes_back_from_other_units(tmp_path, record, data):
    """Through the unit there and back: equal to the rounding of the numbers, everything else exactly."""
    units = {}
    for c in record.channels:
        if c.unit in OTHERS and data.draw(st.booleans()):
            units[c.name] = data.draw(st.sampled_from(OTHERS[c.unit].split()))
    with np.errstate(over="ignore"):
        large = [np.isinf(from_si(record[name], unit)).any() for name, unit in units.items()]
    if any(large):
        with pytest.raises(VibridError, match="too large"):
            record.write_csv(tmp_path / "a.csv", units=units)
        return
    back = read_record(record.write_csv(tmp_path / "a.csv", units=units))
    assert (back.channels, back.name, back.history) == (record.channels, record.name, record.history)
    for name in record.names:
        offset = parse_unit(units.get(name, "")).offset
        np.testing.assert_allclose(back[name], record[name], rtol=1e-14, atol=1e-13 * offset + 1e-300)  # subnormal


@EVERY
@given(records(fewest=1), st.booleans())
def test_a_record_comes_back_from_a_journal(tmp_path_factory, record, stated):
    path = tmp_path_factory.mktemp("journal") / "a.vbj"
    journal = Journal(path, record.channels, record.name, record.step if stated else None)
    journal.write(np.column_stack([record.time, record.data]))
    journal.close()
    back = read_record(path)
    increasing = np.concatenate([[True], np.diff(record.time) > 0])
    assert back.channels == record.channels and back.name == record.name
    np.testing.assert_array_equal(back.data, record.data[increasing])
    np.testing.assert_allclose(back.time, record.time[increasing], rtol=1e-12, atol=1e-3 * (back.step or 0.0))


@EVERY
@given(records(), st.sampled_from(["csv", "h5"]))
def test_it_comes_back_a_second_time(tmp_path, record, ending):
    """A file that was read is written again as it was."""
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    write = Record.write_csv if ending == "csv" else Record.write_hdf5
    write(record, first)
    write(read_record(first), second)
    assert_equal(read_record(second), record)


@EVERY
@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=6, unique=True), st.floats(1e-6, 1e3), texts)
def test_a_spectrum_comes_back_as_a_target(tmp_path, periods, displacement, name):
    spectrum = ResponseSpectrum(np.sort(periods), 0.05, displacement * np.arange(1.0, len(periods) + 1), name=name)
    target = read_target(write_spectra([spectrum], tmp_path / "a.csv"))
    np.testing.assert_array_equal(target.periods, spectrum.periods)
    np.testing.assert_array_equal(target.acceleration, spectrum.pseudo_acceleration)


@EVERY
@given(st.integers(0, 2**32 - 1), st.floats(-1e9, 1e9), st.lists(numbers, max_size=5))
def test_a_packet_comes_back(number, moment, values):
    back = unpack(pack(number, moment, values), len(values))
    assert (back.number, back.time) == (number, moment)
    np.testing.assert_array_equal(back.values, values)


@pytest.mark.parametrize("ending", ["csv", "h5"])
def test_what_no_file_keeps_is_refused_before_it_is_written(tmp_path, ending):
    plain = Channel("a", "load")
    bad = [
        Record([1.0, np.inf], [plain], step=0.1),
        Record([1.0, 2.0], [plain], step=0.1, name="a\0b"),
        Record([1.0, 2.0], [plain], step=0.1, history=["\ud800"]),
        Record([1.0, 2.0], [Channel("a", "load", location="\0")], step=0.1),
    ]
    for record in bad:
        with pytest.raises(VibridError, match=r"infinite|cannot be written"):
            (record.write_csv if ending == "csv" else record.write_hdf5)(tmp_path / f"a.{ending}")
    assert list(tmp_path.iterdir()) == []


def test_a_unit_that_does_not_fit_is_not_written(tmp_path):
    record = Record([1.0, 2.0], [Channel("ratio")], step=0.1)
    with pytest.raises(VibridError, match="cannot be expressed in kN"):
        record.write_csv(tmp_path / "a.csv", units={"ratio": "kN"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "h5"])
def test_a_wide_record_comes_back(tmp_path, ending):
    count = 600 if ending == "csv" else 60
    described = [Channel(f"channel {i}", "load", location=f"a place with a long name, {i}") for i in range(count)]
    record = Record(np.arange(3.0 * count).reshape(3, -1), described, step=0.1, history=["x" * 20_000], name="wide")
    path = tmp_path / f"a.{ending}"
    (record.write_csv if ending == "csv" else record.write_hdf5)(path)
    assert_equal(read_record(path), record)


@pytest.mark.parametrize("ending", ["csv", "h5"])
def test_a_name_like_a_direction_is_no_direction_where_none_is_stated(tmp_path, ending):
    record = Record(np.zeros((3, 1)), [Channel("E", "ground_acceleration")], step=0.1)
    write = record.write_csv if ending == "csv" else record.write_hdf5
    assert read_record(write(tmp_path / f"a.{ending}")).channels == record.channels
