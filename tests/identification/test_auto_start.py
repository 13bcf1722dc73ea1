"""First guesses from the data: the measured motion, the balance of forces, loops, modes, and `start="auto"`."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.identification import auto_start, idle_unknowns
from vibrid.identification.equation_error import _terms, balanced, experiment_at, measured_motion
from vibrid.identification.loop_guess import structure_guess
from vibrid.identification.problem import make_problem
from vibrid.modal import measured_modes

TRUE = vb.ShearBuilding(
    [20e3, 18e3, 15e3],
    [vb.BoucWen(k, 60.0, 40.0, post_yield_ratio=0.1) for k in (25e6, 20e6, 16e6)],
    damping=vb.Viscous(100e3),
)
UNKNOWN = ["storeys[*].stiffness", "storeys[*].beta"]
VALUES = np.array([25e6, 20e6, 16e6, 60.0, 60.0, 60.0])
FACTORS = np.array([9.0, 0.12, 7.0, 0.2, 6.0, 0.15])
ROOMS = {"checks": "none", "substeps": 2}


def at(factors):
    names = [f"storeys[{i}].{name}" for name in ("stiffness", "beta") for i in range(3)]
    return TRUE.replace(dict(zip(names, map(float, VALUES * factors), strict=True)))


@pytest.fixture(scope="module")
def record():
    quake = vb.synthetic_motion(key=3, duration=12.0, rate=100.0, pga=4.0)
    moved = vb.simulate(TRUE, quake, substeps=8)
    return moved.measure(vb.Sensors(absolute_acceleration=[0, 1, 2]), noise=0.02, key=1)


@pytest.fixture(scope="module")
def problem(record):
    return make_problem(at(FACTORS), record, UNKNOWN, substeps=2).boxed()


def test_measured_motion_is_the_motion(record):
    """Accelerometers alone: displacement of the simulated building, both in the band that was chosen."""
    quake = vb.synthetic_motion(key=3, duration=12.0, rate=100.0, pga=4.0)
    linear = vb.ShearBuilding([20e3] * 3, [vb.Linear(20e6)] * 3, damping=vb.Viscous(200e3))
    moved = vb.simulate(linear, quake, substeps=8)
    for sensors in ({"absolute_acceleration": [0, 1, 2]}, {"displacement": [0, 1], "velocity": [2]}):
        data = moved.measure(vb.Sensors(**sensors), noise=0.01, key=2)
        problem = make_problem(linear, data, ["storeys[*].stiffness"])
        made = measured_motion(problem, problem.experiment, 0)
        drift = (np.asarray(made.x) @ np.array([[1, 0, 0], [-1, 1, 0], [0, -1, 1.0]]).T)[:1100]
        true = (np.asarray(moved.displacement) @ np.array([[1, 0, 0], [-1, 1, 0], [0, -1, 1.0]]).T)[:1100]
        spectrum = np.fft.rfft(np.concatenate([true, np.zeros_like(true)]), 2 * (made.gain.shape[0] - 1), axis=0)
        inside = np.fft.irfft(spectrum * np.asarray(made.gain), axis=0)[: len(true)]
        assert np.all(np.std(drift - inside, axis=0) < 0.12 * np.std(true, axis=0))


def test_derivatives_equal_finite_differences(problem):
    motion = measured_motion(problem, experiment_at(problem, problem.start), 0)
    free = jnp.asarray(problem.start + np.linspace(-0.4, 0.4, 6))
    first = jnp.zeros(6)
    _, gradient, _ = _terms(problem, free, first, (motion,))
    costs = [[float(_terms(problem, free + s * 1e-5 * e, first, (motion,))[0]) for s in (1, -1)] for e in jnp.eye(6)]
    expected = np.array([(a - b) / 2e-5 for a, b in costs])
    np.testing.assert_allclose(np.asarray(gradient), expected, rtol=1e-4, atol=1e-7 * np.abs(expected).max())


def test_loops_give_the_stiffness_and_the_balance_comes_near(problem):
    motion = measured_motion(problem, experiment_at(problem, problem.start), 0)
    loops = structure_guess(problem, experiment_at(problem, problem.start), [motion])
    np.testing.assert_allclose(loops[:3], VALUES[:3], rtol=0.25)
    start = auto_start._balance(problem, 0, auto_start.SILENT)
    assert start is not None
    np.testing.assert_allclose(start.values[:3], VALUES[:3], rtol=0.1)
    np.testing.assert_allclose(start.values[3:], VALUES[3:], rtol=0.5)


def test_an_unknown_that_the_motion_says_nothing_of_stays(record):
    """The offset of a sensor is not in the equations of motion."""
    problem = make_problem(at(np.ones(6)), record, [*UNKNOWN, "sensors[0].offset"], substeps=2).boxed()
    motion = measured_motion(problem, experiment_at(problem, problem.start), 0)
    active = np.ones(7, bool)
    ended = balanced(problem, problem.start[None] + 0.0, (motion,), active).free[0]
    assert ended[6] == pytest.approx(0.0, abs=1e-9)


def test_auto_arrives_where_a_good_guess_does(record):
    good = vb.identify(at(np.full(6, 1.1)), record, UNKNOWN, **ROOMS)
    auto = vb.identify(at(FACTORS), record, UNKNOWN, start="auto", **ROOMS)
    assert good.model_fits and auto.model_fits
    np.testing.assert_array_less(np.abs(auto.estimate - good.estimate), 0.05 * good.deviation)
    assert auto.started_from == "Start: the balance of forces along the measured motion."
    assert auto.started_from in str(auto)
    assert good.started_from == ""


def test_few_sensors_and_few_words(record, tmp_path):
    """Two of three floors: modes of the structure fill in; the file keeps where the start came from."""
    seen = record.select([c.name for c in record.channels if c.location != "1"])
    good = vb.identify(at(np.full(6, 1.1)), seen, UNKNOWN, **ROOMS)
    auto = vb.identify(at(np.array([3.0, 0.4, 2.5, 0.5, 2.0, 0.5])), seen, UNKNOWN, start="auto", **ROOMS)
    np.testing.assert_array_less(np.abs(auto.estimate - good.estimate), 0.05 * good.deviation)
    auto.save(tmp_path / "fit.h5")
    assert vb.load_identification(tmp_path / "fit.h5").started_from == auto.started_from


def test_modes_are_a_start(record):
    """Modes of ambient vibration: stiffnesses from them, the rest as given."""
    found = vb.modes(TRUE)
    modes = measured_modes(found.frequencies, found.shapes, ["0", "1", "2"], frequency_deviations=0.01)
    guess = at(np.array([4.0, 0.3, 3.0, 1.3, 0.8, 1.2]))
    fit = vb.identify(guess, record, UNKNOWN, start=modes, **ROOMS)
    assert fit.started_from.startswith("Start: the structure fitted to 3 measured modes")
    np.testing.assert_allclose(fit.estimate, VALUES, rtol=0.05)


def test_a_device_starts_from_its_loops():
    time = np.arange(0, 8, 0.01)
    x = 0.02 * np.sin(2 * np.pi * 0.5 * time) * np.minimum(time / 4, 1.0)
    true = vb.Device(vb.Bilinear(5e6, 0.004, 0.1))
    test = vb.Record(x[:, None], [vb.Channel("x", "imposed_displacement")], step=0.01)
    data = vb.simulate(true, test).measure(vb.Sensors(element_force=["device"]), noise=0.01, key=0)
    guess = vb.Device(vb.Bilinear(0.5e6, 0.03, 0.1))
    fit = vb.identify(guess, data, ["law.stiffness", "law.yield_deformation"], start="auto", checks="none")
    assert "read off the measured loops" in fit.started_from
    np.testing.assert_allclose(fit.estimate, [5e6, 0.004], rtol=0.01)


def test_going_astray_is_told(record):
    """From a poor guess the plain fit says what to do; with start="auto" it has nothing to say."""
    plain = vb.identify(at(FACTORS), record, UNKNOWN, vb.TrajectoryFit(iterations=3, segments=1), **ROOMS)
    assert not plain.model_fits and auto_start.PROPOSAL in plain.warnings


def test_refusals(record):
    with pytest.raises(vb.InputError, match="start is 'given', 'auto' or measured modes"):
        vb.identify(TRUE, record, UNKNOWN, start="best")
    problem = dataclasses.replace(make_problem(TRUE, record, UNKNOWN), unknown_loads=("0",))
    with pytest.raises(vb.InputError, match="history of a load is unknown"):
        auto_start.solve_from_data(vb.TrajectoryFit(), problem, "auto")
    found = vb.modes(TRUE)
    modes = measured_modes(found.frequencies, found.shapes, ["0", "1", "2"], frequency_deviations=0.01)
    with pytest.raises(vb.InputError, match="'start' belongs to a fit of records"):
        vb.identify(TRUE, modes, ["storeys[*].stiffness"], start="auto")


def test_a_yield_limit_beyond_every_drift_is_found_again():
    """A storey that never yields in the first answer has no derivative that leads back: the scan finds its limit."""
    true = vb.ShearBuilding(
        [20e3] * 2, [vb.Bilinear(20e6, 0.004, 0.1), vb.Bilinear(15e6, 0.003, 0.1)], vb.Viscous(80e3)
    )
    quake = vb.synthetic_motion(key=5, duration=8.0, rate=100.0, pga=3.0)
    moved = vb.simulate(true, quake, substeps=8)
    data = moved.measure(vb.Sensors(absolute_acceleration=[0, 1]), noise=0.03, key=2)
    far = true.replace({"storeys[1].yield_deformation": 0.008})  # the largest drift is smaller
    problem = make_problem(far, data, ["storeys[*].yield_deformation"], substeps=2).boxed()
    method = vb.TrajectoryFit(segments=1)
    stuck = method.solve(problem)
    assert stuck.estimate[1] == pytest.approx(0.008) and not stuck.limits.relative_bound[1] < 1
    begun = idle_unknowns._scanned(problem, stuck, auto_start.SILENT).beginning()  # from where the limit matters
    np.testing.assert_allclose(begun, [0.004, 0.003], rtol=0.05)
    freed = idle_unknowns.tried_elsewhere(method, problem, stuck, 0, auto_start.SILENT)
    np.testing.assert_allclose(freed.estimate, [0.004, 0.003], rtol=0.02)
    settled = idle_unknowns.tried_elsewhere(method, problem, freed, 0, auto_start.SILENT)
    assert settled is freed  # everything is known well: nothing is tried
    bounded = make_problem(far, data, [vb.Unknown("storeys[1].yield_deformation", bounds=(0.007, 0.03))], substeps=2)
    held = idle_unknowns.tried_elsewhere(method, bounded, method.solve(bounded), 0, auto_start.SILENT)
    assert 0.007 <= held.estimate[0] <= 0.03
