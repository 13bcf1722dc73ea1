"""What a notebook shows, text that fits on a screen, and tables of pandas and xarray."""

import inspect
import sys

import numpy as np
import pandas
import pytest
import xarray

import vibrid as vb
from vibrid.report.modal_plots import degrees_of_freedom

SENSORS = vb.Sensors(displacement=[0, 1], acceleration=[1])


@pytest.fixture(scope="module")
def things():
    """One of everything that a notebook shows, made from one small building."""
    building = vb.ShearBuilding([1.0, 0.8], [vb.Linear(60.0, 0.8), vb.Linear(40.0, 0.8)])
    motion = vb.synthetic_motion(3, duration=4.0, rate=50.0, pga=3.0)
    response = vb.simulate(building, motion)
    data = response.measure(SENSORS, noise=0.02, key=1)
    fit = vb.identify(building, data, ["storeys[*].stiffness"])
    comparison = vb.identification.Comparison({"a": fit, "b": fit}, {"c": "It refused <it>."})
    return {
        "structure": building,
        "record": data,
        "response": response,
        "fit": fit,
        "comparison": comparison,
        "modes": vb.modes(building),
        "validation": fit.validate(data),
        "prediction": fit.predict_readings(data),
    }


KINDS = ["structure", "record", "response", "fit", "comparison", "modes", "validation", "prediction"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_a_table_and_a_text_that_fits(things, kind):
    thing = things[kind]
    shown = thing._repr_html_()
    assert "data:image/png;base64," in shown and "<table" in shown and "No picture" not in shown
    assert "<it>" not in shown, "text of a user is escaped"
    lines = repr(thing).splitlines()
    assert len(lines) < 30 and max(map(len, lines)) < 140
    assert isinstance(thing.to_pandas(), pandas.DataFrame) and isinstance(thing.to_xarray(), xarray.Dataset)


def test_texts_say_the_values(things):
    assert "masses = [1, 0.8]" in repr(things["structure"])
    assert repr(vb.Linear(40.0, 0.5)) == "Linear(stiffness=40, damping=0.5)"
    assert "200 samples" in repr(things["response"]) and "2 degrees of freedom" in repr(things["response"])
    large = vb.ShearBuilding([1.0] * 80, [vb.Linear(k) for k in np.linspace(1, 2, 80)])
    assert len(repr(large)) < 600 and "80 values" in repr(large) and "80 in all" in repr(large)
    many = vb.Record(np.zeros((3, 90)), [vb.Channel(f"c{i}") for i in range(90)], step=0.1)
    assert "70 more channels" in repr(many) and len(repr(vb.modes(large)).splitlines()) < 25


def test_numbers_of_the_tables(things):
    fit, building = things["fit"], things["structure"]
    frame = fit.to_pandas()
    assert list(frame.index) == list(fit.names)
    np.testing.assert_array_equal(frame["estimate"], fit.estimate)
    assert building.to_pandas().loc["storeys[1].stiffness", "value"] == 40.0
    assert building.to_pandas().loc["masses[0]", "unit"] == "kg"
    matrices = building.to_xarray()
    np.testing.assert_allclose(matrices["stiffness"], [[100.0, -40.0], [-40.0, 40.0]])
    np.testing.assert_allclose(matrices["mass"], np.diag([1.0, 0.8]))
    response = things["response"].to_xarray()
    np.testing.assert_array_equal(response["velocity"], things["response"].velocity)
    assert response["velocity"].attrs["units"] == "m/s"
    table = things["comparison"].to_pandas()
    assert table.loc[("b", fit.names[0]), "estimate"] == fit.estimate[0]
    np.testing.assert_array_equal(things["prediction"].to_pandas()["predicted.displacement_0"],
                                  things["prediction"].values[:, 0])  # fmt: skip
    assert degrees_of_freedom(building, 2) and len(things["modes"].to_pandas()) == 2


@pytest.mark.parametrize("library", ["pandas", "xarray"])
def test_a_record_comes_back_as_it_was(things, library):
    record = things["record"]
    back = getattr(vb.Record, f"from_{library}")(getattr(record, f"to_{library}")())
    np.testing.assert_array_equal(back.data, record.data)
    assert back.channels == record.channels and back.step == pytest.approx(record.step) and back.name == record.name
    assert back.history == record.history
    uneven = vb.Record(np.arange(3.0), [vb.Channel("a", "displacement")], times=[0.0, 0.1, 0.5])
    back = getattr(vb.Record, f"from_{library}")(getattr(uneven, f"to_{library}")())
    np.testing.assert_array_equal(back.times, uneven.times)


def test_tables_of_others_become_records():
    index = pandas.to_datetime(["2026-01-01 10:00:00.00", "2026-01-01 10:00:00.02", "2026-01-01 10:00:00.04"])
    frame = pandas.DataFrame({"roof": [0.1, None, -0.2]}, index=index)
    record = vb.Record.from_pandas(frame, {"roof": "g"}, {"roof": "absolute_acceleration"}, name="test")
    assert record.step == pytest.approx(0.02) and record["roof"][0] == pytest.approx(0.980665)
    assert np.isnan(record["roof"][1]) and record.channels[0].quantity == "absolute_acceleration"
    with pytest.raises(vb.InputError, match="names the column 'floor'; the columns are roof"):
        vb.Record.from_pandas(frame, {"floor": "g"})
    with pytest.raises(vb.InputError, match="'roof' does not hold numbers"):
        vb.Record.from_pandas(pandas.DataFrame({"roof": ["a"]}))
    with pytest.raises(vb.InputError, match="no coordinate 'time'"):
        vb.Record.from_xarray(xarray.Dataset({"a": ("t", [1.0])}))


def frame_of_storeys():
    laws = [vb.Linear(3e6), vb.BoucWen(2e6, beta=50.0, gamma=60.0)]
    return vb.ShearBuilding([1e4, 2e4], laws, damping=vb.Rayleigh(0.1, 1e-3))


def test_parameters_come_back_from_a_table():
    building = frame_of_storeys()
    table = building.to_pandas()
    assert building.from_pandas(table).to_pandas().equals(table)
    table.loc["storeys[0].stiffness", ["value", "unit"]] = [3.5, "MN/m"]
    table.loc["storeys[1].beta", "value"] = 55.0
    changed = building.from_pandas(table)
    assert float(changed.storeys[0].stiffness) == 3.5e6 and float(changed.storeys[1].beta) == 55.0
    assert float(building.storeys[0].stiffness) == 3e6
    estimates = pandas.DataFrame({"estimate": [2.5e4]}, index=["masses[1]"])
    assert float(building.from_pandas(estimates).masses[1]) == 2.5e4


@pytest.mark.parametrize(
    "change, said",
    [
        ({"unit": "kg"}, "Numbers in N/m cannot be expressed in kg, which measures mass"),
        ({"value": "soft"}, "'storeys\\[0\\].stiffness' does not hold numbers"),
        ({"value": -1.0}, "stiffness"),
    ],
)
def test_a_wrong_parameter_in_a_table_is_refused(change, said):
    table = frame_of_storeys().to_pandas().astype(object)
    for column, value in change.items():
        table.loc["storeys[0].stiffness", column] = value
    with pytest.raises(vb.InputError, match=said):
        frame_of_storeys().from_pandas(table)


def test_a_wrong_table_of_parameters_is_refused():
    building = frame_of_storeys()
    table = building.to_pandas()
    with pytest.raises(vb.InputError, match="did you mean 'stiffness'"):
        building.from_pandas(table.rename(index={"storeys[0].stiffness": "storeys[0].stifness"}))
    with pytest.raises(vb.InputError, match="needs a column 'value'"):
        building.from_pandas(table.drop(columns="value"))
    with pytest.raises(vb.InputError, match="two values of 'masses"):
        building.from_pandas(pandas.concat([table, table]))


def test_matrices_come_back_from_a_dataset():
    building = frame_of_storeys()
    dataset = building.to_xarray()
    modes, expected = vb.modes(vb.Matrices.from_xarray(dataset)), vb.modes(building)
    np.testing.assert_allclose(modes.frequencies, expected.frequencies, rtol=1e-12)
    np.testing.assert_allclose(modes.ratios, expected.ratios, rtol=1e-9)
    dataset["mass"] = (dataset["mass"].dims, dataset["mass"].values / 1e3, {"units": "t"})
    np.testing.assert_allclose(vb.Matrices.from_xarray(dataset).mass, np.diag([1e4, 2e4]))
    with pytest.raises(vb.InputError, match="no variable 'stiffness'"):
        vb.Matrices.from_xarray(dataset.drop_vars("stiffness"))


@pytest.mark.parametrize("library", ["pandas", "xarray"])
def test_what_is_not_made_from_a_table_says_what_to_use_instead(things, library):
    for name, instead in {"response": "Record.from_", "fit": "load_identification", "modes": "vb.modes"}.items():
        with pytest.raises(vb.InputError, match=f"is not made from a .* of {library}.*{instead}"):
            getattr(type(things[name]), f"from_{library}")(None)


@pytest.mark.parametrize("library", ["pandas", "xarray"])
def test_a_missing_library_is_named_with_its_extra(things, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(vb.VibridError, match=r"pip install 'vibrid\[notebook\]'"):
        getattr(things["record"], f"to_{library}")()


CONSTRUCTORS = [
    vb.ShearBuilding, vb.Beam, vb.Frame2D, vb.Truss, vb.Matrices, vb.Device, vb.Linear, vb.BoucWen, vb.Viscous,
    vb.Maxwell, vb.Record, vb.Channel, vb.Sensor, vb.Unknown, vb.TrajectoryFit,
]  # fmt: skip


@pytest.mark.parametrize("constructor", CONSTRUCTORS, ids=lambda c: c.__name__)
def test_an_editor_shows_names_units_and_defaults(constructor):
    signature = inspect.signature(constructor)
    text = inspect.getdoc(constructor)
    kinds = {p.kind for p in signature.parameters.values()}
    assert inspect.Parameter.VAR_POSITIONAL not in kinds, "the names of the arguments are hidden"
    for name in signature.parameters:
        assert name in text, f"{constructor.__name__}({name}) is not explained"


def test_a_hybrid_test_is_shown_with_its_devices():
    frame = vb.ShearBuilding([1e3], [vb.Linear(4e5, 500.0)])
    test = vb.HybridTest(frame, [vb.Experimental(vb.Linear(1e4, 50.0), at=0, name="damper")], rate=200.0)
    result = test.run(vb.synthetic_motion(1, duration=1.0, rate=200.0, pga=1.0))
    shown = result._repr_html_()
    assert "damper" in shown and "tested" in shown and "data:image/png" in shown and "No picture" not in shown
    assert "1 devices: damper" in repr(result) and len(repr(result)) < 300
    assert "damper.force" in result.to_pandas().columns
    assert {"damper.force", "displacement"} <= set(result.to_xarray().data_vars)
