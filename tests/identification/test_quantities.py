"""Periods, damping ratios, drifts and base shear of a result, with their uncertainty; results without checks."""

import numpy as np
import pytest

import vibrid as vb

MASS, STIFFNESS, DAMPING = 2.0, 80.0, 1.2
MOTION = vb.synthetic_motion(3, duration=10.0, rate=50.0, pga=3.0)
TWO = vb.ShearBuilding([2.0, 1.5], [vb.Linear(300.0, 1.0), vb.Linear(200.0, 1.0)])


@pytest.fixture(scope="module")
def one():
    """A single storey with unknown stiffness and damping."""
    building = vb.ShearBuilding([MASS], [vb.Linear(STIFFNESS, DAMPING)])
    data = vb.simulate(building, MOTION).measure(vb.Sensors(absolute_acceleration=[0]), noise=0.05, key=1)
    return vb.identify(building, data, ["storeys[0].stiffness", "storeys[0].damping"])


def test_those_of_one_storey_are_closed_forms(one):
    (k, c), covariance = one.estimate, one.covariance
    found = {q.name: q for q in one.quantities()}
    period = found["period of mode 1"]
    assert period.value == pytest.approx(2 * np.pi * np.sqrt(MASS / k), rel=1e-9)
    assert period.deviation == pytest.approx(0.5 * period.value * np.sqrt(covariance[0, 0]) / k, rel=1e-3)
    ratio = found["damping ratio of mode 1"]
    assert ratio.value == pytest.approx(100 * c / (2 * np.sqrt(k * MASS)), rel=1e-6)
    slope = ratio.value * np.array([-0.5 / k, 1.0 / c])
    assert ratio.deviation == pytest.approx(np.sqrt(slope @ covariance @ slope), rel=1e-3)
    assert (period.unit, ratio.unit) == ("s", "%") and str(period).endswith(" s")


def test_drifts_and_base_shear_are_those_of_a_simulation():
    data = vb.simulate(TWO, MOTION).measure(vb.Sensors(absolute_acceleration=[0, 1]), noise=0.02, key=1)
    fit = vb.identify(TWO, data, ["storeys[*].stiffness"])
    found = {q.name: q for q in fit.quantities()}
    response = vb.simulate(fit.structure, MOTION)
    x = np.asarray(response.displacement)
    assert found["largest drift of storey 2"].value == pytest.approx(np.abs(x[:, 1] - x[:, 0]).max(), rel=1e-6)
    floors = response.readings(vb.Sensors(absolute_acceleration=[0, 1]))
    assert found["largest base shear"].value == pytest.approx(np.abs(floors @ np.array([2.0, 1.5])).max(), rel=1e-6)
    # the deviation is the scatter of simulations with stiffness drawn from the result
    rng = np.random.default_rng(0)
    drawn = rng.multivariate_normal(fit.estimate, fit.covariance, 60)
    shear = []
    for k in drawn:
        structure = TWO.replace({"storeys[0].stiffness": k[0], "storeys[1].stiffness": k[1]})
        y = vb.simulate(structure, MOTION).readings(vb.Sensors(absolute_acceleration=[0, 1]))
        shear.append(np.abs(y @ np.array([2.0, 1.5])).max())
    assert found["largest base shear"].deviation == pytest.approx(np.std(shear), rel=0.35)


def test_a_device_has_none():
    device = vb.Device(vb.Linear(50.0, 1.0))
    t = np.linspace(0, 4, 200)
    imposed = vb.Record(0.1 * np.sin(3 * t), [vb.Channel("x", "imposed_displacement")], step=t[1])
    data = vb.simulate(device, imposed).measure(vb.Sensors(element_force=["device"]), noise=0.01, key=0)
    assert vb.identify(device, data, ["law.stiffness"]).quantities() == []


def test_without_checks_a_result_is_that_of_the_method(one):
    data = vb.simulate(TWO, MOTION).measure(vb.Sensors(absolute_acceleration=[1]), noise=0.02, key=1)
    plain = vb.identify(TWO, data, ["storeys[*].stiffness"], checks="none")
    assert plain.checks == () and "checks" not in plain.convergence
    assert one.convergence["checks"] == "all"
    with pytest.raises(vb.InputError, match="'all' or 'none', not 'some'"):
        vb.identify(TWO, data, ["storeys[*].stiffness"], checks="some")


def test_the_report_has_a_page_of_checks(one, tmp_path):
    page = one.report(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Is the time step short enough?" in page and "nothing found" in page
    assert "largest base shear" in page
    assert page.count("not asked") == 1 + 2, "instruments, as the model fits; a filter; and the note"
    unchecked = one.replace(convergence={}).report(tmp_path / "b.html").read_text(encoding="utf-8")
    assert "This result was not checked" in unchecked
