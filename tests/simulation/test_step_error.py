"""The estimated error of the time step, against the adaptive reference and far finer steps."""

import pickle

import numpy as np
import pytest
from problems import LINEAR, YIELDING

import vibrid as vb
from vibrid.simulation import KRAlpha, StepError, simulate_reference

QUAKE = vb.synthetic_motion(3, duration=10.0, rate=50.0, pga=3.0)
BOUC_WEN = vb.ShearBuilding(
    [1.0], [vb.BoucWen(stiffness=200.0, beta=60.0, gamma=40.0, exponent=1.5)], damping=vb.Viscous(0.4)
)
QUANTITIES = ("displacement", "velocity", "acceleration")


@pytest.fixture(scope="module")
def reference():
    return simulate_reference(BOUC_WEN, QUAKE)


def true_shares(response, exact):
    """The true error of every quantity over its peak."""
    pairs = {name: (getattr(response, name), getattr(exact, name)) for name in QUANTITIES}
    return {name: np.abs(found - true).max() / np.abs(true).max() for name, (found, true) in pairs.items()}


@pytest.mark.parametrize("integrator", [vb.RungeKutta4(), vb.Newmark()], ids=lambda i: type(i).__name__)
@pytest.mark.parametrize("substeps", [1, 4])
def test_the_estimate_is_near_the_true_error_of_a_bouc_wen_storey(reference, integrator, substeps):
    response = vb.simulate(BOUC_WEN, QUAKE, integrator=integrator, substeps=substeps)
    found, true = response.step_error(), true_shares(response, reference)
    assert found.substeps == substeps and not found.exact_for
    for name in QUANTITIES:
        assert 0.5 < found.shares[name] / true[name] < 2.0


def test_a_method_of_order_one(reference):
    response = vb.simulate(BOUC_WEN, QUAKE, integrator=KRAlpha(), substeps=16)
    found, true = response.step_error(), true_shares(response, reference)
    for name in QUANTITIES:
        assert 0.5 < found.shares[name] / true[name] < 2.0


def test_a_path_law_from_an_initial_state():
    start = {"displacement": {"1": 0.2}}
    response = vb.simulate(YIELDING, QUAKE, substeps=2, start=start)
    true = true_shares(response, vb.simulate(YIELDING, QUAKE, substeps=64, start=start))
    for name in QUANTITIES:
        assert 0.5 < response.step_error().shares[name] / true[name] < 2.0


@pytest.mark.parametrize(("hold", "course"), [("zero", "constant"), ("linear", "linear"), ("cubic", "a cubic spline")])
def test_the_step_of_a_linear_structure_is_exact(hold, course):
    found = vb.simulate(LINEAR, QUAKE, hold=hold).step_error()
    assert f"exact for input that is {course} between its samples" in str(found)
    assert found.largest == 0.0 and found.advice == ""


@pytest.mark.parametrize("arguments", [{"hold": "band-limited"}, {"hold": "cubic", "integrator": vb.ExactLinear()}])
def test_an_exact_step_of_an_input_that_it_follows_in_pieces_has_an_error(arguments):
    found = vb.simulate(LINEAR, QUAKE, substeps=2, **arguments).step_error()
    assert found.exact_for == "" and found.largest > 0.0


def test_an_imposed_motion_has_an_error_in_its_force_alone():
    time = np.arange(0.0, 2.0, 0.01)
    given = vb.Record(0.02 * np.sin(9 * time), [vb.Channel("x", "imposed_displacement")], step=0.01)
    found = vb.simulate(vb.Device(BOUC_WEN.storeys[0]), given).step_error()
    assert list(found.shares) == ["force"] and 0.0 < found.largest < 0.1


def test_rotations_are_not_mixed_with_displacements():
    beam = vb.Beam(
        [0.0, 0.5, 1.0], modulus=7e10, area=1e-4, inertia=1e-9, density=2700.0, damping=vb.Rayleigh(1.0, 1e-5)
    )
    response = vb.simulate(beam, QUAKE, integrator=vb.Newmark())
    turning = [name.endswith(".rotation") for name in beam.degrees_of_freedom]
    assert any(turning) and response._motion()["displacement"].shape[1] == len(turning) - sum(turning)


def test_a_response_of_another_origin_says_so(reference):
    with pytest.raises(vb.InputError, match="does not come from `simulate`"):
        reference.step_error()


def test_it_survives_a_copy():
    response = vb.simulate(BOUC_WEN, QUAKE)
    assert pickle.loads(pickle.dumps(response)).step_error() == response.step_error()


def test_its_words():
    found = StepError({"displacement": 0.0003, "velocity": 1e-7, "acceleration": 3.94}, substeps=2)
    said = "error of the time step: displacement 0.03 % of its peak, velocity below 0.001 %, acceleration 390 %"
    assert str(found) == said and found.advice == "give substeps = 4"
    assert StepError({"displacement": 0.009}, substeps=2).advice == ""
