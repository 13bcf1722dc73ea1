"""TrajectoryFit: accuracy at the bound, and everything an unknown can be."""

import numpy as np
import pytest

import vibrid as vb
from identification.small import (
    ONE,
    ONE_GUESS,
    ONE_SENSORS,
    ONE_TRUTH,
    ONE_UNKNOWN,
    TWO,
    TWO_GUESS,
    TWO_SENSORS,
    TWO_TRUTH,
    TWO_UNKNOWN,
    motion,
    one,
    truth,
    two,
)
from vibrid.core.progress import Progress
from vibrid.identification.methods import trajectory
from vibrid.identification.methods.trajectory import astray, unlikelihood


def test_noise_free_answer_is_limited_by_the_integrator_alone():
    fit = vb.identify(TWO_GUESS, two(0.0), TWO_UNKNOWN)
    np.testing.assert_allclose(fit.estimate, TWO_TRUTH, rtol=1e-7)
    assert fit.model_fits and fit.convergence["converged"]


def test_errors_are_at_the_bound_and_intervals_cover():
    """Forty noise seeds: rms(error/bound) is 1 ± 0.15 (2.4 standard errors), 95 % intervals hold the truth."""
    ratios, hits = [], []
    for key in range(40):
        fit = vb.identify(TWO_GUESS, two(0.05, key), TWO_UNKNOWN)
        ratios.append((fit.estimate - TWO_TRUTH) / fit.limits.bound)
        low, high = fit.interval().T
        hits.append((low <= TWO_TRUTH) & (high >= TWO_TRUTH))
    assert 0.85 < np.sqrt(np.mean(np.square(ratios))) < 1.15
    assert 0.90 <= np.mean(hits) <= 0.99


@pytest.mark.long
def test_several_records_share_parameters_and_sharpen_the_answer():
    single = vb.identify(ONE_GUESS, one(0.05), ONE_UNKNOWN)
    both = vb.identify(ONE_GUESS, [one(0.05), one(0.05, 1, motion_key=1)], ONE_UNKNOWN)
    assert np.all(both.limits.bound < single.limits.bound)
    assert np.all(np.abs(both.estimate - ONE_TRUTH) < 4 * both.deviation)


def test_missing_samples_are_left_out():
    data = one(0.0)
    values = np.array(data.data)
    values[50:90, 1] = np.nan
    values[200:260, 2] = np.nan
    fit = vb.identify(ONE_GUESS, data.replace(data=values), ONE_UNKNOWN)
    np.testing.assert_allclose(fit.estimate, ONE_TRUTH, rtol=2e-3)


def test_gain_and_delay_of_a_sensor_are_found():
    real = vb.Sensors(
        [vb.Sensor("displacement", 0, name="x"), vb.Sensor("acceleration", 0, gain=1.3, delay=0.05, name="a")]
    )
    data = truth("one").measure(real, noise=0.005)
    assumed = vb.Sensors([vb.Sensor("displacement", 0, name="x"), vb.Sensor("acceleration", 0, name="a")])
    fit = vb.identify(
        ONE_GUESS, data, [*ONE_UNKNOWN, "sensors[1].gain", vb.Unknown("sensors[1].delay", scale=0.02)], sensors=assumed
    )
    assert fit.values["sensors[1].gain"] == pytest.approx(1.3, rel=0.01)
    assert fit.values["sensors[1].delay"] == pytest.approx(0.05, abs=0.003)
    assert fit.estimate[0] == pytest.approx(40.0, rel=0.01)


def test_noise_of_a_sensor_is_found_with_its_uncertainty():
    noisy = vb.Sensors([vb.Sensor("displacement", 0, noise=0.004), vb.Sensor("acceleration", 0, noise=0.2)])
    data = truth("one").measure(noisy)
    fit = vb.identify(ONE_GUESS, data, [*ONE_UNKNOWN, vb.Unknown("sensors[*].noise", start=0.01)], sensors=ONE_SENSORS)
    np.testing.assert_allclose(fit.estimate[3:], [0.004, 0.2], rtol=0.12)
    np.testing.assert_allclose(fit.deviation[3:] / fit.estimate[3:], 1 / np.sqrt(2 * 401), rtol=1e-6)
    np.testing.assert_allclose(fit.limits.bound[3:], fit.deviation[3:], rtol=1e-6)
    assert fit.limits.identifiable.all() and np.all(np.abs(fit.estimate[:3] - ONE_TRUTH) < 4 * fit.deviation[:3])


@pytest.mark.long
def test_initial_state_is_found():
    start = vb.Initial(np.array([0.05, -0.02]), np.array([0.0, 0.1]))
    data = vb.simulate(TWO, motion(), integrator=vb.RungeKutta4(), substeps=8, start=start).measure(
        TWO_SENSORS, noise=0.005
    )
    unknown = [
        "storeys[*].stiffness",
        vb.Unknown("initial[0].displacement", scale=0.02),
        vb.Unknown("initial[0].velocity", scale=0.1),
    ]
    fit = vb.identify(TWO.replace({"storeys[*].stiffness": 50.0}), data, unknown)
    np.testing.assert_allclose(fit.estimate[:2], [60.0, 40.0], rtol=5e-3)
    np.testing.assert_allclose(fit.estimate[2:], [0.05, -0.02, 0.0, 0.1], atol=4e-3)


def test_tying_bounds_and_priors():
    tied = [vb.Unknown("storeys[*].damping", tied=True), vb.Unknown("storeys[*].stiffness", bounds=(20.0, 100.0))]
    fit = vb.identify(TWO_GUESS, two(0.01), tied)
    assert len(fit.names) == 3 and fit.structure.storeys[0].damping == fit.structure.storeys[1].damping
    strong = [vb.Unknown("storeys[0].stiffness", prior=(55.0, 1e-4)), "storeys[1].stiffness"]
    assert vb.identify(TWO_GUESS, two(0.01), strong).estimate[0] == pytest.approx(55.0, abs=0.01)


def test_stages_and_many_starts_reach_the_same_answer():
    plain = vb.identify(ONE_GUESS, one(0.02), ONE_UNKNOWN)
    staged = vb.identify(ONE_GUESS, one(0.02), ONE_UNKNOWN, vb.TrajectoryFit(stages=["storeys[0].stiffness"]))
    many = vb.identify(ONE_GUESS, one(0.02), ONE_UNKNOWN, vb.TrajectoryFit(starts=3), key=5)
    np.testing.assert_allclose(staged.estimate, plain.estimate, rtol=1e-3)
    np.testing.assert_allclose(many.estimate, plain.estimate, rtol=1e-3)


@pytest.mark.long
def test_multiple_shooting_starts_from_where_single_shooting_fails():
    far = ONE.replace({"storeys[0].stiffness": 6.0})
    stiffness = ["storeys[0].stiffness"]
    shot = vb.identify(far, one(0.02), stiffness, vb.TrajectoryFit(segments=8))
    assert shot.estimate[0] == pytest.approx(40.0, rel=0.01)


@pytest.mark.parametrize("guess", [2.0, 6.0, 10.0])
def test_a_descent_that_went_astray_is_tried_again_in_segments(guess):
    far = ONE.replace({"storeys[0].stiffness": guess})
    single, plain = (
        vb.identify(far, one(0.02), ["storeys[0].stiffness"], vb.TrajectoryFit(segments=s)) for s in (1, None)
    )
    assert abs(single.estimate[0] - 40.0) > 20.0 and plain.estimate[0] == pytest.approx(40.0, rel=0.01)
    assert plain.convergence["segments"] == 8 and unlikelihood(plain) < unlikelihood(single)
    assert "this result is from multiple shooting" in str(plain)


def test_a_good_fit_is_not_tried_again():
    fit = vb.identify(ONE_GUESS, one(0.02), ONE_UNKNOWN)
    assert fit.convergence["segments"] == 1 and not astray(fit)


def test_ctrl_c_keeps_the_best_so_far():
    class Impatient(Progress):
        def update(self, done, note=""):
            if done == 2:
                raise KeyboardInterrupt

    for segments in (1, 8):
        method = vb.TrajectoryFit(segments=segments)
        fit = vb.identify(ONE_GUESS, one(0.02), ONE_UNKNOWN, method, progress=Impatient())
        assert fit.cut_short and "cut short" in str(fit)
        assert np.isfinite(fit.estimate).all()


def test_held_out_samples_are_scored_not_fitted():
    fit = vb.identify(ONE_GUESS, one(0.02), ONE_UNKNOWN, hold_out=0.3)
    assert 0.005 < fit.held_out < 0.2
    assert fit.problem.data[0].present[-100:].sum() == 0


def test_identified_structure_predicts_and_validates():
    fit = vb.identify(ONE_GUESS, one(0.02), ONE_UNKNOWN)
    other = truth("one", 1)
    predicted = fit.predict(motion(1))
    error = np.linalg.norm(predicted.displacement - other.displacement) / np.linalg.norm(other.displacement)
    assert error < 0.02
    check = fit.validate(other.measure(ONE_SENSORS, noise=0.0))
    assert max(check.relative_error.values()) < 0.02 and "displacement_0" in str(check)


def test_wrong_law_is_noticed():
    wrong = vb.ShearBuilding(masses=[1.0], storeys=[vb.Cubic(40.0, 10.0)], damping=vb.Viscous(0.5))
    fit = vb.identify(wrong, one(0.02), ["storeys[0].stiffness", "storeys[0].cubic"], hold_out=0.3)
    assert not fit.model_fits and "does not fit" in str(fit)
    assert fit.held_out > 0.1
    right = vb.identify(ONE_GUESS, one(0.02), ONE_UNKNOWN, hold_out=0.3)
    assert right.model_fits and right.held_out < 0.5 * fit.held_out


@pytest.mark.long
def test_a_second_minimum_is_told():
    """Two equal floors with the roof alone measured: (k1, k2) and (2 k2, k1/2) have the same two frequencies."""
    pair = vb.ShearBuilding(masses=[1.0, 1.0], storeys=[vb.Linear(60.0, 0.05), vb.Linear(40.0, 0.05)])
    roof = vb.Sensors(absolute_acceleration=["roof"])
    data = vb.simulate(pair, motion(), integrator=vb.RungeKutta4(), substeps=8).measure(roof, noise=0.05)
    between = pair.replace({"storeys[0].stiffness": 70.0, "storeys[1].stiffness": 34.6})
    fit = vb.identify(between, data, ["storeys[*].stiffness"], vb.TrajectoryFit(starts=8, spread=0.1))
    (told,) = [w for w in fit.warnings if "second minimum" in w]
    found = np.array([float(word.strip(",.")) for word in told.split() if word.strip(",.").replace(".", "").isdigit()])
    truth, mirror = np.array([60.0, 40.0]), np.array([80.0, 30.0])
    assert min(np.abs(fit.estimate / truth - 1).max(), np.abs(fit.estimate / mirror - 1).max()) < 0.02
    assert min(np.abs(found / truth - 1).max(), np.abs(found / mirror - 1).max()) < 0.02
    assert np.abs(found - fit.estimate).max() > 5


def test_derivatives_that_are_not_finite_are_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(trajectory, "gauss_newton", lambda *_: (None, None, np.full((1, 4, 4), np.nan)))
    with pytest.raises(vb.VibridError, match="not finite at the best values"):
        vb.identify(TWO_GUESS, two(0.02), TWO_UNKNOWN)
