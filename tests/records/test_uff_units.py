"""Universal files: dataset 164 converts what the functions do not label, and contradictions are refused."""

import numpy as np
import pytest

from vibrid.core.errors import FileProblem
from vibrid.records import Channel, read_record

VALUES = np.array([1.0, -2.0, 3.0, 4.0])
FACTORS = {"SI": (1.0, 1.0), "mm": (1000.0, 1.0), "mm, mN": (1000.0, 1000.0), "in, lb": (39.37007874, 0.224808943)}


def function(code=8, label="NONE", clock="s", clock_code=17, powers=(0, 0), step=0.01) -> str:
    axis = "{:10d}{:5d}{:5d}{:5d} {:<20s} {:<20s}".format
    head = ["roof", *["NONE"] * 4, f"{1:5d}{0:10d}{0:5d}{0:10d} {'NONE':>10s}{5:10d}{1:4d} {'NONE':>10s}{0:10d}{0:4d}"]
    head.append(f"{4:10d}{len(VALUES):10d}{1:10d}{0.0:13.5E}{step:13.5E}{0.0:13.5E}")
    head += [axis(clock_code, 0, 0, 0, "time", clock), axis(code, *powers, 0, "NONE", label)]
    head += [axis(0, 0, 0, 0, "NONE", "NONE")] * 2
    rows = "".join(f"{v:20.12E}" for v in VALUES)
    return "    -1\n    58\n" + "\n".join(line.ljust(80) for line in head) + f"\n{rows}\n    -1\n"


def units(name="mm") -> str:
    length, force = FACTORS[name]
    numbers = "".join(f"{v:25.17E}".replace("E", "D") for v in (length, force, 1.0))
    return f"    -1\n   164\n{9:10d}{name:20s}{2:10d}\n{numbers}\n{273.15:25.17E}\n    -1\n"


@pytest.fixture
def put(tmp_path):
    def write(text):
        (tmp_path / "a.uff").write_text(text)
        return tmp_path / "a.uff"

    return write


@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize(
    ("code", "quantity", "powers"),
    [(8, "displacement", (1, 0)), (12, "absolute_acceleration", (1, 0)), (13, "load", (0, 1)), (3, "strain", (0, 0))],
)
@pytest.mark.parametrize("first", [True, False])
def test_numbers_without_a_label_are_in_the_units_of_the_file(put, name, code, quantity, powers, first):
    parts = [units(name), function(code)]
    record = read_record(put("".join(parts if first else parts[::-1])))
    length, force = FACTORS[name]
    np.testing.assert_allclose(record["roof"], VALUES / (length ** powers[0] * force ** powers[1]), rtol=1e-12)
    assert record.channels[0] == Channel("roof", quantity, location="node 5", direction="X+")
    assert name in record.history[-1]


def test_the_powers_of_a_general_function_are_in_its_header(put):
    record = read_record(put(units("mm") + function(1, powers=(1, 0))))
    np.testing.assert_allclose(record["roof"], 1e-3 * VALUES)


def test_a_label_must_agree_with_the_file(put):
    np.testing.assert_allclose(read_record(put(units("mm") + function(8, "mm")))["roof"], 1e-3 * VALUES)
    np.testing.assert_allclose(read_record(put(function(8, "mm")))["roof"], 1e-3 * VALUES)
    path = put(units("SI") + function(8, "mm"))
    with pytest.raises(FileProblem, match=r"labelled 'mm', and by dataset 164 \('SI'\).* give `units`, which decides"):
        read_record(path)
    np.testing.assert_allclose(read_record(path, units="mm")["roof"], 1e-3 * VALUES)
    np.testing.assert_allclose(read_record(path, units={"roof": "m"})["roof"], VALUES)


def test_the_abscissa_has_a_unit_too(put):
    assert read_record(put(function(clock="ms", step=10.0))).step == pytest.approx(0.01)
    with pytest.raises(FileProblem, match="is in 'mm', which is no unit of time"):
        read_record(put(function(clock="mm")))
    with pytest.raises(FileProblem, match="no real time history"):
        read_record(put(function(clock_code=18, clock="Hz")))  # over frequency


def test_a_damaged_dataset_of_units_is_refused(put):
    text = units("mm").replace("1.00000000000000000D+03", "nothing")
    with pytest.raises(FileProblem, match="line 2: dataset 164 does not give the factors"):
        read_record(put(text + function()))
