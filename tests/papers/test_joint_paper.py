"""The paper's alternating updates: their matrix, their descent, their end, and what they refuse."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError, Refusal
from vibrid.identification import METHODS
from vibrid.papers.joint.alternating import Markov, alternate, normal_equations, respond
from vibrid.papers.joint.as_published import JointAsPublished
from vibrid.papers.joint.cantilever_starts import starts_verdict
from vibrid.papers.joint.cantilever_updates import noise_verdict
from vibrid.papers.joint.paper import EQUATION_29, LARGEST, norm_29, norm_largest
from vibrid.papers.joint.truss_updates import sets_verdict

STEP, SAMPLES = 0.02, 80
TIME = np.arange(SAMPLES) * STEP
CHAIN = vb.ShearBuilding([2.0, 1.5], [vb.Linear(900.0, 6.0), vb.Linear(700.0, 5.0)])
GUESS = CHAIN.replace({"storeys[*].stiffness": np.array([600.0, 900.0])})
SENSORS = vb.Sensors(acceleration=[0, 1], displacement=[1, 0])
UNKNOWN = ["storeys[*].stiffness", vb.UnknownLoad("0"), vb.UnknownLoad("1")]


def loads() -> np.ndarray:
    return np.stack([20.0 * np.sin(7.0 * TIME), 12.0 * np.sin(2.0 * TIME + 0.4)], axis=1)


def record(places=(0, 1)) -> vb.Record:
    channels = [vb.Channel(f"load {place}", "load", "N", str(place)) for place in places]
    excitation = vb.Record(loads()[:, list(places)], channels, step=STEP, name="loads")
    y = vb.simulate(CHAIN, excitation).readings(SENSORS)
    return vb.Record(y, SENSORS.channels(), step=STEP, name="chain")


def test_the_matrix_of_the_loads_is_that_of_equation_13():
    problem = vb.identification.make_problem(GUESS, record(), UNKNOWN)
    theta = np.array([900.0, 700.0])
    ((later, first),) = Markov(problem)(theta[None])
    matrix = np.zeros((SAMPLES, 4, SAMPLES, 2))
    matrix[:, :, 0] = first
    for j in range(1, SAMPLES):
        matrix[j:, :, j] = later[: SAMPLES - j]
    flat = matrix.reshape(SAMPLES * 4, SAMPLES * 2)
    y = np.asarray(problem.data[0].readings)
    np.testing.assert_allclose((flat @ loads().reshape(-1)).reshape(y.shape), y, atol=1e-10 * np.abs(y).max())
    np.testing.assert_allclose(respond(later, first, loads()), y, atol=1e-10 * np.abs(y).max())
    r = np.random.default_rng(0).standard_normal(y.shape)
    gram, downhill = normal_equations(later, first, r)
    np.testing.assert_allclose(gram, flat.T @ flat, atol=1e-12 * np.abs(gram).max())
    np.testing.assert_allclose(downhill, flat.T @ r.reshape(-1), atol=1e-12 * np.abs(downhill).max())


def test_the_updates_end_at_the_true_stiffness_and_load():
    """To ε of the paper, with data of the same recursion."""
    method = METHODS["joint-as-published"](start_load=5.0, iterations=3000)
    fit = vb.identify(GUESS, record((1,)), [UNKNOWN[0], UNKNOWN[2]], method)
    assert type(method) is JointAsPublished and fit.method == "JointAsPublished"
    assert fit.convergence["converged"] and 20 < fit.convergence["iterations"] < 3000
    np.testing.assert_allclose(fit.estimate, [900.0, 700.0], rtol=1e-3)
    assert fit.loads[0].error(loads()[:, 1:])[0] < 0.5
    assert fit.history["cost"][-1] < 1e-6 * fit.history["cost"][0] and fit.free_covariance is None


def test_the_initial_load_is_the_unit_and_iterations_are_limited():
    problem = vb.identification.make_problem(GUESS, record(), UNKNOWN)
    run = alternate(problem, np.full((SAMPLES, 2), 10.0), iterations=12)
    assert not run.converged and run.thetas.shape == (12, 2) and run.kept.shape == (2, SAMPLES, 2)
    assert run.costs[-1] < 0.5 * run.costs[0]


@pytest.mark.parametrize(
    ("settings", "message"), [({"share": 1.5}, "between 0 and 1"), ({"start_load": 0.0}, "other than zero")]
)
def test_settings_outside_their_range_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        JointAsPublished(**settings)


def test_what_the_updates_cannot_use_is_refused():
    with pytest.raises(InputError, match="together"):
        vb.identify(GUESS, record(), UNKNOWN[1:], JointAsPublished())
    known = np.column_stack([loads()[:, 0], record().data])
    channels = [vb.Channel("load", "load", "N", "0"), *record().channels]
    beside = vb.Record(known, channels, step=STEP, name="one load known")
    with pytest.raises(Refusal, match="have unknown loads only"):
        vb.identify(GUESS, beside, [UNKNOWN[0], UNKNOWN[2]], JointAsPublished())


@pytest.mark.parametrize("old", [{"faithful": True}, {"start_load": 10.0}])
def test_the_old_argument_names_the_new_method(old):
    with pytest.raises(InputError, match="joint-as-published"):
        vb.JointLoads(**old)


def test_the_updates_resume_from_their_checkpoint(tmp_path, monkeypatch):
    problem = vb.identification.make_problem(GUESS, record((1,)), [UNKNOWN[0], UNKNOWN[2]])
    first, file = np.full((SAMPLES, 1), 10.0), str(tmp_path / "updates.npz")
    whole = alternate(problem, first, iterations=25)
    monkeypatch.setattr("vibrid.papers.joint.alternating.SAVED_EVERY", 0.0)

    class Stop:
        def update(self, count, text):
            if count == 12:
                raise KeyboardInterrupt

    assert alternate(problem, first, iterations=25, checkpoint=file, progress=Stop()).cut_short
    resumed = alternate(problem, first, iterations=25, checkpoint=file)
    np.testing.assert_array_equal(resumed.thetas, whole.thetas)
    np.testing.assert_array_equal(resumed.kept, whole.kept)
    np.testing.assert_array_equal(resumed.loads, whole.loads)
    assert not (tmp_path / "updates.npz").exists()


@pytest.mark.parametrize("places", [(0, 1), (1,)])
def test_the_program_of_an_accelerator_gives_the_same_updates(monkeypatch, places):
    """The forward difference of 1e-6 leaves about ten digits of a slope."""
    unknown = [UNKNOWN[0], *(UNKNOWN[1 + place] for place in places)]
    problem = vb.identification.make_problem(GUESS, record(places), unknown)
    first = np.linspace(5.0, 15.0, SAMPLES * len(places)).reshape(SAMPLES, -1)
    usual = alternate(problem, first, iterations=4)
    monkeypatch.setattr("vibrid.papers.joint.alternating.accelerated", lambda: True)
    program = alternate(problem, first, iterations=4)
    for name in ("thetas", "theta", "loads", "costs"):
        expected = getattr(usual, name)
        np.testing.assert_allclose(getattr(program, name), expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_verdicts_follow_from_the_numbers():
    names = {"E (%)": 0.3, "iterations": 9, "ε met": "no"}
    good, bad = names, names | {"E (%)": 12.0}
    paper = {0: good, 1: bad, 2: bad, 3: bad, 4: good, 5: good}
    assert sets_verdict(paper).startswith("reproduces")
    assert "with sets 1, 4, 5" in sets_verdict(paper | {1: good})
    end = {EQUATION_29: 1.0, LARGEST: 1.5, "load, lowest on the way (%)": 0.5}
    assert noise_verdict([end], 1.85).startswith("reproduces") and "2 times as far off" in noise_verdict([end], 1.85)
    assert noise_verdict([end | {LARGEST: 2.0}], 1.85).startswith("does not")
    start = {"all errors below 1 % (Eq. 29)": 49, "largest error of EI, worst (%)": 30.0, "ε met": 48}
    assert "49 of 50 starts only" in starts_verdict(start, 50)


def test_both_norms_of_a_load():
    true, found = np.array([0.0, 3.0, -4.0]), np.array([0.0, 3.0, -3.0])
    assert norm_29(found, true) == pytest.approx(20.0) and norm_largest(found, true) == pytest.approx(25.0)
