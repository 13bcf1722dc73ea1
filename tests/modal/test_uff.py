"""Geometry, modes, time histories and frequency responses as universal files, written and read back."""

import dataclasses

import numpy as np
import pytest

import vibrid as vb
from vibrid.modal import measured_modes, read_geometry, read_uff, write_uff

TABLE = "place,x,y,z,direction\n0,0,0,3,x\n1,0,0,6,x\n1y,0,0,6,-y\n2,0,0,9.5,x\n"


@pytest.fixture
def geometry(tmp_path):
    (tmp_path / "sensors.csv").write_text(TABLE, encoding="utf-8")
    return read_geometry(tmp_path / "sensors.csv")


def modes():
    shapes = np.array([[0.3, 0.8], [0.6, 0.1], [0.05, 0.4], [0.7, -0.6]])
    return measured_modes([1.25, 3.75], shapes, ["0", "1", "1y", "2"], ratios=[0.015, 0.02])


def test_a_small_table_is_a_geometry(geometry):
    assert geometry.nodes == (1, 2, 3) and geometry.lines == ((1, 2, 3),)
    np.testing.assert_array_equal(geometry.positions[:, 2], [3.0, 6.0, 9.5])
    moved = geometry.shape({"1": 2.0, "1y": 0.5})
    np.testing.assert_array_equal(moved.real, [[0, 0, 0], [2.0, -0.5, 0], [0, 0, 0]])


@pytest.mark.parametrize("turned", [False, True], ids=["normal", "complex"])
def test_geometry_and_modes_come_back(geometry, tmp_path, turned):
    written = modes()
    if turned:
        bent = written.shapes * np.exp(0.2j * np.arange(4))[:, None]
        written = dataclasses.replace(written, complex_shapes=bent)
    write_uff(tmp_path / "m.uff", geometry=geometry, modes=written)
    back = read_uff(tmp_path / "m.uff")
    np.testing.assert_allclose(back.geometry.positions, geometry.positions, rtol=1e-5)
    assert back.geometry.lines == geometry.lines
    assert list(back.modes.places) == ["1x", "2x", "2y", "3x"]
    np.testing.assert_allclose(back.modes.frequencies, written.frequencies, rtol=1e-5)
    np.testing.assert_allclose(back.modes.ratios, written.ratios, rtol=1e-3)
    expected = (written.complex_shapes if turned else written.shapes) * np.array([1, 1, -1, 1])[:, None]
    own = back.modes.complex_shapes if turned else back.modes.shapes
    np.testing.assert_allclose(np.diag(vb.structures.mac(own, expected)), 1.0, rtol=1e-6)


def test_columns_are_where_the_format_has_them(geometry, tmp_path):
    """Dataset 15 is (4I10, 3E13.5), 82 has nodes in I10, 55 the frequency in the first field of record 8."""
    lines = write_uff(tmp_path / "m.uff", geometry=geometry, modes=modes()).read_text().split("\n")
    node = lines[lines.index("    15") + 3]
    assert (int(node[:10]), float(node[40:53]), float(node[66:79])) == (3, 0.0, 9.5)
    trace = lines.index("    82")
    assert [int(lines[trace + 1][i : i + 10]) for i in (0, 10)] == [1, 3]
    assert [int(lines[trace + 3][i : i + 10]) for i in (0, 10, 20)] == [1, 2, 3]
    mode = lines.index("    55")
    assert [int(lines[mode + 6][i : i + 10]) for i in range(0, 60, 10)] == [1, 2, 2, 8, 2, 3]
    assert float(lines[mode + 8][:13]) == pytest.approx(1.25) and float(lines[mode + 8][26:39]) == pytest.approx(0.015)


def test_a_record_comes_back_by_read_record(tmp_path):
    rng = np.random.default_rng(0)
    channels = [vb.Channel("floor", "absolute_acceleration"), vb.Channel("push", "load", location="0")]
    record = vb.Record(rng.standard_normal((250, 2)), channels, step=0.01)
    back = vb.read_record(write_uff(tmp_path / "r.uff", record=record))
    np.testing.assert_allclose(back.data, record.data, rtol=1e-11)
    assert back.step == pytest.approx(0.01) and [c.quantity for c in back.channels] == ["absolute_acceleration", "load"]


def test_frequency_responses_are_written_as_complex_functions(tmp_path):
    rng = np.random.default_rng(1)
    load = rng.standard_normal(4000)
    motion = np.stack([np.convolve(load, h)[:4000] for h in ([1.0, 0.5], [0.2, 1.0])], axis=1)
    channels = [vb.Channel("f", "load", location=0), vb.Channel("a", "acceleration"), vb.Channel("b", "acceleration")]
    response = vb.modal.frequency_response(vb.Record(np.column_stack([load, motion]), channels, step=0.01))
    lines = write_uff(tmp_path / "h.uff", response=response).read_text().split("\n")
    first = lines.index("    58")
    assert lines[first + 1] == "a" and int(lines[first + 6][:5]) == 4 and int(lines[first + 7][:10]) == 6
    numbers = [float(lines[first + 12][i : i + 20]) for i in range(0, 80, 20)]
    expected = response.values[:2, 0, 0]
    np.testing.assert_allclose(numbers, [expected[0].real, expected[0].imag, expected[1].real, expected[1].imag])


@pytest.fixture(scope="module")
def response():
    """Four motions of three modes under two loads, in closed form."""
    poles = 2 * np.pi * np.array([1.25, 3.75, 6.0]) * (-0.02 + 1j * np.sqrt(1 - 0.02**2))
    shapes = np.array([[0.3, 0.8, 0.5], [0.6, 0.1, -0.7], [0.05, 0.4, 0.3], [0.7, -0.6, 0.4]])
    s = 2j * np.pi * np.linspace(0.02, 10.0, 500)[:, None]
    each = [
        np.einsum("l,o,i->loi", 1 / ((s - p) * (s - p.conj()))[:, 0], phi, phi[[0, 3]])
        for p, phi in zip(poles, shapes.T, strict=True)
    ]
    outputs = tuple(vb.Channel(f"a{p}", "acceleration", location=p) for p in ("0", "1", "1y", "2"))
    inputs = tuple(vb.Channel(f"f{p}", "load", location=p) for p in ("0", "2"))
    return vb.modal.FrequencyResponse(
        s[:, 0].imag / (2 * np.pi), sum(each) * s[:, :, None] ** 2, None, inputs, outputs, "H1"
    )


def test_frequency_responses_come_back(geometry, tmp_path, response):
    """With nodes and directions: places are "1x"; the sensor in -y was turned, the numbers are those of the axis."""
    back = read_uff(write_uff(tmp_path / "h.uff", geometry=geometry, response=response))
    np.testing.assert_allclose(back.response.frequencies, response.frequencies, rtol=1e-5)
    turned = response.values * np.array([1, 1, -1, 1])[:, None]
    np.testing.assert_allclose(back.response.values, turned, rtol=1e-10, atol=1e-12 * np.abs(turned).max())
    assert [c.location for c in back.response.outputs] == ["1x", "2x", "2y", "3x"] == list(back.geometry.places)
    assert [(c.quantity, c.location) for c in back.response.inputs] == [("load", "1x"), ("load", "3x")]
    found, right = vb.modal.frf(back.response, order=12), vb.modal.frf(response, order=12)
    np.testing.assert_allclose(found.frequencies, [1.25, 3.75, 6.0], rtol=1e-4)
    np.testing.assert_allclose(found.ratios, right.ratios, rtol=1e-3)
    assert np.isnan(found.frequency_deviations).all()
    page = found.report(tmp_path / "m.html", geometry=back.geometry).read_text(encoding="utf-8")
    assert page.count("<animate") == 3 * (2 * 4 + 3 * 2)  # of each mode two lines and three nodes


def test_frequency_responses_without_a_geometry_keep_their_names(tmp_path, response):
    back = read_uff(write_uff(tmp_path / "h.uff", response=response))
    assert back.geometry is None and [c.name for c in back.response.outputs] == ["a0", "a1", "a1y", "a2"]
    np.testing.assert_allclose(back.response.values, response.values, rtol=1e-10, atol=1e-12)


def test_binary_functions_in_other_units(geometry, tmp_path, response):
    """The same functions in single precision, binary, in mm and kN (dataset 164)."""
    text = write_uff(tmp_path / "h.uff", geometry=geometry, response=response).read_text()
    text = text.replace(f"{1.0:25.17E}{1.0:25.17E}", f"{1000.0:25.17E}{1e-3:25.17E}")
    head, *functions = text.split("    -1\n    58\n")
    made, order = head.encode(), [(o, i) for o in range(4) for i in range(2)]
    for function, (o, i) in zip(functions, order, strict=True):
        lines = [line.replace("m/s^2", "NONE ").replace(" N  ", " NONE") for line in function.split("\n")[:11]]
        lines[6] = f"{5:10d}" + lines[6][10:]
        values = np.ascontiguousarray(response.values[:, o, i] * 1e6).view(float).astype("<f4").tobytes()
        made += f"    -1\n    58b{1:6d}{2:6d}{11:12d}{len(values):12d}{0:6d}{0:6d}{0:12d}{0:12d}\n".encode()
        made += "\n".join([*lines, ""]).encode() + values + b"\n    -1\n"
    (tmp_path / "b.uff").write_bytes(made)
    back = read_uff(tmp_path / "b.uff").response
    turned = response.values * np.array([1, 1, -1, 1])[:, None]
    np.testing.assert_allclose(back.values, turned, rtol=1e-6, atol=1e-7 * np.abs(turned).max())


def test_functions_that_do_not_belong_together_are_told(tmp_path, response, geometry):
    text = write_uff(tmp_path / "h.uff", geometry=geometry, response=response).read_text()
    head, *functions = text.split("    -1\n    58\n")
    mark = "    -1\n    58\n"
    step = f"{0.02:13.5E}{0.02:13.5E}"
    cases = [
        (mark.join([head, *functions[:-1]]), "response of '3x' to '3x' is missing"),
        (mark.join([head, *functions, functions[0]]), "is there twice"),
        (
            mark.join([head, *functions[:-1], functions[-1].replace(step, f"{0.02:13.5E}{0.03:13.5E}")]),
            "different freq",
        ),
        (text.replace(f"{6:10d}{500:10d}", f"{6:10d}{501:10d}"), "announced"),
        (text.replace(f"{6:10d}{500:10d}", f"{4:10d}{500:10d}"), "complex values at even steps"),
    ]
    for content, said in cases:
        assert content != text
        (tmp_path / "d.uff").write_text(content)
        with pytest.raises(vb.VibridError, match=said):
            read_uff(tmp_path / "d.uff")


def test_a_geometry_without_a_measured_place_is_told(geometry, tmp_path):
    other = measured_modes([1.0], [[1.0], [0.5]], ["0", "roof"])
    with pytest.raises(vb.InputError, match="no place 'roof'; it has 0, 1, 1y, 2"):
        other.report(tmp_path / "m.html", geometry=geometry)


@pytest.mark.parametrize(
    ("text", "said"),
    [("hello\n", "no universal file"), ("    -1\n    15\nx\n    -1\n", "dataset 15 that begins here"),
     ("    -1\n   151\nx\n    -1\n", "no nodes")],
)  # fmt: skip
def test_damaged_files_are_told(tmp_path, text, said):
    (tmp_path / "d.uff").write_text(text)
    with pytest.raises(vb.VibridError, match=said):
        read_uff(tmp_path / "d.uff")


def test_tables_and_arguments_that_are_wrong(tmp_path, geometry):
    (tmp_path / "t.csv").write_text(TABLE.replace("-y", "up"))
    with pytest.raises(vb.VibridError, match="a direction is x, -x"):
        read_geometry(tmp_path / "t.csv")
    with pytest.raises(vb.InputError, match="give the geometry"):
        write_uff(tmp_path / "m.uff", modes=modes())
