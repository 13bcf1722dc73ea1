"""Every registered method, through its interface, on problems whose true values are known."""

import numpy as np
import pytest

import vibrid as vb
from identification.small import ONE_GUESS, ONE_TRUTH, ONE_UNKNOWN, TWO_GUESS, TWO_TRUTH, TWO_UNKNOWN, one, two
from vibrid.conformance.method import CHECKS, MethodExample

EXAMPLES = {
    "trajectory": vb.TrajectoryFit(),
    "noisy-input": vb.NoisyInputFit(),
    "ukf": vb.UnscentedKalman(),
    "ekf": vb.ExtendedKalman(),
    "least-squares": vb.LeastSquares(),
    "sparse": vb.SparseRegression(threshold=1e-4),
    "joint": vb.JointLoads(),
    "global": vb.GlobalSearch(population=6, generations=15),
    "bayes": vb.Bayes(draws=30, warmup=20, chains=2),
    "online-masing": vb.OnlineMasing(window=60, stride=2, largest_step=0.03, smallest_step=0.001, passes=3),
    "online-recall": vb.OnlineRecall(),
    "siva": vb.SIVA(epochs=100),
    "pidynnet": vb.PIDynNet(hidden=(3,), seeds=2, softness=(0.1, 0.03)),
    "weak-collocation": vb.WeakCollocation(),
}
DEVICES_ALONE = {"online-recall"}  # tested in test_online.py


def test_every_method_has_an_example():
    """Methods as published are tested with their papers."""
    own = {n: m for n, m in vb.identification.METHODS.items() if not m.__module__.startswith("vibrid.papers.")}
    assert {name for name, method in own.items() if not method.from_modes} == set(EXAMPLES)
    assert {name for name, method in own.items() if method.from_modes} == {"modal-fit"}  # test_modal_fit.py


# noise in the regressors biases regression
CONFORMING = {
    name: MethodExample(method, 0.12 if name in ("least-squares", "sparse") else 0.03)
    for name, method in EXAMPLES.items()
    if name not in DEVICES_ALONE
}


@pytest.mark.compat
@pytest.mark.parametrize("name", list(CONFORMING))
def test_method_keeps_its_promises(name):
    for check in CHECKS:
        if check.applies(CONFORMING[name]):
            check(CONFORMING[name])


@pytest.mark.parametrize("name", ["trajectory", "ukf", "global"])
def test_finds_a_hysteretic_storey_from_partial_sensors(name):
    fit = vb.identify(ONE_GUESS, one(0.01), ONE_UNKNOWN, EXAMPLES[name])
    np.testing.assert_allclose(fit.estimate, ONE_TRUTH, rtol=0.25)
    np.testing.assert_allclose(fit.estimate[0], 40.0, rtol=0.02)
    assert np.all(np.abs(fit.estimate - ONE_TRUTH) < 5 * np.maximum(fit.deviation, fit.limits.bound))


def test_regression_is_exact_without_noise_and_needs_no_guess():
    far = TWO_GUESS.replace({"storeys[*].stiffness": 1.0})
    fit = vb.identify(far, two(0.0), TWO_UNKNOWN, vb.LeastSquares())
    np.testing.assert_allclose(fit.estimate, TWO_TRUTH, rtol=1e-8)


def test_regression_respects_bounds():
    unknown = [vb.Unknown("storeys[*].stiffness", bounds=(10.0, 50.0)), "storeys[*].damping"]
    guess = TWO_GUESS.replace({"storeys[*].stiffness": 30.0})
    fit = vb.identify(guess, two(0.0), unknown, vb.LeastSquares())
    assert fit.estimate[0] == pytest.approx(50.0, rel=1e-4)
    assert any("is at its bound" in w for w in fit.warnings)


@pytest.mark.long
def test_sparse_regression_drops_what_carries_no_force():
    candidates = vb.ShearBuilding(
        masses=[1.0, 0.8],
        storeys=[vb.Parallel([vb.Linear(45.0, 0.6), vb.Polynomial([0.0, 0.0, 0.0])]), vb.Linear(50.0, 1.0)],
    )
    unknown = [
        "storeys[0].laws[0].stiffness",
        "storeys[0].laws[0].damping",
        vb.Unknown("storeys[0].laws[1].coefficients[1]", scale=50.0),
        vb.Unknown("storeys[0].laws[1].coefficients[2]", scale=500.0),
        "storeys[1].stiffness",
        "storeys[1].damping",
    ]
    fit = vb.identify(candidates, two(0.001), unknown, vb.SparseRegression(threshold=0.01))
    values = fit.values
    assert values["storeys[0].laws[1].coefficients[1]"] == 0.0
    assert values["storeys[0].laws[1].coefficients[2]"] == 0.0
    assert values["storeys[0].laws[0].stiffness"] == pytest.approx(60.0, rel=0.01)
    assert any("Set to zero" in w for w in fit.warnings)


@pytest.mark.parametrize(
    ("method", "unknown", "words"),
    [
        (vb.LeastSquares(), ONE_UNKNOWN, "are not measured at every degree of freedom"),
        (vb.UnscentedKalman(), [*ONE_UNKNOWN, "sensors[0].delay"], "a sensor is delayed"),
        (vb.GlobalSearch(), [*ONE_UNKNOWN, vb.Unknown("sensors[0].noise", start=0.01)], "noise of a sensor"),
    ],
)
def test_impossible_requests_are_refused_with_the_methods_that_can(method, unknown, words):
    with pytest.raises(vb.Refusal, match=words) as refusal:
        vb.identify(ONE_GUESS, one(), unknown, method)
    assert "trajectory" in str(refusal.value)


def test_regression_refuses_unknowns_that_enter_nonlinearly():
    sensors = vb.Sensors(displacement=[0], velocity=[0], acceleration=[0])
    from identification.small import truth

    data = truth("one").measure(sensors, noise=0.0)
    with pytest.raises(vb.Refusal, match="not linear in these unknowns"):
        vb.identify(ONE_GUESS, data, ONE_UNKNOWN, vb.LeastSquares())


def test_comparison_holds_answers_and_refusals():
    truth_by_name = dict(zip(("storeys[0].stiffness", "storeys[0].beta", "storeys[0].gamma"), ONE_TRUTH, strict=True))
    made = vb.compare(
        ONE_GUESS,
        one(0.01),
        ONE_UNKNOWN,
        [vb.TrajectoryFit(), vb.UnscentedKalman(), vb.LeastSquares()],
        true_values=truth_by_name,
    )
    assert list(made.results) == ["TrajectoryFit", "UnscentedKalman"]
    assert "LeastSquares" in made.refused and "LeastSquares" in str(made)
    assert made.rows[0]["mean_error"] < 0.1 and made.rows[0]["mean_ratio_to_bound"] < 3
