"""Methods that run sample by sample on measured motion: both find a deteriorating device, live as offline."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import FileProblem
from vibrid.identification.online.live import LiveRun, live_problem, read_state
from vibrid.identification.online.smoothing import LagSmoother
from vibrid.identification.problem import predict
from vibrid.papers.masing.cases import force_of, noisy, rayleigh

TRUTH, GUESS = np.array([2.0, 4.0, 4.0, 0.1]), np.array([3.0, 3.0, 6.0, 0.2])
NAMES = ("law.ductility", "law.stiffness", "law.distribution.mean", "law.damping")
METHOD = vb.OnlineMasing(window=60, stride=3, largest_step=0.06, smallest_step=0.005, force_cut=(0.5, 1.0))


def device(theta) -> vb.Device:
    beta, k, alpha, c = map(float, theta)
    return vb.Device(vb.Masing(k, vb.laws.RayleighYield(alpha), beta, c, capacity=16))


@cache
def record(noise: float, peak: float = 14.0) -> vb.Record:
    """Twelve seconds at 50 Hz; the force comes from sliders followed one by one."""
    t = np.arange(0, 12.0, 0.02)
    grow = peak * np.sin(np.pi * t / 12) ** 2
    x = grow * (0.7 * np.sin(3.1 * t) + 0.3 * np.sin(7.3 * t))
    v = np.gradient(x, 0.02)
    f = force_of(rayleigh(TRUTH[2]), TRUTH[0], TRUTH[1], TRUTH[3], x, v)
    channels = [
        vb.Channel("x", "imposed_displacement"),
        vb.Channel("v", "imposed_velocity"),
        vb.Channel("f", "element_force", location="device"),
    ]
    return vb.Record(noisy(x, v, f, noise, 0), channels, step=0.02, name="test")


def error(values) -> float:
    return float(np.linalg.norm((values - TRUTH) * [1, 1, 1, 10]) / np.linalg.norm(TRUTH * [1, 1, 1, 10]))


@pytest.fixture(scope="module")
def descent():
    return vb.identify(device(GUESS), record(0.02), NAMES, METHOD)


def test_descent_finds_a_deteriorating_device(descent):
    assert error(GUESS) > 0.4
    assert error(descent.estimate) < 0.06
    assert descent.history["estimate"].shape == (600, 4)
    assert np.all(descent.history["estimate"][:59] == GUESS), "it learns when the window is full, not before"
    assert np.all(descent.deviation > 0) and not any("memory" in w for w in descent.warnings)


def test_recall_is_closer_and_sure():
    fit = vb.identify(device(GUESS), record(0.1), NAMES, vb.OnlineRecall(members=2, points=200))
    assert error(fit.estimate) < 0.03
    assert fit.convergence["sure"] and not any("Uncertain" in w for w in fit.warnings)
    assert np.all(np.abs(fit.estimate - TRUTH) < 5 * fit.deviation)


def test_recall_says_when_it_is_not_sure():
    """A motion in which hardly a slider yields and none breaks cannot tell ductility and strength."""
    fit = vb.identify(device(GUESS), record(0.1, peak=0.7), NAMES, vb.OnlineRecall(members=2, points=200))
    assert not fit.convergence["sure"]
    assert any("Uncertain" in w for w in fit.warnings)


def live(method=METHOD) -> LiveRun:
    r = record(0.02)
    first = vb.Record(r.data[:20], r.channels, step=r.step, name="first")
    return LiveRun(method, live_problem(device(GUESS), vb.Sensors.of(r), NAMES, first))


def test_a_live_run_is_the_offline_one_and_survives_being_stopped(descent, tmp_path):
    """Fed sample by sample it goes the way of the compiled loop; stopped, stored and resumed, exactly the same way."""
    data, whole = record(0.02).data, live()
    for row in data[:65]:
        whole.feed(row[:2], row[2:])
    np.testing.assert_allclose(whole.estimate()[0], descent.history["estimate"][64], rtol=1e-6)
    assert not np.allclose(whole.estimate()[0], GUESS, rtol=1e-3), "it must have learnt something by then"
    for row in data[65:200]:
        whole.feed(row[:2], row[2:])
    whole.save(tmp_path / "state.npz")
    again = live()
    again.restore(tmp_path / "state.npz")
    again.step = whole.step  # compiled already
    assert again.samples == 200
    for row in data[200:300]:
        for run in (whole, again):
            run.feed(row[:2], row[2:])
    np.testing.assert_array_equal(again.estimate()[0], whole.estimate()[0])
    again.feed([np.nan, np.nan], [np.nan])
    assert np.isfinite(again.estimate()[0]).all() and "no motion" in " ".join(again.warnings())


def test_a_state_that_does_not_fit_is_refused(tmp_path):
    run, path = live(), tmp_path / "state.npz"
    run.save(path)
    with pytest.raises(FileProblem, match="another method"):
        live(vb.OnlineMasing(window=90)).restore(read_state(path))
    stored = read_state(path)
    stored.arrays.pop("leaf1")
    with pytest.raises(FileProblem, match="incomplete"):
        run.restore(stored)
    run.save(path, format=3)
    with pytest.raises(FileProblem, match=r"state of a run has format 3 .* reads format 2\."):
        read_state(path)
    run.save(path, format=1)
    with pytest.raises(FileProblem, match=r"vibrid 0\.1"):
        read_state(path)
    path.write_bytes(b"PK not a state")
    with pytest.raises(FileProblem, match="not the state of a run"):
        read_state(path)
    for note in (b"[]", b"{}", b'{"format": 2, "samples": "many"}', b"\xff", b"[" * 5000):
        np.savez(path, note=np.frombuffer(note, np.uint8), before=np.zeros(2))
        with pytest.raises(FileProblem, match="not the state of a run"):
            read_state(path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: vb.OnlineMasing(window=100, stride=3), "multiple of the stride"),
        (lambda: vb.OnlineMasing(objective=3), "objectives 1 and 2"),
        (lambda: vb.OnlineMasing(largest_step=0.01, smallest_step=0.02), "smallest_step"),
        (lambda: vb.OnlineRecall(lag=0), "lag of 1 or more"),
    ],
)
def test_settings_that_cannot_be_are_refused(make, words):
    with pytest.raises(vb.InputError, match=words):
        make()


def test_what_is_not_measured_or_not_remembered_is_refused():
    from identification.small import ONE_GUESS, ONE_SENSORS, ONE_UNKNOWN, one

    building = live_problem(ONE_GUESS, ONE_SENSORS, ONE_UNKNOWN, one())
    with pytest.raises(vb.Refusal, match="needs the velocity of every degree of freedom"):
        vb.OnlineMasing().init(building)
    with pytest.raises(vb.Refusal, match="OnlineRecall needs a device"):
        vb.OnlineRecall().init(building)
    r = record(0.02)
    friction = live_problem(vb.Device(vb.BoucWen(4.0, 0.1, 0.1)), vb.Sensors.of(r), ["law.stiffness"], r)
    with pytest.raises(vb.InputError, match="Objective 2 needs the turning points"):
        vb.OnlineMasing(objective=2).init(friction)
    with pytest.raises(vb.InputError, match="cannot run sample by sample"):
        LiveRun(vb.TrajectoryFit(), friction)


def test_the_second_objective_is_equation_6(descent):
    """The misfit at all remembered turning points of each sample, over their number, by hand from the law's forces."""
    method = vb.OnlineMasing(window=30, stride=3, objective=2)
    problem = descent.problem
    frame, rows = method.frame(problem), record(0.02).data[:120]
    data = frame.start(problem)

    @jax.jit
    def push(data, row):
        return frame.push(problem, data, None, vb.identification.Sample(row[2:], jnp.ones(1), row[:2], row[:2], 0.02))

    for row in rows:
        data = push(data, row)
    residuals = jax.jit(lambda data: frame.residuals(problem, data, jnp.asarray(GUESS)))(data)
    predicted = np.asarray(predict(problem, jnp.asarray(problem.start), 0))[:, 0]
    by_hand = 0.0
    for t in range(119, 89, -3):
        n = int(data.memories.count[t - 90])
        places = [int(np.flatnonzero(rows[:t, 0] == e)[-1]) for e in data.memories.extremes[t - 90, :n]]
        by_hand += sum((predicted[i] - rows[i, 2]) ** 2 for i in [*places, t]) / (n + 1)
    np.testing.assert_allclose(np.sum(residuals**2), by_hand, rtol=1e-9)


def test_the_smoother_keeps_parabolas_and_drops_noise():
    """Weights of x reproduce any motion of constant acceleration; of white noise they leave a fraction."""
    made, t = LagSmoother.make(8), np.arange(-8.0, 9.0)
    parabola = np.stack([2.0 - 0.3 * t + 0.05 * t**2, -0.3 + 0.1 * t])
    out = np.einsum("cort,rt->co", made.weights, parabola)
    np.testing.assert_allclose(out, np.tile([2.0, -0.3], (len(out), 1)), atol=1e-9)
    gains = np.sum(made.weights[:, 0, 0] ** 2, axis=1)
    assert gains.min() < 0.2 and gains.max() < 1.01
