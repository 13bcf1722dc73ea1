"""Pull and release: no excitation, an initial state that is given or unknown."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.project import load_project

MASS, STIFFNESS, DAMPING = 2.0, 800.0, 1.6
ONE = vb.ShearBuilding([MASS], [vb.Linear(STIFFNESS, DAMPING)])
GUESS = ONE.replace({"storeys[0].stiffness": 700.0, "storeys[0].damping": 1.0})
LAW = ["storeys[0].stiffness", "storeys[0].damping"]
RELEASED = vb.Initial([0.01], [0.2])
STILL = vb.simulation.free_vibration(duration=3.0, rate=200.0)
SENSORS = vb.Sensors(displacement=[0], acceleration=[0])


def closed_form(t):
    """Damped free vibration of one degree of freedom from 10 mm and 0.2 m/s."""
    w, ratio = np.sqrt(STIFFNESS / MASS), DAMPING / (2.0 * np.sqrt(STIFFNESS * MASS))
    damped = w * np.sqrt(1.0 - ratio**2)
    sine = (0.2 + ratio * w * 0.01) / damped
    return np.exp(-ratio * w * t) * (0.01 * np.cos(damped * t) + sine * np.sin(damped * t))


def measured(noise: float = 0.01) -> vb.Record:
    """Readings of the closed form itself, differentiated by hand: no integrator made them."""
    t, x = STILL.time, closed_form(STILL.time)
    w, ratio = np.sqrt(STIFFNESS / MASS), DAMPING / (2.0 * np.sqrt(STIFFNESS * MASS))
    damped = w * np.sqrt(1.0 - ratio**2)
    sine = (0.2 + ratio * w * 0.01) / damped
    pole = -ratio * w + 1j * damped
    a = np.real(pole**2 * (0.01 - 1j * sine) * np.exp(pole * t))
    y = np.stack([x, a], axis=1)
    y = y + noise * y.std(axis=0) * np.random.default_rng(0).standard_normal(y.shape)
    return vb.Record(y, SENSORS.channels(), step=STILL.step, name="release")


@pytest.mark.parametrize(
    ("start", "settings", "allowed"),
    [
        (RELEASED, {}, 1e-14),
        ({"displacement": {"roof": 0.01}, "velocity": [0.2]}, {"hold": "cubic"}, 1e-14),
        (vb.Initial(np.array([0.01]), np.array([0.2])), {"integrator": vb.RungeKutta4(), "substeps": 4}, 1e-8),
        (RELEASED, {"integrator": vb.Newmark(), "substeps": 8}, 1e-5),
    ],
)
def test_a_release_follows_the_closed_form(start, settings, allowed):
    found = vb.simulate(ONE, STILL, start=start, **settings).displacement[:, 0]
    np.testing.assert_allclose(found, closed_form(STILL.time), atol=allowed)


def test_the_reference_is_released_too():
    found = vb.simulation.simulate_reference(ONE, STILL.cut(0.0, 0.5), start=RELEASED)
    np.testing.assert_allclose(found.displacement[:, 0], closed_form(found.time), atol=1e-12)


@pytest.mark.long
def test_stiffness_and_damping_from_a_release_that_is_known():
    fit = vb.identify(GUESS, measured(), LAW, initial=RELEASED)
    np.testing.assert_allclose(fit.estimate, [STIFFNESS, DAMPING], rtol=3e-3)
    assert fit.model_fits and np.all(np.abs(fit.estimate - [STIFFNESS, DAMPING]) < 4 * fit.deviation)


@pytest.mark.parametrize("method", ["trajectory", "weak-collocation"])
def test_the_release_is_found_with_the_structure(method):
    unknown = [*LAW, "initial[0].displacement[0]", "initial[0].velocity[0]"]
    fit = vb.identify(GUESS, measured(), unknown, method)
    np.testing.assert_allclose(fit.estimate, [STIFFNESS, DAMPING, 0.01, 0.2], rtol=5e-3)
    assert fit.limits.identifiable.all() and fit.model_fits
    again = fit.validate(measured(0.0), start=fit.experiment.initial[0])
    assert max(again.relative_error.values()) < 5e-3


def test_mass_and_stiffness_are_not_both_found_from_a_release():
    with pytest.raises(vb.Refusal, match="same factor"):
        vb.identify(GUESS, measured(), [*LAW, "masses[0]"], initial=RELEASED)


def test_without_an_initial_state_the_way_out_is_named():
    with pytest.raises(vb.InputError, match=r"start=Initial\(displacement"):
        vb.simulate(ONE, STILL)
    with pytest.raises(vb.InputError, match=r"'initial\[0\].displacement\[0\]'"):
        vb.identify(GUESS, measured(), LAW)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (vb.Initial([0.0, 0.01]), r"each of the 1 degrees of freedom, not an array of shape \(2,\)"),
        (vb.Initial(np.zeros(1), np.zeros(3)), "initial velocity needs one number"),
        ({"displacment": [0.1]}, "did you mean 'displacement'"),
        ({"displacement": {"attic": 0.1}}, "'attic' is not a floor"),
        ({"displacement": [np.nan]}, "not finite"),
        (vb.Initial(np.zeros(1), np.zeros(1), (np.zeros(3),)), "states of the laws"),
        ([0.1], "is an Initial or a table"),
    ],
)
def test_initial_states_that_do_not_fit_are_explained(start, words):
    with pytest.raises(vb.InputError, match=words):
        vb.simulate(ONE, STILL, start=start)


def test_a_run_goes_on_with_the_states_of_its_laws():
    """Cut in two, with what the hysteretic parts remember handed over, it is the run in one piece."""
    building = vb.ShearBuilding([1.0], [vb.BoucWen(stiffness=40.0, beta=60.0, gamma=60.0)])
    still = vb.simulation.free_vibration(duration=0.5, rate=100.0)
    whole = vb.simulate(
        building, vb.simulation.free_vibration(duration=1.0, rate=100.0), start=vb.Initial(velocity=[1.0])
    )
    x, v = whole.displacement[50], whole.velocity[50]
    rest = vb.simulate(building, still, start=vb.Initial(x, v))
    again = vb.simulate(building, still, start=vb.Initial(x, v, tuple(state[50] for state in whole.states)))
    np.testing.assert_allclose(again.displacement, whole.displacement[50 : 50 + len(still)], atol=1e-12)
    assert np.abs(rest.displacement - again.displacement).max() > 1e-3
    record = again.measure(vb.Sensors(displacement=[0]))
    with pytest.raises(vb.Refusal, match="laws at rest"):
        vb.identify(building, record, ["storeys[0].stiffness"], initial=vb.Initial(x, v, whole.states))


PROJECT = """
[structure]
kind = "shear-building"
masses = [2.0]
storeys = [{law = "linear", stiffness = 800.0, damping = 1.6}]

[[sensors]]
quantity = "displacement"
place = "roof"
unit = "mm"

[excitation]
free = {duration = "3 s", rate = 200.0}

[[initial]]
displacement = {roof = "10 mm"}
velocity = [0.2]

[[unknown]]
path = "storeys[0].stiffness"

[[unknown]]
path = "initial[0].velocity[0]"
start = "100 mm/s"
"""


def test_a_project_file_releases_its_structure(tmp_path):
    path = tmp_path / "release.toml"
    path.write_text(PROJECT)
    project = load_project(path)
    np.testing.assert_allclose(project.simulate().displacement[:, 0], closed_form(STILL.time), atol=1e-14)
    assert project.unknown[1].start == 0.1 and project.initial[0].velocity[0] == 0.2
    path.write_text(PROJECT.replace("{roof", "{attic").replace("[0.2]", "[0.2, 0.1]"))
    with pytest.raises(vb.VibridError, match=r"(?s)'attic' is not a floor.*line 17.*initial\[0\].velocity"):
        load_project(path)
