"""`fit_cyclic` and `vibrid cyclic`: laws from cyclic tests, from the data alone."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import vibrid as vb
from vibrid.bridge.law_materials import opensees_lines
from vibrid.cli import app
from vibrid.conformance.law import walk
from vibrid.identification.corners import sampled
from vibrid.identification.cyclic import fit_cyclic
from vibrid.identification.cyclic_comparison import compare_cyclic
from vibrid.identification.cyclic_tests import as_cyclic_test

TRUTH = vb.Bilinear(20e6, 0.02, 0.05)


def cyclic_test(law, largest=0.08, seed=0, name="specimen", steps=6, points=20):
    """Two cycles at every amplitude, each 1.4 times the one before; 2 % noise."""
    sizes = largest / 1.4 ** np.repeat(np.arange(steps - 1, -1, -1), 2)
    stops = np.array([0.0, *(way * a for a in sizes for way in (1.0, -1.0)), 0.0])
    x = np.interp(np.arange((len(stops) - 1) * points + 1) / points, np.arange(len(stops)), stops)
    force = np.append(0.0, np.asarray(walk(law, x, 0.0 * x, 1.0)[0]))
    force = force + 0.02 * force.std() * np.random.default_rng(seed).standard_normal(x.size)
    channels = (vb.Channel("drift", "drift", unit="m"), vb.Channel("jack", "load", unit="N"))
    return vb.Record(np.stack([x, force], axis=1), channels, step=0.5, name=name)


@pytest.fixture(scope="module")
def fit():
    tests = [as_cyclic_test(cyclic_test(TRUTH, seed=i, name=f"specimen {i}")) for i in (0, 1)]
    return fit_cyclic(tests, "bilinear", checks="none")


def test_a_law_from_two_specimens(fit):
    for row in fit.calibration.table():
        true = float(getattr(TRUTH, row["name"]))
        assert row["estimate"] == pytest.approx(true, rel=0.02)
        assert abs(row["estimate"] - true) < 4 * row["standard_deviation"]
    assert all(reading.protocol.startswith("FEMA 461") for reading in fit.readings)
    names, correlation = fit.correlations()
    assert len(names) == 3 and np.allclose(np.diag(correlation), 1.0)
    assert "FEMA 461" in str(fit)


def test_cycles_are_set_beside_each_other(fit):
    for cycles in fit.cycles:
        assert len(cycles) == 12
        for cycle in cycles[-4:]:
            assert cycle.fitted_force == pytest.approx(cycle.force, rel=0.1)
            assert cycle.fitted_energy == pytest.approx(cycle.energy, rel=0.05)
    axes = fit.plot().axes
    assert len(axes) == 6 and axes[0].get_xlabel() == "deformation [mm]"


def test_a_hinge_from_the_data_alone():
    """Backbone of a hinge with capping and deterioration. The first descent ends in a false dip here."""
    truth = vb.laws.IMKPeakOriented(19.5e6, 463e3, 0.0455, 0.1623, 1.151, 0.0, 1.656, 2.467)
    test = as_cyclic_test(cyclic_test(truth, 0.09, seed=11, steps=9, points=25))
    made = fit_cyclic(test, "imk-peak-oriented", checks="none")
    assert made.rounds > 0
    for row in made.calibration.table():
        true = float(getattr(truth, row["name"]))
        assert abs(row["estimate"] - true) < 4 * row["standard_deviation"], row
        assert row["standard_deviation"] > 0.999 * row["cramer_rao_bound"]
    assert made.calibration.nrmse < 0.01


@pytest.mark.long
def test_a_point_of_the_envelope_beyond_the_test():
    """The test ends at 80 mm, the second point lies at 110 mm: it is named, and the interval of the rest holds."""
    truth = vb.laws.Multilinear([0.02, 0.11], [360e3, 450e3])
    guess = vb.laws.Multilinear([0.018, 0.081], [380e3, 420e3])
    names = [f"{what}[{i}]" for what in ("deformations", "forces") for i in range(2)]
    made = fit_cyclic(as_cyclic_test(cyclic_test(truth)), guess, names, checks="none")
    assert made.not_shown == ["deformations[1]", "forces[1]"] and "Not shown by the test: deformations[1]" in str(made)
    for row in made.calibration.table():
        what, place = row["name"].removesuffix("]").split("[")
        low, high = row["interval_95"]
        assert low < float(getattr(truth, what)[int(place)]) < high
    rows = {row["name"]: row for row in made.calibration.table()}
    assert rows["deformations[0]"]["standard_deviation"] < 0.01 * 0.02


def test_the_law_with_the_right_form_meets_the_hidden_cycles():
    test = as_cyclic_test(cyclic_test(TRUTH))
    best, other = compare_cyclic(test, ["linear", "bilinear"], checks="none").fits
    assert (best.name, other.name) == ("bilinear", "linear")
    assert best.held_out < 0.02 < 0.1 < other.held_out


def test_laws_compared_by_specimens_that_they_were_not_fitted_to():
    """Each specimen predicted from the other, against fits of one specimen alone whose force is worked out by hand."""
    other = vb.Bilinear(20e6, 0.024, 0.05)  # stronger by a fifth
    tests = [as_cyclic_test(cyclic_test(law, seed=i, name=f"{i}")) for i, law in enumerate((TRUTH, other))]
    best, last = compare_cyclic(tests, ["linear", "bilinear"], "specimens", checks="none").fits
    assert (best.name, last.name, best.hidden) == ("bilinear", "linear", "specimens")
    shares = []
    for one, two in (tests, tests[::-1]):
        x, force = two["deformation"], two["force"]
        alone = fit_cyclic(one, "bilinear", checks="none").law
        error = np.append(0.0, np.asarray(walk(alone, x, 0.0 * x, 1.0)[0])) - force
        shares.append(np.sqrt(np.mean(np.square(error))) / np.ptp(force))
    assert best.held_out == pytest.approx(np.mean(shares), rel=1e-3)
    with pytest.raises(vb.InputError, match="needs two tests or more"):
        compare_cyclic(tests[:1], ["linear", "bilinear"], "specimens")


def test_a_law_that_cannot_be_fitted_does_not_stop_the_others(tmp_path):
    """`kent-park` is stress over strain: it is named in the table, and the other law is fitted."""
    cyclic_test(TRUTH).write_csv(tmp_path / "test.csv")
    words = ["cyclic", str(tmp_path / "test.csv"), "--law", "kent-park", "--law", "linear", "--quick"]
    page = tmp_path / "report.html"
    done = CliRunner().invoke(app, [*words, "--json", "--report", str(page)])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert [law["law"] for law in answer["laws"]] == ["linear"] and list(answer["refused"]) == ["kent-park"]
    assert "kent-park was not fitted: " in page.read_text()
    (row,) = [line for line in CliRunner().invoke(app, words).output.splitlines() if "not fitted" in line][:1]
    assert "kent-park" in row
    test = as_cyclic_test(cyclic_test(TRUTH))
    with pytest.raises(vb.InputError, match=r"None of the laws could be fitted\. kent-park: "):
        compare_cyclic(test, ["kent-park"], checks="none")
    with pytest.raises(vb.InputError, match="no law called 'linaer'"):
        compare_cyclic(test, ["linear", "linaer"], checks="none")


def test_what_can_be_read_in_two_ways_is_asked_for():
    record = cyclic_test(TRUTH)
    two = record.replace(
        data=np.column_stack([record.data, record["drift"]]),
        channels=(*record.channels, vb.Channel("lvdt", "drift", unit="m")),
    )
    with pytest.raises(vb.InputError, match=r"Which channel of 'specimen' is the deformation\?.*drift, lvdt"):
        as_cyclic_test(two)
    assert as_cyclic_test(two, deformation="lvdt").names == ("deformation", "force")
    with pytest.raises(vb.InputError, match="has no channel 'gap'; it has drift, jack"):
        as_cyclic_test(record, deformation="gap")
    with pytest.raises(vb.InputError, match="'hardness' is no parameter of bilinear; it has stiffness"):
        fit_cyclic(as_cyclic_test(record), "bilinear", ["hardness"])


def test_the_command(tmp_path, fit):
    cyclic_test(TRUTH).write_csv(tmp_path / "test.csv")
    words = ["cyclic", str(tmp_path / "test.csv"), "--law", "bilinear", "--quick", "--json", "--as", "opensees"]
    files = ["--figure", str(tmp_path / "loops.png"), "--report", str(tmp_path / "report.html")]
    done = CliRunner().invoke(app, [*words, *files])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "report.html").read_text()
    assert "<h2>Cycles</h2>" in page and "FEMA 461" in page and "energy, kJ" in page
    answer = json.loads(done.stdout)
    assert answer["tests"][0]["protocol"].startswith("FEMA 461") and len(answer["laws"][0]["cycles"][0]) == 12
    (line,) = answer["written"]
    assert line.startswith("uniaxialMaterial Steel01 1 ") and (tmp_path / "loops.png").stat().st_size > 10_000
    alone = CliRunner().invoke(app, [*words[:4], "--hide", "specimens"])
    assert alone.exit_code == 1 and "give two --law or more" in alone.stderr
    refused = CliRunner().invoke(app, [*words[:4], "--as", "abaqus"])
    assert refused.exit_code == 1 and "as vibrid or opensees, not as 'abaqus'" in refused.stderr


@pytest.mark.parametrize("what", ["force", "deformation"])
def test_an_instrument_that_is_not_zero_at_rest(what):
    """Its reading is found with the law, and the law is that of the test without it."""
    test = as_cyclic_test(cyclic_test(TRUTH))
    constant = {"force": 60e3, "deformation": 4e-3}[what]
    moved = test.replace(data=test.data + np.array([constant if name == what else 0.0 for name in test.names]))
    made = fit_cyclic(moved, "bilinear", offset=what, checks="none")
    *law, zero = made.calibration.table()
    assert zero["name"] == f"{what} offset" and zero["estimate"] == pytest.approx(constant, rel=0.02)
    for row in [*law, zero]:
        true = constant if row is zero else float(getattr(TRUTH, row["name"]))
        assert abs(row["estimate"] - true) < 4 * row["standard_deviation"]
    assert made.readings[0].stiffness == pytest.approx(20e6, rel=0.05) and not made.readings[0].warnings
    assert made.calibration.nrmse < 0.01 and len(made.correlations()[0]) == 4
    left = fit_cyclic(moved, "bilinear", checks="none")
    assert left.readings[0].warnings and left.calibration.nrmse > 2 * made.calibration.nrmse
    with pytest.raises(
        vb.InputError, match="offset of a cyclic test is that of its deformation or force, not of 'time'"
    ):
        fit_cyclic(test, "bilinear", offset="time")


def test_what_a_test_does_not_show_leaves_the_other_intervals_alone():
    """An unknown without any effect on the misfit, beside one whose misfit is known."""
    estimate, covariance = np.zeros(2), np.diag([1e-4, 1e38])
    made = sampled(
        lambda free: 500.0 + 0.5 * (free[:, 0] / 0.01) ** 2, estimate, covariance, 500, np.random.default_rng(0)
    )
    assert made.covariance[0, 0] == pytest.approx(2e-4, rel=0.3)
    assert made.covariance[1, 1] == 1e38 and made.covariance[0, 1] == 0.0


def test_a_monotonic_test(tmp_path):
    """It has a backbone and no cycles: the command says so, and the intervals of what it shows are finite."""
    x = np.linspace(0.0, 0.12, 400)
    force = np.asarray(np.append(0.0, walk(TRUTH, x, 0.0 * x, 1.0)[0])) + 4e3 * np.random.default_rng(
        0
    ).standard_normal(400)
    channels = (vb.Channel("drift", "drift", unit="m"), vb.Channel("jack", "load", unit="N"))
    vb.Record(np.stack([x, force], axis=1), channels, step=0.5, name="push").write_csv(tmp_path / "push.csv")
    words = ["cyclic", str(tmp_path / "push.csv"), "--law", "bilinear", "--quick"]
    files = ["--figure", str(tmp_path / "push.png"), "--report", str(tmp_path / "push.html")]
    done = CliRunner().invoke(app, [*words, *files])
    assert done.exit_code == 0, done.output
    assert "push: monotonic; 0 cycles" in done.output and "cycles\n" not in done.output.replace("; 0 cycles", "")
    answer = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    (stiffness, *_) = answer["laws"][0]["parameters"]
    assert stiffness["standard_deviation"] < 0.01 * stiffness["estimate"]


def test_rotations_and_moments():
    record = cyclic_test(TRUTH)
    channels = (vb.Channel("rotation", "rotation", unit="rad"), vb.Channel("moment", "other", unit="N*m"))
    test = as_cyclic_test(record.replace(channels=channels))
    assert test.names == ("deformation", "force") and np.array_equal(test.data, record.data)
    with pytest.raises(vb.InputError, match="'rotation' of 'specimen' is in rad, which is no force: name another one"):
        as_cyclic_test(record.replace(channels=channels), force="rotation")


def test_lines_of_opensees():
    """Order and number of the values, as in the references that OpenSees made (`tests/laws/opensees_hinges.py`)."""
    shape = {"pinching_force": 0.35, "pinching_deformation": 0.4}
    hinge = vb.laws.IMKPinching(40.0, 2.0, 0.06, 0.3, 1.15, 0.2, **shape, as_opensees=True)
    side = "0.06 0.3 360 2 1.15 0.2"
    (line,) = opensees_lines(hinge, 7)
    assert line == f"uniaxialMaterial IMKPinching 7 40 {side} {side} 1e+12 1e+12 1e+12 1e+12 1 1 1 1 1 1 0.35 0.4"
    note, same = opensees_lines(vb.laws.IMKPinching(40.0, 2.0, 0.06, 0.3, 1.15, 0.2, **shape), 7)
    assert note.startswith("# OpenSees forgets the peak of the last excursion") and same == line
    worn = vb.laws.IMKBilinear(40.0, 2.0, 0.06, 0.3, 1.15, 0.2, strength_capacity=3.0, yield_force_negative=1.8)
    note, line = opensees_lines(worn)
    other = "0.06 0.3 360 1.8 1.15 0.2"
    assert note.startswith("# ") and line == f"uniaxialMaterial IMKBilin 1 40 {side} {other} 3 1e+12 1e+12 1 1 1 1 1"
    assert opensees_lines(vb.laws.Multilinear([0.04, 0.08, 0.2], [1.6, 2.0, 0.7])) == [
        "uniaxialMaterial Hysteretic 1 1.6 0.04 2 0.08 0.7 0.2 -1.6 -0.04 -2 -0.08 -0.7 -0.2 1 1 0 0 0"
    ]
    steel, note, line = opensees_lines(vb.laws.GiuffreMenegottoPintoFatigue(40.0, 2.0, fatigue_deformation=0.5), 3)
    assert steel == "uniaxialMaterial Steel02 4 2 40 0.01 18 0.925 0.15" and note.startswith("# ")
    assert line == "uniaxialMaterial Fatigue 3 4 -E0 1 -m -0.458"
    with pytest.raises(vb.InputError, match="'law pinching' is a Pinching, for which OpenSees has no material"):
        opensees_lines(vb.laws.Pinching([0.04, 0.08], [1.6, 2.0]))
